//! Copies of ignored files of the main checkout in a lane's worktree: of those that `.worktreeinclude` or `[lanes] include` names.
//! Their digests are kept beside git's record of the worktree, and go with it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Seek};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::App;
use fairway_core::config::project::{linked_git_dir, worktree_top};
use fairway_core::domain::lane::Lane;
use fairway_core::domain::{Refusal, bytes, plural};
use fairway_core::os::digest::{sha256_hex, sha256_hex_of};
use fairway_core::os::files;
use fairway_core::os::git::Git;
use fairway_core::os::opened_dir::BeneathRoot;

/// The file with patterns at the top of the main checkout, which other tools read too.
pub const INCLUDE_FILE: &str = ".worktreeinclude";

const RECORD: &str = "fairway-copies";

/// How many bytes are told before they are copied.
const MANY_BYTES: u64 = 1 << 30;

/// After how many files the state of the copying is told again.
const FILES_PER_STATE: usize = 500;

/// Whether changed copies keep a worktree that is to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    Keep,
    Discard,
}

impl Copies {
    /// Forgets the copies in a lane's worktree when they are to be discarded.
    pub(super) fn prepare(self, lane: &Lane) {
        let record = lane.worktree.as_ref().and_then(|dir| record_file(Path::new(dir)));
        if let (Self::Discard, Some(record)) = (self, record) {
            let _ = fs::remove_file(record);
        }
    }
}

/// A copy by its path in the worktree, with the digest of what was copied.
type Copy = (PathBuf, String);

/// The file with the digests of the copies in a linked worktree; `None` for every other directory.
fn record_file(dir: &Path) -> Option<PathBuf> {
    linked_git_dir(dir).map(|own| own.join(RECORD))
}

/// Whether the copies were made, also when no file was missing.
pub(super) fn are_made(dir: &Path) -> bool {
    record_file(dir).is_some_and(|record| record.exists())
}

/// Copies the files that are missing in a linked worktree. Returns notes about what was copied and what was not.
///
/// # Errors
/// `copy_failed`: then none of them was copied; `git_failed`.
pub(crate) fn copy_missing(app: &App, dir: &Path) -> Result<Vec<String>> {
    let (Some(main), Some(record)) = (worktree_top(&app.project.root), record_file(dir)) else {
        return Ok(Vec::new());
    };
    let Some((found, mut notes)) = missing(app, &main, dir)? else { return Ok(Vec::new()) };
    let size = |path: &PathBuf| main.join(path).symlink_metadata().map_or(0, |found| found.len());
    let size = found.iter().map(size).sum();
    let what = format!("{} ({})", plural::count(found.len(), "ignored file"), bytes::show(size));
    if size > MANY_BYTES {
        app.progress.note(&format!("copying {what} into {}", dir.display()));
    }
    let mut made = Vec::new();
    let done = copy_all(app, &main, dir, &found, &mut made).and_then(|()| {
        let again: BTreeSet<&PathBuf> = made.iter().map(|(path, _)| path).collect();
        let before = read_record(&record).into_iter().filter(|(path, _)| !again.contains(path));
        let all: Vec<Copy> = before.chain(made.clone()).collect();
        write_record(&record, &all).map_err(|error| (PathBuf::from(RECORD), error))
    });
    app.progress.state("");
    if let Err((path, error)) = done {
        for (path, _) in made.iter().rev() {
            take_back(dir, path);
        }
        let (path, dir) = (path.display().to_string(), dir.display().to_string());
        return Err(Refusal::CopyFailed { path, dir, why: error.to_string() }.into());
    }
    if !made.is_empty() {
        notes.insert(0, format!("copied {what} from the main checkout"));
    }
    Ok(notes)
}

/// The files to copy, and notes about those that match and are not copied; `None` without patterns.
fn missing(app: &App, main: &Path, dir: &Path) -> Result<Option<(Vec<PathBuf>, Vec<String>)>> {
    let (include, patterns) = (main.join(INCLUDE_FILE), &app.settings.lanes.include);
    let mut notes = Vec::new();
    let file = match include.symlink_metadata() {
        Ok(found) if found.is_file() => Some(include),
        Ok(_) => {
            notes.push(format!("{INCLUDE_FILE} is no regular file, so it is not read"));
            None
        }
        Err(_) => None,
    };
    if file.is_none() && patterns.is_empty() {
        return Ok(None);
    }
    let git = Git::new(app.env.vars(), main);
    let matching = git.untracked_matching(file.as_deref(), patterns)?;
    let ignored = git.ignored_of(&matching)?;
    let is_own = |path: &PathBuf| main.join(path).starts_with(&app.project.state);
    let matching: Vec<PathBuf> = matching.into_iter().filter(|path| ignored.contains(path) && !is_own(path)).collect();
    let (files, others): (Vec<_>, Vec<_>) =
        matching.into_iter().partition(|path| main.join(path).symlink_metadata().is_ok_and(|found| found.is_file()));
    let (free, taken): (Vec<_>, Vec<_>) = files.into_iter().partition(|path| is_free(dir, path));
    let led_away = taken.into_iter().filter(|path| dir.join(path).symlink_metadata().is_err());
    // An agent would commit a copy that git does not ignore.
    let hidden = Git::new(app.env.vars(), dir).ignored_of(&free)?;
    let (found, open): (Vec<_>, Vec<_>) = free.into_iter().partition(|path| hidden.contains(path));
    for (paths, why) in [
        (others, "only regular files are copied"),
        (led_away.collect(), "the branch has a link or a file on their way"),
        (open, "git does not ignore them on the branch"),
    ] {
        if let Some(first) = paths.first() {
            let more = paths.len() - 1;
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            notes.push(format!("not copied: {}{more}: {why}", first.display()));
        }
    }
    Ok(Some((found, notes)))
}

/// Whether nothing is at a path below `dir`, and only directories on the way there.
fn is_free(dir: &Path, path: &Path) -> bool {
    let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    let is_way = |above: &Path| dir.join(above).symlink_metadata().map_or(true, |found| found.is_dir());
    dir.join(path).symlink_metadata().is_err() && above.into_iter().all(is_way)
}

fn copy_all(
    app: &App,
    main: &Path,
    dir: &Path,
    found: &[PathBuf],
    made: &mut Vec<Copy>,
) -> Result<(), (PathBuf, io::Error)> {
    let roots = BeneathRoot::open(main).and_then(|from| Ok((from, BeneathRoot::open(dir)?)));
    let (from, to) = roots.map_err(|error| (dir.to_path_buf(), error))?;
    for (done, path) in found.iter().enumerate() {
        if done % FILES_PER_STATE == 0 {
            app.progress.state(&format!("copied {done} of {}", plural::count(found.len(), "file")));
        }
        // A file that went meanwhile is no failure.
        let digest = copy_one(&from, &to, path).map_err(|error| (path.clone(), error))?;
        made.extend(digest.map(|digest| (path.clone(), digest)));
    }
    Ok(())
}

/// Copies a file and returns the digest of its content. Returns `None` when the file is no regular one any more, and when the
/// lane has a file of this name.
fn copy_one(from: &BeneathRoot, to: &BeneathRoot, path: &Path) -> io::Result<Option<String>> {
    let (Some(mut file), Some(name)) = (from.open_file(path)?, path.file_name()) else { return Ok(None) };
    let mode = file.metadata()?.permissions().mode();
    let parent = to.create_dir(path.parent().unwrap_or_else(|| Path::new("")))?;
    if !parent.copy_new(name, &mut file, mode)? {
        return Ok(None);
    }
    file.rewind()?;
    sha256_hex_of(file).map(Some)
}

/// Removes a copy, and the directories above it that are empty then.
fn take_back(dir: &Path, path: &Path) {
    let _ = fs::remove_file(dir.join(path));
    for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
        if fs::remove_dir(dir.join(above)).is_err() {
            return;
        }
    }
}

/// The copies in a worktree whose content has changed. A copy that is gone is no loss.
pub(super) fn changed(dir: &Path) -> Vec<String> {
    let Some(record) = record_file(dir) else { return Vec::new() };
    let is_changed = |(path, digest): &Copy| {
        let path = dir.join(path);
        match path.symlink_metadata() {
            Err(_) => false,
            Ok(found) if !found.is_file() => true,
            Ok(_) => !File::open(&path).and_then(sha256_hex_of).is_ok_and(|now| now == *digest),
        }
    };
    let changed = read_record(&record).into_iter().filter(is_changed);
    changed.map(|(path, _)| path.to_string_lossy().into_owned()).collect()
}

/// The paths of the copies in a worktree.
pub(crate) fn paths(dir: &Path) -> Vec<String> {
    let copies = record_file(dir).map(|record| read_record(&record)).unwrap_or_default();
    copies.into_iter().map(|(path, _)| path.to_string_lossy().into_owned()).collect()
}

/// Reads the record: a digest, a space, a path and a NUL for each copy.
fn read_record(record: &Path) -> Vec<Copy> {
    let digits = sha256_hex(b"").len();
    let bytes = fs::read(record).unwrap_or_default();
    let entry = |entry: &[u8]| {
        let (digest, path) = entry.split_at_checked(digits)?;
        let path = OsString::from_vec(path.strip_prefix(b" ")?.to_vec());
        Some((PathBuf::from(path), String::from_utf8(digest.to_vec()).ok()?))
    };
    bytes.split(|byte| *byte == 0).filter_map(entry).collect()
}

fn write_record(record: &Path, copies: &[Copy]) -> io::Result<()> {
    let mut bytes = Vec::new();
    for (path, digest) in copies {
        bytes.extend([digest.as_bytes(), b" ", path.as_os_str().as_bytes(), b"\0"].concat());
    }
    files::write_atomic(record, &bytes, 0o600)
}
