//! Waiting for changes of files and directories with inotify. The end of a process wakes the waiter as well. When inotify has
//! no watches left, a short poll interval replaces it.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

use super::poll::poll;

/// The poll interval without inotify.
const FALLBACK_INTERVAL: Duration = Duration::from_millis(100);

/// Watched files and directories. The caller checks its condition once after it has added a path, then after each wait, so that
/// it misses no change.
#[derive(Debug)]
pub struct FileWatch {
    inotify: Option<Inotify>,
}

impl FileWatch {
    pub fn new() -> Self {
        Self { inotify: Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok() }
    }

    /// Wakes the waiter when an entry of this directory is created, deleted or replaced, and when the directory itself is
    /// deleted.
    pub fn watch_dir(&mut self, dir: &Path) {
        use AddWatchFlags as Flags;
        self.add(dir, Flags::IN_CREATE | Flags::IN_MOVED_TO | Flags::IN_DELETE | Flags::IN_DELETE_SELF);
    }

    /// Wakes the waiter when something is written to this file.
    pub fn watch_file(&mut self, file: &Path) {
        self.add(file, AddWatchFlags::IN_MODIFY);
    }

    fn add(&mut self, path: &Path, flags: AddWatchFlags) {
        let added = self.inotify.as_ref().is_some_and(|inotify| inotify.add_watch(path, flags).is_ok());
        if !added {
            self.inotify = None;
        }
    }

    /// Sleeps until a watched path has changed, a process of `ends` (pidfds) has ended, the reader of `stream` is gone, or the
    /// limit is over (`None`: no limit). It may also return without any of these, so the caller must check its condition.
    pub fn wait(&self, limit: Option<Duration>, ends: &[BorrowedFd<'_>], stream: Option<BorrowedFd<'_>>) {
        let limit = match &self.inotify {
            Some(_) => limit,
            None => Some(limit.map_or(FALLBACK_INTERVAL, |limit| limit.min(FALLBACK_INTERVAL))),
        };
        let mut ready: Vec<PollFd<'_>> = ends.iter().map(|end| PollFd::new(*end, PollFlags::POLLIN)).collect();
        ready.extend(self.inotify.as_ref().map(|inotify| PollFd::new(inotify.as_fd(), PollFlags::POLLIN)));
        // A hang-up is reported whatever is asked for.
        ready.extend(stream.map(|stream| PollFd::new(stream, PollFlags::empty())));
        // An interrupted wait ends early; the caller checks its condition again.
        let _ = poll(&mut ready, limit);
        self.drain();
    }

    /// A descriptor that becomes readable when a watched path changes. `None` when inotify could not watch a path; [`Self::wait`]
    /// then returns at short intervals.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(AsFd::as_fd)
    }

    /// Discards the recorded changes, so that the caller checks its condition once for all of them. Returns whether there were
    /// any.
    pub fn drain(&self) -> bool {
        let mut has_news = false;
        while self.inotify.as_ref().is_some_and(|inotify| inotify.read_events().is_ok_and(|events| !events.is_empty()))
        {
            has_news = true;
        }
        has_news
    }
}

impl Default for FileWatch {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Instant;

    use super::*;

    #[test]
    fn wakes_for_a_new_entry_and_for_new_content_and_else_at_the_limit() {
        const LONG: Duration = Duration::from_secs(20);
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("f");
        let mut watch = FileWatch::new();
        watch.watch_dir(home.path());
        let start = Instant::now();
        watch.wait(Some(Duration::from_millis(20)), &[], None);
        assert!(start.elapsed() >= Duration::from_millis(20));
        fs::write(&file, "").unwrap();
        watch.wait(Some(LONG), &[], None);
        watch.watch_file(&file);
        fs::write(&file, "x").unwrap();
        watch.wait(Some(LONG), &[], None);
        assert!(start.elapsed() < LONG);
        // Without a watch to be had it still ends.
        watch.watch_file(&home.path().join("none"));
        watch.wait(None, &[], None);
    }
}
