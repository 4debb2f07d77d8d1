//! Ending a process tree. The tree is collected first, because killing the root moves its children to another parent.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;
use std::{fs, io, iter};

use nix::sys::signal::Signal;

use super::process::{self, ProcStat, ProcessKey, ProcessStatus};
use super::{poll_until, user};

/// How long a killed process may take to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// The process `root` and all its descendants, parents first. Descendants are found by their parents, whatever session or group
/// they are in; members of the session of `root` are found also when their parents have ended. With `mark` (`NAME=value`), a
/// process whose environment has another value of that name is left out with its descendants: it belongs to another session or
/// job. This process itself is left out.
pub fn subtree(root: i32, mark: Option<&str>) -> io::Result<Vec<ProcessKey>> {
    let all = process::all()?;
    let (mut inside, mut passed) = (BTreeSet::from([root]), BTreeSet::new());
    // Processes are few: a scan until nothing is added needs no index.
    loop {
        let is_new = |one: &&ProcStat| !inside.contains(&one.pid) && !passed.contains(&one.pid);
        let more = all.iter().filter(is_new).filter(|one| inside.contains(&one.parent) || one.session == root);
        let (others, more): (Vec<i32>, Vec<i32>) =
            more.map(|one| one.pid).partition(|pid| mark.is_some_and(|mark| belongs_to_other(*pid, mark)));
        passed.extend(others);
        if more.is_empty() {
            break;
        }
        inside.extend(more);
    }
    let parents: BTreeMap<i32, i32> = all.iter().map(|one| (one.pid, one.parent)).collect();
    let above = |pid: &i32| parents.get(pid).copied().filter(|parent| inside.contains(parent));
    // A listing is no moment: reused numbers could make a circle.
    let depth = |one: &&ProcStat| iter::successors(Some(one.pid), above).take(all.len()).count();
    let mut found: Vec<&ProcStat> = all.iter().filter(|one| inside.contains(&one.pid)).collect();
    // Parents first, also where the kernel's numbers began anew: a shell whose command is signaled before it reports that.
    found.sort_by_key(depth);
    Ok(keys(found.into_iter()))
}

fn belongs_to_other(pid: i32, mark: &str) -> bool {
    let Some((name, _)) = mark.split_once('=') else { return false };
    environ(pid).split(|byte| *byte == 0).any(|found| {
        let value = found.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        value.is_some_and(|value| !value.is_empty()) && found != mark.as_bytes()
    })
}

/// The initial environment of a process; empty when it cannot be read.
fn environ(pid: i32) -> Vec<u8> {
    process::environ(pid).unwrap_or_default()
}

/// All processes of this user whose initial environment contains this entry (`NAME=value`). Finds processes whose parents have
/// ended, but not those that were started with a cleared environment.
pub fn with_env_entry(entry: &str) -> io::Result<Vec<ProcessKey>> {
    let all = process::all()?;
    Ok(keys(all.iter().filter(|one| has_env_entry(one.pid, entry))))
}

/// Whether the initial environment of a process has this entry. A process of another user counts as one without it.
pub fn has_env_entry(pid: i32, entry: &str) -> bool {
    environ(pid).split(|byte| *byte == 0).any(|found| found == entry.as_bytes())
}

/// All processes of this user whose initial environment has a variable of this name that is not empty, each with the variable's
/// value.
pub fn with_env_name(name: &str) -> io::Result<Vec<(String, ProcessKey)>> {
    let mut found = Vec::new();
    for key in keys(process::all()?.iter()) {
        let environ = environ(key.pid);
        let value =
            environ.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            found.push((String::from_utf8_lossy(value).into_owned(), key));
        }
    }
    Ok(found)
}

/// All processes of this user whose command line contains this text.
pub fn with_command_line_text(text: &str) -> io::Result<Vec<ProcessKey>> {
    let all = process::all()?;
    let names = |one: &&ProcStat| {
        let words = fs::read(format!("/proc/{}/cmdline", one.pid)).unwrap_or_default();
        let is_mine = fs::metadata(format!("/proc/{}", one.pid)).is_ok_and(|found| found.uid() == user::uid());
        is_mine && words.windows(text.len().max(1)).any(|part| part == text.as_bytes())
    };
    Ok(keys(all.iter().filter(names)))
}

fn keys<'a>(found: impl Iterator<Item = &'a ProcStat>) -> Vec<ProcessKey> {
    let own = std::process::id();
    found
        .filter(|one| !one.is_zombie() && u32::try_from(one.pid).is_ok_and(|pid| pid != own && pid != 1))
        .map(ProcStat::key)
        .collect()
}

/// Ends the processes that `collect` returns: sends TERM, waits for at most `grace`, then sends KILL until none is left.
/// `collect` is called again to find new ones. Returns the processes that survived.
pub fn terminate(
    grace: Duration,
    mut collect: impl FnMut() -> io::Result<Vec<ProcessKey>>,
) -> io::Result<Vec<ProcessKey>> {
    let mut known = collect()?;
    for key in &known {
        // A process of another user (sudo) cannot be signaled; it will be among the survivors.
        let _ = key.signal(Signal::SIGTERM);
    }
    let gone = |known: &[ProcessKey]| known.iter().all(|key| matches!(key.status(), ProcessStatus::Gone(_)));
    let _ = poll_until::poll_until(grace, Duration::from_millis(20), || gone(&known).then_some(()));
    let left = poll_until::poll_until(KILL_TIMEOUT, Duration::from_millis(20), || {
        // Whatever was born meanwhile, or was handed over when its parent died.
        known.extend(collect().ok()?);
        known.retain(|key| !matches!(key.status(), ProcessStatus::Gone(_)));
        for key in &known {
            let _ = key.signal(Signal::SIGKILL);
        }
        known.is_empty().then_some(())
    });
    Ok(if left.is_some() { Vec::new() } else { known })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test needs processes of its own")]
mod tests {
    use super::*;

    #[test]
    fn tree_that_ignores_term_and_changes_its_session_is_ended() {
        let script = "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 60 & wait' & sleep 60 & wait";
        let mut child = std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
        let root = i32::try_from(child.id()).unwrap();
        let found = poll_until::poll_until(KILL_TIMEOUT, Duration::from_millis(5), || {
            subtree(root, None).ok().filter(|found| found.len() >= 4)
        });
        let found = found.expect("the tree has come up");
        let left = terminate(Duration::from_millis(50), || subtree(root, None)).unwrap();
        assert!(left.is_empty(), "{left:?}");
        child.wait().unwrap();
        assert!(found.iter().all(|key| matches!(key.status(), ProcessStatus::Gone(_))));
    }
}
