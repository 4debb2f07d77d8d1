//! Runs a program in a terminal of its own, between a pane and a transcript. The program's output goes to both; its input comes
//! from the pane and from the control socket. So a multiplexer needs to do nothing but show a pane.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, tcgetpgrp};

use super::SessionDir;
use super::control_socket::ControlSocket;
use super::paste_submit::{Action, KeyboardInput, PasteSubmit};
use super::transcript_writer::TranscriptWriter;
use crate::domain::terminal_modes::TerminalModes;
use crate::os::command::Program;
use crate::os::poll::poll_timeout;
use crate::os::pty::{self, Pty};
use crate::os::request_socket::Incoming;
use crate::os::session_leader::Running;
use crate::os::terminal::{self, RawMode, Size};

/// How much may wait for a pane or a program, in bytes, before reading for it stops.
const MAX_BUFFERED_BYTES: usize = 64 * 1024;
/// How many reads of one stream may follow each other before the other streams are served.
const MAX_READS_PER_TURN: u8 = 16;
/// How long a program may outlive its pane, and how long writing the last output may take.
const GRACE: Duration = Duration::from_secs(2);

/// A program that is being recorded.
#[derive(Debug)]
pub(super) struct PtyProxy {
    running: Running,
    pty: Pty,
    pane: Pane,
    control: ControlSocket<KeyboardInput>,
    session_dir: SessionDir,
    signals: SignalFd,
    transcript: TranscriptWriter,
    modes: TerminalModes,
    paste_submit: PasteSubmit,
    /// Input that the program has not taken yet.
    input: VecDeque<u8>,
    size: Size,
    started: Instant,
    /// When the program is killed because its pane is gone.
    kill_at: Option<Instant>,
    is_killed: bool,
    /// Whether the program's end of the terminal is closed.
    output_closed: bool,
}

impl PtyProxy {
    /// Starts a program in a new terminal with the modes and the size of the terminal at stdin. Without a size there, takes the
    /// one in the start configuration.
    pub(super) fn start(program: &Program<'_>, dir: &SessionDir, recorder: TranscriptWriter) -> io::Result<Self> {
        let mut watched = SigSet::empty();
        watched.add(Signal::SIGWINCH);
        watched.add(Signal::SIGCHLD);
        // The program gets an empty mask from the standard library.
        watched.thread_block()?;
        let signals = SignalFd::with_flags(&watched, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let pane = Pane::open()?;
        // A multiplexer may start the program before it has set the pane's size.
        let size = pane.size().map_or_else(|| requested_size(dir), Ok)?;
        let control = ControlSocket::open(dir)?;
        dir.record_size(size)?;
        let (pty, running) = pty::spawn(program, size, pane.raw.as_ref().map(RawMode::original))?;
        Ok(Self {
            running,
            pty,
            pane,
            control,
            session_dir: dir.clone(),
            signals,
            transcript: recorder,
            modes: TerminalModes::default(),
            paste_submit: PasteSubmit::default(),
            input: VecDeque::new(),
            size,
            started: Instant::now(),
            kill_at: None,
            is_killed: false,
            output_closed: false,
        })
    }

    pub(super) const fn running(&self) -> &Running {
        &self.running
    }

    /// Passes input and output on until the program has ended, then writes the rest of the output and returns the exit code. When
    /// the terminal at stdin disappears, the program gets SIGHUP, and SIGKILL after a grace period.
    pub(super) fn wait_for_exit(&mut self) -> io::Result<i32> {
        loop {
            if let Some(code) = self.running.reap()? {
                self.pump_output();
                // The typed text may have ended the program; nothing can be typed to a program that has ended.
                self.control.reply_done_to_all();
                self.transcript.flush(GRACE);
                return Ok(code);
            }
            let until = self.kill_at.filter(|_| !self.is_killed);
            let deadlines = [self.paste_submit.next_wake().map(|wake| self.started + wake), until];
            self.poll_once(deadlines.into_iter().flatten().min())?;
            // The program got SIGHUP, and the terminal cannot be shown again: no reason to stay.
            if until.is_some_and(|until| Instant::now() >= until) {
                self.is_killed = true;
                self.signal_program(Signal::SIGKILL);
            }
        }
    }

    /// Passes on the output that is left after all processes of the session have ended, within a grace period.
    pub(super) fn drain_output(mut self) {
        let deadline = Instant::now() + GRACE;
        while !(self.output_closed && self.pane.output.is_empty()) && Instant::now() < deadline {
            if self.poll_once(Some(deadline)).is_err() {
                break;
            }
        }
        self.transcript.flush(GRACE);
    }

    fn poll_once(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let mut watched = self.pane.poll_fds(self.takes_input());
        let panes = watched.len();
        watched.push(PollFd::new(self.signals.as_fd(), PollFlags::POLLIN));
        // `poll` reports the end of a descriptor even when no event is asked for, again and again.
        if let Some(wanted) = Some(self.pty_events()).filter(|wanted| !wanted.is_empty()) {
            watched.push(PollFd::new(self.pty.as_fd(), wanted));
        }
        watched.extend(self.control.poll_fds());
        match poll(&mut watched, poll_timeout(left)) {
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
        self.update_size();
        self.pump_output();
        self.read_requests();
        self.pump_input();
        Ok(())
    }

    /// The events to wait for at the program's terminal.
    fn pty_events(&self) -> PollFlags {
        if self.output_closed {
            return PollFlags::empty();
        }
        let mut wanted = PollFlags::empty();
        wanted.set(PollFlags::POLLIN, self.pane.output.len() < MAX_BUFFERED_BYTES);
        wanted.set(PollFlags::POLLOUT, !self.input.is_empty());
        wanted
    }

    /// Whether input from the pane is read now.
    fn takes_input(&self) -> bool {
        self.input.len() < MAX_BUFFERED_BYTES && !self.paste_submit.is_writing()
    }

    fn update_size(&mut self) {
        if let Some(size) = self.pane.size().filter(|size| *size != self.size) {
            self.size = size;
            let _ = self.pty.resize(size);
            let _ = self.session_dir.record_size(size);
        }
    }

    /// Moves output from the program to the pane and the transcript.
    fn pump_output(&mut self) {
        let mut buffer = [0; 16 * 1024];
        for _ in 0..MAX_READS_PER_TURN {
            if self.output_closed || self.pane.output.len() >= MAX_BUFFERED_BYTES {
                break;
            }
            match self.pty.read(&mut buffer) {
                Ok(0) => self.output_closed = true,
                Ok(read) => {
                    let printed = buffer.get(..read).unwrap_or_default();
                    self.transcript.write(printed);
                    self.modes.update(printed);
                    self.paste_submit.note_output(self.started.elapsed());
                    self.pane.queue_output(printed);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.pane.flush();
    }

    /// Reads input from the pane, and requests from the control socket.
    fn read_requests(&mut self) {
        if self.takes_input() {
            self.pane.read(&mut self.input);
        }
        if self.pane.is_gone && self.kill_at.is_none() {
            self.kill_at = Some(Instant::now() + GRACE);
            self.signal_program(Signal::SIGHUP);
            self.signal_program(Signal::SIGCONT);
        }
        for came in self.control.poll() {
            match came {
                Incoming::Request(id, job) => self.paste_submit.add(id, job),
                Incoming::Closed(id) => self.paste_submit.cancel(id),
            }
        }
    }

    /// Moves input to the program.
    fn pump_input(&mut self) {
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
            match self.paste_submit.next_action(self.started.elapsed(), self.modes, self.input.is_empty()) {
                None => return,
                Some(Action::Write(bytes)) => self.input.extend(bytes),
                Some(Action::Done(id)) => self.control.reply(id, Ok(())),
                Some(Action::TimedOut(id)) => {
                    self.input.clear();
                    if self.modes.bracketed_paste {
                        self.input.extend(b"\x1b[201~");
                    }
                    self.control.reply(id, Err("the program does not take its input"));
                }
            }
        }
    }

    /// Sends a signal to the program and to the foreground process group of its terminal, as a closed terminal does with SIGHUP.
    fn signal_program(&self, signal: Signal) {
        let program = Pid::from_raw(self.running.pid());
        // The program is not reaped yet, so the pid is still its own.
        let _ = killpg(program, signal);
        if let Ok(front) = tcgetpgrp(&self.pty)
            && front != program
            && front.as_raw() > 1
        {
            let _ = killpg(front, signal);
        }
    }
}

/// The surrounding terminal: this process's stdin and stdout.
#[derive(Debug)]
struct Pane {
    input: File,
    screen: File,
    raw: Option<RawMode>,
    original_flags: [OFlag; 2],
    /// Output that the pane has not taken yet.
    output: VecDeque<u8>,
    reads_input: bool,
    is_gone: bool,
}

impl Pane {
    fn open() -> io::Result<Self> {
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let screen = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let raw = RawMode::enable(input.as_fd())?;
        let flags = |end: &File| fcntl(end, FcntlArg::F_GETFL).map(OFlag::from_bits_retain);
        let before = [flags(&input)?, flags(&screen)?];
        for (end, flags) in [&input, &screen].into_iter().zip(before) {
            fcntl(end, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        }
        Ok(Self {
            input,
            screen,
            raw,
            original_flags: before,
            output: VecDeque::new(),
            reads_input: true,
            is_gone: false,
        })
    }

    fn size(&self) -> Option<Size> {
        terminal::size_of(self.input.as_fd())
    }

    fn poll_fds(&self, takes_input: bool) -> Vec<PollFd<'_>> {
        let mut watched = Vec::new();
        // Even without input, `poll` reports that a terminal has gone.
        if self.reads_input && (takes_input || self.raw.is_some()) {
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
        while self.reads_input && into.len() < MAX_BUFFERED_BYTES {
            match self.input.read(&mut buffer) {
                // A pipe may just end; a terminal that ends is gone.
                Ok(0) => self.input_ended(),
                Ok(read) => into.extend(buffer.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.input_ended(),
            }
        }
    }

    fn input_ended(&mut self) {
        self.reads_input = false;
        self.hang_up();
    }

    /// Notes that the pane is gone when it is a terminal. The end of a pipe does not mean that.
    fn hang_up(&mut self) {
        if self.raw.is_some() {
            (self.reads_input, self.is_gone) = (false, true);
            self.output.clear();
        }
    }

    fn queue_output(&mut self, printed: &[u8]) {
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
                // The pane is gone.
                Err(_) => self.output.clear(),
            }
        }
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        // The next user of the terminal expects the old mode.
        for (end, flags) in [&self.input, &self.screen].into_iter().zip(self.original_flags) {
            let _ = fcntl(end, FcntlArg::F_SETFL(flags));
        }
    }
}

/// The size of the terminal in the start configuration.
fn requested_size(dir: &SessionDir) -> io::Result<Size> {
    let terminal = dir.start_config()?.and_then(|start| start.terminal).unwrap_or_default();
    Ok(Size { rows: terminal.rows, cols: terminal.cols })
}
