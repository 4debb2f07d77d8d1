//! Whether a worktree is as it was when git last found no change in it, told by the times of its files and directories. A look
//! that git need not make costs a tenth.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, Metadata},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::command::Git;
use crate::os::{exit_reason::ExitReason, files};

/// What changed within this time may change again without a trace in its times.
const RACY: Duration = Duration::from_secs(2);

/// With more directories that git does not ignore and has no file of, a worktree is not judged by its times.
const MAX_UNTRACKED_DIRS: usize = 200;

/// The file that changes what git ignores in a directory.
const IGNORE: &[u8] = b".gitignore";

/// A path from the top of the worktree.
type Place = Vec<u8>;

/// The states of everything in a worktree that git does not ignore.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WorktreeStates(Vec<(Place, String)>);

impl WorktreeStates {
    /// The states of the files in the private index of `git`, and of all directories that git looks into. `None` where times do
    /// not tell of every change: something is too young, there is a submodule, or git fails.
    pub(super) fn read(git: &Git<'_>, top: &Path, limit: Duration) -> Option<Self> {
        let listed =
            git.run(&["ls-files", "-z", "--stage"], limit).ok().filter(|done| done.exit == ExitReason::Code(0))?;
        let mut places: BTreeSet<Place> = BTreeSet::new();
        for entry in listed.stdout.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let path = entry.splitn(2, |byte| *byte == b'\t').nth(1)?;
            if entry.starts_with(b"160000 ") {
                return None;
            }
            places.insert(path.to_vec());
        }
        let mut dirs: BTreeSet<Place> = BTreeSet::from([Place::new()]);
        for place in &places {
            let slashes = place.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            dirs.extend(slashes.map(|(end, _)| place.get(..end).unwrap_or_default().to_vec()));
        }
        let mut unread: Vec<Place> = dirs.iter().cloned().collect();
        let mut untracked = 0;
        while !unread.is_empty() {
            let mut found = Vec::new();
            for dir in &unread {
                found.extend(directories_in(top, dir)?.into_iter().filter(|one| !dirs.contains(one)));
            }
            unread = not_ignored(git, found, limit)?;
            untracked += unread.len();
            if untracked > MAX_UNTRACKED_DIRS {
                return None;
            }
            dirs.extend(unread.iter().cloned());
            // What is inside of a nested repository is no part of the worktree.
            unread.retain(|dir| fs::symlink_metadata(path(top, dir).join(".git")).is_err());
        }
        for dir in dirs {
            let slash: &[u8] = if dir.is_empty() { b"" } else { b"/" };
            places.insert([&*dir, slash, IGNORE].concat());
            places.insert(dir);
        }
        let youngest = SystemTime::now().checked_sub(RACY)?.duration_since(UNIX_EPOCH).ok()?;
        let mut states = Vec::new();
        for place in places {
            let found = fs::symlink_metadata(path(top, &place)).ok();
            if found.as_ref().is_some_and(|found| is_younger(found, youngest)) {
                return None;
            }
            states.push((place, state(found.as_ref())));
        }
        Some(Self(states))
    }

    /// Keeps the states in a file, under a header that tells what else they depend on.
    pub(super) fn keep(self, file: &Path, header: &str) {
        let mut text = header.as_bytes().to_vec();
        for (place, state) in &self.0 {
            text.push(0);
            text.extend_from_slice(state.as_bytes());
            text.push(b' ');
            text.extend_from_slice(place);
        }
        // Without it git is asked the next time.
        let _ = files::write_atomic_nosync(file, &text, 0o600);
    }
}

/// Whether everything is as the file has it under this header.
pub(super) fn is_as_kept(file: &Path, header: &str, top: &Path) -> bool {
    let Ok(text) = fs::read(file) else { return false };
    let mut fields = text.split(|byte| *byte == 0);
    let is_as_it_was = |field: &[u8]| {
        let at = field.iter().position(|byte| *byte == b' ')?;
        let (kept, place) = (field.get(..at)?, field.get(at + 1..)?);
        Some(state(fs::symlink_metadata(path(top, place)).ok().as_ref()).as_bytes() == kept)
    };
    fields.next() == Some(header.as_bytes()) && fields.all(|field| is_as_it_was(field) == Some(true))
}

fn path(top: &Path, place: &[u8]) -> std::path::PathBuf {
    top.join(OsStr::from_bytes(place))
}

/// The directories in a directory, without those of git and of Fairway itself.
fn directories_in(top: &Path, dir: &Place) -> Option<Vec<Place>> {
    let entries = match fs::read_dir(path(top, dir)) {
        Ok(entries) => entries,
        // It was removed: the index still has its files.
        Err(_) if fs::symlink_metadata(path(top, dir)).is_err() => return Some(Vec::new()),
        Err(_) => return None,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.ok()?;
        let name = entry.file_name();
        let is_own = name == ".git" || (dir.is_empty() && name == ".fairway");
        if !is_own && entry.file_type().ok()?.is_dir() {
            let slash: &[u8] = if dir.is_empty() { b"" } else { b"/" };
            found.push([&**dir, slash, name.as_bytes()].concat());
        }
    }
    Some(found)
}

/// Those of the directories that git does not ignore.
fn not_ignored(git: &Git<'_>, mut found: Vec<Place>, limit: Duration) -> Option<Vec<Place>> {
    if found.is_empty() {
        return Some(found);
    }
    let listed: Vec<u8> = found.iter().flat_map(|place| [&**place, b"\0"].concat()).collect();
    let done = git.run_with(&["check-ignore", "-z", "--stdin"], &[], &listed, limit).ok()?;
    // 1: it ignores none of them.
    if !matches!(done.exit, ExitReason::Code(0 | 1)) {
        return None;
    }
    let ignored: BTreeSet<&[u8]> = done.stdout.split(|byte| *byte == 0).collect();
    found.retain(|place| !ignored.contains(&**place));
    Some(found)
}

fn state(found: Option<&Metadata>) -> String {
    let Some(found) = found else { return "-".to_owned() };
    let (modified, changed) = ((found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec()));
    // The size of a directory says nothing that its times do not.
    let size = if found.is_dir() { 0 } else { found.size() };
    format!("{}:{:o}:{size}:{}.{}:{}.{}", found.ino(), found.mode(), modified.0, modified.1, changed.0, changed.1)
}

fn is_younger(found: &Metadata, than: Duration) -> bool {
    let limit = i64::try_from(than.as_secs()).unwrap_or_default();
    found.mtime() >= limit || found.ctime() >= limit
}
