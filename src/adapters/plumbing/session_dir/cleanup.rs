//! The end of a session: its whole tree, and what must not outlive it.

use std::{fs, io, time::Duration};

use super::dir::{ENVIRONMENT_FILE, INPUT_FIFO, START_FILE, STARTED_BY_FILE, STARTER_FILE, SessionDir, VALUES_DIR};
use crate::{
    adapters::StartConfig,
    env::vars,
    os::{
        process::{ProcessKey, ProcessStatus},
        process_tree,
    },
};

/// Its root has said its last word, and whether all is to be forgotten.
const FINISHED_FILE: &str = "concluded";
const GRACE: Duration = Duration::from_secs(2);
/// Callers kill after two seconds what they have told to end.
const ROLL_BACK_GRACE: Duration = Duration::from_millis(500);

impl SessionDir {
    /// Ends the session's whole tree, also what left it, and forgets the session. One that is not there is no failure.
    ///
    /// # Errors
    /// When something would not die.
    pub fn kill_tree(&self) -> io::Result<()> {
        self.kill_within(GRACE)
    }

    /// The same for a start that is taken back: whoever gave it up does not wait long. A session that another call has
    /// started is left alone.
    ///
    /// # Errors
    /// When something would not die.
    pub fn roll_back(&self) -> io::Result<()> {
        if self.is_started_by_us() { self.kill_within(ROLL_BACK_GRACE) } else { Ok(()) }
    }

    /// Ends what a dead session left behind, and forgets it, so that its name is free.
    pub(super) fn end_leftovers(&self) -> io::Result<()> {
        self.end_tree(GRACE)?;
        self.remove()
    }

    fn kill_within(&self, grace: Duration) -> io::Result<()> {
        if !self.path.exists() {
            return Ok(());
        }
        self.end_tree(grace)?;
        let _turn = self.lock_state_dir()?;
        // One that was just coming up has its root by now, or will find nothing to be the root of.
        self.end_tree(grace)?;
        self.remove()
    }

    fn end_tree(&self, grace: Duration) -> io::Result<()> {
        let root = self.root();
        let mark = self.start_config()?.and_then(|start| env_tag(&start));
        let left = process_tree::terminate(grace, || {
            let mut found = match &root {
                // Only while it is this very process: its number may be another's by now.
                Some(root) if root.status() == ProcessStatus::Alive => {
                    process_tree::subtree(root.pid, mark.as_deref())?
                }
                _ => Vec::new(),
            };
            if let Some(mark) = &mark {
                found.extend(process_tree::with_env_entry(mark)?);
            }
            Ok(found)
        })?;
        if !left.is_empty() {
            let pids: Vec<String> = left.iter().map(|key| key.pid.to_string()).collect();
            return Err(io::Error::other(format!("would not die: {}", pids.join(" "))));
        }
        Ok(())
    }

    /// The root's last word: what must not outlive the session is forgotten, and all of it with `forgets`. While the start
    /// still goes on that is left to it.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn finish(&self, own: &ProcessKey, forgets: bool) -> io::Result<()> {
        let _turn = self.lock_state_dir()?;
        if self.root().as_ref() != Some(own) {
            return Ok(());
        }
        if self.is_starting() {
            return self.write_file(FINISHED_FILE, forgets.to_string().as_bytes());
        }
        self.remove_transient_files(forgets)
    }

    /// The start is over: from now on the session may be recycled when it dies.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn finish_start(&self) -> io::Result<()> {
        let _turn = self.lock_state_dir()?;
        let _ = fs::rename(self.file(STARTER_FILE), self.file(STARTED_BY_FILE));
        match fs::read_to_string(self.file(FINISHED_FILE)) {
            Ok(forgets) => self.remove_transient_files(forgets == true.to_string()),
            Err(_) => Ok(()),
        }
    }

    fn remove_transient_files(&self, forgets: bool) -> io::Result<()> {
        if forgets {
            return self.remove();
        }
        for name in [START_FILE, STARTER_FILE, ENVIRONMENT_FILE, INPUT_FIFO] {
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

/// The entry in the environment of everything that a session runs: by it, what left the tree is found, and what is another
/// session's is told apart.
pub(in crate::adapters::plumbing) fn env_tag(start: &StartConfig) -> Option<String> {
    start.var(vars::FAIRWAY_RUN_ID).map(|run| format!("{}={run}", vars::FAIRWAY_RUN_ID))
}
