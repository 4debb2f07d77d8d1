//! Files and directories that only their owner may read, independent of the umask.

use std::ffi::CString;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::fcntl::OFlag;
use nix::libc;

/// Whether the path and each of its names are short enough for the kernel.
pub fn is_path_length_valid(path: &Path) -> bool {
    !fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::InvalidFilename)
}

/// Creates a directory of mode 0700, with its parents, and restricts an existing one of this user to that mode.
///
/// # Errors
/// When it cannot be created, is a link or not a directory, or belongs to another user.
pub fn private_dir(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        // A user with write permission for a parent could replace the directory.
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    private_subdir(path)
}

/// Like [`private_dir`], but the parent directory must exist, so that nothing is created at the old path of a directory that was
/// moved.
pub fn private_subdir(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        done => done?,
    }
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Err(io::Error::other(format!("{} is not a directory", path.display())));
    }
    if found.uid() != super::user::uid() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("{} belongs to another user", path.display()),
        ));
    }
    if found.mode() & 0o777 != 0o700 {
        fs::set_permissions(path, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Opens a file of mode 0600 for reading and writing, and creates it when it is missing. An existing file gets that mode. Does
/// not follow a link.
pub fn private_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlag::O_NOFOLLOW.bits() | OFlag::O_CLOEXEC.bits())
        .open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other(format!("{} is not a file", path.display())));
    }
    // The umask reduces `mode`, and an existing file may have a wider one.
    if found.mode() & 0o777 != 0o600 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Replaces a file atomically and durably: readers see the old content or the new, also after a power cut.
///
/// # Errors
/// When it cannot be written; the old content is then unchanged.
pub fn write_atomic(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    write_and_rename(path, content, mode, true)
}

/// Like [`write_atomic`], but without syncing: a power cut may lose the new content.
///
/// # Errors
/// When it cannot be written; the old content is then unchanged.
pub fn write_atomic_nosync(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    write_and_rename(path, content, mode, false)
}

fn write_and_rename(path: &Path, content: &[u8], mode: u32, outlives: bool) -> io::Result<()> {
    let directory = path.parent().unwrap_or_else(|| Path::new("."));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let draft = directory.join(format!(".{name}.{}.tmp", std::process::id()));
    let write = || -> io::Result<()> {
        let _ = fs::remove_file(&draft);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        file.write_all(content)?;
        if !outlives {
            return fs::rename(&draft, path);
        }
        file.sync_all()?;
        // Closed first: a script that is open for writing cannot be executed under its final name.
        drop(file);
        fs::rename(&draft, path)?;
        sync_parent_dir(path)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(&draft);
    })
}

/// Removes the temporary files that [`write_atomic`] left beside this path in processes that were killed while they wrote.
pub fn remove_drafts(path: &Path) {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return;
    };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let draft = entry.file_name();
        let draft = draft.to_str().and_then(|draft| draft.strip_prefix('.')?.strip_prefix(name)?.strip_prefix('.'));
        let writer = draft.and_then(|draft| draft.strip_suffix(".tmp")?.parse::<u32>().ok());
        if writer.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Syncs the parent directory, so that the name of a file survives a power cut.
pub fn sync_parent_dir(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    File::open(directory.unwrap_or_else(|| Path::new(".")))?.sync_all()
}

/// Renames a file to a name that must be free.
///
/// # Errors
/// `AlreadyExists` when the name is taken; errors of the file system.
#[expect(unsafe_code, reason = "renameat2 has a safe form for one C library only")]
pub fn rename_noreplace(from: &Path, to: &Path) -> io::Result<()> {
    let [from, to] = [from, to].map(|path| CString::new(path.as_os_str().as_bytes()));
    let (from, to) = (from?, to?);
    let here = libc::AT_FDCWD;
    // SAFETY: both are texts that end in NUL and live for the whole call.
    let done =
        unsafe { libc::syscall(libc::SYS_renameat2, here, from.as_ptr(), here, to.as_ptr(), libc::RENAME_NOREPLACE) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_means_private_even_when_it_was_not() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("a/b");
        private_dir(&dir).unwrap();
        fs::set_permissions(&dir, Permissions::from_mode(0o755)).unwrap();
        private_dir(&dir).unwrap();
        assert_eq!(fs::metadata(&dir).unwrap().mode() & 0o777, 0o700);

        let file = dir.join("f");
        fs::write(&file, "x").unwrap();
        private_file(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn path_that_is_not_a_file_is_refused_and_keeps_its_mode() {
        let home = tempfile::tempdir().unwrap();
        let fifo = home.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::from_bits_truncate(0o644)).unwrap();
        let mode = || fs::symlink_metadata(&fifo).unwrap().mode();
        let before = mode();
        assert!(private_file(&fifo).is_err());
        assert_eq!(mode(), before);
    }

    #[test]
    fn planted_link_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("target");
        fs::write(&target, "mine").unwrap();
        let link = home.path().join("link");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(private_file(&link).is_err());
        write_atomic(&link, b"new", 0o600).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
        assert_eq!(fs::read_to_string(&link).unwrap(), "new");
    }
}
