//! Taking back the commits of a lane's sandbox: the one way by which they come into the project's repository. Nothing of the sandbox's
//! repository is trusted.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::command::{Git, GitError, QUERY_TIMEOUT, output_text, succeeded};
use super::lane_clone::{COPY_TIMEOUT, LaneClone, START, ignore_missing};
use super::merge_repository::MergeRepository;
use crate::os::exit_reason::ExitReason;

/// The result of taking back a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakenBack {
    /// The branch has not moved.
    Unchanged,
    /// The lane's branch is at this commit now.
    Moved { commit: String, commits: usize },
    /// The lane's branch was moved outside meanwhile. The commit is kept under this ref.
    Kept { commit: String, kept_as: String },
}

impl LaneClone {
    /// Brings the commits of the branch into the project's repository and moves the branch there. When the branch was moved there
    /// meanwhile, the commits are kept under a ref of the lane instead. Commits with more new bytes than `limit` are refused. The
    /// sandbox's repository is not trusted: its commit is read as text, and the objects that the project lacks are copied and
    /// checked. `git` is in the lane's worktree; the files of that worktree are not touched.
    ///
    /// # Errors
    /// When git fails, as for an object that is broken, and when the sandbox's repository names other directories of objects than
    /// when it was created.
    pub fn take_back(
        &self,
        git: &Git<'_>,
        lane: &str,
        scratch: &Path,
        limit: Option<u64>,
    ) -> Result<TakenBack, GitError> {
        let start = self.start();
        let Some(commit) = self.commit().filter(|commit| *commit != start) else { return Ok(TakenBack::Unchanged) };
        if self.text("objects/info/alternates").as_deref() != Some(&self.alternates()[..]) {
            return Err(refused("the sandbox's repository names other objects than it was given".to_owned()));
        }
        if git.resolve_commit(&commit)?.is_none() {
            self.copy_objects(git, &commit, &start, scratch, limit)?;
        }
        // Each object that it leads to must be there.
        let args = ["rev-list", "--objects", "--quiet", commit.as_str(), "--not", "--all"];
        git.run_checked("rev-list", &args, COPY_TIMEOUT)?;
        self.refuse_repositories(git, &start, &commit)?;
        let branch = format!("refs/heads/{}", self.branch);
        let current = git.resolve_commit(&branch)?.unwrap_or_default();
        if current != start {
            let kept_as = unused_ref(git, lane, &commit)?;
            git.run_checked("update-ref", &["update-ref", &kept_as, &commit], QUERY_TIMEOUT)?;
            return Ok(TakenBack::Kept { commit, kept_as });
        }
        let range = if start.is_empty() { commit.clone() } else { format!("{start}..{commit}") };
        let count = git.run_checked("rev-list", &["rev-list", "--count", &range], QUERY_TIMEOUT)?;
        let reason = format!("fairway: from the sandbox of {lane}");
        git.run_checked("update-ref", &["update-ref", "-m", &reason, &branch, &commit, &start], QUERY_TIMEOUT)?;
        // The entries of unchanged files keep what is known of the files.
        git.run_checked("read-tree", &["read-tree", "--reset", &commit], COPY_TIMEOUT)?;
        let noted = fs::write(self.dir.join(START), &commit);
        noted.map_err(|error| GitError::Scratch { dir: self.dir.clone(), error })?;
        Ok(TakenBack::Moved { commit, commits: count.parse().unwrap_or_default() })
    }

    /// Refuses a commit of a submodule with a repository behind it that is not one of the project's: the next git of the person would run
    /// the programs that its configuration names.
    fn refuse_repositories(&self, git: &Git<'_>, start: &str, commit: &str) -> Result<(), GitError> {
        let mut paths = git.submodule_paths()?;
        if !start.is_empty() {
            paths.extend(git.new_submodule_pointers(start, commit)?.into_iter().map(|one| one.path));
        }
        match paths.into_iter().find(|path| self.is_foreign_repository(&self.worktree.join(path))) {
            None => Ok(()),
            Some(path) => Err(refused(format!(
                "the commits have {path} as a submodule, and {path} is a repository that was made inside; remove {path}/.git"
            ))),
        }
    }

    /// Whether the directory is a repository that is not one of the project's submodules.
    fn is_foreign_repository(&self, dir: &Path) -> bool {
        let file = dir.join(".git");
        let Ok(found) = file.symlink_metadata() else { return false };
        let text = found.is_file().then(|| fs::read_to_string(&file).ok()).flatten();
        let target =
            text.as_deref().and_then(|text| text.strip_prefix("gitdir: ")).map(|path| dir.join(path.trim_end()));
        !target.and_then(|path| path.canonicalize().ok()).is_some_and(|path| path.starts_with(&self.place))
    }

    /// The directories below the worktree that are repositories and not submodules of the project.
    pub fn foreign_repositories(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut left = vec![self.worktree.clone()];
        while let Some(dir) = left.pop() {
            for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != ".git" {
                    let path = entry.path();
                    found.extend(self.is_foreign_repository(&path).then(|| path.clone()));
                    left.push(path);
                }
            }
        }
        found.sort();
        found
    }

    /// The commit at which the sandbox started, or which was taken last.
    pub fn start(&self) -> String {
        fs::read_to_string(self.dir.join(START)).unwrap_or_default()
    }

    /// Packs the objects that the project lacks into a file, and puts it into the project's objects after every check of git.
    fn copy_objects(
        &self,
        git: &Git<'_>,
        commit: &str,
        start: &str,
        scratch: &Path,
        limit: Option<u64>,
    ) -> Result<(), GitError> {
        // Git would wait at a pipe.
        refuse_other_than_files(&self.repository().join("objects"))?;
        let own = MergeRepository::open(git, scratch)?.reading(&[self.repository().join("objects")]);
        let not = format!("^{start}");
        let new = if start.is_empty() { vec![commit] } else { vec![commit, &not] };
        let size = [&["rev-list", "--objects", "--disk-usage"], &new[..]].concat();
        let size = own.git().run_checked("rev-list", &size, COPY_TIMEOUT)?.parse::<u64>().unwrap_or(u64::MAX);
        if let Some(limit) = limit.filter(|limit| size > *limit) {
            let raise = "raise it: fairway config edit, then fairway trust";
            return Err(refused(format!(
                "the commits have {size} bytes, and sandbox.take_back_limit is {limit}; {raise}"
            )));
        }
        refuse_unfiltered(git, &own.git(), start, commit)?;
        let pack = own.git().dir().join("new");
        let args = ["pack-objects", "--revs", "--quiet", "--delta-base-offset"].map(OsStr::new);
        let wanted = new.join("\n") + "\n";
        let done =
            own.git().run_with(&[&args[..], &[pack.as_os_str()]].concat(), &[], wanted.as_bytes(), COPY_TIMEOUT)?;
        let name = output_text(&succeeded("pack-objects", done)?.stdout);
        let (pack, index) = (own.git().dir().join(format!("new-{name}.pack")), own.git().dir().join("checked.idx"));
        let args = ["index-pack", "--strict", "--no-rev-index", "-o"].map(OsStr::new);
        git.run_checked("index-pack", &[&args[..], &[index.as_os_str(), pack.as_os_str()]].concat(), COPY_TIMEOUT)?;
        let Some(objects) = self.objects.first() else { return Err(refused("the project has no objects".to_owned())) };
        // The objects are there once their index is.
        install(&pack, &objects.join("pack"), &format!("pack-{name}.pack"))
            .and_then(|()| install(&index, &objects.join("pack"), &format!("pack-{name}.idx")))
            .map_err(|error| GitError::Scratch { dir: objects.clone(), error })
    }
}

fn refused(why: String) -> GitError {
    GitError::Failed { step: "take-back", why }
}

/// Refuses a directory with anything but directories and plain files below it.
fn refuse_other_than_files(dir: &Path) -> Result<(), GitError> {
    let failed = |error| GitError::Scratch { dir: dir.to_path_buf(), error };
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            refuse_other_than_files(&entry.path())?;
        } else if !kind.is_file() {
            return Err(refused(format!("{} is neither a file nor a directory", entry.path().display())));
        }
    }
    Ok(())
}

/// Copies a file into a directory of the project's objects, so that it is there as a whole or not at all.
fn install(file: &Path, dir: &Path, name: &str) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    // Git removes old files with such a beginning.
    let beside = dir.join(format!("tmp_{name}"));
    fs::remove_file(&beside).or_else(ignore_missing)?;
    fs::copy(file, &beside)?;
    File::open(&beside)?.sync_all()?;
    fs::rename(beside, dir.join(name))
}

/// The first ref of the lane that keeps no other commit.
fn unused_ref(git: &Git<'_>, lane: &str, commit: &str) -> Result<String, GitError> {
    let mut name = format!("refs/fairway/sandbox/{lane}");
    let mut number = 2;
    while git.resolve_commit(&name)?.is_some_and(|kept| kept != commit) {
        name = format!("refs/fairway/sandbox/{lane}-{number}");
        number += 1;
    }
    Ok(name)
}

/// Refuses new content of a file whose filter git must not do without: inside it is stored as it is, such as a secret in plain text.
fn refuse_unfiltered(git: &Git<'_>, own: &Git<'_>, start: &str, commit: &str) -> Result<(), GitError> {
    let filters = required_filters(git)?;
    if filters.is_empty() || start.is_empty() {
        return Ok(());
    }
    let mut new = Vec::new();
    for mode in ["100644", "100755"] {
        new.extend(own.new_entries(mode, start, commit)?);
    }
    let paths: String = new.iter().map(|(path, _)| format!("{path}\0")).collect();
    let args = ["check-attr", "-z", "--stdin", "filter"];
    let done = succeeded("check-attr", git.run_with(&args, &[], paths.as_bytes(), COPY_TIMEOUT)?)?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let fields: Vec<&str> = text.split_terminator('\0').collect();
    for ((path, blob), found) in new.iter().zip(fields.chunks(3)) {
        let filter = found.get(2).filter(|name| filters.iter().any(|one| one == *name));
        // What the project has came from outside.
        let is_known =
            || Ok::<_, GitError>(git.run(&["cat-file", "-e", blob], QUERY_TIMEOUT)?.exit == ExitReason::Code(0));
        if let Some(filter) = filter
            && !is_known()?
        {
            return Err(refused(format!(
                "{path} needs the filter '{filter}', which is not in the sandbox: commit it outside"
            )));
        }
    }
    Ok(())
}

/// The names of the filters without which git must not store a file.
fn required_filters(git: &Git<'_>) -> Result<Vec<String>, GitError> {
    let done = git.run(&["config", "-z", "--bool", "--get-regexp", r"^filter\..*\.required$"], QUERY_TIMEOUT)?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let name = |entry: &str| {
        let key = entry.strip_suffix("\ntrue")?;
        Some(key.strip_prefix("filter.")?.strip_suffix(".required")?.to_owned())
    };
    Ok(text.split_terminator('\0').filter_map(name).collect())
}
