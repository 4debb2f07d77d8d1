//! A job's program, from the held process to the end of its output: its pipes or its terminal.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
    process::Stdio,
};

use crate::{
    domain::job::{ItemType, TerminalSize},
    os::{
        command::Program,
        held_process::{self, HeldProcess, Streams},
        pipe,
        pty::{self, Pty},
        terminal::Size,
    },
};

/// How much of a stream is read in one turn, in bytes: a flood must delay neither requests nor the end.
const MAX_READ_BYTES: usize = 1 << 20;
/// The default capacity of a pipe, in bytes. A pipe that was found full gets a larger one.
const DEFAULT_PIPE_BYTES: usize = 64 * 1024;

/// The program to start.
#[derive(Debug)]
pub struct ChildSpec<'a> {
    /// The program and its arguments.
    pub argv: &'a [OsString],
    /// The complete environment.
    pub env: &'a BTreeMap<OsString, OsString>,
    /// The working directory.
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
    pipe: File,
    is_large: bool,
}

/// The input of a program without a terminal, and how far it was read.
#[derive(Debug)]
struct StdinFeed {
    pipe: File,
    text: Vec<u8>,
    written: usize,
}

impl Child {
    /// Starts a program that waits.
    pub fn start(begin: ChildSpec<'_>) -> io::Result<Self> {
        let program = Program { argv: begin.argv, env: begin.env, cwd: begin.cwd };
        if let Some(size) = begin.pty {
            let (terminal, end) = pty::open(to_size(size))?;
            let theirs = Some(end.try_clone()?);
            let (stdin, stdout) = (Stdio::from(end.try_clone()?), Stdio::from(end.try_clone()?));
            let streams = Streams { stdin, stdout, stderr: Stdio::from(end), is_terminal: true };
            let gate = held_process::spawn_held(&program, streams)?;
            return Ok(Self {
                held: gate,
                outputs: Vec::new(),
                terminal: Some(terminal),
                program_end: theirs,
                had_terminal: true,
                stdin_feed: None,
            });
        }
        let (stdin, input) = match begin.stdin {
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
            outputs.push(OutputPipe { stream, pipe: File::from(OwnedFd::from(reader)), is_large: false });
            Ok(Stdio::from(writer))
        };
        let (stdout, stderr) = (output(ItemType::Stdout)?, output(ItemType::Stderr)?);
        let gate = held_process::spawn_held(&program, Streams { stdin, stdout, stderr, is_terminal: false })?;
        Ok(Self { held: gate, outputs, terminal: None, program_end: None, had_terminal: false, stdin_feed: input })
    }

    /// Its terminal, as long as anybody has it open.
    pub const fn terminal(&self) -> Option<&Pty> {
        self.terminal.as_ref()
    }

    /// The terminal, to type to.
    pub const fn terminal_mut(&mut self) -> Option<&mut Pty> {
        self.terminal.as_mut()
    }

    /// Closes the program's end of the terminal; the output ends when no process has it open.
    pub fn release_terminal(&mut self) {
        self.program_end = None;
    }

    /// Whether it was given one.
    pub const fn had_terminal(&self) -> bool {
        self.had_terminal
    }

    /// The pipes that it prints to.
    pub fn output_pipes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.outputs.iter().map(|output| output.pipe.as_fd())
    }

    /// The pipe of its input, while there is something left for it.
    pub fn stdin_pipe(&self) -> Option<BorrowedFd<'_>> {
        self.stdin_feed.as_ref().map(|feed| feed.pipe.as_fd())
    }

    /// Whether nothing can come any more.
    pub const fn is_output_closed(&self) -> bool {
        self.outputs.is_empty() && self.terminal.is_none()
    }

    /// Hands on what it has printed, but only so much at a time; says how many bytes that was.
    pub fn read(&mut self, see: &mut dyn FnMut(ItemType, &[u8])) -> usize {
        let mut total = 0;
        self.outputs.retain_mut(|output| {
            let (read, goes_on) = read_some(|buffer| output.pipe.read(buffer), &mut |bytes| see(output.stream, bytes));
            if read >= DEFAULT_PIPE_BYTES && !output.is_large {
                output.is_large = true;
                pipe::set_capacity(output.pipe.as_fd(), MAX_READ_BYTES);
            }
            total += read;
            goes_on
        });
        if let Some(terminal) = &mut self.terminal {
            let (read, goes_on) = read_some(|buffer| terminal.read(buffer), &mut |bytes| see(ItemType::Stdout, bytes));
            total += read;
            if !goes_on {
                self.terminal = None;
            }
        }
        total
    }

    /// Hands to it what it is to read, as far as it takes that. Never waits.
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

/// Reads what is there; how much that was, and whether more may come.
fn read_some(mut read: impl FnMut(&mut [u8]) -> io::Result<usize>, see: &mut dyn FnMut(&[u8])) -> (usize, bool) {
    let (mut buffer, mut total) = ([0; 16 * 1024], 0);
    while total < MAX_READ_BYTES {
        match read(&mut buffer) {
            Ok(0) => return (total, false),
            Ok(read) => {
                see(buffer.get(..read).unwrap_or_default());
                total += read;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return (total, true),
            Err(_) => return (total, false),
        }
    }
    (total, true)
}

/// A size as the operating system has it.
pub const fn to_size(size: TerminalSize) -> Size {
    Size { rows: size.rows, cols: size.cols }
}
