//! Which files git tracks, and which it ignores.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::command::{Git, GitError, QUERY_TIMEOUT, found, succeeded};

/// How long a walk over all files of a worktree may take.
const WALK_TIMEOUT: Duration = Duration::from_secs(600);

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

    /// The untracked files and links that match these patterns or those in `file`, as paths from the working directory. Git does
    /// not look into repositories below it, nor into directories behind links.
    pub fn untracked_matching(&self, file: Option<&Path>, patterns: &[String]) -> Result<Vec<PathBuf>, GitError> {
        let joined = |option: &str, value: &OsStr| {
            let mut text = OsString::from(option);
            text.push(value);
            text
        };
        let mut args: Vec<OsString> = ["ls-files", "-z", "--others", "--ignored"].map(OsString::from).to_vec();
        args.extend(file.map(|file| joined("--exclude-from=", file.as_os_str())));
        args.extend(patterns.iter().map(|pattern| joined("--exclude=", pattern.as_ref())));
        Ok(paths(&succeeded("ls-files", self.run(&args, WALK_TIMEOUT)?)?.stdout).collect())
    }

    /// The directories that git ignores as a whole, as paths from the working directory: nothing below them is tracked.
    pub fn ignored_dirs(&self) -> Result<Vec<PathBuf>, GitError> {
        let args = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
        let found = succeeded("ls-files", self.run(&args.map(OsString::from), WALK_TIMEOUT)?)?.stdout;
        let dirs = found.split(|byte| *byte == 0).filter_map(|path| path.strip_suffix(b"/"));
        Ok(dirs.map(|path| PathBuf::from(OsString::from_vec(path.to_vec()))).collect())
    }

    /// Those of these paths that git ignores. A tracked file is not ignored.
    pub fn ignored_of(&self, all: &[PathBuf]) -> Result<BTreeSet<PathBuf>, GitError> {
        if all.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut stdin = Vec::new();
        for path in all {
            stdin.extend_from_slice(path.as_os_str().as_bytes());
            stdin.push(0);
        }
        let done = self.run_with(&["check-ignore", "-z", "--stdin"], &[], &stdin, WALK_TIMEOUT)?;
        Ok(found("check-ignore", done)?.map(|done| paths(&done.stdout).collect()).unwrap_or_default())
    }
}

fn paths(listed: &[u8]) -> impl Iterator<Item = PathBuf> {
    listed
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| PathBuf::from(OsString::from_vec(path.to_vec())))
}
