//! A session's control socket, in the session's directory, which takes input to type. A request is a tag byte and a text, up
//! to the end of the caller's stream. The reply is one line, sent when the input was typed.

use std::{io, time::Duration};

use nix::poll::PollFd;

use super::{SessionDir, paste_submit::KeyboardInput};
use crate::os::{
    request_socket::{self, Framing, Incoming, RequestSocket},
    socket,
};

/// The socket's name in the session's directory. Another version may run the session, so the name never changes.
pub(super) const SOCKET_NAME: &str = "door";
/// The longest request, in bytes.
const MAX_REQUEST_BYTES: usize = 16 << 20;
/// How long a caller waits for the reply, queued input of other callers included: less than the protocol's 30 s.
const REPLY_TIMEOUT: Duration = Duration::from_secs(25);
const TEXT_TAG: u8 = b't';
const KEYS_TAG: u8 = b'k';
const PASTE_TAG: u8 = b'p';
const DONE_REPLY: &[u8] = b"done\n";

/// The session's end of the socket.
#[derive(Debug)]
pub(super) struct SessionControl {
    requests: RequestSocket,
}

impl SessionControl {
    pub(super) fn open(dir: &SessionDir) -> io::Result<Self> {
        Ok(Self { requests: RequestSocket::listen(dir.path(), SOCKET_NAME, Framing::Eof, MAX_REQUEST_BYTES)? })
    }

    /// The descriptors to poll.
    pub(super) fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.requests.poll_fds()
    }

    /// Accepts connections and reads requests. Does not block.
    pub(super) fn poll(&mut self) -> Vec<Incoming<KeyboardInput>> {
        self.requests.poll(decode, b"")
    }

    /// Sends the reply: success, or the reason of the failure.
    pub(super) fn reply(&mut self, id: u64, failed: Option<&str>) {
        let failed = failed.map(|why| format!("{why}\n"));
        self.requests.reply(id, failed.as_ref().map_or(DONE_REPLY, |why| why.as_bytes()));
    }

    /// Replies success to all callers: the program has ended, and input to it is no failure.
    pub(super) fn reply_done_to_all(&mut self) {
        self.poll();
        self.requests.reply_to_all(DONE_REPLY);
    }
}

fn decode(said: &[u8]) -> Option<KeyboardInput> {
    match said.split_first()? {
        (&TEXT_TAG, text) => Some(KeyboardInput::Text(text.to_vec())),
        (&PASTE_TAG, text) => Some(KeyboardInput::Paste(text.to_vec())),
        (&KEYS_TAG, keys) => {
            let keys = keys.split(|byte| *byte == 0).map(|key| String::from_utf8_lossy(key).into_owned());
            Some(KeyboardInput::Keys(keys.collect()))
        }
        _ => None,
    }
}

fn encode(job: &KeyboardInput) -> Vec<u8> {
    match job {
        KeyboardInput::Text(text) => [&[TEXT_TAG], text.as_slice()].concat(),
        KeyboardInput::Paste(text) => [&[PASTE_TAG], text.as_slice()].concat(),
        KeyboardInput::Keys(keys) => [&[KEYS_TAG], keys.join("\0").as_bytes()].concat(),
    }
}

/// Types input into a session and waits until it was typed. A session that does not exist is no failure.
pub fn send_input(dir: &SessionDir, job: &KeyboardInput) -> io::Result<()> {
    let stream = match socket::connect(dir.path(), SOCKET_NAME) {
        Ok(stream) => stream,
        Err(_) if dir.has_exited()? => return Ok(()),
        Err(error) => return Err(io::Error::new(error.kind(), format!("the session does not accept input: {error}"))),
    };
    match request_socket::request(stream, Framing::Eof, &encode(job), REPLY_TIMEOUT) {
        Ok(reply) if reply == DONE_REPLY => Ok(()),
        Ok(reply) if !reply.is_empty() => Err(io::Error::other(String::from_utf8_lossy(&reply).trim_end().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            Err(io::Error::other("the session did not accept the input in time"))
        }
        // The session has ended in the meantime.
        _ if dir.has_exited()? => Ok(()),
        Ok(_) => Err(io::Error::other("the session did not accept the input")),
        Err(error) => Err(error),
    }
}
