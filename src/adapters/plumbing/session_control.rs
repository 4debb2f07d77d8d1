//! Where a session takes what is to be typed: a socket in its folder. One request a connection, a letter and its text, ended
//! by the caller's end; one line as the answer, once it is typed.

use std::{
    io::{self, Read, Write},
    net::Shutdown,
    time::Duration,
};

use nix::poll::PollFd;

use super::{Folder, paste_submit::Job};
use crate::os::{
    request_socket::{self, Callers, Whole},
    socket,
};

/// The socket's name in the session's folder.
pub(super) const NAME: &str = "door";
/// The longest request, in bytes.
const LONGEST: usize = 16 << 20;
/// How long a caller waits, the turns of others before it included: less than the protocol's 30 s.
const PATIENCE: Duration = Duration::from_secs(25);
const TEXT: u8 = b't';
const KEYS: u8 = b'k';
const DONE: &[u8] = b"done\n";

/// What the session's side holds.
#[derive(Debug)]
pub(super) struct Door {
    callers: Callers,
}

/// What came in at the door.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// Something to be typed.
    Job(u64, Job),
    /// Its caller is gone.
    Gone(u64),
}

impl Door {
    pub(super) fn open(folder: &Folder) -> io::Result<Self> {
        Ok(Self { callers: Callers::listen(folder.path(), NAME, Whole::End, LONGEST)? })
    }

    /// What to wait for.
    pub(super) fn watched(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.callers.watched()
    }

    /// Looks after everybody at the door. Never waits.
    pub(super) fn look(&mut self) -> Vec<Came> {
        let mut came = Vec::new();
        for one in self.callers.look() {
            let (id, job) = match one {
                request_socket::Came::Said(id, said) => (id, read(&said)),
                request_socket::Came::TooMuch(id) => (id, None),
                request_socket::Came::Gone(id) => {
                    came.push(Came::Gone(id));
                    continue;
                }
            };
            came.push(match job {
                Some(job) => Came::Job(id, job),
                None => {
                    self.callers.answer(id, b"");
                    Came::Gone(id)
                }
            });
        }
        came
    }

    /// Tells a caller what became of it; `None` when all is well.
    pub(super) fn answer(&mut self, id: u64, failed: Option<&str>) {
        let failed = failed.map(|why| format!("{why}\n"));
        self.callers.answer(id, failed.as_ref().map_or(DONE, |why| why.as_bytes()));
    }

    /// Lets everybody go: there is nobody any more to type to.
    pub(super) fn dismiss(&mut self) {
        self.look();
        self.callers.answer_all(DONE);
    }
}

fn read(said: &[u8]) -> Option<Job> {
    match said.split_first()? {
        (&TEXT, text) => Some(Job::Text(text.to_vec())),
        (&KEYS, words) => {
            let words = words.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
            Some(Job::Keys(words.collect()))
        }
        _ => None,
    }
}

fn written(job: &Job) -> Vec<u8> {
    match job {
        Job::Text(text) => [&[TEXT], text.as_slice()].concat(),
        Job::Keys(words) => [&[KEYS], words.join("\0").as_bytes()].concat(),
    }
}

/// Has something typed into a session; returns once it is done. A session that is not there is no failure.
///
/// # Errors
/// When the session takes no input, or not in time.
pub fn call(folder: &Folder, job: &Job) -> io::Result<()> {
    let mut stream = match socket::connect(folder.path(), NAME) {
        Ok(stream) => stream,
        Err(_) if folder.is_over()? => return Ok(()),
        Err(error) => return Err(io::Error::new(error.kind(), format!("the session takes no input: {error}"))),
    };
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut answer = Vec::new();
    let asked = stream
        .write_all(&written(job))
        .and_then(|()| stream.shutdown(Shutdown::Write))
        .and_then(|()| stream.read_to_end(&mut answer));
    match asked {
        Ok(_) if answer == DONE => Ok(()),
        Ok(_) if !answer.is_empty() => Err(io::Error::other(String::from_utf8_lossy(&answer).trim_end().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            Err(io::Error::other("the session did not take it in time"))
        }
        // It ended meanwhile.
        _ if folder.is_over()? => Ok(()),
        Ok(_) => Err(io::Error::other("the session did not take it")),
        Err(error) => Err(error),
    }
}
