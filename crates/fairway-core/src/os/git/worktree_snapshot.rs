//! A snapshot of a worktree as a commit: what is committed, staged, changed and new in it. Everything is written into a private
//! repository; the worktree, its index and the project's objects stay as they are. No filter, hook or monitor that the
//! repository names runs, because git reads the configuration of the private repository alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::changed_lines::{self, ChangedPath};
use super::command::{Git, GitError, git_error, output_text, unknown_form};
use super::facts_cache::stamp;
use super::integrate::Identity;
use super::repository_facts::RepositoryFacts;
use super::scratch::copy_with_time;
use crate::os::capture::Captured;
use crate::os::exit_reason::ExitReason;

/// The size in bytes above which an untracked file is recorded by name only.
const MAX_UNTRACKED_BYTES: u64 = 1 << 20;
/// The size in bytes above which a changed tracked file is recorded by name only.
const MAX_TRACKED_BYTES: u64 = 32 << 20;
/// Fairway's state directory, which is part of no snapshot.
const STATE_PREFIX: &[u8] = b".fairway/";
/// The file that records the state of the index when it was copied.
const STAMP: &str = "copied";
/// The file with the tree and the commit of the private index as it is, and the commits below.
const WRITTEN: &str = "written";
/// The most paths that are asked for by name; with more of them the whole worktree is looked at.
const MAX_ASKED_PATHS: usize = 200;
/// The file with attributes of the paths in a directory.
const ATTRIBUTES: &str = ".gitattributes";
/// The attribute that names a filter.
const FILTER: &[u8] = b"filter";
/// The file that makes a checkout sparse.
const SPARSE: &str = "info/sparse-checkout";

/// Files in a worktree's git directory that show an unfinished operation, each with a text that says so.
const IN_PROGRESS: [(&str, &str); 4] = [
    ("rebase-merge", "a rebase is in progress"),
    ("rebase-apply", "a rebase is in progress"),
    ("CHERRY_PICK_HEAD", "a cherry-pick is in progress"),
    ("REVERT_HEAD", "a revert is in progress"),
];

/// A worktree as it was at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeSnapshot {
    /// The commit that is checked out.
    pub tip: String,
    /// The branch that is checked out; `None` for a detached HEAD.
    pub branch: Option<String>,
    /// The commit of the snapshot; the tip when nothing is changed.
    pub commit: String,
    /// The tree of the snapshot.
    pub tree: String,
    /// The commit of the base.
    pub base_tip: String,
    /// The commit where the work left the base.
    pub fork: String,
    /// The paths whose content is not in it: large files, nested repositories, files with a filter. Bytes that are not UTF-8
    /// are replaced.
    pub by_name: Vec<String>,
}

/// Where the work of an earlier snapshot left the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownFork<'a> {
    /// The commit that was checked out.
    pub tip: &'a str,
    /// The commit of the base.
    pub base_tip: &'a str,
    /// The commit where they parted.
    pub fork: &'a str,
}

/// The part of a worktree that may have changed since the snapshot before.
#[derive(Debug, Clone, Copy)]
pub struct ChangedPart<'a> {
    /// The files, as absolute paths.
    pub files: &'a [PathBuf],
    /// The paths that the snapshot before changes, as far as it has their content.
    pub known: &'a [&'a str],
    /// The paths that it knows by name only.
    pub by_name: &'a [&'a str],
}

/// The paths that are asked for, from the top of the worktree.
struct AskedPaths {
    paths: BTreeSet<String>,
    /// Those that stay known by name only.
    by_name: BTreeSet<String>,
}

/// Why there is no snapshot.
#[derive(Debug)]
pub enum SnapshotFailure {
    /// The worktree cannot be judged now; why, in words.
    Unknown(String),
    /// The time was over.
    TimedOut,
    /// Git failed.
    Git(GitError),
}

impl From<GitError> for SnapshotFailure {
    fn from(error: GitError) -> Self {
        Self::Git(error)
    }
}

/// The private repository of one worktree. It keeps an index and objects between snapshots, so that only what changed since
/// the last one is read.
#[derive(Debug)]
pub struct SnapshotRepository<'a> {
    /// Git in the worktree, with the caller's variables.
    git: Git<'a>,
    facts: &'a RepositoryFacts,
    dir: PathBuf,
    deadline: Instant,
}

/// The places of a worktree.
struct Worktree {
    top: PathBuf,
    git_dir: PathBuf,
    index: PathBuf,
    tip: String,
    tip_tree: String,
    base_tip: String,
    branch: Option<String>,
}

impl<'a> SnapshotRepository<'a> {
    /// The private repository in `dir` for snapshots of the worktree at `git`'s working directory. Nothing is written yet. Calls
    /// of git end at `deadline`.
    pub fn new(git: Git<'a>, facts: &'a RepositoryFacts, dir: PathBuf, deadline: Instant) -> Self {
        Self { git, facts, dir, deadline }
    }

    /// Takes a snapshot of the worktree, whose base is the branch or commit `base`. `known` tells where the work left the base
    /// in an earlier snapshot, which saves a search. With `part`, only that part of the worktree is examined where possible;
    /// other changes are found only by a snapshot without it.
    ///
    /// # Errors
    /// When the worktree cannot be judged, the time is over or git fails. The next snapshot then starts from a new copy of the
    /// index, unless the failure came while the changed paths were listed.
    pub fn take(
        &self,
        base: &str,
        known: Option<KnownFork<'_>>,
        part: Option<ChangedPart<'_>>,
    ) -> Result<WorktreeSnapshot, SnapshotFailure> {
        let worktree = self.look(base)?;
        if let Some((_, why)) = IN_PROGRESS.iter().find(|(name, _)| worktree.git_dir.join(name).exists()) {
            return Err(SnapshotFailure::Unknown((*why).to_owned()));
        }
        let vars = self.vars(&worktree);
        let private = Git::new_exact(&vars, &worktree.top);
        let is_new_copy = self.copy_index(&private, &worktree).inspect_err(|_| self.forget_copy())?;
        let asked = part.and_then(|part| asked_paths(part, &worktree.top, is_new_copy));
        // Nothing is written until the paths are listed.
        let listed = self.list(&private, asked.as_ref())?;
        self.write(&private, &worktree, base, known, &listed, asked).inspect_err(|_| self.forget_copy())
    }

    /// The copy of the index may be ahead of what was recorded: the next snapshot makes a new one.
    fn forget_copy(&self) {
        let _ = fs::remove_file(self.dir.join(STAMP));
    }

    /// Makes the private repository. Returns whether it has a new copy of the index.
    fn copy_index(&self, private: &Git<'_>, worktree: &Worktree) -> Result<bool, SnapshotFailure> {
        let is_new_copy = self.prepare(worktree).map_err(|error| self.cannot_write(error))?;
        if is_new_copy {
            let unmerged = self.run(private, "ls-files", &["ls-files", "-u", "-z"], b"")?;
            if !unmerged.stdout.is_empty() {
                return Err(SnapshotFailure::Unknown("the index has unmerged files".to_owned()));
            }
        }
        Ok(is_new_copy)
    }

    /// The paths that are changed or new, or those that are asked for.
    fn list(&self, private: &Git<'_>, asked: Option<&AskedPaths>) -> Result<Vec<u8>, SnapshotFailure> {
        let mut args = vec!["ls-files", "-z", "-t", "--others", "--exclude-standard"];
        let Some(asked) = asked else {
            args.extend(["--modified", "--deleted"]);
            return Ok(self.run(private, "ls-files", &args, b"")?.stdout);
        };
        if asked.paths.is_empty() {
            return Ok(Vec::new());
        }
        // Git would compare every file of the index with `--modified`, also with a path.
        let paths: Vec<String> = asked.paths.iter().map(|path| format!(":(literal){path}")).collect();
        args.extend(["--cached", "--"]);
        args.extend(paths.iter().map(String::as_str));
        Ok(self.run(private, "ls-files", &args, b"")?.stdout)
    }

    fn write(
        &self,
        private: &Git<'_>,
        worktree: &Worktree,
        base: &str,
        known: Option<KnownFork<'_>>,
        listed: &[u8],
        asked: Option<AskedPaths>,
    ) -> Result<WorktreeSnapshot, SnapshotFailure> {
        let merged = merge_heads(&worktree.git_dir);
        let by_name = self.update_index(private, worktree, listed, asked)?;
        let below = [std::slice::from_ref(&worktree.tip), &merged].concat().join(" ");
        let (tree, commit) = match self.written(&below) {
            Some(written) => written,
            None => {
                let tree = output_text(&self.run(private, "write-tree", &["write-tree"], b"")?.stdout);
                let commit = if tree == worktree.tip_tree && merged.is_empty() {
                    worktree.tip.clone()
                } else {
                    let parents: Vec<&str> = below.split(' ').collect();
                    private.commit_tree(&tree, &parents, b"snapshot\n", &Identity::Fixed)?
                };
                let text = format!("{below}\n{tree}\n{commit}\n");
                fs::write(self.dir.join(WRITTEN), text).map_err(|error| self.cannot_write(error))?;
                (tree, commit)
            }
        };
        // A snapshot adds no commit of the base, but a merge that is not committed yet does; so does deeper history.
        let known = known.filter(|known| known.tip == worktree.tip && known.base_tip == worktree.base_tip);
        let fork = match known.filter(|_| merged.is_empty() && !self.facts.is_shallow()) {
            Some(known) => known.fork.to_owned(),
            None if merged.is_empty() && worktree.tip == worktree.base_tip => worktree.tip.clone(),
            None => self.fork(private, base, &worktree.base_tip, &commit)?,
        };
        let by_name = by_name.into_iter().collect();
        let (tip, base_tip) = (worktree.tip.clone(), worktree.base_tip.clone());
        Ok(WorktreeSnapshot { tip, branch: worktree.branch.clone(), commit, tree, base_tip, fork, by_name })
    }

    /// The tree and the commit of the private index, written on top of these commits, unless the index has changed since.
    fn written(&self, below: &str) -> Option<(String, String)> {
        let text = fs::read_to_string(self.dir.join(WRITTEN)).ok()?;
        let mut lines = text.lines();
        let is_same = lines.next()? == below;
        let (tree, commit) = (lines.next()?, lines.next()?);
        (is_same && is_id(tree) && is_id(commit)).then(|| (tree.to_owned(), commit.to_owned()))
    }

    /// Where the work left the base.
    fn fork(&self, private: &Git<'_>, base: &str, tip: &str, commit: &str) -> Result<String, SnapshotFailure> {
        let fork = self.run_any(private, &["merge-base", tip, commit])?;
        match fork.exit {
            ExitReason::Code(0) => Ok(output_text(&fork.stdout)),
            ExitReason::Code(1) => Err(SnapshotFailure::Unknown(format!("no common commit with {base}"))),
            _ => Err(SnapshotFailure::Unknown(git_error("merge-base", &fork).to_string())),
        }
    }

    /// The paths that a snapshot changes, with their changed lines, compared with the commit at which its work left the base
    /// branch.
    pub fn changed_paths(&self, snapshot: &WorktreeSnapshot) -> Result<Vec<ChangedPath>, SnapshotFailure> {
        let vars = self.facts.environment(self.git.vars(), &self.dir);
        let private = Git::new_exact(&vars, &self.dir);
        let done = self.run(&private, "diff-tree", &changed_lines::arguments(&snapshot.fork, &snapshot.commit), b"")?;
        changed_lines::parse(&done.stdout).ok_or_else(|| SnapshotFailure::Git(unknown_form("diff-tree")))
    }

    /// The state of the worktree's checkout.
    fn look(&self, base: &str) -> Result<Worktree, SnapshotFailure> {
        if base.starts_with('-') {
            return Err(SnapshotFailure::Unknown(format!("there is no commit '{base}'")));
        }
        let args = ["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-path", "index"];
        let base_commit = format!("{base}^{{commit}}");
        let more = ["--git-common-dir", "HEAD^{commit}", "HEAD^{tree}", &base_commit, "--symbolic-full-name", "HEAD"];
        let args = [&args[..], &more].concat();
        let done = self.run_any(&self.git, &args)?;
        let mut lines = done.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let mut path = || lines.next().map(|line| PathBuf::from(OsStr::from_bytes(line)));
        let (Some(top), Some(git_dir), Some(index), Some(common)) = (path(), path(), path(), path()) else {
            return Err(git_error("rev-parse", &done).into());
        };
        if common != self.facts.common {
            return Err(SnapshotFailure::Unknown("its worktree belongs to another repository".to_owned()));
        }
        let mut commit =
            || lines.by_ref().next().map(|line| String::from_utf8_lossy(line).into_owned()).filter(|id| is_id(id));
        let (Some(tip), Some(tip_tree)) = (commit(), commit()) else {
            return Err(SnapshotFailure::Unknown("nothing is committed".to_owned()));
        };
        let base_tip = commit().filter(|_| done.exit == ExitReason::Code(0));
        let base_tip = base_tip.ok_or_else(|| SnapshotFailure::Unknown(format!("there is no commit '{base}'")))?;
        let branch = lines.next().and_then(|name| name.strip_prefix(b"refs/heads/"));
        let branch = branch.map(|name| String::from_utf8_lossy(name).into_owned());
        Ok(Worktree { top, git_dir, index, tip, tip_tree, base_tip, branch })
    }

    /// Makes the private repository, with a copy of the worktree's index unless it has one of this very index. Returns whether
    /// the copy is new.
    fn prepare(&self, worktree: &Worktree) -> io::Result<bool> {
        let stamp = stamp(&worktree.index);
        let is_kept = stamp.is_some() && fs::read_to_string(self.dir.join(STAMP)).ok() == stamp;
        if !is_kept {
            match fs::remove_dir_all(&self.dir) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            DirBuilder::new().mode(0o700).recursive(true).create(&self.dir)?;
            for part in ["objects", "refs", "info"] {
                fs::create_dir(self.dir.join(part))?;
            }
            fs::write(self.dir.join("HEAD"), "ref: refs/heads/none\n")?;
            copy_with_time(&worktree.index, &self.dir.join("index"))?;
            copy_shared_index(&worktree.git_dir, &self.dir)?;
        }
        let mut config = self.facts.config().replace("\tbare = true\n", "\tbare = false\n");
        if worktree.git_dir.join(SPARSE).exists() {
            config.push_str("[core]\n\tsparseCheckout = true\n");
        }
        fs::write(self.dir.join("config"), config)?;
        for name in ["info/exclude", "info/attributes"] {
            match fs::read(self.facts.common.join(name)) {
                Ok(text) => fs::write(self.dir.join(name), text)?,
                Err(_) => drop(fs::remove_file(self.dir.join(name))),
            }
        }
        if let Some(stamp) = stamp.filter(|_| !is_kept) {
            fs::write(self.dir.join(STAMP), stamp)?;
        }
        Ok(!is_kept)
    }

    fn vars(&self, worktree: &Worktree) -> BTreeMap<OsString, OsString> {
        let mut vars = self.facts.environment(self.git.vars(), &self.dir);
        vars.insert("GIT_WORK_TREE".into(), worktree.top.clone().into_os_string());
        vars
    }

    /// Brings what is listed as changed and new into the private index. Returns the paths that are known by name only.
    fn update_index(
        &self,
        private: &Git<'_>,
        worktree: &Worktree,
        listed: &[u8],
        asked: Option<AskedPaths>,
    ) -> Result<BTreeSet<String>, SnapshotFailure> {
        let (mut wanted, mut absent) = (BTreeSet::new(), BTreeSet::new());
        let mut by_name = asked.map(|asked| asked.by_name).unwrap_or_default();
        for line in listed.split(|byte| *byte == 0) {
            let (Some(tag), Some(path)) = (line.first(), line.get(2..)) else { continue };
            // A path that a sparse checkout leaves out is no change.
            if path.starts_with(STATE_PREFIX) || *tag == b'S' {
                continue;
            }
            if *tag == b'R' || (*tag == b'H' && is_missing(&worktree.top, path)) {
                absent.insert(path);
            }
            if is_by_name(&worktree.top, path, *tag == b'?') {
                by_name.insert(String::from_utf8_lossy(path).into_owned());
            } else {
                wanted.insert(path);
            }
        }
        if wanted.is_empty() {
            return Ok(by_name);
        }
        let list = |paths: &BTreeSet<&[u8]>| paths.iter().flat_map(|path| [*path, b"\0"].concat()).collect::<Vec<u8>>();
        if self.may_have_filter(worktree, &wanted, &absent) {
            let filters =
                self.run(private, "check-attr", &["check-attr", "-z", "--stdin", "filter"], &list(&wanted))?;
            let mut fields = filters.stdout.split(|byte| *byte == 0);
            while let (Some(path), Some(_), Some(value)) = (fields.next(), fields.next(), fields.next()) {
                if !matches!(value, b"unspecified" | b"unset") {
                    wanted.remove(path);
                    by_name.insert(String::from_utf8_lossy(path).into_owned());
                }
            }
        }
        if !wanted.is_empty() {
            let _ = fs::remove_file(self.dir.join(WRITTEN));
            let args = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
            self.run(private, "update-index", &args, &list(&wanted))?;
        }
        Ok(by_name)
    }

    /// Whether a filter may be set for one of these paths. Git reads the attributes in their directories, and for a file that
    /// is absent those in the index, which are not looked at here.
    fn may_have_filter(&self, worktree: &Worktree, wanted: &BTreeSet<&[u8]>, absent: &BTreeSet<&[u8]>) -> bool {
        // Reading a FIFO would wait for a writer.
        let is_special = |file: &Path| fs::metadata(file).is_ok_and(|found| !found.is_file() && !found.is_dir());
        let names_filter = |file: &Path| {
            !is_special(file)
                && match fs::read(file) {
                    Ok(text) => text.windows(FILTER.len()).any(|word| word == FILTER),
                    Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
                }
        };
        let is_attributes = |path: &&&[u8]| path.ends_with(ATTRIBUTES.as_bytes());
        if absent.iter().any(|path| is_attributes(&path)) || worktree.git_dir.join(SPARSE).exists() {
            return true;
        }
        let mut dirs: BTreeSet<PathBuf> = BTreeSet::new();
        for path in wanted {
            let inside = Path::new(OsStr::from_bytes(path)).ancestors().skip(1);
            dirs.extend(inside.map(|dir| worktree.top.join(dir)));
        }
        names_filter(&self.dir.join("info/attributes")) || dirs.iter().any(|dir| names_filter(&dir.join(ATTRIBUTES)))
    }

    /// Runs git, which must succeed.
    fn run(&self, git: &Git<'_>, step: &'static str, args: &[&str], stdin: &[u8]) -> Result<Captured, SnapshotFailure> {
        let done = git.run_with(args, &[], stdin, self.left())?;
        match done.exit {
            ExitReason::Code(0) => Ok(done),
            ExitReason::TimedOut => Err(SnapshotFailure::TimedOut),
            _ => Err(git_error(step, &done).into()),
        }
    }

    /// Runs git, whatever its exit code.
    fn run_any(&self, git: &Git<'_>, args: &[&str]) -> Result<Captured, SnapshotFailure> {
        let done = git.run(args, self.left())?;
        if done.exit == ExitReason::TimedOut { Err(SnapshotFailure::TimedOut) } else { Ok(done) }
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn cannot_write(&self, error: io::Error) -> SnapshotFailure {
        SnapshotFailure::Git(GitError::Scratch { dir: self.dir.clone(), error })
    }
}

fn is_id(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// The paths to ask for; `None` where only a look at the whole worktree tells what has changed.
fn asked_paths(part: ChangedPart<'_>, top: &Path, is_new_copy: bool) -> Option<AskedPaths> {
    let is_directory = |file: &Path| fs::symlink_metadata(file).is_ok_and(|found| found.is_dir());
    let mut paths = BTreeSet::new();
    for file in part.files {
        // Without the links on the way, but a link itself is a file of its own.
        let file = file.parent()?.canonicalize().ok()?.join(file.file_name()?);
        let Ok(path) = file.strip_prefix(top) else { continue };
        // A directory has files that are not named.
        if is_directory(&file) {
            return None;
        }
        paths.insert(path.to_str()?.to_owned());
    }
    if is_new_copy {
        // The copy lacks what was found before.
        let is_plain = |path: &&str| {
            let file = top.join(path);
            let is_real = |dir: &Path| dir.canonicalize().map_or(true, |real| real == dir);
            !path.contains(char::REPLACEMENT_CHARACTER) && !is_directory(&file) && file.parent().is_none_or(is_real)
        };
        if !part.by_name.is_empty() || !part.known.iter().all(is_plain) {
            return None;
        }
        paths.extend(part.known.iter().map(|path| (*path).to_owned()));
    }
    let by_name = part.by_name.iter().filter(|path| !paths.contains(**path)).map(|path| (*path).to_owned()).collect();
    (paths.len() <= MAX_ASKED_PATHS).then_some(AskedPaths { paths, by_name })
}

fn is_missing(top: &Path, path: &[u8]) -> bool {
    fs::symlink_metadata(top.join(OsStr::from_bytes(path))).is_err()
}

/// Copies the files that a split index refers to.
fn copy_shared_index(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)?.flatten() {
        if entry.file_name().as_bytes().starts_with(b"sharedindex.") {
            io::copy(&mut File::open(entry.path())?, &mut File::create(to.join(entry.file_name()))?)?;
        }
    }
    Ok(())
}

/// The commits that an unfinished merge brings in.
fn merge_heads(git_dir: &Path) -> Vec<String> {
    let text = fs::read_to_string(git_dir.join("MERGE_HEAD")).unwrap_or_default();
    text.lines().filter(|line| is_id(line)).map(str::to_owned).collect()
}

/// Whether a changed path is known by its name only. A path that is gone is not.
fn is_by_name(top: &Path, path: &[u8], is_untracked: bool) -> bool {
    let Ok(found) = fs::symlink_metadata(top.join(OsStr::from_bytes(path))) else { return false };
    let limit = if is_untracked { MAX_UNTRACKED_BYTES } else { MAX_TRACKED_BYTES };
    // Of an untracked directory git lists the files, but of a nested repository the directory.
    let is_nested = found.is_dir() && is_untracked;
    let is_special = !found.is_dir() && !found.is_file() && !found.is_symlink();
    is_nested || is_special || (found.is_file() && found.len() > limit)
}
