//! Inside the session: the program, its environment, its output, its end.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    Folder, program_env,
    pty_proxy::Recording,
    session_dir::{INPUT, mark},
    transcript::LIMIT,
    transcript_writer::Recorder,
};
use crate::{
    adapters::{StartConfig, bare},
    env::{Env, vars},
    os::{
        child::{self, Program, Running},
        executable, fifo,
        process::ProcessKey,
        process_tree,
    },
};

const GRACE: Duration = Duration::from_secs(2);

/// Whether the session has streams of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detached {
    /// It uses those of this process: a pane's.
    No,
    /// It has a terminal of its own between this process's and the transcript, and takes what is to be typed at its door.
    Recorded,
    /// Output to the transcript, input from a FIFO; a line on stdout once the program was started.
    Yes,
}

/// Runs a session's program to its end, then ends what it left behind; answers with its exit code. `ended` is told the code
/// as soon as it is known. Never execs: what looks after a program must outlive it.
///
/// # Errors
/// When there is no such session, it runs already, or the program cannot be started.
pub fn run(env: &Env, folder: &Folder, how: Detached, ended: impl FnOnce(&StartConfig, i32)) -> io::Result<i32> {
    let start = folder.start()?.ok_or_else(|| folder.missing())?;
    if how == Detached::Yes {
        child::lead();
    }
    child::adopt()?;
    child::outlive_signals()?;
    let own = i32::try_from(std::process::id()).ok().and_then(ProcessKey::of);
    let own = own.ok_or_else(|| io::Error::other("this process cannot be told from others"))?;
    folder.claim(&own)?;
    begun(env, folder, &start, &own, how, ended).inspect_err(|error| folder.refuse(&error.to_string()))
}

fn begun(
    env: &Env,
    folder: &Folder,
    start: &StartConfig,
    own: &ProcessKey,
    how: Detached,
    ended: impl FnOnce(&StartConfig, i32),
) -> io::Result<i32> {
    let around = program_env::of(folder, start, (how != Detached::Yes).then_some(env))?;
    let cwd = folder.directory()?;
    if !cwd.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("{} is not a folder", cwd.display())));
    }
    let argv = argv(start, &around, &cwd)?;
    let mark = mark(start);
    let mut ward = Ward::start(&Program { argv: &argv, env: &around, cwd: &cwd }, folder, how)?;
    let told = match ward.running().key() {
        Some(program) => folder.begin(&program),
        // It has ended already, which is told next.
        None => Ok(()),
    }
    .and_then(|()| if how == Detached::Yes { tell_started() } else { Ok(()) });
    if told.is_err() {
        // Whoever started it is gone and will never know of it.
        let _ = process_tree::end(GRACE, || process_tree::below(own.pid, mark.as_deref()));
    }
    let code = ward.finish()?;
    let noted = folder.end(code);
    ended(start, code);
    let left = process_tree::end(GRACE, || {
        let mut found: Vec<ProcessKey> = process_tree::below(own.pid, mark.as_deref())?;
        if let Some(mark) = &mark {
            found.extend(process_tree::marked(mark)?);
        }
        Ok(found)
    });
    ward.close();
    // Nothing of worth is left where the transcript lies elsewhere, and something to be ended is not forgotten.
    folder.conclude(own, start.transcript.is_some() && left.is_ok_and(|left| left.is_empty()))?;
    told.and(noted).map(|()| code)
}

/// The program, with whatever stands between it and those who look.
enum Ward {
    /// Its output is kept where there is somebody to keep it.
    Plain(Running, Option<Recorder>),
    /// Its terminal is here.
    Recorded(Box<Recording>),
}

impl Ward {
    fn start(program: &Program<'_>, folder: &Folder, how: Detached) -> io::Result<Self> {
        let refused = |error: io::Error| {
            let first = program.argv.first().map(|first| first.to_string_lossy().into_owned()).unwrap_or_default();
            io::Error::new(error.kind(), format!("{first} cannot be run: {error}"))
        };
        if how == Detached::No {
            return Ok(Self::Plain(child::start(program, None).map_err(refused)?, None));
        }
        let recorder = Recorder::open(&folder.transcript()?, LIMIT)?;
        if how == Detached::Recorded {
            return Ok(Self::Recorded(Box::new(Recording::start(program, folder, recorder).map_err(refused)?)));
        }
        let input = fifo::make(&folder.file(INPUT))?;
        Ok(Self::Plain(child::start(program, Some(input)).map_err(refused)?, Some(recorder)))
    }

    const fn running(&self) -> &Running {
        match self {
            Self::Plain(running, _) => running,
            Self::Recorded(recording) => recording.running(),
        }
    }

    /// Waits for the end. Whoever is told of it shall find what was printed before it.
    fn finish(&mut self) -> io::Result<i32> {
        match self {
            Self::Plain(running, recorder) => {
                let code = running.finish(kept(recorder.as_ref()));
                flush(recorder.as_ref());
                code
            }
            Self::Recorded(recording) => recording.finish(),
        }
    }

    /// What others still print when the program has ended.
    fn close(self) {
        match self {
            Self::Plain(mut running, recorder) => {
                running.hand_on(&mut kept(recorder.as_ref()));
                flush(recorder.as_ref());
            }
            Self::Recorded(recording) => recording.close(),
        }
    }
}

fn kept(recorder: Option<&Recorder>) -> impl FnMut(&[u8]) {
    move |bytes| {
        if let Some(recorder) = recorder {
            recorder.write(bytes);
        }
    }
}

fn flush(recorder: Option<&Recorder>) {
    if let Some(recorder) = recorder {
        recorder.flush(GRACE);
    }
}

fn tell_started() -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(b"started\n")?;
    stdout.flush()
}

fn argv(start: &StartConfig, around: &BTreeMap<OsString, OsString>, cwd: &Path) -> io::Result<Vec<OsString>> {
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

/// Runs a session's program in a process of its own and returns once it was started.
///
/// # Errors
/// What `run` says when it cannot be.
pub fn detach(env: &Env, folder: &Folder, state: &Path) -> io::Result<()> {
    let mut around = bare(env);
    around.insert(vars::FAIRWAY_ADAPTER_STATE.into(), state.into());
    // A session that surrounds this one does not take it along when it ends.
    if let Some(run) = folder.start()?.and_then(|start| start.var(vars::FAIRWAY_RUN_ID).map(str::to_owned)) {
        around.insert(vars::FAIRWAY_RUN_ID.into(), run.into());
    }
    let args: Vec<OsString> = ["adapter", "run", "--apart", "--", folder.name()].map(OsString::from).to_vec();
    match child::detached(&args, &around)? {
        Ok(_) => Ok(()),
        Err(said) => Err(io::Error::other(said.trim().trim_start_matches("error: ").to_owned())),
    }
}
