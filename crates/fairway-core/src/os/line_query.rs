//! Queries a program over its stdin and stdout: writes the whole input, reads lines until the reply is complete, and ends the
//! program.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Stdio};
use std::time::Instant;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::capture::Call;
use super::pipe::set_nonblocking;
use super::poll::poll;

/// The longest output that is read, in bytes.
const MAX_REPLY_BYTES: usize = 8 << 20;

/// Runs a program and passes each line of its output to `wanted`, until that returns a value. `None` when the program ends, or
/// the call's limit is reached, before that. In every case the process group of the program is killed at the end.
pub fn query<T>(call: &Call<'_>, mut wanted: impl FnMut(&str) -> Option<T>) -> io::Result<Option<T>> {
    let mut child = call.spawn(Stdio::null(), false)?;
    let reply = read_reply(&mut child, call, &mut wanted);
    // The child is not reaped yet, so its process group id cannot be reused.
    let killed = i32::try_from(child.id()).map(|pid| killpg(Pid::from_raw(pid), Signal::SIGKILL));
    child.wait()?;
    match killed {
        Ok(Ok(()) | Err(Errno::ESRCH | Errno::EPERM)) | Err(_) => reply,
        Ok(Err(error)) => reply.and(Err(error.into())),
    }
}

fn read_reply<T>(
    child: &mut Child,
    call: &Call<'_>,
    wanted: &mut dyn FnMut(&str) -> Option<T>,
) -> io::Result<Option<T>> {
    let (Some(mut stdin), Some(mut stdout)) = (child.stdin.take(), child.stdout.take()) else { return Ok(None) };
    // The input is short and fits into the pipe. The pipe stays open: some programs exit when their stdin is closed.
    match stdin.write_all(call.stdin) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
        _ => {}
    }
    set_nonblocking(stdout.as_fd())?;
    let (deadline, mut unread, mut total) = (Instant::now() + call.limit, Vec::new(), 0);
    let mut buffer = [0; 16 * 1024];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || total > MAX_REPLY_BYTES {
            return Ok(None);
        }
        poll(&mut [PollFd::new(stdout.as_fd(), PollFlags::POLLIN)], Some(left))?;
        let is_over = match stdout.read(&mut buffer) {
            Ok(read) => {
                unread.extend_from_slice(buffer.get(..read).unwrap_or_default());
                total += read;
                read == 0
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => false,
            Err(error) => return Err(error),
        };
        while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = unread.drain(..=end).collect();
            if let Some(found) = wanted(String::from_utf8_lossy(&line).trim_end()) {
                return Ok(Some(found));
            }
        }
        if is_over {
            return Ok(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ffi::OsString;
    use std::path::Path;
    use std::time::Duration;

    use super::*;

    fn sh(script: &str, limit: Duration) -> Option<String> {
        let args = [OsString::from("-c"), OsString::from(script)];
        let env = BTreeMap::from([(OsString::from("PATH"), OsString::from("/usr/bin:/bin"))]);
        let (program, cwd) = (Path::new("/bin/sh"), Path::new("/"));
        let call = Call { program, args: &args, env: &env, cwd, stdin: b"one\ntwo\n", limit, ends_group: true };
        query(&call, |line| line.strip_prefix("wanted ").map(str::to_owned)).unwrap()
    }

    #[test]
    fn line_query_reads_until_the_answer_is_complete() {
        let long = Duration::from_secs(20);
        let start = Instant::now();
        assert_eq!(sh("read a; read b; echo x; echo wanted $a $b; sleep 60", long).as_deref(), Some("one two"));
        assert_eq!(sh("echo x", long), None);
        assert_eq!(sh("exit 3", long), None);
        assert_eq!(sh("yes", Duration::from_millis(100)), None);
        assert_eq!(sh("sleep 60", Duration::from_millis(50)), None);
        assert!(start.elapsed() < long);
    }
}
