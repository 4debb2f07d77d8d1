//! Which programs run in a session.

use std::io;

use super::SessionDir;
use super::session_dir::env_tag;
use crate::os::{process, process_tree};

impl SessionDir {
    /// Whether a descendant of the session's root process runs a program whose base name equals one of `names`. Without names:
    /// whether the session is alive.
    pub fn has_program(&self, names: &[String]) -> io::Result<bool> {
        if !self.is_alive()? {
            return Ok(false);
        }
        let (Some(root), false) = (self.root(), names.is_empty()) else { return Ok(true) };
        let mark = self.start_config()?.and_then(|start| env_tag(&start));
        let below = process_tree::subtree(root.pid, mark.as_deref())?;
        let mut found = below.iter().filter(|key| key.pid != root.pid).flat_map(|key| process::names(key.pid));
        Ok(found.any(|found| names.contains(&found)))
    }
}
