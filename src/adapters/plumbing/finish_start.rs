//! The rest of a start, once the program is on its way: has it come up, is it ready, what is to be run and typed then.

use std::{
    io,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use super::{Folder, program_env, session_dir::Stage, setup_commands::Steps, transcript};
use crate::{
    adapters::{
        Adapter, Report, StartConfig,
        readiness::{self, Look, Readiness},
    },
    domain::{screen, secrets},
    env::Env,
    os::{file_watch::Watch, poll_until, process},
};

/// How long the process that looks after the program may take to start it.
const COMING_UP: Duration = Duration::from_secs(20);
/// How long a program may take to fail at once.
const AT_ONCE: Duration = Duration::from_millis(250);
/// How long what a program left behind may take to be gone.
const LEAVING: Duration = Duration::from_secs(5);
/// How long its last output may take.
const PRINTING: Duration = Duration::from_millis(300);
/// How much of what a program printed before it failed is told, in lines.
const LAST_LINES: usize = 20;

/// What a script knows about the session that it made.
#[derive(Debug, Default)]
pub struct Made {
    /// The pane.
    pub pane: Option<String>,
    /// Where its multiplexer listens.
    pub socket: Option<String>,
}

/// Waits until a session's program has come up and is ready, runs what is to be run then, and types the first text. Answers
/// with the session's report. `warn` is told of what is no failure.
///
/// # Errors
/// When the program cannot be started, or has failed meanwhile: then nothing of the session is left.
pub fn settle(
    env: &Env,
    folder: &Folder,
    adapter: &Adapter,
    made: Made,
    warn: &mut dyn FnMut(&str),
) -> io::Result<Report> {
    match settled(env, folder, adapter, made, warn) {
        Ok(report) => {
            folder.settle()?;
            Ok(report)
        }
        Err(error) => {
            // It may be recording the end; only what takes too long is cut off.
            wait_while(folder, LEAVING, |stage| {
                !matches!(stage, Stage::Begun | Stage::Gone) && folder.is_alive().unwrap_or(false)
            });
            folder.roll_back()?;
            Err(error)
        }
    }
}

fn settled(
    env: &Env,
    folder: &Folder,
    adapter: &Adapter,
    made: Made,
    warn: &mut dyn FnMut(&str),
) -> io::Result<Report> {
    let stopped = || io::Error::other(format!("session '{}' was stopped while it started", folder.name()));
    let start = folder.start()?.ok_or_else(stopped)?;
    let transcript = folder.transcript()?;
    let report = |status: &str| Report {
        session_name: Some(folder.name().to_owned()),
        pid: folder.root().map(|root| root.pid),
        pane: made.pane.clone(),
        socket: made.socket.clone(),
        transcript: Some(transcript.display().to_string()),
        started_at: Some(env.now().to_string()),
        status: Some(status.to_owned()),
    };
    wait_while(folder, COMING_UP, |stage| *stage == Stage::Unpacked);
    wait_while(folder, AT_ONCE, |stage| *stage == Stage::Begun);
    let mut look = Inside { folder, adapter };
    let mut stage = here(folder);
    if stage == Stage::Begun {
        if let Readiness::Late(why) = readiness::wait(&start, &mut look) {
            warn(&format!("session '{}' is not known to be ready: {why}", folder.name()));
        }
        stage = here(folder);
    }
    if stage == Stage::Begun {
        let around = program_env::of(folder, &start, None)?;
        let directory = folder.directory()?;
        let steps = Steps { env: &around, cwd: &directory };
        steps.run("session_setup", start.session_setup.as_deref(), warn);
        steps.run_script("session_setup_script", start.session_setup_script.as_deref(), warn);
        steps.run("session_live", start.session_live.as_deref(), warn);
        if let Some(text) = start.nudge.as_deref().filter(|text| !text.is_empty())
            && let Err(error) = adapter.nudge(folder.name(), text.as_bytes())
            && !look.is_over()
        {
            warn(&format!("the nudge was not delivered: {error}"));
        }
        stage = here(folder);
    }
    match stage {
        Stage::Begun => Ok(report("running")),
        Stage::Ended(code) if code == 0 || is_one_shot(&start) => Ok(report("ended")),
        Stage::Ended(code) => {
            let mut why = format!("its program ended with exit code {code}");
            // What a pane printed last is still on its way into the file.
            let last = poll_until::until(PRINTING, Duration::from_millis(20), || {
                let last = transcript::tail_from(&transcript, LAST_LINES, folder.before()).unwrap_or_default();
                Some(screen::words(&last)).filter(|last| !last.trim().is_empty())
            });
            let last = secrets::masked(&start.hidden(last.unwrap_or_default().trim()));
            if !last.is_empty() {
                why = format!("{why}; the last that it printed:\n{last}");
            }
            Err(io::Error::other(why))
        }
        Stage::Refused(why) => Err(io::Error::other(why)),
        Stage::Unpacked => {
            Err(io::Error::other(format!("the program was not started within {} s", COMING_UP.as_secs())))
        }
        Stage::Gone => Err(stopped()),
    }
}

/// What has become of the session, as long as it is the one that is being started here.
fn here(folder: &Folder) -> Stage {
    if folder.is_started_here() { folder.stage() } else { Stage::Gone }
}

/// A command that is expected to end by itself.
fn is_one_shot(start: &StartConfig) -> bool {
    start.lifecycle.as_ref().and_then(serde_json::Value::as_str) == Some("one_shot")
}

/// Sleeps as long as the session's stage is such, but no longer than the limit.
fn wait_while(folder: &Folder, limit: Duration, holds: impl Fn(&Stage) -> bool) {
    let deadline = Instant::now() + limit;
    let mut watch = Watch::new();
    watch.entries(folder.path());
    loop {
        // Taken before the look: what ends after it is seen by the wait.
        let root = folder.root().and_then(|root| process::pidfd(root.pid).ok().flatten());
        if !holds(&here(folder)) {
            return;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        let ends: Vec<_> = root.iter().map(AsFd::as_fd).collect();
        watch.wait(Some(left), &ends, None);
    }
}

/// A session as its own script's plumbing sees it.
struct Inside<'a> {
    folder: &'a Folder,
    adapter: &'a Adapter,
}

impl Look for Inside<'_> {
    fn runs(&mut self, names: &[String]) -> Option<bool> {
        self.folder.runs_one_of(names).ok()
    }

    fn screen(&mut self) -> Option<String> {
        self.adapter.peek(self.folder.name(), 0).ok()
    }

    fn is_over(&mut self) -> bool {
        here(self.folder) != Stage::Begun
    }
}
