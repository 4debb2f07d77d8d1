//! A program in a terminal of its own between a pane and a transcript: what it prints goes to both, what is typed in the pane
//! or comes in at the door goes to it. So a multiplexer needs to know nothing but how to show a pane.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Read, Write},
    os::fd::AsFd,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{SigSet, Signal, killpg},
        signalfd::{SfdFlags, SignalFd},
    },
    unistd::{Pid, tcgetpgrp},
};

use super::{
    Folder,
    paste_submit::{Keyboard, Step},
    session_control::{Came, Door},
    transcript_writer::Recorder,
};
use crate::{
    domain::modes::Modes,
    os::{
        child::{Program, Running},
        pty::{self, Pty},
        terminal::{self, Raw, Size},
    },
};

/// How much may wait for a pane or a program, in bytes, before no more is read for it.
const WAITING: usize = 64 * 1024;
/// How many reads of a flood may go before somebody else's turn.
const MOST: u8 = 16;
/// What a terminal has that nobody told the size of.
const SIZE: Size = Size { rows: 50, cols: 200 };
/// How long a program may outlive its pane, and the last words may take.
const GRACE: Duration = Duration::from_secs(2);

/// A program that is being recorded.
#[derive(Debug)]
pub(super) struct Recording {
    running: Running,
    pty: Pty,
    pane: Pane,
    door: Door,
    folder: Folder,
    signals: SignalFd,
    recorder: Recorder,
    modes: Modes,
    keyboard: Keyboard,
    /// What the program has not taken yet.
    input: VecDeque<u8>,
    size: Size,
    begun: Instant,
    /// Until when it may go on without a pane, which is gone.
    until: Option<Instant>,
    is_killed: bool,
    /// The program's end is closed.
    silent: bool,
}

impl Recording {
    /// Starts a program in a terminal like the one at stdin.
    pub(super) fn start(program: &Program<'_>, folder: &Folder, recorder: Recorder) -> io::Result<Self> {
        let mut watched = SigSet::empty();
        watched.add(Signal::SIGWINCH);
        watched.add(Signal::SIGCHLD);
        // The program gets an empty mask from the standard library.
        watched.thread_block()?;
        let signals = SignalFd::with_flags(&watched, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let pane = Pane::open()?;
        let size = pane.size().unwrap_or(SIZE);
        let door = Door::open(folder)?;
        folder.resized(size)?;
        let (pty, running) = pty::start(program, size, pane.raw.as_ref().map(Raw::before))?;
        Ok(Self {
            running,
            pty,
            pane,
            door,
            folder: folder.clone(),
            signals,
            recorder,
            modes: Modes::default(),
            keyboard: Keyboard::default(),
            input: VecDeque::new(),
            size,
            begun: Instant::now(),
            until: None,
            is_killed: false,
            silent: false,
        })
    }

    /// The program.
    pub(super) const fn running(&self) -> &Running {
        &self.running
    }

    /// Waits until the program has ended; answers with its exit code.
    pub(super) fn finish(&mut self) -> io::Result<i32> {
        loop {
            if let Some(code) = self.running.reap()? {
                self.hand_on();
                // What was typed may have been what ended it; to one that has ended there is nothing to be typed.
                self.door.dismiss();
                self.recorder.flush(GRACE);
                return Ok(code);
            }
            let until = self.until.filter(|_| !self.is_killed);
            let deadlines = [self.keyboard.wake().map(|wake| self.begun + wake), until];
            self.turn(deadlines.into_iter().flatten().min())?;
            // It was told, and a terminal that nobody can see again is no place to stay.
            if until.is_some_and(|until| Instant::now() >= until) {
                self.is_killed = true;
                self.tell(Signal::SIGKILL);
            }
        }
    }

    /// Hands on what is left to be said once everything below has ended.
    pub(super) fn close(mut self) {
        let deadline = Instant::now() + GRACE;
        while !(self.silent && self.pane.output.is_empty()) && Instant::now() < deadline {
            if self.turn(Some(deadline)).is_err() {
                break;
            }
        }
        self.recorder.flush(GRACE);
    }

    fn turn(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        // Rounded up, so that a last part of a millisecond is no busy loop.
        let pause = left.map_or(PollTimeout::NONE, |left| {
            PollTimeout::try_from(left + Duration::from_micros(999)).unwrap_or(PollTimeout::MAX)
        });
        let mut watched = self.pane.watched(self.takes_input());
        let panes = watched.len();
        watched.push(PollFd::new(self.signals.as_fd(), PollFlags::POLLIN));
        // What nothing is wanted of still tells its end, again and again.
        if let Some(wanted) = Some(self.wanted()).filter(|wanted| !wanted.is_empty()) {
            watched.push(PollFd::new(self.pty.as_fd(), wanted));
        }
        watched.extend(self.door.watched());
        match poll(&mut watched, pause) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let hung = |one: &PollFd<'_>| {
            one.revents().is_some_and(|found| found.intersects(PollFlags::POLLHUP | PollFlags::POLLERR))
        };
        let is_gone = watched.iter().take(panes).any(hung);
        drop(watched);
        if is_gone {
            self.pane.hang_up();
        }
        while self.signals.read_signal()?.is_some() {}
        self.follow_size();
        self.hand_on();
        self.listen();
        self.type_on();
        Ok(())
    }

    /// What to wait for at the program's terminal.
    fn wanted(&self) -> PollFlags {
        if self.silent {
            return PollFlags::empty();
        }
        let mut wanted = PollFlags::empty();
        wanted.set(PollFlags::POLLIN, self.pane.output.len() < WAITING);
        wanted.set(PollFlags::POLLOUT, !self.input.is_empty());
        wanted
    }

    /// Whether what is typed in the pane is read now.
    fn takes_input(&self) -> bool {
        self.input.len() < WAITING && !self.keyboard.is_writing()
    }

    fn follow_size(&mut self) {
        if let Some(size) = self.pane.size().filter(|size| *size != self.size) {
            self.size = size;
            let _ = self.pty.resize(size);
            let _ = self.folder.resized(size);
        }
    }

    /// From the program to pane and transcript.
    fn hand_on(&mut self) {
        let mut buffer = [0; 16 * 1024];
        for _ in 0..MOST {
            if self.silent || self.pane.output.len() >= WAITING {
                break;
            }
            match self.pty.read(&mut buffer) {
                Ok(0) => self.silent = true,
                Ok(read) => {
                    let printed = buffer.get(..read).unwrap_or_default();
                    self.recorder.write(printed);
                    self.modes.see(printed);
                    self.keyboard.printed(self.begun.elapsed());
                    self.pane.show(printed);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.pane.flush();
    }

    /// What came from the pane and at the door.
    fn listen(&mut self) {
        if self.takes_input() {
            self.pane.read(&mut self.input);
        }
        if self.pane.is_gone && self.until.is_none() {
            self.until = Some(Instant::now() + GRACE);
            self.tell(Signal::SIGHUP);
            self.tell(Signal::SIGCONT);
        }
        for came in self.door.look() {
            match came {
                Came::Job(id, job) => self.keyboard.add(id, job),
                Came::Gone(id) => self.keyboard.forget(id),
            }
        }
    }

    /// To the program.
    fn type_on(&mut self) {
        loop {
            while let (front, _) = self.input.as_slices()
                && !front.is_empty()
            {
                match self.pty.write(front) {
                    Ok(written) => drop(self.input.drain(..written)),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            match self.keyboard.next(self.begun.elapsed(), self.modes, self.input.is_empty()) {
                None => return,
                Some(Step::Write(bytes)) => self.input.extend(bytes),
                Some(Step::Done(id)) => self.door.answer(id, None),
                Some(Step::GivenUp(id)) => {
                    self.input.clear();
                    if self.modes.bracketed {
                        self.input.extend(b"\x1b[201~");
                    }
                    self.door.answer(id, Some("the program does not take its input"));
                }
            }
        }
    }

    /// Tells the program and whoever is in front of its terminal, as a terminal that goes does.
    fn tell(&self, signal: Signal) {
        let program = Pid::from_raw(self.running.pid());
        // Not reaped yet: the number is still its own.
        let _ = killpg(program, signal);
        if let Ok(front) = tcgetpgrp(&self.pty)
            && front != program
            && front.as_raw() > 1
        {
            let _ = killpg(front, signal);
        }
    }
}

/// The terminal around us: stdin and stdout.
#[derive(Debug)]
struct Pane {
    input: File,
    screen: File,
    raw: Option<Raw>,
    before: [OFlag; 2],
    /// What it has not taken yet.
    output: VecDeque<u8>,
    reads: bool,
    is_gone: bool,
}

impl Pane {
    fn open() -> io::Result<Self> {
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let screen = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let raw = Raw::of(input.as_fd())?;
        let flags = |end: &File| fcntl(end, FcntlArg::F_GETFL).map(OFlag::from_bits_retain);
        let before = [flags(&input)?, flags(&screen)?];
        for (end, flags) in [&input, &screen].into_iter().zip(before) {
            fcntl(end, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        }
        Ok(Self { input, screen, raw, before, output: VecDeque::new(), reads: true, is_gone: false })
    }

    fn size(&self) -> Option<Size> {
        terminal::size_of(self.input.as_fd())
    }

    fn watched(&self, takes_input: bool) -> Vec<PollFd<'_>> {
        let mut watched = Vec::new();
        // Without input the going of a terminal is still told.
        if self.reads && (takes_input || self.raw.is_some()) {
            let wanted = if takes_input { PollFlags::POLLIN } else { PollFlags::empty() };
            watched.push(PollFd::new(self.input.as_fd(), wanted));
        }
        if !self.output.is_empty() {
            watched.push(PollFd::new(self.screen.as_fd(), PollFlags::POLLOUT));
        }
        watched
    }

    fn read(&mut self, into: &mut VecDeque<u8>) {
        let mut buffer = [0; 4096];
        while self.reads && into.len() < WAITING {
            match self.input.read(&mut buffer) {
                // A pipe's end is only its end; a terminal that ends is gone.
                Ok(0) => self.ended(),
                Ok(read) => into.extend(buffer.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.ended(),
            }
        }
    }

    fn ended(&mut self) {
        self.reads = false;
        self.hang_up();
    }

    /// A terminal has gone; of a pipe this says nothing.
    fn hang_up(&mut self) {
        if self.raw.is_some() {
            (self.reads, self.is_gone) = (false, true);
            self.output.clear();
        }
    }

    fn show(&mut self, printed: &[u8]) {
        if !self.is_gone {
            self.output.extend(printed);
        }
    }

    fn flush(&mut self) {
        while let (front, _) = self.output.as_slices()
            && !front.is_empty()
        {
            match self.screen.write(front) {
                Ok(written) => drop(self.output.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Nobody sees it any more.
                Err(_) => self.output.clear(),
            }
        }
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        // Whoever has the terminal after us expects it as it was.
        for (end, flags) in [&self.input, &self.screen].into_iter().zip(self.before) {
            let _ = fcntl(end, FcntlArg::F_SETFL(flags));
        }
    }
}
