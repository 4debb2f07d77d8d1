//! Disk space.

use std::{io, path::Path};

use nix::sys::statvfs::statvfs;

/// The bytes that an unprivileged user can still write on this path's file system.
pub fn free(path: &Path) -> io::Result<u64> {
    let found = statvfs(path)?;
    Ok(found.blocks_available().saturating_mul(found.fragment_size()))
}

/// The total size of this path's file system, in bytes.
pub fn size(path: &Path) -> io::Result<u64> {
    let found = statvfs(path)?;
    Ok(found.blocks().saturating_mul(found.fragment_size()))
}
