//! Ending a run.

use std::{
    io,
    time::{Duration, Instant},
};

use anyhow::Result;
use nix::sys::signal::Signal;

use super::{end, find, recover, standby};
use crate::{
    actions::{Answer, App, app::remembered, failure},
    domain::{
        Refusal,
        run::{Ending, ExecRun, RunStatus},
    },
    os::wait,
    runs::{
        RunFolder,
        door::{self, Request},
        machine::GRACE,
    },
    store::exec_runs,
    wire::KilledView,
};

/// How much longer than the grace a supervisor may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest pause before another look at a run that is just changing hands.
const PAUSE: Duration = Duration::from_millis(20);

/// Ends a run with everything in it; returns when all of it is dead and that is written. Everything gets `signal` first
/// (TERM), and is killed after `grace` (2 s). A run that is final stays as it is.
///
/// # Errors
/// `not_found`, `ambiguous`, `run_busy` when its supervisor does not answer; as the stores fail.
pub fn kill(app: &App, run: &str, signal: Option<Signal>, grace: Option<Duration>) -> Result<Answer> {
    if let Some(request) = &app.request
        && let Some(answer) = app.read(|tx| remembered(tx, request))?
    {
        return Ok(answer);
    }
    let first = app.read(|tx| find::run(tx, run))?;
    let asked = Request::Kill { signal: signal.unwrap_or(Signal::SIGTERM), grace: grace.unwrap_or(GRACE) };
    let limit = grace.unwrap_or(GRACE) + PATIENCE;
    let since = Instant::now();
    let ended = wait::until(limit, PAUSE, || attempt(app, &first, &asked, grace, limit.saturating_sub(since.elapsed())).transpose());
    let ended = ended.unwrap_or_else(|| Err(Refusal::RunBusy { run: first.id.to_string() }.into()))?;
    let answer = answer(&ended, first.status.is_final())?;
    // A repeat finds the run ended, and changes nothing; it is given the same answer all the same.
    if app.request.is_some() { app.register(|_| Ok(answer)) } else { Ok(answer) }
}

/// One try; `None` when the run is changing hands.
fn attempt(app: &App, first: &ExecRun, asked: &Request, grace: Option<Duration>, left: Duration) -> Result<Option<ExecRun>> {
    let look = || app.read(|tx| find::run(tx, &first.id.to_string()));
    let run = look()?;
    let final_now = || look().map(|run| Some(run).filter(|run| run.status.is_final()));
    match run.status {
        status if status.is_final() => return Ok(Some(run)),
        RunStatus::Queued => {
            if cancel_queued(app, &run)? {
                standby::wake(app);
            }
            return final_now();
        }
        _ => {}
    }
    let folder = RunFolder::of(&app.project.runs(), &run.id);
    match door::ask(&folder, asked, left) {
        Ok(Some(_)) => final_now(),
        Ok(None) if folder.ended().is_some() => {
            recover::settle_one(app, &run)?;
            final_now()
        }
        Ok(None) => {
            recover::cancel(app, &run, grace, "it was killed on request; nobody looked after it any more")?;
            final_now()
        }
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            Err(Refusal::RunBusy { run: run.id.to_string() }.into())
        }
        Err(error) => Err(failure::internal(error)),
    }
}

/// Cancels a run that waits. `false` when somebody has taken it meanwhile.
fn cancel_queued(app: &App, run: &ExecRun) -> Result<bool> {
    let why = "it was killed on request, before it was begun".to_owned();
    let ending = Ending { status: RunStatus::Canceled, exit_code: None, signal: None, error_message: Some(why) };
    let done = app.write(|tx| {
        let queued = exec_runs::find(tx, &run.id)?.filter(|run| run.status == RunStatus::Queued);
        queued.map_or(Ok(false), |run| end::settled(tx, &run, &ending, run.output_bytes, run.truncated))
    })?;
    if done {
        end::told(app, run, &ending);
    }
    Ok(done)
}

fn answer(run: &ExecRun, was_final: bool) -> Result<Answer> {
    let (id, status) = (run.id.to_string(), run.status.as_str());
    let finished_at = run.finished_at.map(|at| at.to_string());
    let line = if was_final { format!("{id} had ended: {status}") } else { format!("ended {id}: {status}") };
    Answer::new(&KilledView { run_id: id.clone(), status, finished_at }, id, line)
}
