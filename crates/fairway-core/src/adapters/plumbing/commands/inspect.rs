//! Queries about a session: whether it is alive, which programs run in it, and its output.

use std::fs;
use std::io::Read;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use anyhow::Result;

use super::{read_limited, session_dir, state_dir};
use crate::adapters::Terminal;
use crate::adapters::plumbing::{ReaderState, SessionDir, transcript};
use crate::env::{Env, Timestamp};

/// The longest list of names, in bytes.
const MAX_LIST_BYTES: u64 = 1 << 20;

/// Whether a session's root process is alive.
pub fn is_alive(env: &Env, name: &str) -> Result<bool> {
    Ok(session_dir(env, name)?.is_alive()?)
}

/// Reads program names from `from`, one per line, and returns whether one of these programs runs in a session. Without names:
/// whether the session is alive.
pub fn runs_one_of(env: &Env, name: &str, from: impl Read) -> Result<bool> {
    let text = read_limited("the list of names", from, MAX_LIST_BYTES)?;
    let names = String::from_utf8_lossy(&text);
    let names: Vec<String> = names.lines().filter(|name| !name.is_empty()).map(str::to_owned).collect();
    Ok(session_dir(env, name)?.has_program(&names)?)
}

/// The names of the live sessions that begin with `prefix`, sorted. When `with` is a file name, only sessions that have such a
/// file in their directory.
pub fn list_running(env: &Env, prefix: &str, with: Option<&str>) -> Result<Vec<String>> {
    Ok(SessionDir::list_running(&state_dir(env)?, prefix, with)?)
}

/// The last lines of a session's transcript, unchanged; all of them when `lines` is 0 or less. Empty for a session that does not
/// exist.
pub fn peek(env: &Env, name: &str, lines: i64) -> Result<String> {
    let path = session_dir(env, name)?.transcript_path()?;
    Ok(transcript::tail(&path, usize::try_from(lines.max(0)).unwrap_or(usize::MAX))?)
}

/// The last lines of the scrollback and screen of a session's terminal; all of them when `lines` is 0 or less. Empty for a
/// session that does not exist.
pub fn peek_screen(env: &Env, name: &str, lines: i64) -> Result<String> {
    Ok(session_dir(env, name)?.screen_text(usize::try_from(lines.max(0)).unwrap_or(usize::MAX))?)
}

/// Discards the lines that have scrolled off a session's screen. A session that does not exist is no error.
pub fn clear_scrollback(env: &Env, name: &str) -> Result<()> {
    Ok(session_dir(env, name)?.clear_scrollback()?)
}

/// When a live session last printed something; `None` when the session is not alive or has no transcript.
pub fn last_activity(env: &Env, name: &str) -> Result<Option<Timestamp>> {
    let dir = session_dir(env, name)?;
    if !dir.is_alive()? {
        return Ok(None);
    }
    let found = fs::metadata(dir.transcript_path()?).ok();
    Ok(found.map(|found| Timestamp::from_millis(found.mtime() * 1_000 + found.mtime_nsec() / 1_000_000)))
}

/// Passes the end of a session's earlier output, and then all new output as it arrives, to `see`. Returns when the session has
/// ended, `see` returns [`ReaderState::Closed`], or the reader closes `stream`. Fails when there is no live session.
pub fn follow(env: &Env, name: &str, stream: BorrowedFd<'_>, see: impl FnMut(&[u8]) -> ReaderState) -> Result<()> {
    Ok(session_dir(env, name)?.follow(stream, see)?)
}

/// Whether the session is alive and a process, in a call of [`follow`], reads its output.
pub fn is_followed(env: &Env, name: &str) -> Result<bool> {
    Ok(session_dir(env, name)?.is_followed()?)
}

/// The facts about a session that a script needs to create it in a multiplexer.
#[derive(Debug)]
pub struct SessionInfo {
    /// The terminal's size, as asked for or by default.
    pub terminal: Terminal,
    /// The transcript's file.
    pub transcript: PathBuf,
    /// Where the program starts.
    pub working_dir: PathBuf,
    /// The session's private directory. Its name consists of ASCII letters and digits, `_`, `-` and `%` and is unique to the
    /// session.
    pub session_dir: PathBuf,
}

/// Reads the facts about a session from its directory. Fails when the directory has no start configuration, because the session
/// was never unpacked or was removed.
pub fn info(env: &Env, name: &str) -> Result<SessionInfo> {
    let dir = session_dir(env, name)?;
    let start = dir.start_config()?.ok_or_else(|| dir.not_found())?;
    Ok(SessionInfo {
        terminal: start.terminal.unwrap_or_default(),
        transcript: dir.transcript_path()?,
        working_dir: dir.work_dir()?,
        session_dir: dir.path().to_owned(),
    })
}
