//! The control socket of a structured session: a tag byte and a text, up to the end of the caller's stream. The reply is one
//! line: `done`, or the reason of the failure.

use std::{io, time::Duration};

use nix::poll::PollFd;

use crate::{
    acp::Command,
    adapters::plumbing::SessionDir,
    os::{
        request_socket::{self, Framing, Incoming, RequestSocket},
        socket,
    },
};

/// The socket's name in the session's directory. Another version may run the session, so the name never changes.
const SOCKET_NAME: &str = "structured";
/// The longest request, in bytes.
const MAX_REQUEST_BYTES: usize = 4 << 20;
/// How long a caller waits for the reply: less than the protocol's 30 s.
const REPLY_TIMEOUT: Duration = Duration::from_secs(25);
const PROMPT_TAG: u8 = b'p';
const CANCEL_TAG: u8 = b'c';
const DONE_REPLY: &[u8] = b"done\n";

/// The session's end of the socket.
#[derive(Debug)]
pub(super) struct StructuredControl {
    requests: RequestSocket,
}

impl StructuredControl {
    pub(super) fn open(dir: &SessionDir) -> io::Result<Self> {
        Ok(Self { requests: RequestSocket::listen(dir.path(), SOCKET_NAME, Framing::Eof, MAX_REQUEST_BYTES)? })
    }

    pub(super) fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.requests.poll_fds()
    }

    /// Accepts connections and reads requests. Does not block.
    pub(super) fn poll(&mut self) -> Vec<Incoming<Command>> {
        self.requests.poll(decode, b"the request is not known, or too long\n")
    }

    pub(super) fn reply(&mut self, id: u64, result: &Result<(), String>) {
        match result {
            Ok(()) => self.requests.reply(id, DONE_REPLY),
            Err(why) => self.requests.reply(id, format!("{why}\n").as_bytes()),
        }
    }
}

fn decode(said: &[u8]) -> Option<Command> {
    match said.split_first()? {
        (&PROMPT_TAG, text) => Some(Command::Prompt(String::from_utf8(text.to_vec()).ok()?)),
        (&CANCEL_TAG, []) => Some(Command::Cancel),
        _ => None,
    }
}

fn encode(command: &Command) -> Vec<u8> {
    match command {
        Command::Prompt(text) => [&[PROMPT_TAG], text.as_bytes()].concat(),
        Command::Cancel => vec![CANCEL_TAG],
    }
}

/// Has a structured session do something, and waits until it has accepted that. A session that does not exist is no failure.
///
/// # Errors
/// When the session refuses it or does not answer in time.
pub fn send_request(dir: &SessionDir, command: &Command) -> io::Result<()> {
    let stream = match socket::connect(dir.path(), SOCKET_NAME) {
        Ok(stream) => stream,
        Err(_) if dir.has_exited()? => return Ok(()),
        Err(error) => return Err(io::Error::new(error.kind(), format!("the session takes no requests: {error}"))),
    };
    match request_socket::request(stream, Framing::Eof, &encode(command), REPLY_TIMEOUT) {
        Ok(reply) if reply == DONE_REPLY => Ok(()),
        Ok(reply) if !reply.is_empty() => Err(io::Error::other(String::from_utf8_lossy(&reply).trim_end().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            Err(io::Error::other("the session did not accept the request in time"))
        }
        // The session has ended in the meantime.
        _ if dir.has_exited()? => Ok(()),
        Ok(_) => Err(io::Error::other("the session did not accept the request")),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_back_as_they_were_sent() {
        for command in [Command::Prompt("a\nä".into()), Command::Prompt(String::new()), Command::Cancel] {
            assert_eq!(decode(&encode(&command)), Some(command));
        }
        for unknown in [&b""[..], b"x", b"cx", b"p\xff"] {
            assert_eq!(decode(unknown), None);
        }
    }
}
