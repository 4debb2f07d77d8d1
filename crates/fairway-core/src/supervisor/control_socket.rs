//! A job's control socket, in the job's directory. Each connection carries one request and one reply, each a line of JSON.
//! The reply comes when the request is carried out.

use std::time::Duration;
use std::{fs, io};

use nix::poll::PollFd;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::JobDir;
use crate::domain::terminal_input::TerminalInput;
use crate::os::request_socket::{self, Framing, Incoming, RequestSocket};
use crate::os::socket;
use crate::wire::terminal_input;

/// The socket's name in the job's directory. Another version may run the supervisor, so the name never changes.
const SOCKET_NAME: &str = "door";
/// The longest request, in bytes: the longest input, when each of its bytes is escaped.
const MAX_REQUEST_BYTES: usize = 8 << 20;

/// A request to a job's supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// End the job.
    Kill {
        /// The first signal to all processes of the job.
        signal: Signal,
        /// The time until the processes get SIGKILL.
        grace: Duration,
    },
    /// Type this into the job's terminal.
    Input(Vec<TerminalInput>),
}

/// The result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The job has ended and its result is recorded.
    Ended,
    /// This many bytes were typed.
    Typed(usize),
    /// The input is full: this many bytes were typed, the rest was dropped.
    InputFull(usize),
    /// A line of this many bytes exceeds the terminal's limit; nothing was typed.
    LineTooLong(usize),
    /// The job has no terminal.
    NoTerminal,
    /// The job has ended; this many bytes were typed before.
    EndedMeanwhile(usize),
    /// The request is invalid.
    InvalidRequest,
}

impl Request {
    fn to_json(&self) -> Value {
        match self {
            Self::Kill { signal, grace } => {
                json!({ "do": "kill", "signal": *signal as i32, "grace_ms": u64::try_from(grace.as_millis()).unwrap_or(u64::MAX) })
            }
            Self::Input(inputs) => json!({ "do": "type", "input": terminal_input::to_json(inputs) }),
        }
    }

    fn from_json(line: &[u8]) -> Option<Self> {
        let document: Value = serde_json::from_slice(line).ok()?;
        match document.get("do")?.as_str()? {
            "kill" => {
                let signal = i32::try_from(document.get("signal")?.as_i64()?).ok()?;
                let grace = Duration::from_millis(document.get("grace_ms")?.as_u64()?);
                Some(Self::Kill { signal: Signal::try_from(signal).ok()?, grace })
            }
            "type" => Some(Self::Input(terminal_input::parse_inputs(document.get("input")?).ok()?)),
            _ => None,
        }
    }
}

impl Reply {
    fn to_line(&self) -> Vec<u8> {
        format!("{}\n", self.to_json()).into_bytes()
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Ended => json!({ "ended": true }),
            Self::Typed(bytes) => json!({ "typed": bytes }),
            Self::InputFull(bytes) => json!({ "full": bytes }),
            Self::LineTooLong(bytes) => json!({ "long_line": bytes }),
            Self::NoTerminal => json!({ "no_terminal": true }),
            Self::EndedMeanwhile(bytes) => json!({ "over": bytes }),
            Self::InvalidRequest => json!({ "unknown": true }),
        }
    }

    fn from_json(line: &[u8]) -> Option<Self> {
        let document: Value = serde_json::from_slice(line).ok()?;
        let (name, value) = document.as_object()?.iter().next()?;
        let number = || usize::try_from(value.as_u64()?).ok();
        match name.as_str() {
            "ended" => Some(Self::Ended),
            "typed" => number().map(Self::Typed),
            "full" => number().map(Self::InputFull),
            "long_line" => number().map(Self::LineTooLong),
            "no_terminal" => Some(Self::NoTerminal),
            "over" => number().map(Self::EndedMeanwhile),
            "unknown" => Some(Self::InvalidRequest),
            _ => None,
        }
    }
}

/// The supervisor's side.
#[derive(Debug)]
pub struct ControlSocket {
    requests: RequestSocket,
}

impl ControlSocket {
    /// Opens the job's control socket and replaces one that a dead supervisor left behind. The caller must have the job's lock.
    pub fn open(dir: &JobDir) -> io::Result<Self> {
        match fs::remove_file(dir.file(SOCKET_NAME)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        Ok(Self { requests: RequestSocket::listen(dir.path(), SOCKET_NAME, Framing::Line, MAX_REQUEST_BYTES)? })
    }

    pub fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.requests.poll_fds()
    }

    /// Accepts connections and returns the requests that have arrived, without blocking. An invalid request is answered here,
    /// with [`Reply::InvalidRequest`].
    pub fn poll(&mut self) -> Vec<Incoming<Request>> {
        self.requests.poll(Request::from_json, &Reply::InvalidRequest.to_line())
    }

    /// Accepts no new connections from now on. The open ones can still get a reply.
    pub fn stop_accepting(&self) {
        self.requests.stop_accepting();
    }

    /// Sends the reply to the request `id` and closes its connection.
    pub fn reply(&mut self, id: u64, reply: &Reply) {
        self.requests.reply(id, &reply.to_line());
    }
}

/// Sends a request to a job's supervisor and waits for the reply. Returns `None` when no supervisor listens. Returns
/// [`Reply::EndedMeanwhile`] when the supervisor closes the connection without a valid reply, because it then has ended with its
/// job.
///
/// # Errors
/// `TimedOut` when the reply takes longer than `timeout`.
pub fn send_request(dir: &JobDir, request: &Request, timeout: Duration) -> io::Result<Option<Reply>> {
    let Ok(stream) = socket::connect(dir.path(), SOCKET_NAME) else { return Ok(None) };
    let line = format!("{}\n", request.to_json());
    match request_socket::request(stream, Framing::Line, line.as_bytes(), timeout) {
        Ok(reply) => Ok(Some(Reply::from_json(&reply).unwrap_or(Reply::EndedMeanwhile(0)))),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            Err(io::Error::new(error.kind(), "the job's supervisor did not reply in time"))
        }
        // It closed the connection.
        Err(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => {
            Ok(Some(Reply::EndedMeanwhile(0)))
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_replies_are_read_back_as_they_were_said() {
        let inputs = vec![
            TerminalInput::Text("a\n\"".into()),
            TerminalInput::Key("C-c".into()),
            TerminalInput::Hex(vec![0, 255]),
            TerminalInput::Eof,
        ];
        let kill = Request::Kill { signal: Signal::SIGINT, grace: Duration::from_millis(1_500) };
        for request in [kill, Request::Input(inputs)] {
            assert_eq!(Request::from_json(request.to_json().to_string().as_bytes()), Some(request));
        }
        for reply in [
            Reply::Ended,
            Reply::Typed(3),
            Reply::InputFull(4),
            Reply::LineTooLong(5),
            Reply::NoTerminal,
            Reply::EndedMeanwhile(0),
            Reply::InvalidRequest,
        ] {
            assert_eq!(Reply::from_json(reply.to_json().to_string().as_bytes()), Some(reply));
        }
        assert_eq!((Request::from_json(b"{}"), Reply::from_json(b"x")), (None, None));
    }
}
