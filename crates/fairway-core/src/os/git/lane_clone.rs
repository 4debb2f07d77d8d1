//! A repository of its own for the programs that work on a lane in a sandbox. It reads the project's objects and has refs, an
//! index and a configuration of its own. No git outside ever runs in it: it is written before the programs start, and
//! afterwards its branch is read as a text and its objects as objects.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::libc;

use super::command::{Git, GitError, QUERY_TIMEOUT, output_text};
use super::repository_facts::RepositoryFacts;
use super::scratch::{copy_with_time, git_path};
use crate::os::exit_reason::ExitReason;

/// The time limit of copying the new objects.
pub(super) const COPY_TIMEOUT: Duration = Duration::from_secs(300);
/// The largest file of the repository that is read, in bytes.
const MAX_TEXT_BYTES: u64 = 64 << 20;

/// The names of the directory that is the repository and of the file that replaces the worktree's `.git`, and the beginning of
/// the names of links to the project's objects.
const REPOSITORY: &str = "git";
const LINK: &str = "link";
const OBJECTS: &str = "objects-";
/// The branch of the place without a worktree, where there is no commit. None has this name.
const UNBORN: &str = "none";
/// The beginning of the name of a directory with a repository whose commits were refused, before its number, and the file in it with
/// the reason.
const REFUSED: &str = "refused-";
const WHY: &str = "why";
/// The file with the commit at which it started, or which was taken last.
pub(super) const START: &str = "start";

/// The repository of a lane's sandbox.
#[derive(Debug, Clone)]
pub struct LaneClone {
    pub(super) dir: PathBuf,
    /// The directory of the lane's sandbox, which has `dir` inside when the commits were refused.
    pub(super) lane_dir: PathBuf,
    /// The lane's branch; empty for a clone without a branch.
    pub(super) branch: String,
    /// The project's directories of objects, which it reads.
    pub(super) objects: Vec<PathBuf>,
    /// Its path inside the sandbox: that of the project's repository, so that programs find what they know of the project.
    pub place: PathBuf,
    /// The worktree, and the name of its directory in the repository.
    pub(super) worktree: PathBuf,
    name: PathBuf,
}

/// A repository whose commits could not be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedClone {
    pub number: u32,
    pub dir: PathBuf,
    pub why: String,
}

impl LaneClone {
    /// Creates a repository in `dir` for a sandbox that works on the branch `branch`, which is checked out in the worktree at
    /// `git`'s working directory. `dir` must not hold one already.
    ///
    /// # Errors
    /// When git fails, and when the directory cannot be written.
    pub fn create(git: &Git<'_>, dir: &Path, branch: &str) -> Result<Self, GitError> {
        let commit = git.resolve_commit(&format!("refs/heads/{branch}"))?;
        Self::new(git, dir, branch, &commit.unwrap_or_default())
    }

    /// Like [`Self::create`], but without a branch: HEAD is detached at the commit of the worktree. Commits that are made in it
    /// are not brought into the project's repository.
    ///
    /// # Errors
    /// As for [`Self::create`].
    pub fn create_detached(git: &Git<'_>, dir: &Path) -> Result<Self, GitError> {
        let commit = git.resolve_commit("HEAD")?;
        Self::new(git, dir, "", &commit.unwrap_or_default())
    }

    /// Whether a repository without a branch has another commit checked out than when it was created.
    pub fn has_new_commit(&self) -> bool {
        let start = self.start();
        let head = self.text(&self.own().join("HEAD").to_string_lossy());
        head.is_some_and(|head| head != self.head(&start))
    }

    /// The file that says what is checked out.
    fn head(&self, commit: &str) -> Vec<u8> {
        match self.branch.as_str() {
            "" if commit.is_empty() => format!("ref: refs/heads/{UNBORN}\n").into_bytes(),
            "" => format!("{commit}\n").into_bytes(),
            branch => format!("ref: refs/heads/{branch}\n").into_bytes(),
        }
    }

    /// The directory of the repository with the worktree's own files.
    fn own(&self) -> PathBuf {
        Path::new("worktrees").join(&self.name)
    }

    /// The directories of the project's objects that the sandbox must show: for each, its path inside of the sandbox and its real
    /// path.
    pub fn shown_objects(&self) -> Vec<(PathBuf, PathBuf)> {
        let inside = |at: usize| self.lane_dir.join(format!("{OBJECTS}{at}"));
        self.objects.iter().enumerate().map(|(at, real)| (inside(at), real.clone())).collect()
    }

    /// The repository below `dir`, as it is or will be.
    fn at(git: &Git<'_>, lane_dir: &Path, dir: &Path, branch: &str, facts: &RepositoryFacts) -> Result<Self, GitError> {
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        let own = git_path(git, "index")?;
        let name = own.parent().and_then(Path::file_name).unwrap_or_default();
        Ok(Self {
            dir: dir.to_path_buf(),
            lane_dir: lane_dir.to_path_buf(),
            branch: branch.to_owned(),
            objects: facts.objects_and_alternates().into_iter().map(real).collect(),
            place: real(facts.common.clone()),
            worktree: git.dir().to_path_buf(),
            name: name.into(),
        })
    }

    fn new(git: &Git<'_>, dir: &Path, branch: &str, commit: &str) -> Result<Self, GitError> {
        let facts = RepositoryFacts::read(git)?;
        let refs = git.run_checked(
            "for-each-ref",
            &["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/remotes"],
            QUERY_TIMEOUT,
        )?;
        let index = git_path(git, "index")?;
        let identity = identity(git)?;
        let failed = |error: io::Error| GitError::Scratch { dir: dir.to_path_buf(), error };
        let new = Self::at(git, dir, dir, branch, &facts)?;
        new.write(&facts, &refs, &index, &identity, commit).map_err(failed)?;
        Ok(new)
    }

    /// The repository that an earlier process has created in `dir`; `None` when there is none.
    pub fn left_in(git: &Git<'_>, dir: &Path, branch: &str) -> Result<Option<Self>, GitError> {
        Self::found_at(git, dir, dir, branch)
    }

    /// The repository whose commits were refused; `None` when it is not complete.
    pub fn of_refused(git: &Git<'_>, refused: &RefusedClone, branch: &str) -> Result<Option<Self>, GitError> {
        Self::found_at(git, refused.dir.parent().unwrap_or(&refused.dir), &refused.dir, branch)
    }

    fn found_at(git: &Git<'_>, lane_dir: &Path, dir: &Path, branch: &str) -> Result<Option<Self>, GitError> {
        if !dir.join(REPOSITORY).is_dir() || !dir.join(START).is_file() {
            return Ok(None);
        }
        Ok(Some(Self::at(git, lane_dir, dir, branch, &RepositoryFacts::read(git)?)?))
    }

    /// The repositories in a lane's directory whose commits were refused, oldest first.
    pub fn refused_in(dir: &Path) -> Vec<RefusedClone> {
        let listed = fs::read_dir(dir).into_iter().flatten().flatten();
        let mut all: Vec<RefusedClone> = listed
            .filter_map(|entry| {
                let number = entry.file_name().to_str()?.strip_prefix(REFUSED)?.parse().ok()?;
                let dir = entry.path();
                let why = fs::read_to_string(dir.join(WHY)).unwrap_or_default();
                dir.join(REPOSITORY).is_dir().then_some(RefusedClone { number, dir, why })
            })
            .collect();
        all.sort_by_key(|one| one.number);
        all
    }

    /// Whether `dir` holds a repository that a sandbox uses, or that a sandbox has left without its commits being brought into
    /// the project's repository.
    pub fn is_open_in(dir: &Path) -> bool {
        dir.join(START).exists()
    }

    /// Removes `dir` with all that ended sandboxes have left in it. It stays when [`Self::set_aside`] has kept commits there.
    pub fn clear(dir: &Path) -> io::Result<()> {
        if Self::refused_in(dir).is_empty() { fs::remove_dir_all(dir).or_else(ignore_missing) } else { Ok(()) }
    }

    /// The directory of the repository, as a path outside of the sandbox.
    pub fn repository(&self) -> PathBuf {
        self.dir.join(REPOSITORY)
    }

    /// The file that the sandbox shows as `.git` in the worktree.
    pub fn link(&self) -> PathBuf {
        self.dir.join(LINK)
    }

    /// Removes the repository. The programs in the sandbox may have written anything there, so no link is followed.
    pub fn remove(&self) -> io::Result<()> {
        fs::remove_file(self.dir.join(START)).or_else(ignore_missing)?;
        fs::remove_dir_all(self.repository()).or_else(ignore_missing)?;
        if self.dir == self.lane_dir { Ok(()) } else { fs::remove_dir_all(&self.dir) }
    }

    /// Keeps the repository, whose commits were refused for this reason, under a number of its own, which it has for ever. Returns
    /// the number.
    pub fn set_aside(&self, why: &str) -> io::Result<u32> {
        let mut number = 1;
        let aside = loop {
            let aside = self.lane_dir.join(format!("{REFUSED}{number}"));
            match DirBuilder::new().mode(0o700).create(&aside) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                made => break made.map(|()| aside)?,
            }
        };
        fs::write(aside.join(WHY), why)?;
        fs::copy(self.dir.join(START), aside.join(START))?;
        fs::rename(self.repository(), aside.join(REPOSITORY))?;
        self.remove()?;
        Ok(number)
    }

    fn write(&self, facts: &RepositoryFacts, refs: &str, index: &Path, identity: &str, commit: &str) -> io::Result<()> {
        let at = self.repository();
        // Half of one, from a process that was killed before any program worked in it.
        fs::remove_dir_all(&at).or_else(ignore_missing)?;
        DirBuilder::new().mode(0o700).create(&at)?;
        for below in ["objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags", "info", "worktrees"]
        {
            fs::create_dir(at.join(below))?;
        }
        // The project's own checkout is not inside, and holds no branch.
        let nothing = Self { branch: String::new(), ..self.clone() };
        fs::write(at.join("HEAD"), nothing.head(commit))?;
        let own = at.join(self.own());
        fs::create_dir(&own)?;
        fs::write(own.join("HEAD"), self.head(commit))?;
        fs::write(own.join("commondir"), "../..\n")?;
        fs::write(own.join("gitdir"), line(&self.worktree.join(".git")))?;
        for (inside, real) in self.shown_objects() {
            fs::remove_file(&inside).or_else(ignore_missing)?;
            symlink(real, inside)?;
        }
        let config = facts.config_of_worktree() + "\tlogallrefupdates = true\n" + identity;
        fs::write(at.join("config"), config)?;
        let mut packed = String::new();
        for line in refs.lines() {
            let _ = writeln!(packed, "{line}");
        }
        fs::write(at.join("packed-refs"), packed)?;
        fs::write(at.join("objects/info/alternates"), self.alternates())?;
        if facts.is_shallow() {
            fs::copy(facts.shallow_file(), at.join("shallow"))?;
        }
        copy_with_time(index, &own.join("index"))?;
        let link = [b"gitdir: ".as_slice(), &line(&self.place.join(self.own()))].concat();
        fs::write(self.link(), link)?;
        fs::write(self.dir.join(START), commit)
    }

    pub(super) fn alternates(&self) -> Vec<u8> {
        self.shown_objects().iter().flat_map(|(inside, _)| line(inside)).collect()
    }

    /// The commit of the branch in the repository.
    pub(super) fn commit(&self) -> Option<String> {
        let name = format!("refs/heads/{}", self.branch);
        let loose = self.text(&name).map(|text| String::from_utf8_lossy(&text).trim_end().to_owned());
        let packed = || {
            let text = String::from_utf8_lossy(&self.text("packed-refs")?).into_owned();
            let found = text.lines().filter_map(|line| line.split_once(' ')).find(|(_, known)| *known == name);
            found.map(|(commit, _)| commit.to_owned())
        };
        loose.or_else(packed).filter(|commit| {
            matches!(commit.len(), 40 | 64) && commit.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        })
    }

    /// The content of a plain file. A pipe that was planted must not keep the reader waiting.
    pub(super) fn text(&self, name: &str) -> Option<Vec<u8>> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
        let file = File::options().read(true).custom_flags(flags).open(self.repository().join(name)).ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MAX_TEXT_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

/// A path and the end of its line.
fn line(path: &Path) -> Vec<u8> {
    [path.as_os_str().as_bytes(), b"\n"].concat()
}

pub(super) fn ignore_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// The section with the person's name and address, under which the programs commit.
fn identity(git: &Git<'_>) -> Result<String, GitError> {
    let mut text = String::from("[user]\n");
    for name in ["name", "email"] {
        let done = git.run(&["config", "--get", &format!("user.{name}")], QUERY_TIMEOUT)?;
        if done.exit == ExitReason::Code(0) {
            let value = output_text(&done.stdout).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ");
            let _ = writeln!(text, "\t{name} = \"{value}\"");
        }
    }
    Ok(text)
}
