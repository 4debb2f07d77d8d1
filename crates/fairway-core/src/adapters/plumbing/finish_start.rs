//! The rest of a start after the program was launched: whether it is up and ready, and what is run and typed then.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::session_dir::StartState;
use super::session_setup_commands::SetupCommands;
use super::{SessionDir, program_env, transcript};
use crate::adapters::program_readiness::{self, Readiness, ReadinessProbe};
use crate::adapters::{Adapter, StartConfig, StartReport};
use crate::domain::{ansi, secrets};
use crate::env::Env;
use crate::os::file_watch::FileWatch;
use crate::os::{poll_until, process};

/// How long the process that supervises the program may take to start it.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a program is watched for an immediate exit.
const EARLY_EXIT_WINDOW: Duration = Duration::from_millis(250);
/// How long processes that a program left behind may take to disappear.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the program's last output may take to arrive.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_millis(300);
/// How much output of a failed program an error message quotes, in lines.
const MAX_ERROR_LINES: usize = 20;

/// A script's information about the session that it created.
#[derive(Debug, Default)]
pub struct StartedPane {
    pub pane: Option<String>,
    /// The address at which the session's multiplexer listens.
    pub socket: Option<String>,
}

/// Finishes the start of a session. Waits, for a limited time, until the session's program is ready for input, then runs the
/// session's setup commands and types the configured first text. Returns the session's report. A program that has already ended
/// is no error when its exit code is 0 or the configuration calls it `one_shot`. `warn` gets the problems that do not make the
/// start fail.
///
/// # Errors
/// When the program cannot be started or has already failed. The session is removed then.
pub fn finish_start(
    env: &Env,
    dir: &SessionDir,
    adapter: &Adapter,
    made: StartedPane,
    warn: &mut dyn FnMut(&str),
) -> io::Result<StartReport> {
    match start_report(env, dir, adapter, made, warn) {
        Ok(report) => {
            dir.finish_start()?;
            Ok(report)
        }
        Err(error) => {
            // The root process may be recording the exit; it is ended early only when that takes too long.
            wait_while(dir, CLEANUP_TIMEOUT, |stage| {
                !matches!(stage, StartState::Started | StartState::Gone) && dir.is_alive().unwrap_or(false)
            });
            dir.roll_back()?;
            Err(error)
        }
    }
}

fn start_report(
    env: &Env,
    dir: &SessionDir,
    adapter: &Adapter,
    made: StartedPane,
    warn: &mut dyn FnMut(&str),
) -> io::Result<StartReport> {
    let stopped = || io::Error::other(format!("session '{}' was stopped while it started", dir.name()));
    let start = dir.start_config()?.ok_or_else(stopped)?;
    let transcript = dir.transcript_path()?;
    let report = |status: &str| StartReport {
        session_name: Some(dir.name().to_owned()),
        pid: dir.root().map(|root| root.pid),
        pane: made.pane.clone(),
        socket: made.socket.clone(),
        transcript: Some(transcript.display().to_string()),
        started_at: Some(env.now().to_string()),
        status: Some(status.to_owned()),
    };
    wait_while(dir, START_TIMEOUT, |stage| *stage == StartState::Pending);
    wait_while(dir, EARLY_EXIT_WINDOW, |stage| *stage == StartState::Started);
    let mut look = SessionProbe { dir, adapter };
    let mut stage = own_start_state(dir);
    if stage == StartState::Started {
        if let Readiness::TimedOut(why) = program_readiness::wait(&start, &mut look) {
            warn(&format!("session '{}' is not known to be ready: {why}", dir.name()));
        }
        stage = own_start_state(dir);
    }
    if stage == StartState::Started {
        let around = program_env::program_env(dir, &start, None)?;
        let directory = dir.work_dir()?;
        let steps = SetupCommands { env: &around, cwd: &directory };
        steps.run_all("session_setup", start.session_setup.as_deref(), warn);
        steps.run_script("session_setup_script", start.session_setup_script.as_deref(), warn);
        steps.run_all("session_live", start.session_live.as_deref(), warn);
        if let Some(text) = start.nudge.as_deref().filter(|text| !text.is_empty())
            && let Err(error) = adapter.nudge(dir.name(), text.as_bytes())
            && !look.has_exited()
        {
            warn(&format!("the nudge was not delivered: {error}"));
        }
        stage = own_start_state(dir);
    }
    match stage {
        StartState::Started => Ok(report("running")),
        StartState::Exited(code) if code == 0 || is_one_shot(&start) => Ok(report("ended")),
        StartState::Exited(code) => {
            let mut why = format!("its program ended with exit code {code}");
            // A pane's last output may still be on its way into the file.
            let last = poll_until::poll_until(LAST_OUTPUT_TIMEOUT, Duration::from_millis(20), || {
                let last =
                    transcript::tail_from(&transcript, MAX_ERROR_LINES, dir.transcript_offset()).unwrap_or_default();
                Some(ansi::visible_text(&last)).filter(|last| !last.trim().is_empty())
            });
            let last = secrets::mask(&start.redacted(last.unwrap_or_default().trim()));
            if !last.is_empty() {
                why = format!("{why}; the last that it printed:\n{last}");
            }
            Err(io::Error::other(why))
        }
        StartState::Failed(why) => Err(io::Error::other(why)),
        StartState::Pending => {
            Err(io::Error::other(format!("the program was not started within {} s", START_TIMEOUT.as_secs())))
        }
        StartState::Gone => Err(stopped()),
    }
}

/// The state of the session as long as it is the one that this call starts, else [`StartState::Gone`].
fn own_start_state(dir: &SessionDir) -> StartState {
    if dir.is_started_by_us() { dir.start_state() } else { StartState::Gone }
}

/// Whether the program is expected to end by itself.
fn is_one_shot(start: &StartConfig) -> bool {
    start.lifecycle.as_ref().and_then(serde_json::Value::as_str) == Some("one_shot")
}

/// Waits as long as `holds` is true of the session's state, but no longer than `limit`.
fn wait_while(dir: &SessionDir, limit: Duration, holds: impl Fn(&StartState) -> bool) {
    let deadline = Instant::now() + limit;
    let mut watch = FileWatch::new();
    watch.watch_dir(dir.path());
    loop {
        // Opened before the state is read, so that an exit after that ends the wait.
        let root = dir.root().and_then(|root| process::pidfd(root.pid).ok().flatten());
        if !holds(&own_start_state(dir)) {
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
struct SessionProbe<'a> {
    dir: &'a SessionDir,
    adapter: &'a Adapter,
}

impl ReadinessProbe for SessionProbe<'_> {
    fn has_program(&mut self, names: &[String]) -> Option<bool> {
        self.dir.has_program(names).ok()
    }

    fn screen(&mut self) -> Option<String> {
        self.adapter.peek(self.dir.name(), 0).ok()
    }

    fn has_exited(&mut self) -> bool {
        own_start_state(self.dir) != StartState::Started
    }
}
