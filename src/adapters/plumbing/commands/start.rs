//! The three parts of a session's start: unpack the configuration, run the program, wait until it is ready.

use std::{
    io::{self, Read},
    path::Path,
};

use anyhow::Result;

use super::{read_limited, session_dir, state_dir};
use crate::{
    adapters::{
        Adapter, CopyFile, StartConfig, StartReport, clean_env,
        plumbing::{self, IoMode, SetupCommands, StartFiles, StartedPane, program_env},
    },
    domain::Refusal,
    env::{Env, vars},
    os::process::ProcessKey,
};

/// The longest start configuration, in bytes.
const MAX_CONFIG_BYTES: u64 = 16 << 20;

/// Keeps a start configuration, and the environment around this call, for the program that is to be run; lays files where
/// it wants them and runs what is to be run before. `warn` is told of what is no failure.
///
/// # Errors
/// When a live session of that name already exists, or the text is no configuration; then nothing is left.
pub fn unpack(env: &Env, name: &str, from: impl Read, warn: &mut dyn FnMut(&str)) -> Result<()> {
    let dir = session_dir(env, name)?;
    if name.chars().any(char::is_control) {
        return Err(Refusal::invalid("the session's name", "must not hold control characters").into());
    }
    let text = read_limited("the start configuration", from, MAX_CONFIG_BYTES)?;
    let unreadable = |why: String| Refusal::invalid("the start configuration", format!("cannot be read: {why}"));
    let mut start = StartConfig::read(&text).map_err(|error| unreadable(error.to_string()))?;
    for (name, value) in start.env.iter().flatten() {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(unreadable(format!("no variable can be called or hold this: {name:?}")).into());
        }
    }
    // By this mark whatever leaves the tree is found again.
    let run = start.var(vars::FAIRWAY_RUN_ID).map_or_else(|| env.ids.uuid(env.now()).to_string(), str::to_owned);
    start.env.get_or_insert_default().insert(vars::FAIRWAY_RUN_ID.to_owned(), run);
    let directory = env.cwd.join(start.work_dir.as_deref().unwrap_or_default());
    start.transcript = start.transcript.map(|path| directory.join(path).to_string_lossy().into_owned());
    let starter = i32::try_from(std::os::unix::process::parent_id()).ok().and_then(ProcessKey::of);
    let mut around = clean_env(env);
    // Another orchestrator's session may surround the call as well; what is its own is not this one's.
    around.retain(|name, _| !name.as_encoded_bytes().starts_with(b"GC_"));
    // But for the state directory: the same script, called from inside, must find the same place.
    if [vars::FAIRWAY_ADAPTER_STATE, vars::GC_EXEC_STATE_DIR].iter().any(|name| env.var_os(name).is_some()) {
        around.insert(vars::GC_EXEC_STATE_DIR.into(), state_dir(env)?.into());
    }
    let unpacked = StartFiles { start: &start, caller_env: &around, work_dir: &directory, starter: starter.as_ref() };
    dir.create(&unpacked)?;
    let mut prepared = || -> io::Result<()> {
        let around = program_env::program_env(&dir, &start, None)?;
        // The commands that make the directory run where the caller is, before anything is copied into it.
        let is_there = directory.is_dir();
        let steps = SetupCommands { env: &around, cwd: if is_there { &directory } else { &env.cwd } };
        if is_there {
            plumbing::copy_files(&directory, &env.cwd, &start, warn)?;
        }
        steps.run_all("pre_start", start.pre_start.as_deref(), warn);
        if !directory.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("{} is not a directory", directory.display())));
        }
        if !is_there {
            plumbing::copy_files(&directory, &env.cwd, &start, warn)?;
        }
        Ok(())
    };
    prepared().map_err(|error| {
        let _ = dir.roll_back();
        error.into()
    })
}

/// Copies a file, or what is in a directory, below the directory where a session's program started. A session that is not there
/// is no failure; `warn` is told of what cannot be copied.
pub fn copy_to(env: &Env, name: &str, from: &Path, to: &str, warn: &mut dyn FnMut(&str)) -> Result<()> {
    let dir = session_dir(env, name)?;
    if !dir.is_alive()? {
        return Ok(());
    }
    let directory = dir.work_dir()?;
    let file = CopyFile { src: from.to_string_lossy().into_owned(), rel_dst: to.to_owned() };
    let start = StartConfig { copy_files: Some(vec![file]), ..StartConfig::default() };
    Ok(plumbing::copy_files(&directory, &env.cwd, &start, warn)?)
}

/// Runs a session's program to its end and returns its exit code. Then `record_exit` gets the start configuration and the exit
/// code; when it fails, `warn` gets the reason and the exit code is returned all the same.
pub fn run(
    env: &Env,
    name: &str,
    mode: IoMode,
    record_exit: impl FnOnce(&Env, &StartConfig, i32) -> Result<()>,
    warn: impl FnOnce(&str),
) -> Result<i32> {
    let exited = |start: &StartConfig, code| warn_of_failure(record_exit(env, start, code), warn);
    Ok(plumbing::run_program(env, &session_dir(env, name)?, mode, exited)?)
}

/// Tells when the exit of a session's program was not recorded.
pub(super) fn warn_of_failure(recorded: Result<()>, warn: impl FnOnce(&str)) {
    if let Err(error) = recorded {
        warn(&format!("cannot record the exit of the session's program: {error:#}"));
    }
}

/// Starts a session's program detached; returns once it was started.
pub fn detach(env: &Env, name: &str) -> Result<()> {
    Ok(plumbing::spawn_detached(env, &session_dir(env, name)?, &state_dir(env)?, false)?)
}

/// Waits until a session that a script has made is up and ready, runs and types what is to follow; answers with its report.
///
/// # Errors
/// When its program could not be started, or has failed; then nothing is left of it.
pub fn finish_start(
    env: &Env,
    name: &str,
    script: &Path,
    made: StartedPane,
    warn: &mut dyn FnMut(&str),
) -> Result<StartReport> {
    let dir = session_dir(env, name)?;
    let socket = env.var(vars::FAIRWAY_BACKEND_SOCKET);
    let adapter = Adapter::new(&env.cwd.join(script), &state_dir(env)?, &env.cwd, env)?.with_socket(socket);
    Ok(plumbing::finish_start(env, &dir, &adapter, made, warn)?)
}
