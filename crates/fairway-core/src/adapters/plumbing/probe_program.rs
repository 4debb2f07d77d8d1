//! The program in the sessions of `adapter check`: it records how it was started and everything that reaches it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;

use crate::env::Env;
use crate::os::signals::SignalPipe;
use crate::os::{files, terminal};

/// The program's environment as NUL-separated entries, as the kernel has passed it.
pub const ENVIRONMENT_FILE: &str = "env";
/// Its working directory.
pub const WORK_DIR_FILE: &str = "cwd";
/// The program's arguments, each followed by a NUL.
pub const ARGS_FILE: &str = "words";
/// Whether SIGINT was ignored or blocked when the program started: `true` or `false`.
pub const SIGINT_IGNORED_FILE: &str = "deaf";
/// The program's pid. It is written last, when the program reads input.
pub const PID_FILE: &str = "pid";
/// Every byte of input.
pub const INPUT_FILE: &str = "input";
/// One byte for each SIGINT.
pub const INTERRUPTS_FILE: &str = "interrupts";

/// The optional behaviour of the program.
#[derive(Debug, Clone, Default)]
pub struct ProbeOptions {
    /// How many numbered lines it prints before it takes input.
    pub lines: u32,
    /// The prompt that it prints after the lines.
    pub prompt: Option<String>,
    /// The arguments that it records.
    pub args: Vec<std::ffi::OsString>,
}

/// The text of one of the numbered lines that the probe program prints; the first number is 1.
pub fn numbered_line(number: u32) -> String {
    format!("probe line {number:03}")
}

/// Runs the probe program: records its environment, directory, arguments, input and interrupts in files in `dir`. Returns only on
/// an error, and so runs until a signal other than SIGINT ends this process.
pub fn run(env: &Env, dir: &Path, wish: &ProbeOptions) -> io::Result<()> {
    let is_deaf = ignores_sigint(&fs::read_to_string("/proc/self/status")?);
    let interrupts = SignalPipe::install(&[Signal::SIGINT])?;
    terminal::enable_cbreak()?;
    let note = |name: &str, content: &[u8]| files::write_atomic(&dir.join(name), content, 0o600);
    note(ENVIRONMENT_FILE, &fs::read("/proc/self/environ")?)?;
    note(WORK_DIR_FILE, env.cwd.as_os_str().as_bytes())?;
    let words: Vec<u8> = wish.args.iter().flat_map(|word| [word.as_bytes(), &[0]].concat()).collect();
    note(ARGS_FILE, &words)?;
    note(SIGINT_IGNORED_FILE, if is_deaf { b"true" } else { b"false" })?;
    let mut input = create_append_file(&dir.join(INPUT_FILE))?;
    let mut log = create_append_file(&dir.join(INTERRUPTS_FILE))?;
    let mut stdout = io::stdout().lock();
    for number in 1..=wish.lines {
        writeln!(stdout, "{}", numbered_line(number))?;
    }
    if env.terminal.stdout {
        // Terminals then send pastes in brackets, as they do to an editor.
        write!(stdout, "\x1b[?2004h")?;
    }
    stdout.flush()?;
    note(PID_FILE, std::process::id().to_string().as_bytes())?;
    write!(stdout, "{}", wish.prompt.as_deref().unwrap_or_default())?;
    stdout.flush()?;

    let mut stdin = Some(io::stdin());
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let mut ready = vec![PollFd::new(interrupts.as_fd(), PollFlags::POLLIN)];
        ready.extend(stdin.as_ref().map(|stdin| PollFd::new(stdin.as_fd(), PollFlags::POLLIN)));
        match poll(&mut ready, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let typed = ready.get(1).and_then(PollFd::any).unwrap_or_default();
        while interrupts.next()?.is_some() {
            log.write_all(b"i")?;
        }
        if let Some(pipe) = stdin.as_ref().filter(|_| typed) {
            match nix::unistd::read(pipe.as_fd(), &mut buffer) {
                Ok(0) => stdin = None,
                Ok(read) => input.write_all(buffer.get(..read).unwrap_or_default())?,
                Err(Errno::EINTR | Errno::EAGAIN) => {}
                // The terminal is gone; TERM or KILL will come.
                Err(_) => stdin = None,
            }
        }
    }
}

fn create_append_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)
}

/// Whether a process's status shows that SIGINT is ignored or blocked.
fn ignores_sigint(status: &str) -> bool {
    let masks = status.lines().filter_map(|line| line.strip_prefix("SigIgn:").or_else(|| line.strip_prefix("SigBlk:")));
    let has_int = |mask: &str| {
        let mask = u64::from_str_radix(mask.trim(), 16).unwrap_or_default();
        mask & (1 << (Signal::SIGINT as i32 - 1)) != 0
    };
    masks.into_iter().any(has_int)
}

/// The content of a file that the probe program has written; `None` when it does not exist yet or cannot be read.
pub fn read_record(dir: &Path, name: &str) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    File::open(dir.join(name)).ok()?.read_to_end(&mut content).ok()?;
    Some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signal_is_read_from_the_kernels_mask() {
        assert!(ignores_sigint("Name:\tx\nSigIgn:\t0000000000000002\n"));
        assert!(ignores_sigint("SigBlk:\t0000000000000002\nSigIgn:\t0000000000001000\n"));
        assert!(!ignores_sigint("SigBlk:\t0000000000000001\nSigIgn:\t0000000000001000\nSigCgt:\t0000000000000002\n"));
        assert!(!ignores_sigint(""));
    }
}
