//! A terminal at which a program of the person, such as one that signs, may ask: for a passphrase, as a rule.

use std::fs;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};
use nix::unistd::{Pid, getpgrp, tcgetpgrp};

use super::process;

/// The beginning of the names of the programs by which gpg's agent asks. They are in no group of ours.
const DIALOG: &str = "pinentry";
/// Back to the screen that a dialog has covered, with a cursor.
const AFTER_DIALOG: &[u8] = b"\x1b[?1049l\x1b[0m\x1b[?25h\r\n";

/// The terminal at stdin where this process may ask a person: it is in the foreground there, and no program draws on it.
pub fn terminal() -> Option<PathBuf> {
    let stdin = io::stdin();
    let is_ours = tcgetpgrp(stdin.as_fd()).ok()? == getpgrp();
    let is_plain = tcgetattr(stdin.as_fd()).ok()?.local_flags.contains(LocalFlags::ICANON);
    if is_ours && is_plain { fs::read_link("/proc/self/fd/0").ok() } else { None }
}

/// Calls `ask`, in which a program of this process's group asks at the terminal. Ctrl-C ends that program, then the dialog that gpg's
/// agent would leave on the screen, and at last this process.
pub fn at<T>(terminal: &Path, ask: impl FnOnce() -> T) -> io::Result<T> {
    let before = tcgetattr(io::stdin().as_fd())?;
    let held: SigSet = [Signal::SIGINT, Signal::SIGQUIT].into_iter().collect();
    let mask = held.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let done = ask();
    for pid in dialogs(terminal) {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        let _ = tcsetattr(io::stdin().as_fd(), SetArg::TCSANOW, &before);
        let _ = fs::OpenOptions::new().write(true).open(terminal).and_then(|mut screen| screen.write_all(AFTER_DIALOG));
    }
    mask.thread_set_mask()?;
    Ok(done)
}

fn dialogs(terminal: &Path) -> impl Iterator<Item = i32> {
    let shows = move |pid: i32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.filter_map(|one| fs::read_link(one.path()).ok()).any(|file| file == terminal)
    };
    let all = process::all().unwrap_or_default().into_iter().map(|one| one.pid);
    all.filter(move |pid| process::names(*pid).iter().any(|name| name.starts_with(DIALOG)) && shows(*pid))
}
