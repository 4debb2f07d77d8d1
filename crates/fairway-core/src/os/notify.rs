//! Wake-ups for waiters: each waiter binds a datagram socket in a directory, and a process that changed something sends a
//! byte to all of them. Sockets of dead waiters are removed by the next sender.

use std::any::Any;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::files;
use super::socket::short_path;

/// A waiter. The socket is removed when it is dropped.
#[derive(Debug)]
pub struct ChangeWaiter {
    socket: UnixDatagram,
    path: PathBuf,
    /// Another source of wake-ups, dropped with the waiter.
    source: Option<Box<dyn Any + Send + Sync>>,
}

impl ChangeWaiter {
    /// Binds a socket in `dir` under a name that no other waiter has. `dir` is created when it is missing. So that no change is
    /// missed, check the condition once after this call, then after each wake-up.
    pub fn bind(dir: &Path, name: &str) -> io::Result<Self> {
        files::private_subdir(dir)?;
        let socket = UnixDatagram::bind(short_path(&File::open(dir)?, name))?;
        let path = dir.join(name);
        Ok(Self { socket, path, source: None })
    }

    /// Makes the waiter own `source`, another source of wake-ups, which is dropped with it.
    #[must_use]
    pub fn with_source(self, source: Box<dyn Any + Send + Sync>) -> Self {
        let mut this = self;
        this.source = Some(source);
        this
    }

    /// A handle that wakes this waiter from any thread.
    pub fn waker(&self) -> io::Result<Waker> {
        let (Some(dir), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(Waker { socket, dir: File::open(dir)?, name: name.to_owned() })
    }

    /// The path of the socket. When the file is removed, no change wakes this waiter any more.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A guard that removes the socket's file when it is dropped: for a waiter in a thread that ends only with the process.
    pub fn file(&self) -> WaiterFile {
        WaiterFile(self.path.clone())
    }

    /// Blocks until a byte arrives or the limit is over (`None`: no limit); returns whether one came.
    pub fn wait(&self, limit: Option<Duration>) -> io::Result<bool> {
        let deadline = limit.map(|limit| Instant::now() + limit);
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(false);
            }
            self.socket.set_read_timeout(left)?;
            match self.socket.recv(&mut [0; 16]) {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.drain()?;
        Ok(true)
    }

    /// Discards all received wake-ups, because one check of the condition answers them all.
    pub fn drain(&self) -> io::Result<()> {
        self.socket.set_nonblocking(true)?;
        while self.socket.recv(&mut [0; 16]).is_ok() {}
        self.socket.set_nonblocking(false)
    }
}

impl AsFd for ChangeWaiter {
    /// Becomes readable when a byte has come.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for ChangeWaiter {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Wakes one waiter.
#[derive(Debug)]
pub struct Waker {
    socket: UnixDatagram,
    dir: File,
    name: OsString,
}

impl Waker {
    /// Sends a byte to the waiter. Failures are ignored: a full socket wakes the waiter anyway, and a waiter that is gone needs
    /// no wake-up.
    pub fn wake(&self) {
        let _ = self.socket.send_to(&[1], short_path(&self.dir, &self.name));
    }
}

/// The file of a waiter's socket. It is removed when this is dropped.
#[derive(Debug)]
pub struct WaiterFile(PathBuf);

impl Drop for WaiterFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Sends a byte to every waiter in `dir`. Does not block and does not fail: a full socket wakes its waiter anyway, and a
/// dead one is removed.
pub fn notify_all(dir: &Path) {
    let (Ok(dir), Ok(entries)) = (File::open(dir), fs::read_dir(dir)) else { return };
    let mut sender = None;
    for path in entries.flatten().map(|entry| entry.path()) {
        let Some(name) = path.file_name() else { continue };
        if sender.is_none() {
            sender = UnixDatagram::unbound().ok().filter(|socket| socket.set_nonblocking(true).is_ok());
        }
        let Some(socket) = &sender else { return };
        if let Err(error) = socket.send_to(&[1], short_path(&dir, name))
            && error.kind() == io::ErrorKind::ConnectionRefused
        {
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dir_with_a_long_path_will_do() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("x".repeat(200));
        let waiter = ChangeWaiter::bind(&dir, "a").unwrap();
        assert!(ChangeWaiter::bind(&dir, "a").is_err());
        notify_all(&dir);
        assert!(waiter.wait(Some(Duration::from_secs(5))).unwrap());
    }

    #[test]
    fn waiter_wakes_and_a_dead_one_is_swept() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("wake");
        let waiter = ChangeWaiter::bind(&dir, "a").unwrap();
        assert!(!waiter.wait(Some(Duration::from_millis(5))).unwrap());
        waiter.waker().unwrap().wake();
        assert!(waiter.wait(Some(Duration::from_secs(5))).unwrap());

        drop(UnixDatagram::bind(dir.join("dead")).unwrap());
        notify_all(&dir);
        assert!(!dir.join("dead").exists());
        assert!(waiter.wait(Some(Duration::from_secs(5))).unwrap());
        assert!(!waiter.wait(Some(Duration::from_millis(5))).unwrap());
        drop(waiter);
        assert!(!dir.join("a").exists());
    }
}
