//! Stream sockets in a folder, whatever the length of its path: an address holds 107 bytes, a descriptor's name is short.

use std::{
    fs::{self, File, Permissions},
    io,
    os::{
        fd::AsRawFd,
        unix::{
            fs::PermissionsExt,
            net::{UnixListener, UnixStream},
        },
    },
    path::{Path, PathBuf},
};

/// Listens under a name in a folder, for this user alone. Never blocks.
///
/// # Errors
/// When the folder is not there, or the name is taken.
pub fn listen(folder: &Path, name: &str) -> io::Result<UnixListener> {
    let folder = File::open(folder)?;
    let path = below(&folder, name);
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Connects to whoever listens there.
///
/// # Errors
/// When nobody does.
pub fn connect(folder: &Path, name: &str) -> io::Result<UnixStream> {
    let folder = File::open(folder)?;
    UnixStream::connect(below(&folder, name))
}

/// A short path of a name in an open folder.
pub(super) fn below(folder: &File, name: impl AsRef<Path>) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_folder_with_a_long_path_will_do() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("x".repeat(200));
        fs::create_dir(&folder).unwrap();
        assert!(connect(&folder, "s").is_err());
        let listener = listen(&folder, "s").unwrap();
        assert!(listen(&folder, "s").is_err());
        connect(&folder, "s").unwrap().write_all(b"hi").unwrap();
        let mut said = String::new();
        listener.accept().unwrap().0.read_to_string(&mut said).unwrap();
        assert_eq!(said, "hi");
        drop(listener);
        assert!(connect(&folder, "s").is_err());
    }
}
