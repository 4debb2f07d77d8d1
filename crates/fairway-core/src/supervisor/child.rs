//! A job's program, from the held process to the end of its output: its pipes or its terminal.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::Stdio;

use crate::domain::job::{ItemType, TerminalSize};
use crate::os::command::Program;
use crate::os::held_process::{self, HeldProcess, Streams};
use crate::os::pipe;
use crate::os::pty::{self, Pty};
use crate::os::terminal::Size;

/// How much of a stream is read in one turn, in bytes: a flood must delay neither requests nor the end.
const MAX_READ_BYTES: usize = 1 << 20;
/// The default capacity of a pipe, in bytes. A pipe that was found full gets a larger one.
const DEFAULT_PIPE_BYTES: usize = 64 * 1024;

/// The program to start.
#[derive(Debug)]
pub struct ChildSpec<'a> {
    pub argv: &'a [OsString],
    /// The complete environment.
    pub env: &'a BTreeMap<OsString, OsString>,
    pub cwd: &'a Path,
    /// The program's stdin; without it, stdin is empty.
    pub stdin: Option<Vec<u8>>,
    /// The size of the terminal, when the program gets one.
    pub pty: Option<TerminalSize>,
}

/// A program and this process's ends of its streams.
#[derive(Debug)]
pub struct Child {
    /// The process that becomes the program when it is released.
    pub held: HeldProcess,
    outputs: Vec<OutputPipe>,
    terminal: Option<Pty>,
    /// The program's end of the terminal, kept open here: a terminal without an open end hangs up, and a program may close
    /// its own early.
    program_end: Option<OwnedFd>,
    had_terminal: bool,
    stdin_feed: Option<StdinFeed>,
}

/// A pipe that the program prints to.
#[derive(Debug)]
struct OutputPipe {
    stream: ItemType,
    /// `None` once it is closed.
    pipe: Option<File>,
    is_large: bool,
}

/// The input of a program without a terminal, and how much of it was written.
#[derive(Debug)]
struct StdinFeed {
    pipe: File,
    text: Vec<u8>,
    written: usize,
}

impl Child {
    /// Starts a process that executes the job's program once [`Self::held`] is released.
    pub fn start(spec: ChildSpec<'_>) -> io::Result<Self> {
        let program = Program { argv: spec.argv, env: spec.env, cwd: spec.cwd };
        if let Some(size) = spec.pty {
            let (terminal, end) = pty::open(to_size(size))?;
            let program_end = Some(end.try_clone()?);
            let (stdin, stdout) = (Stdio::from(end.try_clone()?), Stdio::from(end.try_clone()?));
            let streams = Streams { stdin, stdout, stderr: Stdio::from(end), is_terminal: true };
            let held = held_process::spawn_held(&program, streams)?;
            return Ok(Self {
                held,
                outputs: Vec::new(),
                terminal: Some(terminal),
                program_end,
                had_terminal: true,
                stdin_feed: None,
            });
        }
        let (stdin, stdin_feed) = match spec.stdin {
            None => (Stdio::null(), None),
            Some(text) => {
                let (reader, writer) = io::pipe()?;
                pipe::set_nonblocking(writer.as_fd())?;
                let pipe = File::from(OwnedFd::from(writer));
                (Stdio::from(reader), Some(StdinFeed { pipe, text, written: 0 }))
            }
        };
        let mut outputs = Vec::new();
        let mut output = |stream| -> io::Result<Stdio> {
            let (reader, writer) = io::pipe()?;
            pipe::set_nonblocking(reader.as_fd())?;
            outputs.push(OutputPipe { stream, pipe: Some(File::from(OwnedFd::from(reader))), is_large: false });
            Ok(Stdio::from(writer))
        };
        let (stdout, stderr) = (output(ItemType::Stdout)?, output(ItemType::Stderr)?);
        let held = held_process::spawn_held(&program, Streams { stdin, stdout, stderr, is_terminal: false })?;
        Ok(Self { held, outputs, terminal: None, program_end: None, had_terminal: false, stdin_feed })
    }

    /// The program's terminal; `None` when it got none, or when no other process has it open any more.
    pub const fn terminal(&self) -> Option<&Pty> {
        self.terminal.as_ref()
    }

    pub const fn terminal_mut(&mut self) -> Option<&mut Pty> {
        self.terminal.as_mut()
    }

    /// Closes this process's copy of the program's end of the terminal. From then on the output ends once no other process has
    /// that end open.
    pub fn release_terminal(&mut self) {
        self.program_end = None;
    }

    pub const fn had_terminal(&self) -> bool {
        self.had_terminal
    }

    /// The pipes for the program's output that are still open, for polling.
    pub fn output_pipes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.outputs.iter().filter_map(|output| output.pipe.as_ref()).map(AsFd::as_fd)
    }

    /// The pipe to the program's stdin, for polling; `None` when there is no input to write, or none is left.
    pub fn stdin_pipe(&self) -> Option<BorrowedFd<'_>> {
        self.stdin_feed.as_ref().map(|feed| feed.pipe.as_fd())
    }

    pub const fn is_output_closed(&self) -> bool {
        self.outputs.is_empty() && self.terminal.is_none()
    }

    /// Reads the output that is ready now, at most [`MAX_READ_BYTES`] of each stream, and hands it to `see`. Returns the number
    /// of bytes.
    pub fn read(&mut self, see: &mut dyn FnMut(ItemType, &[u8])) -> usize {
        let mut total = 0;
        let mut hand_over = |stream, bytes: &[u8]| {
            total += bytes.len();
            see(stream, bytes);
        };
        self.outputs.retain_mut(|output| {
            let mut read = 0;
            pipe::read_available(&mut output.pipe, MAX_READ_BYTES, |bytes| {
                read += bytes.len();
                hand_over(output.stream, bytes);
            });
            if let Some(open) = &output.pipe
                && read >= DEFAULT_PIPE_BYTES
                && !output.is_large
            {
                output.is_large = true;
                pipe::set_capacity(open.as_fd(), MAX_READ_BYTES);
            }
            output.pipe.is_some()
        });
        pipe::read_available(&mut self.terminal, MAX_READ_BYTES, |bytes| hand_over(ItemType::Stdout, bytes));
        total
    }

    /// Writes as much of the input as the program's stdin accepts now. Does not block. The rest is dropped when the program has
    /// closed its stdin.
    pub fn write_stdin(&mut self) {
        while let Some(feed) = &mut self.stdin_feed {
            match feed.pipe.write(feed.text.get(feed.written..).unwrap_or_default()) {
                Ok(written) => feed.written += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The program has closed its stdin; the rest is dropped.
                Err(_) => feed.written = feed.text.len(),
            }
            if feed.written >= feed.text.len() {
                self.stdin_feed = None;
            }
        }
    }
}

pub const fn to_size(size: TerminalSize) -> Size {
    Size { rows: size.rows, cols: size.cols }
}
