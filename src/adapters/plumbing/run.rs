//! Inside the session: the program, its environment, its output, its end.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    Folder,
    folder::mark,
    transcript::{LIMIT, Transcript},
};
use crate::{
    adapters::{Report, StartConfig, bare},
    env::{Env, vars},
    os::{
        process::ProcessKey,
        program,
        session::{self, Program},
        tree,
    },
};

/// The program's stdin, of a session without a terminal.
const INPUT: &str = "input";
/// The transcript of a session whose caller names none.
pub const TRANSCRIPT: &str = "transcript";
const GRACE: Duration = Duration::from_secs(2);
/// How long a program may take to fail at once.
const SETTLING: Duration = Duration::from_millis(250);

/// Whether the session has streams of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detached {
    /// It uses those of this process: a pane's.
    No,
    /// Output to the transcript, input from a FIFO; a report on stdout once it has come up.
    Yes,
}

/// Runs a session's program to its end, then ends what it left behind; answers with its exit code. `ended` is told the code
/// as soon as it is known. Never execs: what looks after a program must outlive it.
///
/// # Errors
/// When there is no such session, it runs already, or the program cannot be started.
pub fn run(env: &Env, folder: &Folder, how: Detached, ended: impl FnOnce(&StartConfig, i32)) -> io::Result<i32> {
    let start = folder
        .start()?
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("there is no session '{}'", folder.name())))?;
    if folder.is_alive()? {
        return Err(io::Error::other(format!("session '{}' already exists", folder.name())));
    }
    if how == Detached::Yes {
        session::lead();
    }
    session::adopt()?;
    session::outlive_signals()?;
    let around = environment(env, &start);
    let cwd = env.cwd.join(start.work_dir.as_deref().unwrap_or("."));
    if !cwd.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("{} is not a folder", cwd.display())));
    }
    let argv = argv(&start, &around, &cwd)?;
    let mark = mark(&start);
    let stated = start.transcript.as_deref().map(|path| cwd.join(path));
    let place = stated.clone().unwrap_or_else(|| folder.file(TRANSCRIPT));
    let (input, mut transcript) = match how {
        Detached::Yes => (Some(session::fifo(&folder.file(INPUT))?), Some(Transcript::open(&place, LIMIT)?)),
        Detached::No => (None, None),
    };
    let own = i32::try_from(std::process::id()).ok().and_then(ProcessKey::of);
    let own = own.ok_or_else(|| io::Error::other("this process cannot be told from others"))?;
    folder.set_root(&own)?;
    let mut running = session::start(&Program { argv: &argv, env: &around, cwd: &cwd }, input).map_err(|error| {
        let first = argv.first().map(|first| first.to_string_lossy().into_owned()).unwrap_or_default();
        io::Error::new(error.kind(), format!("{first} cannot be run: {error}"))
    })?;
    let mut see = |bytes: &[u8]| {
        if let Some(transcript) = &mut transcript {
            transcript.write(bytes);
        }
    };
    // A program that fails at once is told as such, and not as one that runs.
    let at_once = if how == Detached::Yes { running.finish_within(Some(SETTLING), &mut see)? } else { None };
    let (code, reported) = match at_once {
        Some(code) => {
            ended(&start, code);
            (code, report(env, folder, &own, &place, "ended"))
        }
        None => {
            let reported = if how == Detached::Yes { report(env, folder, &own, &place, "running") } else { Ok(()) };
            if reported.is_err() {
                // Whoever started it is gone and will never know of it.
                let _ = tree::end(GRACE, || tree::below(own.pid, mark.as_deref()));
            }
            let code = running.finish(&mut see)?;
            ended(&start, code);
            (code, reported)
        }
    };
    let left = tree::end(GRACE, || {
        let mut found: Vec<ProcessKey> = tree::below(own.pid, mark.as_deref())?;
        if let Some(mark) = &mark {
            found.extend(tree::marked(mark)?);
        }
        Ok(found)
    });
    running.hand_on(&mut see);
    folder.close(INPUT);
    // Nothing of worth is left where the transcript lies elsewhere, and something to be ended is not forgotten.
    if stated.is_some() && left.is_ok_and(|left| left.is_empty()) {
        folder.remove()?;
    }
    reported.map(|()| code)
}

fn report(env: &Env, folder: &Folder, own: &ProcessKey, transcript: &Path, status: &str) -> io::Result<()> {
    let report = Report {
        session_name: Some(folder.name().to_owned()),
        pid: Some(own.pid),
        transcript: Some(transcript.display().to_string()),
        started_at: Some(env.now().to_string()),
        status: Some(status.to_owned()),
        ..Report::default()
    };
    let line = serde_json::to_string(&report).map_err(io::Error::other)?;
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

/// What surrounds the caller, without anything of Fairway's, and over it what the session was started with.
fn environment(env: &Env, start: &StartConfig) -> BTreeMap<OsString, OsString> {
    let mut around = bare(env);
    for (name, value) in start.env.iter().flatten() {
        if value.is_empty() {
            around.remove(&OsString::from(name));
        } else {
            around.insert(name.into(), value.into());
        }
    }
    around
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
    let file: PathBuf = program::find(&name, var(vars::PATH).map(OsString::as_os_str), cwd)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("there is no program '{name}'")))?;
    Ok(std::iter::once(file.into_os_string()).chain(words).collect())
}

/// Runs a session's program in a process of its own and returns once it has come up, with its report.
///
/// # Errors
/// What `run` says when it does not come up.
pub fn detach(env: &Env, folder: &Folder, state: &Path) -> io::Result<String> {
    let mut around = bare(env);
    around.insert(vars::FAIRWAY_ADAPTER_STATE.into(), state.into());
    // A session that surrounds this one does not take it along when it ends.
    if let Some(run) = folder.start()?.and_then(|start| start.var(vars::FAIRWAY_RUN_ID).map(str::to_owned)) {
        around.insert(vars::FAIRWAY_RUN_ID.into(), run.into());
    }
    let args: Vec<OsString> = ["adapter", "run", "--report", "--", folder.name()].map(OsString::from).to_vec();
    match session::detached(&args, &around)? {
        Ok(line) => Ok(line),
        Err(said) => Err(io::Error::other(said.trim().trim_start_matches("error: ").to_owned())),
    }
}
