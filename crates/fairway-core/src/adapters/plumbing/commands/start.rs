//! The three parts of a session's start: unpack the configuration, run the program, wait until it is ready.

use std::io::{self, Read};
use std::path::Path;

use anyhow::Result;

use super::{read_limited, session_dir, state_dir};
use crate::adapters::plumbing::{self, IoMode, SetupCommands, StartFiles, StartedPane, program_env};
use crate::adapters::{Adapter, CopyFile, StartConfig, StartReport, clean_env};
use crate::domain::Refusal;
use crate::env::{Env, vars};
use crate::os::process::ProcessKey;

/// The longest start configuration, in bytes.
const MAX_CONFIG_BYTES: u64 = 16 << 20;

/// Creates the directory of a new session: stores the start configuration, which is read from `from`, and the caller's
/// environment for the session's program, copies the configured files, and runs the `pre_start` commands. `warn` gets the
/// problems that do not make the start fail.
///
/// # Errors
/// When a live session of that name already exists, or the configuration is invalid. Nothing of the new session is left then.
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
    // By this variable, processes that leave the process tree are found.
    let run = start.var(vars::FAIRWAY_RUN_ID).map_or_else(|| env.ids.uuid(env.now()).to_string(), str::to_owned);
    start.env.get_or_insert_default().insert(vars::FAIRWAY_RUN_ID.to_owned(), run);
    let directory = env.cwd.join(start.work_dir.as_deref().unwrap_or_default());
    start.transcript = start.transcript.map(|path| directory.join(path).to_string_lossy().into_owned());
    let starter = i32::try_from(std::os::unix::process::parent_id()).ok().and_then(ProcessKey::of);
    let mut around = clean_env(env);
    // Another orchestrator's session may surround the call as well; its variables are not for this one.
    around.retain(|name, _| !name.as_encoded_bytes().starts_with(b"GC_"));
    // The state directory is an exception: the same script, called from inside the session, must find it.
    if [vars::FAIRWAY_ADAPTER_STATE, vars::GC_EXEC_STATE_DIR].iter().any(|name| env.var_os(name).is_some()) {
        around.insert(vars::GC_EXEC_STATE_DIR.into(), state_dir(env)?.into());
    }
    let unpacked = StartFiles { start: &start, caller_env: &around, work_dir: &directory, starter: starter.as_ref() };
    dir.create(&unpacked)?;
    let mut prepared = || -> io::Result<()> {
        let around = program_env::program_env(&dir, &start, None)?;
        // Commands that create the directory run in the caller's directory, before anything is copied.
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

/// Copies a file, or the content of a directory, to `to` below a session's working directory. Does nothing for a session that is
/// not alive. `warn` gets the files that cannot be copied.
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

/// Runs a session's program to its end, passes the start configuration and the exit code to `record_exit`, and returns the exit
/// code. When `record_exit` fails, `warn` gets the reason, and the exit code is returned all the same.
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

/// Reports to `warn` that the exit of a session's program could not be recorded.
pub(super) fn warn_of_failure(recorded: Result<()>, warn: impl FnOnce(&str)) {
    if let Err(error) = recorded {
        warn(&format!("cannot record the exit of the session's program: {error:#}"));
    }
}

/// Starts a session's program in a background process and returns once the program was started.
pub fn detach(env: &Env, name: &str) -> Result<()> {
    Ok(plumbing::spawn_detached(env, &session_dir(env, name)?, &state_dir(env)?, false)?)
}

/// Called by a script that has created a session, to finish its start. Waits, for a limited time, until the session's program is
/// ready for input, then runs the session's setup commands and types the configured first text. Returns the session's report. A
/// program that has already ended is no error when its exit code is 0 or the configuration calls it `one_shot`. `warn` gets the
/// problems that do not make the start fail.
///
/// # Errors
/// When the program cannot be started or has already failed. The session is removed then.
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
