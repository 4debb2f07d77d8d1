//! FIFOs at the names of files that git opens by themselves, such as `.gitignore`. Git would wait for a writer for ever. Each
//! reader gets an end of file instead, so that the file is empty for git.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;

/// The files that git opens by their names.
const NAMES: [&str; 4] = [".gitignore", ".gitattributes", ".gitmodules", ".mailmap"];
/// How long git may take before the directory is searched.
const SLOW: Duration = Duration::from_millis(200);
/// How often the readers are answered.
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// The FIFOs below a directory in which git runs.
#[derive(Debug)]
pub(super) struct NamedFifos<'a> {
    dir: &'a Path,
    started: Instant,
    found: Option<Vec<PathBuf>>,
}

impl<'a> NamedFifos<'a> {
    pub(super) fn below(dir: &'a Path) -> Self {
        Self { dir, started: Instant::now(), found: None }
    }

    /// Answers those that wait, once git is slow. Returns when to call it again, `None` for never.
    pub(super) fn answer(&mut self) -> Option<Duration> {
        if let Some(left) = SLOW.checked_sub(self.started.elapsed()).filter(|left| !left.is_zero()) {
            return Some(left);
        }
        let found = self.found.get_or_insert_with(|| {
            let mut found = Vec::new();
            find(self.dir, &mut found);
            found
        });
        for fifo in &*found {
            // Without a reader this fails. The end of file comes with the close.
            let flags = OFlag::O_WRONLY | OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
            drop(open(fifo, flags, Mode::empty()));
        }
        (!found.is_empty()).then_some(PAUSE)
    }
}

fn find(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name();
        if kind.is_dir() && name != ".git" {
            find(&entry.path(), found);
        } else if kind.is_fifo() && NAMES.iter().any(|one| name == *one) {
            found.push(entry.path());
        }
    }
}
