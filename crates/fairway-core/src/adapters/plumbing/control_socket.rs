//! A control socket in a session's directory. A request is a tag byte and a text, up to the end of the caller's stream. The reply
//! is one line: `done`, or the reason of the failure.

use std::io;
use std::marker::PhantomData;
use std::time::Duration;

use nix::poll::PollFd;

use super::SessionDir;
use crate::os::request_socket::{self, Framing, Incoming, RequestSocket};
use crate::os::socket;

/// How long a caller waits for the reply, requests of other callers included: less than the protocol's 30 s.
const REPLY_TIMEOUT: Duration = Duration::from_secs(25);
const DONE_REPLY: &[u8] = b"done\n";

/// A request that a session takes at its control socket.
pub(super) trait ControlRequest: Sized {
    /// The socket's name in the session's directory. Another version may run the session, so a name never changes.
    const SOCKET_NAME: &'static str;
    /// The longest request, in bytes.
    const MAX_REQUEST_BYTES: usize;
    /// The request in messages: `input`.
    const NOUN: &'static str;

    fn encode(&self) -> (u8, Vec<u8>);

    /// Reads a request; `None` when it is unknown.
    fn decode(tag: u8, text: &[u8]) -> Option<Self>;

    /// How long a caller waits for the reply; `None` for the usual time.
    fn reply_timeout(&self) -> Option<Duration> {
        None
    }
}

/// The session's end of the socket.
#[derive(Debug)]
pub(super) struct ControlSocket<R> {
    requests: RequestSocket,
    takes: PhantomData<R>,
}

impl<R: ControlRequest> ControlSocket<R> {
    pub(super) fn open(dir: &SessionDir) -> io::Result<Self> {
        let requests = RequestSocket::listen(dir.path(), R::SOCKET_NAME, Framing::Eof, R::MAX_REQUEST_BYTES)?;
        Ok(Self { requests, takes: PhantomData })
    }

    pub(super) fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.requests.poll_fds()
    }

    /// Accepts connections and returns the requests that have arrived, without blocking. A request that is unknown or too long is
    /// answered here, with an error.
    pub(super) fn poll(&mut self) -> Vec<Incoming<R>> {
        let decode = |said: &[u8]| said.split_first().and_then(|(tag, text)| R::decode(*tag, text));
        self.requests.poll(decode, b"the request is not known, or too long\n")
    }

    /// Answers a request: with success, or with the reason of the failure.
    pub(super) fn reply(&mut self, id: u64, result: Result<(), &str>) {
        let failed = result.err().map(|why| format!("{why}\n"));
        self.requests.reply(id, failed.as_ref().map_or(DONE_REPLY, |why| why.as_bytes()));
    }

    /// Answers every waiting request with success. To be called when the program has ended, because a request to a program that
    /// has ended is no failure.
    pub(super) fn reply_done_to_all(&mut self) {
        self.poll();
        self.requests.reply_to_all(DONE_REPLY);
    }
}

/// Sends a request to a session and waits until the session has accepted it. A session that does not exist or has ended is no
/// error.
pub(super) fn send_request<R: ControlRequest>(dir: &SessionDir, request: &R) -> io::Result<()> {
    let noun = R::NOUN;
    let stream = match socket::connect(dir.path(), R::SOCKET_NAME) {
        Ok(stream) => stream,
        Err(_) if dir.has_exited()? => return Ok(()),
        Err(error) => return Err(io::Error::new(error.kind(), format!("the session does not accept {noun}: {error}"))),
    };
    let (tag, text) = request.encode();
    let bytes = [&[tag], text.as_slice()].concat();
    match request_socket::request(stream, Framing::Eof, &bytes, request.reply_timeout().unwrap_or(REPLY_TIMEOUT)) {
        Ok(reply) if reply == DONE_REPLY => Ok(()),
        Ok(reply) if !reply.is_empty() => Err(io::Error::other(String::from_utf8_lossy(&reply).trim_end().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            Err(io::Error::other(format!("the session did not accept the {noun} in time")))
        }
        // The session has ended in the meantime.
        _ if dir.has_exited()? => Ok(()),
        Ok(_) => Err(io::Error::other(format!("the session did not accept the {noun}"))),
        Err(error) => Err(error),
    }
}
