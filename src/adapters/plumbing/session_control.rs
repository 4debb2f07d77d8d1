//! Where a session takes what is to be typed: a socket in its directory. One request a connection, a letter and its text, ended
//! by the caller's end; one line as the answer, once it is typed.

use std::{
    io::{self, Read, Write},
    net::Shutdown,
    time::Duration,
};

use nix::poll::PollFd;

use super::{SessionDir, paste_submit::KeyboardInput};
use crate::os::{
    request_socket::{self, Framing, RequestSocket},
    socket,
};

/// The socket's name in the session's directory.
pub(super) const SOCKET_NAME: &str = "door";
/// The longest request, in bytes.
const MAX_REQUEST_BYTES: usize = 16 << 20;
/// How long a caller waits, the turns of others before it included: less than the protocol's 30 s.
const REPLY_TIMEOUT: Duration = Duration::from_secs(25);
const TEXT_TAG: u8 = b't';
const KEYS_TAG: u8 = b'k';
const DONE_REPLY: &[u8] = b"done\n";

/// What the session's side holds.
#[derive(Debug)]
pub(super) struct SessionControl {
    requests: RequestSocket,
}

/// What came in at the door.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Incoming {
    /// Something to be typed.
    Input(u64, KeyboardInput),
    /// Its caller is gone.
    Closed(u64),
}

impl SessionControl {
    pub(super) fn open(dir: &SessionDir) -> io::Result<Self> {
        Ok(Self { requests: RequestSocket::listen(dir.path(), SOCKET_NAME, Framing::Eof, MAX_REQUEST_BYTES)? })
    }

    /// What to wait for.
    pub(super) fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.requests.poll_fds()
    }

    /// Looks after everybody at the door. Never waits.
    pub(super) fn poll(&mut self) -> Vec<Incoming> {
        let mut came = Vec::new();
        for one in self.requests.accept_and_read() {
            let (id, job) = match one {
                request_socket::Incoming::Request(id, said) => (id, decode(&said)),
                request_socket::Incoming::TooLarge(id) => (id, None),
                request_socket::Incoming::Closed(id) => {
                    came.push(Incoming::Closed(id));
                    continue;
                }
            };
            came.push(match job {
                Some(job) => Incoming::Input(id, job),
                None => {
                    self.requests.reply(id, b"");
                    Incoming::Closed(id)
                }
            });
        }
        came
    }

    /// Tells a caller what became of it; `None` when all is well.
    pub(super) fn reply(&mut self, id: u64, failed: Option<&str>) {
        let failed = failed.map(|why| format!("{why}\n"));
        self.requests.reply(id, failed.as_ref().map_or(DONE_REPLY, |why| why.as_bytes()));
    }

    /// Lets everybody go: there is nobody any more to type to.
    pub(super) fn reply_done_to_all(&mut self) {
        self.poll();
        self.requests.reply_to_all(DONE_REPLY);
    }
}

fn decode(said: &[u8]) -> Option<KeyboardInput> {
    match said.split_first()? {
        (&TEXT_TAG, text) => Some(KeyboardInput::Text(text.to_vec())),
        (&KEYS_TAG, words) => {
            let words = words.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
            Some(KeyboardInput::Keys(words.collect()))
        }
        _ => None,
    }
}

fn encode(job: &KeyboardInput) -> Vec<u8> {
    match job {
        KeyboardInput::Text(text) => [&[TEXT_TAG], text.as_slice()].concat(),
        KeyboardInput::Keys(words) => [&[KEYS_TAG], words.join("\0").as_bytes()].concat(),
    }
}

/// Has something typed into a session; returns once it is done. A session that is not there is no failure.
///
/// # Errors
/// When the session takes no input, or not in time.
pub fn send_input(dir: &SessionDir, job: &KeyboardInput) -> io::Result<()> {
    let mut stream = match socket::connect(dir.path(), SOCKET_NAME) {
        Ok(stream) => stream,
        Err(_) if dir.has_exited()? => return Ok(()),
        Err(error) => return Err(io::Error::new(error.kind(), format!("the session takes no input: {error}"))),
    };
    stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
    stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
    let mut answer = Vec::new();
    let asked = stream
        .write_all(&encode(job))
        .and_then(|()| stream.shutdown(Shutdown::Write))
        .and_then(|()| stream.read_to_end(&mut answer));
    match asked {
        Ok(_) if answer == DONE_REPLY => Ok(()),
        Ok(_) if !answer.is_empty() => Err(io::Error::other(String::from_utf8_lossy(&answer).trim_end().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            Err(io::Error::other("the session did not take it in time"))
        }
        // It ended meanwhile.
        _ if dir.has_exited()? => Ok(()),
        Ok(_) => Err(io::Error::other("the session did not take it")),
        Err(error) => Err(error),
    }
}
