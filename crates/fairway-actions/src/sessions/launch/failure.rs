//! The end of a launch whose program does not run: the answer when the program has ended by itself, and the rollback in any
//! other case.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::outcome::launch_answer;
use super::plan::LaunchPlan;
use super::purpose::Purpose;
use crate::core::{lookup, session_events};
use crate::queue::task::release;
use crate::{Answer, App};
use fairway_core::adapters::plumbing::transcript;
use fairway_core::adapters::{Adapter, AdapterError};
use fairway_core::domain::rules::session_machine::SessionEvent;
use fairway_core::domain::session::{Session, SessionStatus};
use fairway_core::domain::{SessionId, secrets};
use fairway_core::env::vars;
use fairway_core::os::{poll_until, process_tree};
use fairway_core::store::{WriteTx, idempotency_keys};

/// How long a supervisor may take to record that its program has ended.
const EXIT_RECORD_TIMEOUT: Duration = Duration::from_secs(3);

/// The start of the message about a program's end, as the plumbing commands print it and the supervisor records it.
const EXIT_CODE_PREFIX: &str = "its program ended with exit code ";

/// How long the processes of a failed launch may take to end.
const TERMINATION_GRACE: Duration = Duration::from_secs(2);

/// Lines of output in the message.
const MAX_LINES: u32 = 12;
/// Bytes of output in the message.
const MAX_BYTES: usize = 600;

/// Why the program of a launch does not run.
pub(super) enum NotRunning {
    /// A step before the start has failed.
    NotStarted(AdapterError),
    /// The backend script reported that it could not start the program.
    StartFailed(AdapterError),
    /// The program ended before the launch was confirmed.
    Ended,
    /// The store did not record the start.
    Unrecorded(anyhow::Error),
}

/// Ends a launch whose program is not known to run: rolls the launch back and returns its error. A program that has already
/// ended successfully is a success instead. A start that the store did not record is not rolled back.
pub(super) fn settle(
    app: &App,
    plan: &LaunchPlan,
    adapter: &Adapter,
    why: NotRunning,
    notes: Vec<String>,
) -> Result<Answer> {
    let error = match why {
        NotRunning::Unrecorded(error) => return Err(error),
        NotRunning::NotStarted(error) => error,
        NotRunning::StartFailed(error) => program_exit_error(app, plan, adapter, error),
        // The session's supervisor records the exit code; a script without a supervisor records none.
        NotRunning::Ended => match wait_recorded_exit(app, plan) {
            Some(session) if session.status == SessionStatus::Ended => {
                let answer = launch_answer(&session, &plan.purpose, plan.requested_id.as_ref(), notes)?;
                if let Some(request) = &app.idempotency_key {
                    app.transaction(|tx| request.store_response(tx, &answer))?;
                }
                return Ok(answer);
            }
            Some(session) => ended_error(plan, adapter, &session),
            None => program_ended(plan, adapter, "it is not running".to_owned()),
        },
    };
    Err(roll_back(app, plan, adapter, error))
}

/// Rolls a failed launch back: ends the processes of this session run, marks the session as failed, releases the claim of a
/// start, and deletes the intent so that the request may be repeated. A session whose program was to be replaced is not marked as
/// failed, because it goes back to its earlier program. Returns the error, with the steps of the rollback that failed.
pub(super) fn roll_back(app: &App, plan: &LaunchPlan, adapter: &Adapter, error: AdapterError) -> anyhow::Error {
    let (id, name, run) = (&plan.session.id, plan.session.name(), &plan.session.run_id);
    let mut why = error.reason();
    // A supervisor that is stopped records no reason for a session that is stopping.
    if let Err(error) = app.transaction(|tx| mark_stopping(tx, id)) {
        why = format!("{why}; {error}");
    }
    if error.may_leave_session()
        && adapter.matches_session_run(name, run) != Some(false)
        && let Err(AdapterError::Failed { why: more, .. }) = adapter.stop(name)
    {
        why = format!("{why}; stopping it failed: {more}");
    }
    let tags = [vars::FAIRWAY_RUN_ID, vars::FAIRWAY_LAUNCH].map(|name| format!("{name}={run}"));
    let tagged = || tags.iter().map(|tag| process_tree::with_env_entry(tag)).collect::<std::io::Result<Vec<_>>>();
    match process_tree::terminate(TERMINATION_GRACE, || Ok(tagged()?.concat())) {
        Ok(left) if left.is_empty() => {}
        Ok(left) => {
            let pids: Vec<String> = left.iter().map(|key| key.pid.to_string()).collect();
            why = format!("{why}; still running: {}", pids.join(" "));
        }
        Err(error) => why = format!("{why}; cannot list its remaining processes: {error}"),
    }
    let recorded = app.transaction(|tx| {
        let session = lookup::session(tx, id)?;
        // The session goes back to its earlier program.
        let goes_back = matches!(&plan.purpose, Purpose::Switch(switch) if !switch.is_return);
        if !session.status.is_final() && !goes_back {
            session_events::end(tx, &session, SessionStatus::Failed, None, Some(&why))?;
        }
        if let Some(claim) = plan.purpose.claim() {
            release::release_failed_start(tx, id, claim)?;
        }
        if let Some(request) = &app.idempotency_key {
            idempotency_keys::delete(tx, &request.id)?;
        }
        Ok(())
    });
    match recorded {
        Ok(()) => anyhow::Error::new(error),
        Err(store) => store.context(why),
    }
}

fn mark_stopping(tx: &WriteTx<'_>, id: &SessionId) -> Result<()> {
    let session = lookup::session(tx, id)?;
    if !session.status.is_final() {
        session_events::apply(tx, &session, &SessionEvent::RollbackBegan)?;
    }
    Ok(())
}

/// The error of a failed start. When the backend script reports that the program has ended, the error holds its exit code and its
/// last output.
fn program_exit_error(app: &App, plan: &LaunchPlan, adapter: &Adapter, error: AdapterError) -> AdapterError {
    let AdapterError::Failed { why, .. } = &error else { return error };
    let Some(code) = parse_exit_code(why) else { return error };
    if let Some(session) = wait_recorded_exit(app, plan) {
        return ended_error(plan, adapter, &session);
    }
    program_ended(plan, adapter, format!("{EXIT_CODE_PREFIX}{code}"))
}

/// The exit code in a script's message about its program's end.
fn parse_exit_code(why: &str) -> Option<i32> {
    let (_, code) = why.split_once(EXIT_CODE_PREFIX)?;
    code.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

/// Waits until the supervisor has recorded the session's end. `None` when it has not in time.
fn wait_recorded_exit(app: &App, plan: &LaunchPlan) -> Option<Session> {
    poll_until::poll_until(EXIT_RECORD_TIMEOUT, Duration::from_millis(50), || {
        let session = app.read(|tx| lookup::session(tx, &plan.session.id)).ok()?;
        session.status.is_final().then_some(session)
    })
}

/// The error about a session whose program failed, with the recorded reason and the program's last output.
pub(super) fn ended_error(plan: &LaunchPlan, adapter: &Adapter, session: &Session) -> AdapterError {
    program_ended(plan, adapter, session.reason.clone().unwrap_or_else(|| "it has failed".into()))
}

fn program_ended(plan: &LaunchPlan, adapter: &Adapter, why: String) -> AdapterError {
    AdapterError::ProgramEnded { session: plan.session.id.to_string(), why, screen: last_output(adapter, plan) }
}

/// The last lines of output of a launch's program, with secrets masked; empty when there are none.
fn last_output(adapter: &Adapter, plan: &LaunchPlan) -> String {
    let (name, run) = (plan.session.name(), &plan.session.run_id);
    let recorded = plan.session.transcript.as_deref().map(|path| transcript::tail(Path::new(path), MAX_LINES as usize));
    let shown = recorded.and_then(Result::ok).filter(|text| !text.trim().is_empty()).or_else(|| {
        // The screen of another session run must not be shown.
        let is_other_run = adapter.matches_session_run(name, run) == Some(false);
        (!is_other_run).then(|| adapter.peek(name, MAX_LINES).ok()).flatten()
    });
    let shown = secrets::mask(&plan.start.redacted(shown.unwrap_or_default().trim()));
    let from = shown.char_indices().map(|(at, _)| at).find(|at| shown.len() - at <= MAX_BYTES).unwrap_or_default();
    shown.get(from..).unwrap_or_default().to_owned()
}
