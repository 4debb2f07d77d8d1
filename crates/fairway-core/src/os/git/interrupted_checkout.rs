//! A fast-forward of a checkout that was killed: which of its files are old, which are new, and how the rest follows. A file
//! that is neither has changed otherwise, and nothing is touched then.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::command::{Git, GitError, QUERY_TIMEOUT, succeeded, unknown_form};
use super::scratch::git_path;
use super::worktree::Repository;
use crate::os::exit_reason::ExitReason;
use crate::os::poll_until::poll_until;
use crate::os::process;

/// The time limit of the final step.
const FINISH_TIMEOUT: Duration = Duration::from_secs(1800);

/// The longest time for which a program that is not git keeps a lock.
const LOCK_LIFE: Duration = Duration::from_millis(400);

/// The mode of a submodule: its directory is not touched by a fast-forward.
const SUBMODULE: &str = "160000";
/// The mode of a symbolic link.
const LINK: &str = "120000";

/// The state of a checkout after a fast-forward was interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoveState {
    /// Nothing of the new commit is there.
    NotStarted,
    /// Every file is the old one, the new one or the beginning of the new one.
    Partial,
    /// These files have any other content.
    Foreign(Vec<String>),
}

/// A checkout whose branch is at `old` and was to be moved to `new`.
#[derive(Debug)]
pub struct InterruptedCheckout<'a> {
    git: Git<'a>,
    old: &'a str,
    new: &'a str,
}

/// A file on one side.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Side {
    mode: String,
    blob: String,
}

/// A file that differs between the two commits; `None` where it is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    path: String,
    old: Option<Side>,
    new: Option<Side>,
}

/// How a file of the worktree compares with the two commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileState {
    Old,
    New,
    Foreign,
}

impl<'a> InterruptedCheckout<'a> {
    /// The checkout at `git`'s working directory, which must be the top of its worktree. Its branch is at `old` and was to be
    /// moved to `new`.
    pub const fn new(git: Git<'a>, old: &'a str, new: &'a str) -> Self {
        Self { git, old, new }
    }

    /// Removes the locks that a killed git left in the checkout. The caller must know that the git which it started has ended.
    /// Locks stay while another git works in the repository.
    pub fn remove_stale_locks(&self) -> Result<(), GitError> {
        for name in ["index.lock", "HEAD.lock", "ORIG_HEAD.lock"] {
            remove_stale(&self.git, &git_path(&self.git, name)?)?;
        }
        Ok(())
    }

    /// Compares the index and the files of the checkout with both commits.
    pub fn inspect(&self) -> Result<MoveState, GitError> {
        let changes = self.changes()?;
        let index = self.index()?;
        let (mut is_started, mut foreign) = (false, Vec::new());
        for change in &changes {
            let staged = index.get(&change.path);
            let is_side = |side: &Option<Side>| staged.map(|(_, side)| side) == side.as_ref();
            is_started |= !is_side(&change.old);
            let is_skipped = staged.is_some_and(|(tag, _)| *tag == 'S') && !self.path(change).exists();
            if !is_side(&change.old) && !is_side(&change.new) {
                foreign.push(change.path.clone());
            } else if !is_skipped {
                match self.file_state(change, &changes)? {
                    FileState::Old => {}
                    FileState::New => is_started = true,
                    FileState::Foreign => foreign.push(change.path.clone()),
                }
            }
        }
        let known: BTreeSet<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        let others = self.git.tracked_changes()?;
        let others = others.into_iter().filter(|path| !known.contains(path.as_str()));
        if !is_started {
            return Ok(MoveState::NotStarted);
        }
        foreign.extend(others);
        Ok(if foreign.is_empty() { MoveState::Partial } else { MoveState::Foreign(foreign) })
    }

    /// Completes the files and the index, after [`Self::inspect`] found the move partial. The branch does not move.
    pub fn finish_files(&self) -> Result<(), GitError> {
        self.git.run_checked("read-tree", &["read-tree", "--reset", "-u", self.new], FINISH_TIMEOUT).map(drop)
    }

    fn path(&self, change: &Change) -> PathBuf {
        self.git.dir().join(&change.path)
    }

    /// The files that differ between the two commits.
    fn changes(&self) -> Result<Vec<Change>, GitError> {
        let args =
            ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", self.old, self.new];
        let done = succeeded("diff-tree", self.git.run(&args, FINISH_TIMEOUT)?)?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        parse_changes(&text).ok_or_else(|| unknown_form("diff-tree"))
    }

    /// The entries of the index with their tags; one with several stages has the mode of none.
    fn index(&self) -> Result<BTreeMap<String, (char, Side)>, GitError> {
        let text = self.git.run_checked("ls-files", &["ls-files", "-z", "-t", "--stage"], FINISH_TIMEOUT)?;
        let mut entries = BTreeMap::new();
        for line in text.split_terminator('\0') {
            let Some((facts, path)) = line.split_once('\t') else { continue };
            let mut facts = facts.split(' ');
            if let (Some(tag), Some(mode), Some(blob)) = (facts.next(), facts.next(), facts.next()) {
                let is_merged = facts.next() == Some("0");
                let side = Side { mode: if is_merged { mode.into() } else { String::new() }, blob: blob.into() };
                entries.insert(path.to_owned(), (tag.chars().next().unwrap_or(' '), side));
            }
        }
        Ok(entries)
    }

    /// Whether each file below a directory is one that the move deletes.
    fn has_only_old_files(&self, dir: &Path, changes: &[Change]) -> Result<bool, GitError> {
        let entries = fs::read_dir(dir).map_err(|error| unreadable(dir, &error))?;
        for entry in entries {
            let path = entry.map_err(|error| unreadable(dir, &error))?.path();
            let is_deleted = |change: &Change| change.new.is_none() && self.path(change) == path;
            let is_known = if path.is_dir() && !path.is_symlink() {
                self.has_only_old_files(&path, changes)?
            } else {
                changes.iter().any(is_deleted)
            };
            if !is_known {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn file_state(&self, change: &Change, changes: &[Change]) -> Result<FileState, GitError> {
        let sides = [&change.old, &change.new];
        if sides.into_iter().flatten().any(|side| side.mode == SUBMODULE) {
            return Ok(FileState::Old);
        }
        // Bytes that are not UTF-8 were replaced: this is another path.
        if change.path.contains(char::REPLACEMENT_CHARACTER) {
            return Ok(FileState::Foreign);
        }
        let path = self.path(change);
        let Ok(found) = path.symlink_metadata() else {
            // A file that is being replaced is absent for a moment. No work is lost with it.
            let is_deleted = change.new.is_none();
            let is_absent_before = change.old.is_none();
            return Ok(if is_absent_before && !is_deleted { FileState::Old } else { FileState::New });
        };
        if found.is_dir() {
            // A directory makes room for a file once all that was in it is gone.
            let is_old = change.old.is_none() && self.has_only_old_files(&path, changes)?;
            return Ok(if is_old { FileState::Old } else { FileState::Foreign });
        }
        let blob = if found.is_symlink() {
            let target = fs::read_link(&path).map_err(|error| unreadable(&path, &error))?;
            let args = ["hash-object", "--stdin", "--no-filters"];
            let done =
                succeeded("hash-object", self.git.run_with(&args, &[], target.as_os_str().as_bytes(), QUERY_TIMEOUT)?)?;
            String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
        } else {
            self.git.run_checked("hash-object", &["hash-object", "--", &change.path], FINISH_TIMEOUT)?
        };
        let is_side = |side: &Option<Side>| {
            side.as_ref().is_some_and(|side| side.blob == blob && (side.mode == LINK) == found.is_symlink())
        };
        // A change of the mode alone counts as not started.
        if is_side(&change.old) {
            return Ok(FileState::Old);
        }
        if is_side(&change.new) || (found.is_file() && self.is_beginning(&path, change)?) {
            return Ok(FileState::New);
        }
        Ok(FileState::Foreign)
    }

    /// Whether a file is the beginning of the new one: git was killed while it wrote.
    fn is_beginning(&self, path: &Path, change: &Change) -> Result<bool, GitError> {
        let Some(new) = &change.new else { return Ok(false) };
        let done =
            self.git.run(&["cat-file", "--filters", &format!("{}:{}", self.new, change.path)], FINISH_TIMEOUT)?;
        let done = if done.exit == ExitReason::Code(0) {
            done
        } else {
            self.git.run(&["cat-file", "blob", &new.blob], FINISH_TIMEOUT)?
        };
        let mut have = Vec::new();
        let read = fs::File::open(path).and_then(|file| {
            let limit = u64::try_from(done.stdout.len()).unwrap_or(u64::MAX).saturating_add(1);
            file.take(limit).read_to_end(&mut have)
        });
        read.map_err(|error| unreadable(path, &error))?;
        Ok(done.stdout.starts_with(&have))
    }
}

impl Git<'_> {
    /// The first lock file that lasts for more than a moment, so that another program must be using it, among those of these
    /// files or refs of the worktree. `None` when there is none.
    pub fn lasting_lock(&self, names: &[&str]) -> Result<Option<PathBuf>, GitError> {
        for name in names {
            let lock = self.lock_of(name)?;
            if stays(&lock) {
                return Ok(Some(lock));
            }
        }
        Ok(None)
    }

    /// The lock of a file or ref of the worktree. In a reftable all refs have one.
    fn lock_of(&self, name: &str) -> Result<PathBuf, GitError> {
        if name == "index" {
            return git_path(self, "index.lock");
        }
        // Git before 2.45 has no reftable, and repeats the flag.
        let format = self.run_checked("rev-parse", &["rev-parse", "--show-ref-format"], QUERY_TIMEOUT)?;
        if format != "reftable" {
            return git_path(self, &format!("{name}.lock"));
        }
        // The refs of a worktree alone are its HEAD and a few others.
        let dir = if name == "HEAD" { "--git-dir" } else { "--git-common-dir" };
        let args = ["rev-parse", "--path-format=absolute", dir];
        Ok(PathBuf::from(self.run_checked("rev-parse", &args, QUERY_TIMEOUT)?).join("reftable/tables.list.lock"))
    }

    /// Removes the lock that a killed git left on a ref. It stays while another git works in the repository.
    pub fn remove_stale_ref_lock(&self, name: &str) -> Result<(), GitError> {
        remove_stale(self, &self.lock_of(name)?)
    }
}

/// Removes a lock that stays for a moment while no git is at work.
fn remove_stale(git: &Git<'_>, lock: &Path) -> Result<(), GitError> {
    if !stays(lock) || is_git_at_work(git) {
        return Ok(());
    }
    match fs::remove_file(lock) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(GitError::Failed { step: "merge", why: format!("{} cannot be removed: {error}", lock.display()) })
        }
        _ => Ok(()),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> GitError {
    GitError::Failed { step: "merge", why: format!("{} cannot be read: {error}", path.display()) }
}

/// Whether a lock is there and does not go within a moment: a program without git, such as an editor, has one for an instant.
fn stays(lock: &Path) -> bool {
    lock.exists() && poll_until(LOCK_LIFE, LOCK_LIFE / 4, || (!lock.exists()).then_some(())).is_none()
}

/// Whether a process named git has its working directory in a worktree of the repository. What cannot be read counts as one.
fn is_git_at_work(git: &Git<'_>) -> bool {
    let worktrees = Repository::around(*git).and_then(|repository| repository.worktrees());
    let (Ok(all), Ok(worktrees)) = (process::all(), worktrees) else { return true };
    let is_inside = |cwd: &Path| cwd.starts_with(git.dir()) || worktrees.iter().any(|one| cwd.starts_with(&one.path));
    all.iter().any(|one| {
        let is_git = process::names(one.pid).iter().any(|name| name == "git");
        is_git && fs::read_link(format!("/proc/{}/cwd", one.pid)).is_ok_and(|cwd| is_inside(&cwd))
    })
}

/// Reads the output of `diff-tree -z --raw`.
fn parse_changes(text: &str) -> Option<Vec<Change>> {
    let mut fields = text.split_terminator('\0');
    let mut changes = Vec::new();
    while let Some(facts) = fields.next() {
        let mut facts = facts.strip_prefix(':')?.split(' ');
        let (old_mode, new_mode) = (facts.next()?, facts.next()?);
        let (old, new) = (facts.next()?, facts.next()?);
        let side =
            |mode: &str, blob: &str| (mode != "000000").then(|| Side { mode: mode.to_owned(), blob: blob.to_owned() });
        let path = fields.next()?.to_owned();
        changes.push(Change { path, old: side(old_mode, old), new: side(new_mode, new) });
    }
    Some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_differences_are_parsed_into_sides() {
        let text = ":100644 100755 aa bb M\0a b\0:000000 120000 00 cc A\0link\0:100644 000000 dd 00 D\0gone\0";
        let side = |mode: &str, blob: &str| Some(Side { mode: mode.into(), blob: blob.into() });
        let change = |path: &str, old, new| Change { path: path.into(), old, new };
        let expected = vec![
            change("a b", side("100644", "aa"), side("100755", "bb")),
            change("link", None, side("120000", "cc")),
            change("gone", side("100644", "dd"), None),
        ];
        assert_eq!(parse_changes(text), Some(expected));
        assert_eq!(parse_changes("100644 x\0"), None);
    }
}
