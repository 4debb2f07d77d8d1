//! The mark of the sandboxes that work on a lane now. Where bubblewrap closes a name that is not there, it makes an empty directory in
//! the lane; to remove that would open the name in every other sandbox of the lane.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::openings;
use crate::os::{
    files,
    lock::{FileLock, SharedLock},
};

/// How long another process marks or removes.
const LIMIT: Duration = Duration::from_secs(10);

/// A sandbox works on the lane, until this is released.
#[derive(Debug)]
pub struct MountMark {
    dir: PathBuf,
    _shared: SharedLock,
}

impl MountMark {
    /// Marks that one works; `dir` is what the sandboxes of the lane have of their own.
    pub fn hold(dir: &Path) -> io::Result<Self> {
        for dir in dir.parent().into_iter().chain([dir]) {
            files::private_dir(dir)?;
        }
        let _alone = alone(dir)?;
        Ok(Self { dir: dir.to_path_buf(), _shared: SharedLock::acquire(&shared(dir))? })
    }

    /// Removes the empty directories in the lane, unless another sandbox works there.
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
