//! The requests to a structured session, at its control socket.

use std::io;
use std::time::Duration;

use crate::acp::Command;
use crate::adapters::plumbing::SessionDir;
use crate::adapters::plumbing::control_socket::{self, ControlRequest};

const PROMPT_TAG: u8 = b'p';
const CANCEL_TAG: u8 = b'c';
const PAUSE_TAG: u8 = b'w';
/// How long a pause may wait for the end of a turn. A caller that goes away earlier withdraws its request.
const TURN_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

impl ControlRequest for Command {
    const SOCKET_NAME: &'static str = "structured";
    const MAX_REQUEST_BYTES: usize = 4 << 20;
    const NOUN: &'static str = "request";

    fn encode(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Prompt(text) => (PROMPT_TAG, text.clone().into_bytes()),
            Self::Cancel => (CANCEL_TAG, Vec::new()),
            Self::Pause => (PAUSE_TAG, Vec::new()),
        }
    }

    fn decode(tag: u8, text: &[u8]) -> Option<Self> {
        match (tag, text) {
            (PROMPT_TAG, text) => Some(Self::Prompt(String::from_utf8(text.to_vec()).ok()?)),
            (CANCEL_TAG, []) => Some(Self::Cancel),
            (PAUSE_TAG, []) => Some(Self::Pause),
            _ => None,
        }
    }

    fn reply_timeout(&self) -> Option<Duration> {
        (*self == Self::Pause).then_some(TURN_TIMEOUT)
    }
}

/// Sends a request to a structured session and waits until the session has accepted it. A session that does not exist is no
/// error.
///
/// # Errors
/// When the session refuses the request or does not answer in time.
pub fn send_request(dir: &SessionDir, command: &Command) -> io::Result<()> {
    control_socket::send_request(dir, command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_back_as_they_were_sent() {
        for command in [Command::Prompt("a\nä".into()), Command::Prompt(String::new()), Command::Cancel, Command::Pause]
        {
            let (tag, text) = command.encode();
            assert_eq!(Command::decode(tag, &text), Some(command));
        }
        for (tag, text) in [(b'x', &b""[..]), (b'c', b"x"), (b'w', b"x"), (b'p', b"\xff")] {
            assert_eq!(Command::decode(tag, text), None);
        }
    }
}
