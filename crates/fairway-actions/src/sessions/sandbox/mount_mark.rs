//! The mark of the sandboxes that work on a lane now. When bubblewrap closes a name that does not exist, it creates an empty
//! directory in the lane. Removing that directory would open the name in every other sandbox of the lane.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::openings;
use fairway_core::os::files;
use fairway_core::os::lock::{FileLock, SharedLock};

/// How long to wait for another process that marks the lane or removes directories.
const LIMIT: Duration = Duration::from_secs(10);

/// Marks a sandbox as working on the lane until it is released.
#[derive(Debug)]
pub struct MountMark {
    dir: PathBuf,
    _shared: SharedLock,
}

impl MountMark {
    /// Marks a sandbox as working on the lane. `dir` is the directory in which the sandboxes of the lane keep their own files.
    pub fn hold(dir: &Path) -> io::Result<Self> {
        for dir in dir.parent().into_iter().chain([dir]) {
            files::private_dir(dir)?;
        }
        let _alone = alone(dir)?;
        Ok(Self { dir: dir.to_path_buf(), _shared: SharedLock::acquire(&shared(dir))? })
    }

    /// Ends the mark, and removes the empty directories that bubblewrap has left in the lane's worktree, unless another sandbox
    /// works there.
    pub fn release(self, worktree: &Path) -> io::Result<()> {
        let dir = self.dir.clone();
        drop(self);
        let _alone = alone(&dir)?;
        if !SharedLock::is_locked(&shared(&dir))? {
            openings::remove_empty(worktree);
        }
        Ok(())
    }
}

fn shared(dir: &Path) -> PathBuf {
    dir.join("mounts")
}

fn alone(dir: &Path) -> io::Result<Option<FileLock>> {
    FileLock::acquire_within(&dir.join("mounts.lock"), LIMIT)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_last_sandbox_of_a_lane_removes_the_empty_directories() {
        let dir = tempfile::tempdir().unwrap();
        let (own, lane) = (dir.path().join("s/api"), dir.path().join("lane"));
        fs::create_dir_all(lane.join(".vscode")).unwrap();
        fs::create_dir_all(dir.path().join("s")).unwrap();
        let (first, second) = (MountMark::hold(&own).unwrap(), MountMark::hold(&own).unwrap());
        first.release(&lane).unwrap();
        assert!(lane.join(".vscode").exists());
        second.release(&lane).unwrap();
        assert!(!lane.join(".vscode").exists());
    }
}
