//! Files that git is told to leave out of this clone.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::command::{Git, GitError, QUERY_TIMEOUT, git_error};
use crate::os::exit_reason::ExitReason;

impl Git<'_> {
    /// The file with the patterns of files that git ignores in this clone only.
    ///
    /// # Errors
    /// When git fails, also outside of a repository.
    pub fn exclude_file(&self) -> Result<PathBuf, GitError> {
        let path = self.run_checked("rev-parse", &["rev-parse", "--git-path", "info/exclude"], QUERY_TIMEOUT)?;
        Ok(self.dir().join(path))
    }

    /// Whether git ignores a path, which need not exist. A tracked file is not ignored.
    ///
    /// # Errors
    /// When git fails, also outside of a repository.
    pub fn is_ignored(&self, path: &Path) -> Result<bool, GitError> {
        let fixed = ["check-ignore", "--quiet", "--"].map(OsStr::new);
        let args: Vec<&OsStr> = fixed.into_iter().chain([path.as_os_str()]).collect();
        let done = self.run(&args, QUERY_TIMEOUT)?;
        match done.exit {
            ExitReason::Code(0) => Ok(true),
            ExitReason::Code(1) => Ok(false),
            _ => Err(git_error("check-ignore", &done)),
        }
    }
}
