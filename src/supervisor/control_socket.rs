//! Where a run is steered from outside: a socket in its directory. One line of JSON a connection as the request, one as the
//! answer, once it is done.

use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    time::Duration,
};

use nix::{poll::PollFd, sys::signal::Signal};
use serde_json::{Value, json};

use super::JobDir;
use crate::{
    domain::terminal_input::TerminalInput,
    os::{
        request_socket::{self, Framing, RequestSocket},
        socket,
    },
    wire::terminal_input,
};

/// The socket's name in the run's directory.
const SOCKET_NAME: &str = "door";
/// The longest request, in bytes: the most that is typed at once, when each byte of it is escaped.
const MAX_REQUEST_BYTES: usize = 8 << 20;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// The run is to end.
    Kill {
        /// What everything in it gets first.
        signal: Signal,
        /// How long that may take before it is killed.
        grace: Duration,
    },
    /// This is to be typed.
    Input(Vec<TerminalInput>),
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The run has ended, and that is written.
    Ended,
    /// So many bytes were typed.
    Typed(usize),
    /// Its input is full: so many bytes were typed, and the rest was forgotten.
    InputFull(usize),
    /// A line of so many bytes is more than its terminal takes; nothing was typed.
    LineTooLong(usize),
    /// It has no terminal.
    NoTerminal,
    /// It has ended meanwhile: so many bytes were typed before that.
    EndedMeanwhile(usize),
    /// The request was none.
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

/// What came in at the door.
#[derive(Debug, PartialEq, Eq)]
pub enum Incoming {
    /// This one asks for something.
    Request(u64, Request),
    /// This one is gone.
    Closed(u64),
}

impl ControlSocket {
    /// Opens it. One that a dead supervisor left is swept away: whoever opens it holds the run.
    ///
    /// # Errors
    /// When there is no socket to be had there.
    pub fn open(dir: &JobDir) -> io::Result<Self> {
        match fs::remove_file(dir.file(SOCKET_NAME)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        Ok(Self { requests: RequestSocket::listen(dir.path(), SOCKET_NAME, Framing::Line, MAX_REQUEST_BYTES)? })
    }

    /// What to wait for.
    pub fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.requests.poll_fds()
    }

    /// Looks after everybody at the door. Never waits.
    pub fn poll(&mut self) -> Vec<Incoming> {
        let mut came = Vec::new();
        for one in self.requests.accept_and_read() {
            let (id, request) = match one {
                request_socket::Incoming::Request(id, line) => (id, Request::from_json(&line)),
                request_socket::Incoming::TooLarge(id) => (id, None),
                request_socket::Incoming::Closed(id) => {
                    came.push(Incoming::Closed(id));
                    continue;
                }
            };
            match request {
                Some(request) => came.push(Incoming::Request(id, request)),
                None => self.reply(id, &Reply::InvalidRequest),
            }
        }
        came
    }

    /// Lets nobody in any more; who is in is still answered.
    pub fn stop_accepting(&self) {
        self.requests.stop_accepting();
    }

    /// Tells one what became of its request, and lets it go.
    pub fn reply(&mut self, id: u64, reply: &Reply) {
        self.requests.reply(id, format!("{}\n", reply.to_json()).as_bytes());
    }
}

/// Asks a run's supervisor for something, and waits for what becomes of it, at most so long. `None`: nobody is there. One
/// that went away without an answer has seen the run's end.
///
/// # Errors
/// `TimedOut` when it takes too long; as the socket fails.
pub fn send_request(dir: &JobDir, request: &Request, patience: Duration) -> io::Result<Option<Reply>> {
    let Ok(mut stream) = socket::connect(dir.path(), SOCKET_NAME) else { return Ok(None) };
    stream.set_write_timeout(Some(patience))?;
    stream.set_read_timeout(Some(patience))?;
    let mut line = Vec::new();
    let asked = stream
        .write_all(format!("{}\n", request.to_json()).as_bytes())
        .and_then(|()| BufReader::new(&stream).read_until(b'\n', &mut line));
    match asked {
        Ok(_) => Ok(Some(Reply::from_json(&line).unwrap_or(Reply::EndedMeanwhile(0)))),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            Err(io::Error::new(io::ErrorKind::TimedOut, "the run's supervisor does not answer in time"))
        }
        // It closed the door.
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
