//! Runs the program inside of a session: its environment, its output and its end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::pty_proxy::PtyProxy;
use super::session_dir::{INPUT_FIFO, env_tag};
use super::transcript::MAX_TRANSCRIPT_BYTES;
use super::transcript_writer::TranscriptWriter;
use super::{SessionDir, program_env};
use crate::adapters::{StartConfig, clean_env};
use crate::env::{Env, vars};
use crate::os::command::Program;
use crate::os::process::ProcessKey;
use crate::os::session_leader::{self, Running};
use crate::os::{executable, fifo, process_tree};

const GRACE: Duration = Duration::from_secs(2);

/// How a session's program gets its streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoMode {
    /// It uses the streams of this process, which are a pane's.
    Inherit,
    /// It has a terminal of its own between this process's terminal and the transcript, and takes input at the session's control
    /// socket.
    PtyProxy,
    /// Its output goes to the transcript and its input comes from a FIFO. This process prints a line once the program was
    /// started.
    Detached,
}

/// Runs a session's program to its end, then ends the processes that the program left behind, and returns its exit code. Passes
/// the start configuration and the exit code to `ended` as soon as the program has ended. The program runs as a child, and does
/// not replace this process, because this process has work to do after the program has ended.
///
/// # Errors
/// When the session does not exist or is already running, or the program cannot be started.
pub fn run_program(env: &Env, dir: &SessionDir, how: IoMode, ended: impl FnOnce(&StartConfig, i32)) -> io::Result<i32> {
    let mut start_program = |program: &Program<'_>, _: &StartConfig, _: Option<&str>| {
        Ok(Box::new(ProgramIo::start(program, dir, how)?) as Box<dyn SessionProgram>)
    };
    run(env, dir, how == IoMode::Detached, &mut start_program, ended)
}

/// Like [`run_program`] with [`IoMode::Detached`], but lets `start_program` start the program. The started [`SessionProgram`]
/// must call [`print_started`] itself.
pub(super) fn run_detached(
    env: &Env,
    dir: &SessionDir,
    start_program: StartProgram<'_>,
    ended: impl FnOnce(&StartConfig, i32),
) -> io::Result<i32> {
    run(env, dir, true, start_program, ended)
}

/// Starts a session's program. It gets the start configuration and the session's environment tag, too.
pub(super) type StartProgram<'a> =
    &'a mut dyn FnMut(&Program<'_>, &StartConfig, Option<&str>) -> io::Result<Box<dyn SessionProgram>>;

/// A session's program with this process's side of its streams.
pub(super) trait SessionProgram {
    fn running(&self) -> &Running;

    /// Tells the process that started the session that the program was started.
    fn announce(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Waits for the exit. The output printed before it is in the transcript when this returns.
    fn wait_for_exit(&mut self) -> io::Result<i32>;

    /// Reads the output of other processes after the program has ended.
    fn drain_output(self: Box<Self>);
}

fn run(
    env: &Env,
    dir: &SessionDir,
    is_detached: bool,
    start_program: StartProgram<'_>,
    ended: impl FnOnce(&StartConfig, i32),
) -> io::Result<i32> {
    let start = dir.start_config()?.ok_or_else(|| dir.not_found())?;
    if is_detached {
        session_leader::setsid();
    }
    session_leader::become_subreaper()?;
    session_leader::ignore_termination()?;
    let own = i32::try_from(std::process::id()).ok().and_then(ProcessKey::of);
    let own = own.ok_or_else(|| io::Error::other("cannot identify this process"))?;
    dir.become_root(&own)?;
    let pane = (!is_detached).then_some(env);
    run_as_root(dir, &start, &own, pane, start_program, ended)
        .inspect_err(|error| dir.record_start_failure(&error.to_string()))
}

fn run_as_root(
    dir: &SessionDir,
    start: &StartConfig,
    own: &ProcessKey,
    pane: Option<&Env>,
    start_program: StartProgram<'_>,
    ended: impl FnOnce(&StartConfig, i32),
) -> io::Result<i32> {
    let around = program_env::program_env(dir, start, pane)?;
    let cwd = dir.work_dir()?;
    if !cwd.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("{} is not a directory", cwd.display())));
    }
    let argv = program_argv(start, &around, &cwd)?;
    let mark = env_tag(start);
    let mut program = start_program(&Program { argv: &argv, env: &around, cwd: &cwd }, start, mark.as_deref())?;
    let told = match program.running().key() {
        Some(program) => dir.record_program(&program),
        // It has ended already; the exit is recorded next.
        None => Ok(()),
    }
    .and_then(|()| program.announce());
    if told.is_err() {
        // The process that started the session is gone and gets no report.
        let _ = process_tree::terminate(GRACE, || process_tree::subtree(own.pid, mark.as_deref()));
    }
    let code = program.wait_for_exit()?;
    let noted = dir.record_exit(code);
    ended(start, code);
    let left = process_tree::terminate(GRACE, || {
        let mut found: Vec<ProcessKey> = process_tree::subtree(own.pid, mark.as_deref())?;
        if let Some(mark) = &mark {
            found.extend(process_tree::with_env_entry(mark)?);
        }
        Ok(found)
    });
    program.drain_output();
    // The directory is not needed when the transcript is elsewhere, but it is kept while processes remain to be ended.
    dir.finish(own, start.transcript.is_some() && left.is_ok_and(|left| left.is_empty()))?;
    told.and(noted).map(|()| code)
}

/// A session's program with this process's side of its streams.
enum ProgramIo {
    /// The output goes to the transcript, if one is written.
    Plain(Running, Option<TranscriptWriter>),
    /// This process has the program's terminal.
    Proxied(Box<PtyProxy>),
}

impl ProgramIo {
    fn start(program: &Program<'_>, dir: &SessionDir, how: IoMode) -> io::Result<Self> {
        let refused = |error: io::Error| {
            let first = program.argv.first().map(|first| first.to_string_lossy().into_owned()).unwrap_or_default();
            io::Error::new(error.kind(), format!("{first} cannot be run: {error}"))
        };
        if how == IoMode::Inherit {
            return Ok(Self::Plain(session_leader::spawn(program, None).map_err(refused)?, None));
        }
        let recorder = TranscriptWriter::open(&dir.transcript_path()?, MAX_TRANSCRIPT_BYTES)?;
        if how == IoMode::PtyProxy {
            return Ok(Self::Proxied(Box::new(PtyProxy::start(program, dir, recorder).map_err(refused)?)));
        }
        let input = fifo::create(&dir.file(INPUT_FIFO))?;
        Ok(Self::Plain(session_leader::spawn(program, Some(input)).map_err(refused)?, Some(recorder)))
    }
}

impl SessionProgram for ProgramIo {
    fn running(&self) -> &Running {
        match self {
            Self::Plain(running, _) => running,
            Self::Proxied(recording) => recording.running(),
        }
    }

    fn announce(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_, Some(_)) => print_started(),
            Self::Plain(_, None) | Self::Proxied(_) => Ok(()),
        }
    }

    fn wait_for_exit(&mut self) -> io::Result<i32> {
        match self {
            Self::Plain(running, recorder) => {
                let code = running.wait(transcript_sink(recorder.as_ref()));
                flush_transcript(recorder.as_ref());
                code
            }
            Self::Proxied(recording) => recording.wait_for_exit(),
        }
    }

    fn drain_output(self: Box<Self>) {
        match *self {
            Self::Plain(mut running, recorder) => {
                running.read_output(&mut transcript_sink(recorder.as_ref()));
                flush_transcript(recorder.as_ref());
            }
            Self::Proxied(recording) => recording.drain_output(),
        }
    }
}

fn transcript_sink(recorder: Option<&TranscriptWriter>) -> impl FnMut(&[u8]) {
    move |bytes| {
        if let Some(recorder) = recorder {
            recorder.write(bytes);
        }
    }
}

fn flush_transcript(recorder: Option<&TranscriptWriter>) {
    if let Some(recorder) = recorder {
        recorder.flush(GRACE);
    }
}

/// Prints the line that tells the process which starts a detached session that the session is running.
pub(super) fn print_started() -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(b"started\n")?;
    stdout.flush()
}

fn program_argv(start: &StartConfig, around: &BTreeMap<OsString, OsString>, cwd: &Path) -> io::Result<Vec<OsString>> {
    let var = |name: &str| around.get(&OsString::from(name)).filter(|value| !value.is_empty());
    let words: Vec<OsString> = match (&start.argv, &start.command) {
        (Some(argv), _) if !argv.is_empty() => argv.iter().map(OsString::from).collect(),
        (_, Some(text)) if !text.trim().is_empty() => return Ok(vec!["/bin/sh".into(), "-c".into(), text.into()]),
        _ => return Ok(vec![var(vars::SHELL).cloned().unwrap_or_else(|| "/bin/sh".into())]),
    };
    let mut words = words.into_iter();
    let first = words.next().unwrap_or_default();
    let name = first.to_string_lossy().into_owned();
    let file: PathBuf = executable::find(&name, var(vars::PATH).map(OsString::as_os_str), cwd)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("there is no program '{name}'")))?;
    Ok(std::iter::once(file.into_os_string()).chain(words).collect())
}

/// Runs a session's program in a background process and returns once the program was started. With `is_structured`, the program
/// is an agent that speaks the Agent Client Protocol, and this returns once the agent has opened its session.
pub fn spawn_detached(env: &Env, dir: &SessionDir, state: &Path, is_structured: bool) -> io::Result<()> {
    let mut around = clean_env(env);
    around.insert(vars::FAIRWAY_ADAPTER_STATE.into(), state.into());
    // The end of a surrounding session must not end this one, so the run id is this session's.
    if let Some(run) = dir.start_config()?.and_then(|start| start.var(vars::FAIRWAY_RUN_ID).map(str::to_owned)) {
        around.insert(vars::FAIRWAY_RUN_ID.into(), run.into());
    }
    let structured = is_structured.then_some("--structured");
    let words = ["adapter", "run", "--apart"].into_iter().chain(structured).chain(["--", dir.name()]);
    let args: Vec<OsString> = words.map(OsString::from).collect();
    match executable::spawn_self_until_ready(&args, &around)? {
        Ok(_) => Ok(()),
        Err(said) => Err(io::Error::other(said.trim().trim_start_matches("error: ").to_owned())),
    }
}
