//! Processes of a job whose supervisor died.

use std::io;
use std::time::Duration;

use fairway_core::domain::job::Job;
use fairway_core::domain::secrets::mask;
use fairway_core::env::vars;
use fairway_core::os::process::{self, ProcessKey, ProcessStatus};
use fairway_core::os::process_tree;

/// Time between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrphanProcesses {
    /// All processes found, by name and pid.
    pub found: Vec<String>,
    /// The processes that survived KILL.
    pub survivors: Vec<String>,
}

/// Ends all processes of a job: sends TERM, waits for `grace` (by default 2 s) and sends KILL to the rest. The caller must
/// hold the job's lock.
pub fn kill(job: &Job, grace: Option<Duration>) -> io::Result<OrphanProcesses> {
    let mut found: Vec<(ProcessKey, String)> = Vec::new();
    let left = process_tree::terminate(grace.unwrap_or(GRACE), || {
        let keys = processes_of(job)?;
        for key in &keys {
            if !found.iter().any(|(known, _)| known == key) {
                found.push((key.clone(), display_name(key)));
            }
        }
        Ok(keys)
    })?;
    let name = |key: &ProcessKey| found.iter().find(|(known, _)| known == key).map(|(_, name)| name.clone());
    Ok(OrphanProcesses {
        survivors: left.iter().filter_map(name).collect(),
        found: found.iter().map(|(_, name)| name.clone()).collect(),
    })
}

fn display_name(key: &ProcessKey) -> String {
    let name = process::names(key.pid).into_iter().next();
    format!("{} ({})", name.map_or_else(|| "a process".into(), |name| mask(&name)), key.pid)
}

/// All processes of a job: those with its environment tag, its root process, and their descendants. Processes with the tag
/// of another job are excluded.
fn processes_of(job: &Job) -> io::Result<Vec<ProcessKey>> {
    let mark = format!("{}={}", vars::FAIRWAY_EXEC_RUN, job.id);
    let mut roots = process_tree::with_env_entry(&mark)?;
    let root = ProcessKey::from_record(job.pid, job.pid_started, Some(&job.boot_id));
    if let Some(root) = root {
        let in_session = |key: &ProcessKey| {
            process::stat(key.pid).ok().flatten().is_some_and(|found| found.session == root.pid && found.key() == *key)
        };
        // After the root's end its pid may be reused, unless a process of its session still exists.
        if root.status() == ProcessStatus::Alive || roots.iter().any(in_session) {
            roots.push(root);
        }
    }
    let mut found: Vec<ProcessKey> = Vec::new();
    for root in roots {
        for key in process_tree::subtree(root.pid, Some(&mark))? {
            if !found.contains(&key) {
                found.push(key);
            }
        }
    }
    Ok(found)
}
