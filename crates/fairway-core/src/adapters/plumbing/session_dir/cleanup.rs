//! Ending a session: its process tree and its files.

use std::time::Duration;
use std::{fs, io};

use super::dir::{ENVIRONMENT_FILE, INPUT_FIFO, START_FILE, STARTED_BY_FILE, STARTER_FILE, SessionDir, VALUES_DIR};
use crate::adapters::StartConfig;
use crate::env::vars;
use crate::os::process::{ProcessKey, ProcessStatus};
use crate::os::process_tree;

/// The root process has finished; the content says whether to remove the whole directory.
const FINISHED_FILE: &str = "concluded";
const GRACE: Duration = Duration::from_secs(2);
/// Shorter: callers kill a start two seconds after they interrupt it.
const ROLL_BACK_GRACE: Duration = Duration::from_millis(500);

impl SessionDir {
    /// Ends all processes of the session, including those that have left its process tree, and removes the directory. A session
    /// that does not exist is no error.
    pub fn kill_tree(&self) -> io::Result<()> {
        self.kill_within(GRACE, || true)
    }

    /// Like [`kill_tree`](Self::kill_tree), but for a start that is undone: the grace period is shorter, and a session that
    /// another call has started stays.
    pub fn roll_back(&self) -> io::Result<()> {
        self.kill_within(ROLL_BACK_GRACE, || self.is_started_by_us())
    }

    /// Ends the processes that a dead session left behind and removes the session's directory, so that its name can be used
    /// again.
    pub(super) fn end_leftovers(&self) -> io::Result<()> {
        self.tree()?.end(GRACE)?;
        self.remove()
    }

    fn kill_within(&self, grace: Duration, is_meant: impl Fn() -> bool) -> io::Result<()> {
        // Read before the check, so that the processes of a later session with this name are not ended instead.
        let (starter, tree) = (self.started_by(), self.tree()?);
        if !self.path.exists() || !is_meant() {
            return Ok(());
        }
        tree.end(grace)?;
        let _turn = self.lock_state_dir()?;
        // While the processes ended, another call may have removed the session, and another start may have taken its name.
        let has_successor = self.started_by().is_some_and(|now| starter.as_ref() != Some(&now));
        if has_successor || !is_meant() {
            return Ok(());
        }
        // A session that was just starting has its root process by now; otherwise its start finds no directory.
        self.tree()?.end(grace)?;
        self.remove()
    }

    fn tree(&self) -> io::Result<Tree> {
        Ok(Tree { root: self.root(), tag: self.start_config()?.and_then(|start| env_tag(&start)) })
    }

    /// Called by the root process `own` at its end: removes the secrets and the input, or the whole directory with `remove_all`.
    /// While the start is in progress, only records this, and [`finish_start`](Self::finish_start) removes the files. Does
    /// nothing when another process has become the root process.
    pub fn finish(&self, own: &ProcessKey, remove_all: bool) -> io::Result<()> {
        let _turn = self.lock_state_dir()?;
        if self.root().as_ref() != Some(own) {
            return Ok(());
        }
        if self.is_starting() {
            return self.write_file(FINISHED_FILE, remove_all.to_string().as_bytes());
        }
        self.remove_transient_files(remove_all)?;
        let _ = fs::remove_file(self.file(STARTER_FILE));
        Ok(())
    }

    /// Ends the start: removes the files that only the start needed or, when the program has already ended, all that
    /// [`finish`](Self::finish) would have removed. From now on the name can be used again once the session is dead.
    pub fn finish_start(&self) -> io::Result<()> {
        let _turn = self.lock_state_dir()?;
        match fs::read_to_string(self.file(FINISHED_FILE)) {
            Ok(remove_all) => self.remove_transient_files(remove_all == true.to_string())?,
            Err(_) => drop(self.forget_start()?),
        }
        // Last: it says that the start is forgotten.
        let _ = fs::rename(self.file(STARTER_FILE), self.file(STARTED_BY_FILE));
        Ok(())
    }

    fn remove_transient_files(&self, remove_all: bool) -> io::Result<()> {
        if remove_all {
            return self.remove();
        }
        for name in [START_FILE, ENVIRONMENT_FILE, INPUT_FIFO] {
            let _ = fs::remove_file(self.file(name));
        }
        let _ = fs::remove_dir_all(self.file(VALUES_DIR));
        Ok(())
    }

    fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// The processes of a session: the root process with its descendants, and all processes that have the tag.
struct Tree {
    root: Option<ProcessKey>,
    tag: Option<String>,
}

impl Tree {
    fn end(&self, grace: Duration) -> io::Result<()> {
        let left = process_tree::terminate(grace, || {
            let mut found = match &self.root {
                // Only while it is the same process: the kernel may have reused the pid.
                Some(root) if root.status() == ProcessStatus::Alive => {
                    process_tree::subtree(root.pid, self.tag.as_deref())?
                }
                _ => Vec::new(),
            };
            if let Some(tag) = &self.tag {
                found.extend(process_tree::with_env_entry(tag)?);
            }
            Ok(found)
        })?;
        if !left.is_empty() {
            let pids: Vec<String> = left.iter().map(|key| key.pid.to_string()).collect();
            return Err(io::Error::other(format!("would not die: {}", pids.join(" "))));
        }
        Ok(())
    }
}

/// The environment entry (`NAME=value`) that only the processes of this session run have. By it, processes are found that have
/// left the process tree. `None` for a configuration without a run id.
pub(in crate::adapters::plumbing) fn env_tag(start: &StartConfig) -> Option<String> {
    start.var(vars::FAIRWAY_RUN_ID).map(|run| format!("{}={run}", vars::FAIRWAY_RUN_ID))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;
    use crate::adapters::plumbing::StartFiles;

    /// Another call removes the session and starts one of its name, while a stop ends the processes of the first.
    #[test]
    fn stop_leaves_a_later_session_of_the_name_alone() {
        let home = tempfile::tempdir().unwrap();
        let dir = SessionDir::of(&home.path().join("state"), "x");
        let first = ProcessKey::of(i32::try_from(std::process::id()).unwrap()).unwrap();
        let second = ProcessKey { started: first.started + 1, ..first.clone() };
        let create = |starter: &ProcessKey| {
            let (start, caller_env) = (StartConfig::default(), BTreeMap::new());
            let files =
                StartFiles { start: &start, caller_env: &caller_env, work_dir: Path::new("/"), starter: Some(starter) };
            dir.create(&files).unwrap();
        };
        create(&first);
        let is_first_look = Cell::new(true);
        let is_meant = || {
            if is_first_look.replace(false) {
                dir.remove().unwrap();
                create(&second);
            }
            true
        };
        dir.kill_within(Duration::ZERO, is_meant).unwrap();
        assert_eq!(dir.started_by(), Some(second));
        dir.kill_within(Duration::ZERO, || true).unwrap();
        assert!(!dir.path().exists());
    }
}
