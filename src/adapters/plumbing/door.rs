//! Where a session takes what is to be typed: a socket in its folder. One request a connection, a letter and its text, ended
//! by the caller's end; one line as the answer, once it is typed.

use std::{
    fs,
    io::{self, Read, Write},
    net::Shutdown,
    os::{
        fd::AsFd,
        unix::net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    time::Duration,
};

use nix::poll::{PollFd, PollFlags};

use super::{Folder, keyboard::Job};
use crate::os::socket;

/// The socket's name in the session's folder.
pub(super) const NAME: &str = "door";
/// The longest request, in bytes.
const LONGEST: usize = 16 << 20;
/// How many may wait for their turn.
const CALLERS: usize = 64;
/// How long a caller waits, the turns of others before it included: less than the protocol's 30 s.
const PATIENCE: Duration = Duration::from_secs(25);
const TEXT: u8 = b't';
const KEYS: u8 = b'k';
const DONE: &[u8] = b"done\n";

/// What the session's side holds.
#[derive(Debug)]
pub(super) struct Door {
    path: PathBuf,
    listener: UnixListener,
    callers: Vec<Caller>,
    next: u64,
}

#[derive(Debug)]
struct Caller {
    id: u64,
    stream: UnixStream,
    said: Vec<u8>,
    waits: bool,
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
        let listener = socket::listen(folder.path(), NAME)?;
        Ok(Self { path: folder.file(NAME), listener, callers: Vec::new(), next: 0 })
    }

    /// What to wait for.
    pub(super) fn watched(&self) -> Vec<PollFd<'_>> {
        let callers = self.callers.iter().map(|caller| PollFd::new(caller.stream.as_fd(), caller.events()));
        std::iter::once(PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)).chain(callers).collect()
    }

    /// Looks after everybody at the door. Never waits.
    pub(super) fn look(&mut self) -> Vec<Came> {
        while let Ok((stream, _)) = self.listener.accept() {
            if self.callers.len() < CALLERS && stream.set_nonblocking(true).is_ok() {
                self.callers.push(Caller { id: self.next, stream, said: Vec::new(), waits: false });
                self.next += 1;
            }
        }
        let mut came = Vec::new();
        self.callers.retain_mut(|caller| match caller.listen() {
            Heard::More => true,
            Heard::All(job) => {
                came.push(Came::Job(caller.id, job));
                true
            }
            Heard::Gone => {
                came.push(Came::Gone(caller.id));
                false
            }
        });
        came
    }

    /// Tells a caller what became of it; `None` when all is well.
    pub(super) fn answer(&mut self, id: u64, failed: Option<&str>) {
        self.callers.retain_mut(|caller| {
            if caller.id == id {
                let failed = failed.map(|why| format!("{why}\n"));
                // A socket takes a line at once; who is gone does not want it.
                let _ = caller.stream.write(failed.as_ref().map_or(DONE, |why| why.as_bytes()));
            }
            caller.id != id
        });
    }
}

impl Door {
    /// Lets everybody go: there is nobody any more to type to.
    pub(super) fn dismiss(&mut self) {
        self.look();
        for mut caller in self.callers.drain(..) {
            let _ = caller.stream.write(DONE);
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

enum Heard {
    More,
    All(Job),
    Gone,
}

impl Caller {
    /// One that waits has nothing more to say: only its going is of interest.
    const fn events(&self) -> PollFlags {
        if self.waits { PollFlags::empty() } else { PollFlags::POLLIN }
    }

    fn listen(&mut self) -> Heard {
        if self.waits {
            let mut watched = [PollFd::new(self.stream.as_fd(), PollFlags::empty())];
            let looked = nix::poll::poll(&mut watched, nix::poll::PollTimeout::ZERO);
            return if looked.is_ok_and(|found| found > 0) { Heard::Gone } else { Heard::More };
        }
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => self.said.extend_from_slice(buffer.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Heard::More,
                Err(_) => return Heard::Gone,
            }
            if self.said.len() > LONGEST {
                return Heard::Gone;
            }
        }
        self.waits = true;
        read(&std::mem::take(&mut self.said)).map_or(Heard::Gone, Heard::All)
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
