//! Whoever calls at a socket in a folder: each says one thing, waits, and is told one thing. Nobody here ever waits.

use std::{
    fs,
    io::{self, Read, Write},
    os::{
        fd::AsFd,
        unix::net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::socket;

/// How many may wait for their turn.
const MOST: usize = 64;

/// What tells that a caller has said all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    /// The end of a line. Who hangs up before it is gone.
    Line,
    /// That they hang up their side.
    End,
}

/// A socket, and those who call there.
#[derive(Debug)]
pub struct Callers {
    path: PathBuf,
    listener: UnixListener,
    all: Vec<Caller>,
    next: u64,
    whole: Whole,
    longest: usize,
}

#[derive(Debug)]
struct Caller {
    id: u64,
    stream: UnixStream,
    said: Vec<u8>,
    waits: bool,
}

/// What came in.
#[derive(Debug, PartialEq, Eq)]
pub enum Came {
    /// This one has said all, and waits.
    Said(u64, Vec<u8>),
    /// This one says more than anybody may, and waits.
    TooMuch(u64),
    /// This one is gone.
    Gone(u64),
}

impl Callers {
    /// Listens under a name in a folder; a call is at most `longest` bytes.
    ///
    /// # Errors
    /// When the folder is not there, or the name is taken.
    pub fn listen(folder: &Path, name: &str, whole: Whole, longest: usize) -> io::Result<Self> {
        let listener = socket::listen(folder, name)?;
        Ok(Self { path: folder.join(name), listener, all: Vec::new(), next: 0, whole, longest })
    }

    /// What to wait for.
    pub fn watched(&self) -> impl Iterator<Item = PollFd<'_>> {
        let callers = self.all.iter().map(|caller| PollFd::new(caller.stream.as_fd(), caller.events()));
        std::iter::once(PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)).chain(callers)
    }

    /// Looks after everybody.
    pub fn look(&mut self) -> Vec<Came> {
        while let Ok((stream, _)) = self.listener.accept() {
            if self.all.len() >= MOST
                && let Some(silent) = self.all.iter().position(|caller| !caller.waits)
            {
                // Who says nothing keeps nobody out.
                self.all.remove(silent);
            }
            if self.all.len() < MOST && stream.set_nonblocking(true).is_ok() {
                self.all.push(Caller { id: self.next, stream, said: Vec::new(), waits: false });
                self.next += 1;
            }
        }
        let mut came = Vec::new();
        self.all.retain_mut(|caller| {
            let Some(heard) = caller.listen(self.whole, self.longest) else { return true };
            let stays = !matches!(heard, Came::Gone(_));
            came.push(heard);
            stays
        });
        came
    }

    /// Tells one something, and lets it go.
    pub fn answer(&mut self, id: u64, text: &[u8]) {
        self.all.retain_mut(|caller| {
            if caller.id == id {
                caller.tell(text);
            }
            caller.id != id
        });
    }

    /// Tells everybody something, and lets them go.
    pub fn answer_all(&mut self, text: &[u8]) {
        for mut caller in self.all.drain(..) {
            caller.tell(text);
        }
    }

    /// Lets nobody in any more; who is in can still be answered.
    pub fn shut(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Drop for Callers {
    fn drop(&mut self) {
        self.shut();
    }
}

impl Caller {
    /// One that waits has nothing more to say: only its going is of interest.
    const fn events(&self) -> PollFlags {
        if self.waits { PollFlags::empty() } else { PollFlags::POLLIN }
    }

    fn tell(&mut self, text: &[u8]) {
        // A socket takes a line at once; who is gone does not want it.
        let _ = self.stream.write(text);
    }

    fn listen(&mut self, whole: Whole, longest: usize) -> Option<Came> {
        if self.waits {
            let mut watched = [PollFd::new(self.stream.as_fd(), PollFlags::empty())];
            let is_gone = poll(&mut watched, PollTimeout::ZERO).is_ok_and(|found| found > 0);
            return is_gone.then_some(Came::Gone(self.id));
        }
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) if whole == Whole::End => break,
                Ok(0) => return Some(Came::Gone(self.id)),
                Ok(read) => self.said.extend_from_slice(buffer.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(_) => return Some(Came::Gone(self.id)),
            }
            if whole == Whole::Line && self.said.ends_with(b"\n") {
                break;
            }
            if self.said.len() > longest {
                self.waits = true;
                return Some(Came::TooMuch(self.id));
            }
        }
        self.waits = true;
        Some(Came::Said(self.id, std::mem::take(&mut self.said)))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Shutdown;

    use super::*;

    fn callers(whole: Whole) -> (tempfile::TempDir, Callers) {
        let home = tempfile::tempdir().unwrap();
        let callers = Callers::listen(home.path(), "c", whole, 8).unwrap();
        (home, callers)
    }

    fn call(home: &tempfile::TempDir, text: &[u8]) -> UnixStream {
        let mut stream = socket::connect(home.path(), "c").unwrap();
        stream.write_all(text).unwrap();
        stream
    }

    #[test]
    fn each_says_one_thing_and_is_told_one() {
        let (home, mut callers) = callers(Whole::Line);
        let mut one = call(&home, b"a\n");
        let two = call(&home, b"b");
        let _three = call(&home, b"123456789");
        assert_eq!(callers.look(), [Came::Said(0, b"a\n".to_vec()), Came::TooMuch(2)]);
        drop(two);
        assert_eq!(callers.look(), [Came::Gone(1)]);
        callers.answer(0, b"yes");
        let mut told = String::new();
        one.read_to_string(&mut told).unwrap();
        assert_eq!(told, "yes");
        drop(callers);
        assert!(socket::connect(home.path(), "c").is_err());
    }

    #[test]
    fn the_end_of_a_side_is_the_end_of_what_is_said() {
        let (home, mut callers) = callers(Whole::End);
        let mut one = call(&home, b"a\nb");
        assert_eq!(callers.look(), []);
        one.shutdown(Shutdown::Write).unwrap();
        assert_eq!(callers.look(), [Came::Said(0, b"a\nb".to_vec())]);
        callers.answer_all(b"no");
        let mut told = String::new();
        one.read_to_string(&mut told).unwrap();
        assert_eq!(told, "no");
    }

    #[test]
    fn who_says_nothing_keeps_nobody_out() {
        let (home, mut callers) = callers(Whole::Line);
        let silent: Vec<_> = (0..MOST).map(|_| call(&home, b"")).collect();
        assert_eq!(callers.look(), []);
        let _last = call(&home, b"x\n");
        assert_eq!(callers.look(), [Came::Said(64, b"x\n".to_vec())]);
        drop(silent);
    }
}
