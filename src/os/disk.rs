//! Room on a disk.

use std::{io, path::Path};

use nix::sys::statvfs::statvfs;

/// How many bytes an ordinary user may still write where this path is.
///
/// # Errors
/// When the file system does not tell.
pub fn free(path: &Path) -> io::Result<u64> {
    let found = statvfs(path)?;
    Ok(found.blocks_available().saturating_mul(found.fragment_size()))
}

/// How many bytes the file system takes in all where this path is.
///
/// # Errors
/// When the file system does not tell.
pub fn size(path: &Path) -> io::Result<u64> {
    let found = statvfs(path)?;
    Ok(found.blocks().saturating_mul(found.fragment_size()))
}
