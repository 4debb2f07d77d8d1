//! A server socket in a directory for requests with one reply each. No operation blocks.

use std::{
    fs,
    io::{self, Read, Write},
    os::{
        fd::AsFd,
        unix::net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::socket;

/// The most connections at a time.
const MAX_CONNECTIONS: usize = 64;

/// How the end of a request is recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// By a newline. A caller that closes the connection before the reply is gone.
    Line,
    /// By the end of the stream, when the caller shuts its writing side down.
    Eof,
}

/// A listening socket and its connections.
#[derive(Debug)]
pub struct RequestSocket {
    path: PathBuf,
    listener: UnixListener,
    connections: Vec<Connection>,
    next_id: u64,
    framing: Framing,
    max_bytes: usize,
}

#[derive(Debug)]
struct Connection {
    id: u64,
    stream: UnixStream,
    received: Vec<u8>,
    is_complete: bool,
}

/// An event; the number identifies the connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A complete request; the caller waits for the reply.
    Request(u64, Vec<u8>),
    /// A request above the size limit; the caller waits for the reply.
    TooLarge(u64),
    /// The caller has closed the connection.
    Closed(u64),
}

impl RequestSocket {
    /// Listens under a name in a directory. A request has at most `max_bytes` bytes.
    ///
    /// # Errors
    /// When the directory does not exist, or the name is taken.
    pub fn listen(dir: &Path, name: &str, framing: Framing, max_bytes: usize) -> io::Result<Self> {
        let listener = socket::listen(dir, name)?;
        Ok(Self { path: dir.join(name), listener, connections: Vec::new(), next_id: 0, framing, max_bytes })
    }

    /// The descriptors to poll.
    pub fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        let callers = self.connections.iter().map(|caller| PollFd::new(caller.stream.as_fd(), caller.events()));
        std::iter::once(PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)).chain(callers)
    }

    /// Accepts connections and reads requests.
    pub fn accept_and_read(&mut self) -> Vec<Incoming> {
        while let Ok((stream, _)) = self.listener.accept() {
            if self.connections.len() >= MAX_CONNECTIONS
                && let Some(silent) = self.connections.iter().position(|caller| !caller.is_complete)
            {
                // At the limit, a connection without a complete request makes room.
                self.connections.remove(silent);
            }
            if self.connections.len() < MAX_CONNECTIONS && stream.set_nonblocking(true).is_ok() {
                self.connections.push(Connection {
                    id: self.next_id,
                    stream,
                    received: Vec::new(),
                    is_complete: false,
                });
                self.next_id += 1;
            }
        }
        let mut came = Vec::new();
        self.connections.retain_mut(|caller| {
            let Some(heard) = caller.read_request(self.framing, self.max_bytes) else { return true };
            let stays = !matches!(heard, Incoming::Closed(_));
            came.push(heard);
            stays
        });
        came
    }

    /// Sends a reply and closes the connection.
    pub fn reply(&mut self, id: u64, text: &[u8]) {
        self.connections.retain_mut(|caller| {
            if caller.id == id {
                caller.send(text);
            }
            caller.id != id
        });
    }

    /// Sends a reply to all callers and closes their connections.
    pub fn reply_to_all(&mut self, text: &[u8]) {
        for mut caller in self.connections.drain(..) {
            caller.send(text);
        }
    }

    /// Accepts no new connections. Open ones can still get a reply.
    pub fn stop_accepting(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Drop for RequestSocket {
    fn drop(&mut self) {
        self.stop_accepting();
    }
}

impl Connection {
    /// After a complete request, only the end of the connection matters.
    const fn events(&self) -> PollFlags {
        if self.is_complete { PollFlags::empty() } else { PollFlags::POLLIN }
    }

    fn send(&mut self, text: &[u8]) {
        // A socket buffer takes a short reply at once; a write to a closed connection may fail.
        let _ = self.stream.write(text);
    }

    fn read_request(&mut self, framing: Framing, max_bytes: usize) -> Option<Incoming> {
        if self.is_complete {
            let mut watched = [PollFd::new(self.stream.as_fd(), PollFlags::empty())];
            let is_gone = poll(&mut watched, PollTimeout::ZERO).is_ok_and(|found| found > 0);
            return is_gone.then_some(Incoming::Closed(self.id));
        }
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) if framing == Framing::Eof => break,
                Ok(0) => return Some(Incoming::Closed(self.id)),
                Ok(read) => self.received.extend_from_slice(buffer.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(_) => return Some(Incoming::Closed(self.id)),
            }
            if framing == Framing::Line && self.received.ends_with(b"\n") {
                break;
            }
            if self.received.len() > max_bytes {
                self.is_complete = true;
                return Some(Incoming::TooLarge(self.id));
            }
        }
        self.is_complete = true;
        Some(Incoming::Request(self.id, std::mem::take(&mut self.received)))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Shutdown;

    use super::*;

    fn callers(framing: Framing) -> (tempfile::TempDir, RequestSocket) {
        let home = tempfile::tempdir().unwrap();
        let callers = RequestSocket::listen(home.path(), "c", framing, 8).unwrap();
        (home, callers)
    }

    fn call(home: &tempfile::TempDir, text: &[u8]) -> UnixStream {
        let mut stream = socket::connect(home.path(), "c").unwrap();
        stream.write_all(text).unwrap();
        stream
    }

    #[test]
    fn each_says_one_thing_and_is_told_one() {
        let (home, mut callers) = callers(Framing::Line);
        let mut one = call(&home, b"a\n");
        let two = call(&home, b"b");
        let _three = call(&home, b"123456789");
        assert_eq!(callers.accept_and_read(), [Incoming::Request(0, b"a\n".to_vec()), Incoming::TooLarge(2)]);
        drop(two);
        assert_eq!(callers.accept_and_read(), [Incoming::Closed(1)]);
        callers.reply(0, b"yes");
        let mut told = String::new();
        one.read_to_string(&mut told).unwrap();
        assert_eq!(told, "yes");
        drop(callers);
        assert!(socket::connect(home.path(), "c").is_err());
    }

    #[test]
    fn the_end_of_a_side_is_the_end_of_what_is_said() {
        let (home, mut callers) = callers(Framing::Eof);
        let mut one = call(&home, b"a\nb");
        assert_eq!(callers.accept_and_read(), []);
        one.shutdown(Shutdown::Write).unwrap();
        assert_eq!(callers.accept_and_read(), [Incoming::Request(0, b"a\nb".to_vec())]);
        callers.reply_to_all(b"no");
        let mut told = String::new();
        one.read_to_string(&mut told).unwrap();
        assert_eq!(told, "no");
    }

    #[test]
    fn silent_client_blocks_no_other_client() {
        let (home, mut callers) = callers(Framing::Line);
        let silent: Vec<_> = (0..MAX_CONNECTIONS).map(|_| call(&home, b"")).collect();
        assert_eq!(callers.accept_and_read(), []);
        let _last = call(&home, b"x\n");
        assert_eq!(callers.accept_and_read(), [Incoming::Request(64, b"x\n".to_vec())]);
        drop(silent);
    }
}
