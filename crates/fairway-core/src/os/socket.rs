//! Stream sockets in a directory whose path may be long: an address has room for 107 bytes, so the path goes through a
//! descriptor.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect as connect_to, getsockopt, socket};

/// The longest path in a socket address, in bytes.
const MAX_ADDRESS_BYTES: usize = 107;

/// Whether a path is short enough for a socket address.
pub fn fits_address(path: &Path) -> bool {
    path.as_os_str().as_bytes().len() <= MAX_ADDRESS_BYTES
}

/// Listens on a socket in a directory under a name. Only this user may connect. The listener does not block.
pub fn listen(dir: &Path, name: &str) -> io::Result<UnixListener> {
    let dir = File::open(dir)?;
    let path = short_path(&dir, name);
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Connects to the socket of this name in a directory whose path may be long.
pub fn connect(dir: &Path, name: &str) -> io::Result<UnixStream> {
    let dir = File::open(dir)?;
    UnixStream::connect(short_path(&dir, name))
}

/// Connects to a socket at a path that [`fits_address`], without waiting: a full connection queue is an error, as when no
/// process listens.
pub fn connect_at(path: &Path) -> io::Result<UnixStream> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    connect_to(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

pub fn peer_uid(socket: &impl AsFd) -> io::Result<u32> {
    Ok(getsockopt(socket, PeerCredentials)?.uid())
}

/// The id of the process that listens at the other end of a Unix socket, in this process's pid namespace.
pub fn peer_pid(socket: &impl AsFd) -> io::Result<i32> {
    Ok(getsockopt(socket, PeerCredentials)?.pid())
}

/// A path to a name in an open directory that is short enough for a socket address. Valid as long as `dir` is open.
pub(super) fn short_path(dir: &File, name: impl AsRef<Path>) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd())).join(name)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn path_is_connected_to_without_waiting_and_the_other_end_is_known() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("s");
        assert!(fits_address(&path) && !fits_address(&path.join("x".repeat(200))));
        assert!(connect_at(&path).is_err());
        let _listener = listen(home.path(), "s").unwrap();
        let stream = connect_at(&path).unwrap();
        assert_eq!(peer_uid(&stream).unwrap(), crate::os::user::uid());
    }

    #[test]
    fn dir_with_a_long_path_will_do() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("x".repeat(200));
        fs::create_dir(&dir).unwrap();
        assert!(connect(&dir, "s").is_err());
        let listener = listen(&dir, "s").unwrap();
        assert!(listen(&dir, "s").is_err());
        connect(&dir, "s").unwrap().write_all(b"hi").unwrap();
        let mut said = String::new();
        listener.accept().unwrap().0.read_to_string(&mut said).unwrap();
        assert_eq!(said, "hi");
        drop(listener);
        assert!(connect(&dir, "s").is_err());
    }
}
