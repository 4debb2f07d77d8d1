//! A control socket in a directory: each connection carries one request and one reply. The server's side never blocks.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

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
pub enum Incoming<T> {
    /// A complete request; the caller waits for the reply.
    Request(u64, T),
    /// The caller has closed the connection.
    Closed(u64),
}

impl RequestSocket {
    /// Listens on a socket in a directory under a name. A request may have at most `max_bytes` bytes.
    pub fn listen(dir: &Path, name: &str, framing: Framing, max_bytes: usize) -> io::Result<Self> {
        let listener = socket::listen(dir, name)?;
        Ok(Self { path: dir.join(name), listener, connections: Vec::new(), next_id: 0, framing, max_bytes })
    }

    /// The descriptors to poll before a call of [`Self::poll`]: the listener and all connections.
    pub fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        let callers = self.connections.iter().map(|caller| PollFd::new(caller.stream.as_fd(), caller.events()));
        std::iter::once(PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)).chain(callers)
    }

    /// Accepts connections, and returns the requests that have arrived and the connections that were closed. A request that
    /// `decode` refuses, or that is too large, gets the reply `invalid`, and its connection is closed. Does not block.
    pub fn poll<T>(&mut self, decode: impl Fn(&[u8]) -> Option<T>, invalid: &[u8]) -> Vec<Incoming<T>> {
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
            match caller.read_request(self.framing, self.max_bytes) {
                Received::Nothing => return true,
                Received::Closed => came.push(Incoming::Closed(caller.id)),
                Received::TooLarge => caller.send(invalid),
                Received::Request(bytes) => match decode(&bytes) {
                    Some(request) => {
                        came.push(Incoming::Request(caller.id, request));
                        return true;
                    }
                    None => caller.send(invalid),
                },
            }
            false
        });
        came
    }

    /// Sends the reply to the connection `id` and closes it. Does nothing when the connection is gone.
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

    /// Removes the socket's file, so that no process can connect any more. Open connections can still get a reply.
    pub fn stop_accepting(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Drop for RequestSocket {
    fn drop(&mut self) {
        self.stop_accepting();
    }
}

/// The result of reading a connection.
enum Received {
    Nothing,
    Request(Vec<u8>),
    TooLarge,
    Closed,
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

    fn read_request(&mut self, framing: Framing, max_bytes: usize) -> Received {
        if self.is_complete {
            let mut watched = [PollFd::new(self.stream.as_fd(), PollFlags::empty())];
            let is_gone = poll(&mut watched, PollTimeout::ZERO).is_ok_and(|found| found > 0);
            return if is_gone { Received::Closed } else { Received::Nothing };
        }
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) if framing == Framing::Eof => break,
                Ok(0) => return Received::Closed,
                Ok(read) => self.received.extend_from_slice(buffer.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Received::Nothing,
                Err(_) => return Received::Closed,
            }
            if framing == Framing::Line && self.received.ends_with(b"\n") {
                break;
            }
            if self.received.len() > max_bytes {
                return Received::TooLarge;
            }
        }
        self.is_complete = true;
        Received::Request(std::mem::take(&mut self.received))
    }
}

/// Sends a request to a control socket and reads its reply, which is empty when the server closed the connection.
///
/// # Errors
/// `TimedOut` when sending or the reply takes longer than `timeout`; errors of the socket.
pub fn request(mut stream: UnixStream, framing: Framing, bytes: &[u8], timeout: Duration) -> io::Result<Vec<u8>> {
    stream.set_write_timeout(Some(timeout))?;
    stream.set_read_timeout(Some(timeout))?;
    let mut exchange = || {
        stream.write_all(bytes)?;
        let mut reply = Vec::new();
        match framing {
            Framing::Line => BufReader::new(&stream).read_until(b'\n', &mut reply)?,
            Framing::Eof => {
                stream.shutdown(Shutdown::Write)?;
                stream.read_to_end(&mut reply)?
            }
        };
        Ok(reply)
    };
    exchange().map_err(|error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn callers(framing: Framing) -> (tempfile::TempDir, RequestSocket) {
        let home = tempfile::tempdir().unwrap();
        let callers = RequestSocket::listen(home.path(), "c", framing, 8).unwrap();
        (home, callers)
    }

    /// Refuses only "no".
    fn poll_all(callers: &mut RequestSocket) -> Vec<Incoming<Vec<u8>>> {
        callers.poll(|bytes| (bytes != b"no\n").then(|| bytes.to_vec()), b"invalid")
    }

    fn call(home: &tempfile::TempDir, text: &[u8]) -> UnixStream {
        let mut stream = socket::connect(home.path(), "c").unwrap();
        stream.write_all(text).unwrap();
        stream
    }

    #[test]
    fn request_socket_exchanges_one_request_and_one_reply() {
        let (home, mut callers) = callers(Framing::Line);
        let one = call(&home, b"a\n");
        let two = call(&home, b"b");
        let three = call(&home, b"123456789");
        let refused = call(&home, b"no\n");
        assert_eq!(poll_all(&mut callers), [Incoming::Request(0, b"a\n".to_vec())]);
        drop(two);
        assert_eq!(poll_all(&mut callers), [Incoming::Closed(1)]);
        callers.reply(0, b"yes");
        for (mut stream, expected) in [(one, "yes"), (three, "invalid"), (refused, "invalid")] {
            let mut reply = String::new();
            stream.read_to_string(&mut reply).unwrap();
            assert_eq!(reply, expected);
        }
        drop(callers);
        assert!(socket::connect(home.path(), "c").is_err());
    }

    #[test]
    fn closed_side_ends_the_message() {
        let (home, mut callers) = callers(Framing::Eof);
        let mut one = call(&home, b"a\nb");
        assert_eq!(poll_all(&mut callers), []);
        one.shutdown(Shutdown::Write).unwrap();
        assert_eq!(poll_all(&mut callers), [Incoming::Request(0, b"a\nb".to_vec())]);
        callers.reply_to_all(b"no");
        let mut told = String::new();
        one.read_to_string(&mut told).unwrap();
        assert_eq!(told, "no");
    }

    #[test]
    fn silent_client_blocks_no_other_client() {
        let (home, mut callers) = callers(Framing::Line);
        let silent: Vec<_> = (0..MAX_CONNECTIONS).map(|_| call(&home, b"")).collect();
        assert_eq!(poll_all(&mut callers), []);
        let _last = call(&home, b"x\n");
        assert_eq!(poll_all(&mut callers), [Incoming::Request(64, b"x\n".to_vec())]);
        drop(silent);
    }
}
