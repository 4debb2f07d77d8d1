//! Running a command in the foreground: it shares this process's streams and process group, and gets the terminal's signals
//! directly.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use nix::libc;
use nix::poll::{PollFd, PollFlags};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::command::command;
use super::exit_reason::ExitReason;
use super::poll::poll;
use super::{process, signals};

/// Runs a command to its end, without a time limit. INT and QUIT from the terminal reach the command directly and do not end
/// this process. A signal that another process sends to this process alone is forwarded to the command.
pub fn run(
    program: &Path,
    args: &[OsString],
    env: &BTreeMap<OsString, OsString>,
    cwd: &Path,
) -> io::Result<ExitReason> {
    let kept: SigSet = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
    let before = kept.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let ran = run_forwarding_signals(program, args, env, cwd, &kept);
    let _ = before.thread_set_mask();
    ran
}

fn run_forwarding_signals(
    program: &Path,
    args: &[OsString],
    env: &BTreeMap<OsString, OsString>,
    cwd: &Path,
    kept: &SigSet,
) -> io::Result<ExitReason> {
    let signals = SignalFd::with_flags(kept, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    let mut child = signals::with_empty_mask(command(program, args).env_clear().envs(env).current_dir(cwd)).spawn()?;
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    let key = process::ProcessKey::of(pid);
    let ended = process::pidfd(pid)?.ok_or_else(|| io::Error::other("the command cannot be watched"))?;
    loop {
        let mut watched =
            [PollFd::new(ended.as_fd(), PollFlags::POLLIN), PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        poll(&mut watched, None)?;
        if watched.first().and_then(PollFd::any).unwrap_or(false) {
            break;
        }
        while let Some(received) = signals.read_signal()? {
            // Signals from the kernel come from the terminal and went to the whole group.
            let is_from_terminal = received.ssi_code == libc::SI_KERNEL;
            let signal = i32::try_from(received.ssi_signo).ok().and_then(|number| Signal::try_from(number).ok());
            if let (Some(key), Some(signal), false) = (&key, signal, is_from_terminal) {
                key.signal(signal)?;
            }
        }
    }
    // A signal that came with its end was meant for the command; unblocked, it would end this process.
    while signals.read_signal()?.is_some() {}
    Ok(child.wait()?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_with_how_it_ended() {
        let sh = |text: &str| run(Path::new("/bin/sh"), &["-c".into(), text.into()], &BTreeMap::new(), Path::new("/"));
        assert_eq!(sh("exit 7").unwrap(), ExitReason::Code(7));
        assert_eq!(sh("kill -9 $$").unwrap(), ExitReason::Signal(9));
        assert!(run(Path::new("/no/such"), &[], &BTreeMap::new(), Path::new("/")).is_err());
    }
}
