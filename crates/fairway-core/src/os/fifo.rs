//! A FIFO as a program's input: texts are written completely or not at all, with a time limit.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags};
use nix::sys::stat::Mode;
use nix::{libc, unistd};

use super::poll::poll;
use super::poll_until::poll_until;

/// The largest pipe capacity that an unprivileged user gets, in bytes.
const MAX_PIPE_BYTES: usize = 1 << 20;
/// The kernel counts in pages: a part of the first and the last one may be unusable.
const PAGE_SLACK_BYTES: usize = 2 * 4096;

/// Creates a FIFO of mode 0600 and opens it for both directions, so that its reader never sees end of file.
pub fn create(path: &Path) -> io::Result<File> {
    unistd::mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR)?;
    OpenOptions::new().read(true).write(true).custom_flags(OFlag::O_NOFOLLOW.bits()).open(path)
}

/// Writes a text to a FIFO whose reader may be busy. A text that fits into the FIFO is written completely or not at all; a
/// longer text needs a reader.
///
/// # Errors
/// `NotConnected` when no process has the FIFO open; `TimedOut` when there was no room within the limit. Then nothing was
/// written, or only the beginning of a longer text.
pub fn write_within(path: &Path, text: &[u8], limit: Duration) -> io::Result<()> {
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW;
    let opened = OpenOptions::new().write(true).custom_flags(flags.bits()).open(path);
    let mut fifo = match opened {
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {
            return Err(io::Error::new(io::ErrorKind::NotConnected, "the program does not read its input any more"));
        }
        opened => opened?,
    };
    if !fifo.metadata()?.file_type().is_fifo() {
        return Err(io::Error::other(format!("{} is no FIFO", path.display())));
    }
    let deadline = Instant::now() + limit;
    let full = |why: &str| io::Error::new(io::ErrorKind::TimedOut, why.to_owned());
    if text.len() + PAGE_SLACK_BYTES <= MAX_PIPE_BYTES {
        let has_room = || {
            let (held, size) = (unread_bytes(&fifo).ok()?, capacity(&fifo).ok()?);
            let needed = held + text.len() + PAGE_SLACK_BYTES;
            let size = if needed > size { grow(&fifo, needed).unwrap_or(size) } else { size };
            (needed <= size || (held == 0 && text.len() <= size)).then_some(())
        };
        if poll_until(limit, Duration::from_millis(50), has_room).is_none() {
            return Err(full("the program does not read its input, and there is no room for more"));
        }
    }
    let mut rest = text;
    while !rest.is_empty() {
        match fifo.write(rest) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(full("the program stopped reading its input in the middle of the text"));
                }
                let mut ready = [PollFd::new(fifo.as_fd(), PollFlags::POLLOUT)];
                poll(&mut ready, Some(left))?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn capacity(fifo: &File) -> Result<usize, Errno> {
    usize::try_from(fcntl(fifo, FcntlArg::F_GETPIPE_SZ)?).map_err(|_| Errno::EINVAL)
}

fn grow(fifo: &File, to: usize) -> Result<usize, Errno> {
    let to = i32::try_from(to.min(MAX_PIPE_BYTES)).map_err(|_| Errno::EINVAL)?;
    usize::try_from(fcntl(fifo, FcntlArg::F_SETPIPE_SZ(to))?).map_err(|_| Errno::EINVAL)
}

/// The number of unread bytes.
#[expect(unsafe_code, reason = "asking a pipe how full it is has no safe form in the crates used here")]
fn unread_bytes(fifo: &File) -> Result<usize, Errno> {
    let mut held: libc::c_int = 0;
    // SAFETY: the descriptor is open as long as the file is borrowed, and the call writes one integer.
    Errno::result(unsafe { libc::ioctl(fifo.as_raw_fd(), libc::FIONREAD, &raw mut held) })?;
    usize::try_from(held).map_err(|_| Errno::EINVAL)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn text_is_written_whole_or_not_at_all() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("fifo");
        let mut reader = create(&path).unwrap();
        let text: Vec<u8> = (0..400_000_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
        for _ in 0..2 {
            write_within(&path, &text, Duration::ZERO).unwrap();
        }
        let error = write_within(&path, &text, Duration::from_millis(30)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let mut seen = vec![0; 2 * text.len()];
        reader.read_exact(&mut seen).unwrap();
        assert_eq!(seen, [&text[..], &text[..]].concat());
        assert_eq!(unread_bytes(&reader).unwrap(), 0);
        // A text longer than any FIFO arrives when there is a reader.
        let long = text.repeat(8);
        let read = std::thread::scope(|scope| {
            let reading = scope.spawn(|| {
                let mut seen = vec![0; long.len()];
                reader.read_exact(&mut seen).unwrap();
                seen
            });
            write_within(&path, &long, Duration::from_secs(20)).unwrap();
            reading.join().unwrap()
        });
        assert_eq!(read, long);
        drop(reader);
        assert_eq!(write_within(&path, b"x", Duration::ZERO).unwrap_err().kind(), io::ErrorKind::NotConnected);
    }
}
