//! Small file systems and read-only ones, for root.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::require;

/// A mount that goes away with this value.
pub struct Mount {
    at: PathBuf,
}

impl Mount {
    /// A file system in memory of so many kibibytes; `None`, with a word, where mounting is not permitted.
    pub fn tmpfs(at: &Path, kib: u32) -> Option<Self> {
        Self::at(at, &["-t", "tmpfs", "-o", &format!("size={kib}k"), "tmpfs"])
    }

    /// The folder as it is, over itself.
    pub fn bind_over_itself(at: &Path) -> Option<Self> {
        Self::at(at, &["--bind", &at.to_string_lossy()])
    }

    fn at(at: &Path, words: &[&str]) -> Option<Self> {
        let done = Command::new("mount").args(words).arg(at).output();
        if done.as_ref().is_ok_and(|done| done.status.success()) {
            return Some(Self { at: at.to_owned() });
        }
        // A container may forbid it even to root; a virtual machine of a CI does not.
        require::met(false, format_args!("mounting is not permitted; it needs root and CAP_SYS_ADMIN: {done:?}"));
        None
    }

    /// Makes it read-only, or writable again.
    pub fn set_writable(&self, writable: bool) {
        let how = if writable { "remount,bind,rw" } else { "remount,bind,ro" };
        assert!(Command::new("mount").args(["-o", how]).arg(&self.at).status().unwrap().success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.at).status();
    }
}
