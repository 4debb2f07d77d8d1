//! A session's own multiplexer server: its socket address, its start in an offscreen terminal, and its end.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use anyhow::Result;

use super::{session_dir, state_dir};
use crate::adapters::plumbing::{ServerAddress, SocketDir};
use crate::domain::Refusal;
use crate::env::{Env, vars};
use crate::os::command::Program;
use crate::os::process::ProcessKey;
use crate::os::terminal::Size;
use crate::os::{executable, process_tree, pty};

/// How long a server may take to end after a signal.
const GRACE: Duration = Duration::from_millis(500);
/// How long a command in an offscreen terminal may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the address of the multiplexer server of one session, and creates the directory for its socket.
pub fn prepare_address(env: &Env, program: &str, name: &str, neighbours: SocketDir) -> Result<ServerAddress> {
    let server = address(env, program, name, neighbours)?;
    server.create_dir()?;
    Ok(server)
}

fn address(env: &Env, program: &str, name: &str, neighbours: SocketDir) -> Result<ServerAddress> {
    let is_plain = |character: char| character.is_ascii_lowercase();
    if program.is_empty() || program.len() > 6 || !program.chars().all(is_plain) {
        return Err(Refusal::invalid("the program", "must be at most 6 lowercase ASCII letters").into());
    }
    let name = session_dir(env, name)?.name().to_owned();
    Ok(ServerAddress::of(&env.cwd.join(state_dir(env)?), program, &name, neighbours))
}

/// Ends the remaining processes of a session's multiplexer server, even frozen ones, and removes its sockets. Does nothing while
/// the session is alive or another call is starting it. Fails when a process survives.
pub fn end_server(env: &Env, program: &str, name: &str, neighbours: SocketDir) -> Result<()> {
    let directory = session_dir(env, name)?;
    if directory.is_alive()? || (directory.is_starting() && !directory.is_started_by_us()) {
        return Ok(());
    }
    let server = address(env, program, name, neighbours)?;
    let left = process_tree::terminate(GRACE, || process_tree::with_env_entry(&server.env_tag))?;
    if !left.is_empty() {
        let pids: Vec<String> = left.iter().map(|key: &ProcessKey| key.pid.to_string()).collect();
        return Err(io::Error::other(format!("would not die: {}", pids.join(" "))).into());
    }
    if neighbours == SocketDir::Private {
        let _ = fs::remove_dir_all(&server.dir);
        // A server whose directory is below /tmp has the parent directory to itself, too.
        if server.dir.ends_with(program) {
            let _ = server.dir.parent().map(fs::remove_dir);
        }
    }
    for path in stale_sockets(&server) {
        let _ = fs::remove_file(path);
    }
    Ok(())
}

/// The sockets that a dead server, or a program that asked it in vain, may have left in its directory: `<pid>.<name>`,
/// `<pid>.<name>-query…`, or `<name>` one directory down.
fn stale_sockets(server: &ServerAddress) -> Vec<PathBuf> {
    let entries = |directory: &Path| fs::read_dir(directory).into_iter().flatten().flatten().collect::<Vec<_>>();
    let mut found = Vec::new();
    for entry in entries(&server.dir) {
        let path = entry.path();
        let file = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            found.push(path.join(&server.name));
        } else if let Some((pid, name)) = file.split_once('.')
            && let Some(rest) = name.strip_prefix(&server.name)
            && (rest.is_empty() || rest.starts_with("-query"))
            && pid.parse().is_ok_and(|pid| ProcessKey::of(pid).is_none())
        {
            found.push(path);
        }
    }
    found
}

/// Runs a command until it ends, in a terminal that no person sees.
///
/// # Errors
/// When the command cannot be started, takes too long or fails. In the last two cases the message ends with the text that the
/// command printed, if any.
pub fn run_offscreen(env: &Env, size: Size, words: &[OsString]) -> Result<()> {
    let first = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let path = env.var_os(vars::PATH);
    let found = executable::find(&first, path.map(OsString::as_os_str), &env.cwd)
        .ok_or_else(|| Refusal::not_found("program", &first))?;
    let argv: Vec<OsString> = std::iter::once(found.into_os_string()).chain(words.iter().skip(1).cloned()).collect();
    let shown = pty::run_offscreen(&Program { argv: &argv, env: env.vars(), cwd: &env.cwd }, size, COMMAND_TIMEOUT)?;
    let why = match shown.code {
        Some(0) => return Ok(()),
        Some(code) => format!("{first} ended with exit code {code}"),
        None => format!("{first} did not end within {} s", COMMAND_TIMEOUT.as_secs()),
    };
    let screen = visible_text(&String::from_utf8_lossy(&shown.output));
    Err(io::Error::other(if screen.is_empty() { why } else { format!("{why}: {screen}") }).into())
}

/// The text of a screen on one line, without control sequences and repeated blanks.
fn visible_text(screen: &str) -> String {
    let (mut text, mut characters) = (String::new(), screen.chars().peekable());
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => {
                let ends: fn(char) -> bool = match characters.next() {
                    Some('[') => |one| matches!(one, '@'..='~'),
                    Some(']' | 'P' | '_') => |one| matches!(one, '\u{7}' | '\\'),
                    _ => continue,
                };
                let _ = characters.by_ref().find(|character| ends(*character));
                text.push(' ');
            }
            character if character.is_control() => text.push(' '),
            character => text.push(character),
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_screen_the_words_stay() {
        let screen =
            "\u{1b}[?1049h\u{1b}[2J\u{1b}]0;title\u{7}Cannot\u{1b}[1mopen\u{1b}[0m\r\n  it\u{1b}P1q\u{1b}\\.\u{1b}[12";
        assert_eq!(visible_text(screen), "Cannot open it .");
        assert_eq!(visible_text("\u{1b}"), "");
    }
}
