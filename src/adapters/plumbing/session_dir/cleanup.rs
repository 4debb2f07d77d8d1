//! The end of a session: its whole tree, and what must not outlive it.

use std::{fs, io, time::Duration};

use super::{AROUND, Folder, INPUT, META, START, STARTED_BY, STARTER};
use crate::{
    adapters::StartConfig,
    env::vars,
    os::{
        process::{Presence, ProcessKey},
        process_tree,
    },
};

/// Its root has said its last word, and whether all is to be forgotten.
const CONCLUDED: &str = "concluded";
const GRACE: Duration = Duration::from_secs(2);
/// Callers kill after two seconds what they have told to end.
const ROLL_BACK: Duration = Duration::from_millis(500);

impl Folder {
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
        if self.is_started_here() { self.kill_within(ROLL_BACK) } else { Ok(()) }
    }

    /// Ends what a dead session left behind, and forgets it, so that its name is free.
    pub(super) fn end_left(&self) -> io::Result<()> {
        self.end_tree(GRACE)?;
        self.remove()
    }

    fn kill_within(&self, grace: Duration) -> io::Result<()> {
        if !self.path.exists() {
            return Ok(());
        }
        self.end_tree(grace)?;
        let _turn = self.turn()?;
        // One that was just coming up has its root by now, or will find nothing to be the root of.
        self.end_tree(grace)?;
        self.remove()
    }

    fn end_tree(&self, grace: Duration) -> io::Result<()> {
        let root = self.root();
        let mark = self.start()?.and_then(|start| mark(&start));
        let left = process_tree::end(grace, || {
            let mut found = match &root {
                // Only while it is this very process: its number may be another's by now.
                Some(root) if root.presence() == Presence::Alive => process_tree::below(root.pid, mark.as_deref())?,
                _ => Vec::new(),
            };
            if let Some(mark) = &mark {
                found.extend(process_tree::marked(mark)?);
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
    pub fn conclude(&self, own: &ProcessKey, forgets: bool) -> io::Result<()> {
        let _turn = self.turn()?;
        if self.root().as_ref() != Some(own) {
            return Ok(());
        }
        if self.is_starting() {
            return self.note(CONCLUDED, forgets.to_string().as_bytes());
        }
        self.close(forgets)
    }

    /// The start is over: from now on the session may be recycled when it dies.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn settle(&self) -> io::Result<()> {
        let _turn = self.turn()?;
        let _ = fs::rename(self.file(STARTER), self.file(STARTED_BY));
        match fs::read_to_string(self.file(CONCLUDED)) {
            Ok(forgets) => self.close(forgets == true.to_string()),
            Err(_) => Ok(()),
        }
    }

    fn close(&self, forgets: bool) -> io::Result<()> {
        if forgets {
            return self.remove();
        }
        for name in [START, STARTER, AROUND, INPUT] {
            let _ = fs::remove_file(self.file(name));
        }
        let _ = fs::remove_dir_all(self.file(META));
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
pub(in crate::adapters::plumbing) fn mark(start: &StartConfig) -> Option<String> {
    start.var(vars::FAIRWAY_RUN_ID).map(|run| format!("{}={run}", vars::FAIRWAY_RUN_ID))
}
