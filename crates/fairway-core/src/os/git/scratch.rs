//! A directory outside of the repository for git's index and new objects: a question leaves nothing behind.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, FileTimes};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::command::{Git, GitError, QUERY_TIMEOUT};
use crate::os::random;

/// The directory; it is removed when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    dir: PathBuf,
    /// The variables that select it.
    vars: Vec<(OsString, OsString)>,
}

impl Scratch {
    /// Creates a private directory below `parent`, for the index and the new objects of git calls. These calls still read the
    /// objects of `git`'s repository.
    pub fn create(git: &Git<'_>, parent: &Path) -> Result<Self, GitError> {
        let objects = git_path(git, "objects")?;
        let write = || -> io::Result<Self> {
            let name: String = random::hex()?.chars().take(16).collect();
            let dir = parent.join(format!("fairway-git-{name}"));
            DirBuilder::new().mode(0o700).create(&dir)?;
            let vars = vec![("GIT_OBJECT_DIRECTORY".into(), dir.join("objects").into_os_string())];
            let scratch = Self { dir, vars };
            let info = scratch.dir.join("objects/info");
            fs::create_dir_all(&info)?;
            fs::write(info.join("alternates"), [objects.as_os_str().as_bytes(), b"\n"].concat())?;
            Ok(scratch)
        };
        write().map_err(|error| GitError::Scratch { dir: parent.to_path_buf(), error })
    }

    /// Adds a copy of the worktree's index to the directory.
    pub fn with_index_of(mut self, git: &Git<'_>) -> Result<Self, GitError> {
        let path = git_path(git, "index")?;
        copy_with_time(&path, &self.dir.join("index"))
            .map_err(|error| GitError::Scratch { dir: self.dir.clone(), error })?;
        self.vars.push(("GIT_INDEX_FILE".into(), self.dir.join("index").into_os_string()));
        Ok(self)
    }
}

impl<'a> Git<'a> {
    /// Makes this git write its index and new objects into `scratch`.
    #[must_use]
    pub fn with_scratch(self, scratch: &'a Scratch) -> Self {
        self.with_vars(&scratch.vars)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// The absolute path of one of git's files, such as `index`. Git keeps it in the worktree's own git directory or in the shared
/// one.
pub(super) fn git_path(git: &Git<'_>, name: &str) -> Result<PathBuf, GitError> {
    let text =
        git.run_checked("rev-parse", &["rev-parse", "--path-format=absolute", "--git-path", name], QUERY_TIMEOUT)?;
    Ok(PathBuf::from(text))
}

/// Copies an index with its modification time. Git compares that time with those of the files: with a later one it would
/// take a file that changed right after the index was written for an unchanged one.
pub(super) fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = match File::open(from) {
        // A repository without a commit may have none.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let modified = source.metadata()?.modified()?;
    let mut copy = File::options().write(true).create_new(true).open(to)?;
    io::copy(&mut source, &mut copy)?;
    copy.set_times(FileTimes::new().set_modified(modified))
}
