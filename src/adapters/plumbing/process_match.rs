//! Which programs run in a session.

use std::io;

use super::{Folder, session_dir::mark};
use crate::os::{process, process_tree};

impl Folder {
    /// Whether one of these programs runs below the session's root, by exact base name; without names, whether the session
    /// lives.
    ///
    /// # Errors
    /// When it cannot be told.
    pub fn runs_one_of(&self, names: &[String]) -> io::Result<bool> {
        if !self.is_alive()? {
            return Ok(false);
        }
        let (Some(root), false) = (self.root(), names.is_empty()) else { return Ok(true) };
        let mark = self.start()?.and_then(|start| mark(&start));
        let below = process_tree::below(root.pid, mark.as_deref())?;
        let mut found = below.iter().filter(|key| key.pid != root.pid).flat_map(|key| process::names(key.pid));
        Ok(found.any(|found| names.contains(&found)))
    }
}
