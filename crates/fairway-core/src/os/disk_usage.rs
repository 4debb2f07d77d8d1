//! How much space directories take.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The unit of `st_blocks`, in bytes.
const BLOCK_BYTES: u64 = 512;

/// Counts the space of several directories: a file with several names counts once.
#[derive(Debug, Default)]
pub struct DiskUsage {
    /// Device and inode of the files with several names.
    seen: BTreeSet<(u64, u64)>,
}

impl DiskUsage {
    /// The bytes that the files below a directory take. What cannot be read counts as nothing, and links are not followed.
    pub fn below(&mut self, dir: &Path) -> u64 {
        let (mut bytes, mut dirs) = (0_u64, vec![dir.to_path_buf()]);
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                let Ok(found) = entry.metadata() else { continue };
                if found.is_dir() {
                    dirs.push(entry.path());
                } else if found.nlink() > 1 && !self.seen.insert((found.dev(), found.ino())) {
                    continue;
                }
                bytes = bytes.saturating_add(found.blocks().saturating_mul(BLOCK_BYTES));
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_with_several_names_counts_once_and_links_lead_nowhere() {
        let home = tempfile::tempdir().unwrap();
        let (one, other) = (home.path().join("one"), home.path().join("other"));
        fs::create_dir_all(one.join("deep")).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(one.join("deep/file"), vec![1; 64 << 10]).unwrap();
        fs::hard_link(one.join("deep/file"), other.join("same")).unwrap();
        std::os::unix::fs::symlink(&one, other.join("link")).unwrap();
        let mut usage = DiskUsage::default();
        let first = usage.below(&one);
        assert!(first >= 64 << 10, "{first}");
        assert!(usage.below(&other) < 64 << 10);
        assert_eq!(usage.below(&home.path().join("none")), 0);
    }
}
