//! Which files git tracks, and which it ignores.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use super::command::{Git, GitError, QUERY_TIMEOUT, found};

impl Git<'_> {
    /// The first of these names that git tracks in the working directory; `None` when it tracks none of them.
    pub fn first_tracked(&self, names: &[OsString]) -> Result<Option<String>, GitError> {
        let fixed = ["--literal-pathspecs", "ls-files", "-z", "--"].map(OsString::from);
        let args: Vec<OsString> = fixed.into_iter().chain(names.iter().cloned()).collect();
        let text = self.run_checked("ls-files", &args, QUERY_TIMEOUT)?;
        Ok(text.split('\0').next().filter(|name| !name.is_empty()).map(str::to_owned))
    }

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
        let args = ["check-ignore", "--quiet", "--"].map(OsStr::new);
        let args = [&args[..], &[path.as_os_str()]].concat();
        Ok(found("check-ignore", self.run(&args, QUERY_TIMEOUT)?)?.is_some())
    }
}
