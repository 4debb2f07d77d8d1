//! The words before a program that run it in a sandbox: those of bubblewrap, or of a command of the person's own. For bubblewrap
//! they say what the sandbox shows and hides. The longest path decides: an open path in a hidden directory is open, and a hidden
//! directory in an open path is hidden.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::domain::sandbox::SandboxNetwork;
/// The content of a path inside the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// An empty directory of the sandbox's own, which is gone with it.
    Empty,
    /// An empty directory that cannot be written.
    EmptyReadOnly,
    /// An empty file that cannot be written.
    EmptyFile,
    /// What is at this path outside, read-only.
    ReadOnly(PathBuf),
    /// What is at this path outside, with its bytes shared.
    Writable(PathBuf),
}

/// The facts that a sandbox is made from. All paths are absolute and without links.
#[derive(Debug, Clone, Default)]
pub struct SandboxFacts {
    /// The paths with their content; everything else is as outside, read-only.
    pub shown: BTreeMap<PathBuf, Shown>,
    pub network: SandboxNetwork,
    pub directory: PathBuf,
    /// The number of the descriptor with the filter of system calls.
    pub filter: Option<i32>,
}

/// Flags that stand in each vector. A user namespace is made also for root, so that no capability is left, and none can be made
/// inside. The terminal stays the controlling one: the filter keeps programs from typing into it.
const ALWAYS: &[&str] = &[
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--disable-userns",
    "--cap-drop", "ALL", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
    // Bubblewrap itself leaves them writable for root.
    "--ro-bind", "/proc/sys", "/proc/sys", "--ro-bind-try", "/proc/sysrq-trigger", "/proc/sysrq-trigger",
    "--ro-bind-try", "/proc/irq", "/proc/irq", "--ro-bind-try", "/proc/bus", "/proc/bus",
];

/// The arguments of bubblewrap that come before the program.
pub fn arguments(facts: &SandboxFacts) -> Vec<OsString> {
    let mut all: Vec<OsString> = ALWAYS.iter().map(OsString::from).collect();
    if facts.network != SandboxNetwork::Open {
        all.push("--unshare-net".into());
    }
    if let Some(filter) = facts.filter {
        all.extend(["--seccomp".into(), OsString::from(filter.to_string())]);
    }
    let mut shown: Vec<(&PathBuf, &Shown)> = facts.shown.iter().collect();
    // Directories before what is in them.
    shown.sort_by_key(|(path, _)| path.components().count());
    for (path, what) in shown {
        let mut add = |words: &[&str], source: Option<&Path>| {
            all.extend(words.iter().map(OsString::from));
            all.extend(source.map(|source| source.as_os_str().to_owned()));
            all.push(path.clone().into_os_string());
        };
        match what {
            Shown::Empty => add(&["--perms", "0700", "--tmpfs"], None),
            Shown::EmptyReadOnly => {
                add(&["--tmpfs"], None);
                add(&["--remount-ro"], None);
            }
            Shown::EmptyFile => add(&["--ro-bind", "/dev/null"], None),
            Shown::ReadOnly(source) => add(&["--ro-bind"], Some(source)),
            Shown::Writable(source) => add(&["--bind"], Some(source)),
        }
    }
    all.extend(["--chdir".into(), facts.directory.clone().into_os_string(), "--".into()]);
    all
}

/// The placeholders in a word of the command: the lane's worktree, and those for whose sake a word is repeated, by path and
/// variable.
const LANE: &str = "{lane}";
const MOUNT: &str = "{mount}";
const VARIABLE: &str = "{env}";

/// A path inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    pub source: PathBuf,
    pub target: PathBuf,
    pub is_writable: bool,
}

/// The facts that the words are made from.
#[derive(Debug, Clone, Default)]
pub struct PrefixFacts {
    pub lane: PathBuf,
    /// Directories before what is in them.
    pub mounts: Vec<Mount>,
    /// The names of the variables that reach the program.
    pub env: Vec<String>,
}

/// Fills in the placeholders in the words of the sandbox command that the user has set. A word with the placeholder of a mount or
/// a variable is repeated for each of them.
pub fn expand_prefix(prefix: &[String], facts: &PrefixFacts) -> Vec<OsString> {
    let mut all = Vec::new();
    for word in prefix {
        if word.contains(MOUNT) {
            all.extend(facts.mounts.iter().map(|mount| replace(word, MOUNT, &text(mount))));
        } else if word.contains(VARIABLE) {
            all.extend(facts.env.iter().map(|name| replace(word, VARIABLE, name.as_ref())));
        } else {
            all.push(replace(word, LANE, facts.lane.as_os_str()));
        }
    }
    all
}

/// A mount as container programs take it: `SOURCE:TARGET:ro`.
fn text(mount: &Mount) -> OsString {
    let mut text = mount.source.clone().into_os_string();
    text.push(":");
    text.push(&mount.target);
    text.push(if mount.is_writable { ":rw" } else { ":ro" });
    text
}

fn replace(word: &str, name: &str, value: &OsStr) -> OsString {
    let parts: Vec<&[u8]> = word.split(name).map(str::as_bytes).collect();
    OsStr::from_bytes(&parts.join(value.as_bytes())).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(network: SandboxNetwork) -> Vec<String> {
        let facts = SandboxFacts {
            shown: [
                ("/home/u/p/.fairway/worktrees/api", Shown::Writable("/home/u/p/.fairway/worktrees/api".into())),
                ("/home/u/p/.fairway", Shown::Empty),
                ("/home/u", Shown::Empty),
                ("/home/u/p/.fairway/worktrees/api/.git", Shown::ReadOnly("/state/link".into())),
                ("/home/u/.cargo/bin", Shown::ReadOnly("/home/u/.cargo/bin".into())),
                ("/home/u/p/.fairway/worktrees/api/.idea", Shown::EmptyReadOnly),
                ("/data/store.db", Shown::EmptyFile),
            ]
            .into_iter()
            .map(|(path, shown)| (path.into(), shown))
            .collect(),
            network,
            directory: "/home/u/p/.fairway/worktrees/api".into(),
            filter: Some(7),
        };
        arguments(&facts).into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    fn position(vector: &[String], words: &[&str]) -> usize {
        vector.windows(words.len()).position(|found| found == words).unwrap_or_else(|| panic!("{words:?}: {vector:?}"))
    }

    #[test]
    fn directories_come_before_what_is_in_them() {
        let vector = vector(SandboxNetwork::None);
        let lane = "/home/u/p/.fairway/worktrees/api";
        let order = [
            position(&vector, &["--ro-bind", "/", "/"]),
            position(&vector, &["--tmpfs", "/home/u"]),
            position(&vector, &["--tmpfs", "/home/u/p/.fairway"]),
            position(&vector, &["--bind", lane, lane]),
            position(&vector, &["--ro-bind", "/state/link", &format!("{lane}/.git")]),
        ];
        assert!(order.is_sorted(), "{vector:?}");
        let closed = format!("{lane}/.idea");
        assert!(position(&vector, &["--tmpfs", &closed]) < position(&vector, &["--remount-ro", &closed]));
        position(&vector, &["--ro-bind", "/dev/null", "/data/store.db"]);
        position(&vector, &["--seccomp", "7"]);
        assert_eq!(vector[vector.len() - 3..], ["--chdir", lane, "--"]);
    }

    #[test]
    fn network_is_that_of_the_machine_only_where_it_is_open() {
        for own in [SandboxNetwork::None, SandboxNetwork::Proxy] {
            assert!(vector(own).contains(&"--unshare-net".to_owned()));
        }
        assert!(!vector(SandboxNetwork::Open).contains(&"--unshare-net".to_owned()));
    }

    #[test]
    fn processes_users_and_capabilities_are_always_apart() {
        for flag in ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--disable-userns", "--die-with-parent"] {
            assert!(vector(SandboxNetwork::Open).contains(&flag.to_owned()), "{flag}");
        }
        position(&vector(SandboxNetwork::Open), &["--cap-drop", "ALL"]);
    }

    #[test]
    fn words_for_paths_and_variables_are_repeated() {
        let mount = |source: &str, target: &str, is_writable| Mount {
            source: source.into(),
            target: target.into(),
            is_writable,
        };
        let facts = PrefixFacts {
            lane: "/p/lane".into(),
            mounts: vec![mount("/p/lane", "/p/lane", true), mount("/s/link", "/p/lane/.git", false)],
            env: vec!["HOME".into(), "KEY".into()],
        };
        let prefix = ["box", "--volume={mount}", "--env={env}", "-w", "{lane}", "--"].map(str::to_owned);
        let words: Vec<String> =
            expand_prefix(&prefix, &facts).into_iter().map(|word| word.into_string().unwrap()).collect();
        assert_eq!(
            words,
            [
                "box",
                "--volume=/p/lane:/p/lane:rw",
                "--volume=/s/link:/p/lane/.git:ro",
                "--env=HOME",
                "--env=KEY",
                "-w",
                "/p/lane",
                "--"
            ]
        );
    }
}
