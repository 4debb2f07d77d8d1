//! What the scripts call back for.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use anyhow::Result;

use crate::{
    actions::session::exited,
    adapters::{
        self, StartConfig,
        plumbing::{self, Detached, Folder, transcript},
    },
    domain::{Refusal, secrets},
    env::{Env, vars},
    os::process::ProcessKey,
};

/// The longest start configuration, in bytes.
const LONGEST: u64 = 16 << 20;

pub(super) fn state(env: &Env) -> Result<PathBuf, Refusal> {
    let none = || Refusal::invalid("the environment", "names no home folder; set HOME or FAIRWAY_ADAPTER_STATE");
    adapters::state_folder(env).ok_or_else(none)
}

pub(super) fn folder(env: &Env, name: &str) -> Result<Folder, Refusal> {
    if name.is_empty() {
        return Err(Refusal::invalid("the session's name", "must not be empty"));
    }
    Ok(Folder::of(&state(env)?, name))
}

/// Keeps a start configuration for the program that is to be run.
///
/// # Errors
/// When a live session of that name already exists, or the text is no configuration.
pub fn unpack(env: &Env, name: &str, from: impl Read) -> Result<()> {
    let folder = folder(env, name)?;
    let mut text = Vec::new();
    from.take(LONGEST + 1).read_to_end(&mut text)?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > LONGEST {
        return Err(Refusal::invalid("the start configuration", "is too long").into());
    }
    let mut start = StartConfig::read(&text)
        .map_err(|error| Refusal::invalid("the start configuration", format!("cannot be read: {error}")))?;
    // By this mark whatever leaves the tree is found again.
    let run = start.var(vars::FAIRWAY_RUN_ID).map_or_else(|| env.ids.uuid(env.now()).to_string(), str::to_owned);
    start.env.get_or_insert_default().insert(vars::FAIRWAY_RUN_ID.to_owned(), run);
    let starter = i32::try_from(std::os::unix::process::parent_id()).ok().and_then(ProcessKey::of);
    Ok(folder.unpack(&start, starter.as_ref())?)
}

/// Runs a session's program to its end, in this process's place or detached from it; answers with its exit code.
///
/// # Errors
/// When it cannot be started. An end that cannot be recorded is none: `complain` is told.
pub fn run(env: &Env, name: &str, how: Detached, complain: impl FnOnce(&str)) -> Result<i32> {
    let ended = |start: &StartConfig, code: i32| {
        if let Err(error) = exited::record(env, start, code) {
            complain(&format!("the session's end cannot be recorded: {error:#}"));
        }
    };
    Ok(plumbing::run(env, &folder(env, name)?, how, ended)?)
}

/// Starts a session's program detached; answers with its report once it has come up.
///
/// # Errors
/// What it says when it does not.
pub fn detach(env: &Env, name: &str) -> Result<String> {
    Ok(plumbing::detach(env, &folder(env, name)?, &state(env)?)?)
}

/// Copies a stream to a transcript until it ends. What cannot be written is dropped: the writer is never held up.
///
/// # Errors
/// When the transcript cannot be opened, or the stream not be read.
pub fn tee(path: &Path, limit: u64, mut from: impl Read) -> Result<()> {
    let mut transcript = transcript::Transcript::open(path, limit)?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => transcript.write(buffer.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Ends a session's whole tree; one that is not there is no failure.
///
/// # Errors
/// When something would not die.
pub fn kill_tree(env: &Env, name: &str) -> Result<()> {
    Ok(folder(env, name)?.kill_tree()?)
}

/// Whether a session's root process lives.
///
/// # Errors
/// When that cannot be told.
pub fn is_alive(env: &Env, name: &str) -> Result<bool> {
    Ok(folder(env, name)?.is_alive()?)
}

/// A value of the environment that a session was started with.
///
/// # Errors
/// When it cannot be read.
pub fn meta(env: &Env, name: &str, key: &str) -> Result<Option<String>> {
    Ok(folder(env, name)?.start()?.and_then(|start| start.var(key).map(str::to_owned)))
}

/// The last lines of a session's transcript, as they are; all for 0 or less. Nothing for one that is not there.
///
/// # Errors
/// When it cannot be read.
pub fn peek(env: &Env, name: &str, lines: i64) -> Result<String> {
    let folder = folder(env, name)?;
    let path = folder.start()?.and_then(|start| start.transcript).map(PathBuf::from);
    let path = path.unwrap_or_else(|| folder.file(plumbing::TRANSCRIPT));
    Ok(transcript::tail(&path, usize::try_from(lines.max(0)).unwrap_or(usize::MAX))?)
}

/// A start configuration as it may be shown: what looks like a secret is masked.
#[must_use]
pub fn shown(start: &StartConfig) -> StartConfig {
    let mask = |text: &String| secrets::masked(text);
    let env = start
        .env
        .as_ref()
        .map(|env| env.iter().map(|(name, value)| (name.clone(), secrets::shown(name, value))).collect());
    StartConfig {
        command: start.command.as_ref().map(mask),
        argv: start.argv.as_ref().map(|words| words.iter().map(mask).collect()),
        env,
        ..start.clone()
    }
}
