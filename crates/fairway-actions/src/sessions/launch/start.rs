//! A launch: record the intent, start the program, confirm. Only a start claims its task. A failed launch leaves no running
//! session and no process, and the claim of a start is released.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::failure::{self, NotRunning};
use super::first_prompt::{self, FirstPrompt};
use super::launch_lock::LaunchLock;
use super::outcome::{LaunchOutcome, answer_with_prompt};
use super::plan::LaunchPlan;
use super::post_start::PostStart;
use super::purpose::Purpose;
pub use super::record::previous_result;
use super::record::{self, Recorded};
use super::{git_hooks, hook_check};
use crate::core::{errors, lookup, server_outage, store_safety};
use crate::queue::lane::setup;
use crate::sessions::{adapter_endpoint, prompt};
use crate::{Answer, App};
use fairway_core::adapters::program_readiness::Readiness;
use fairway_core::adapters::{Adapter, AdapterError, StartReport, Tristate};
use fairway_core::config;
use fairway_core::domain::SessionId;
use fairway_core::domain::session::{Session, SessionStatus};
use fairway_core::os::git::Git;
use fairway_core::os::process::ProcessKey;
use fairway_core::os::{files, host};
use fairway_core::store::{lanes, session_reports};

/// How long a launch tries to record that its program runs while the store's server cannot be reached.
const CONFIRM_LIMIT: Duration = Duration::from_secs(10);

/// Launches a planned session. The first prompt is typed once, by the backend script if it can do that, otherwise by this process
/// when the program is ready. When typing fails, a note says so.
///
/// # Errors
/// `adapter_failed`, `adapter_timeout`, `adapter_busy`, `session_exists`, `program_failed`: the session is then `failed`,
/// nothing of it runs, and no task has changed. `setup_failed`, `not_set_up`, `copy_failed`: there is no session.
pub fn launch(app: &App, mut plan: LaunchPlan, wait: PromptWatch) -> Result<Answer> {
    plan.notes.extend(ready_lane(app, &plan.session)?);
    // A plan alone gives the machine no id.
    plan.session.host_id = host::identity_to_record().id;
    let script = plan.located.script.clone();
    match plan.located.built_in {
        Some(built_in) => {
            built_in.unpack(&app.env).map_err(|source| AdapterError::CannotRun { script: script.clone(), source })?;
        }
        // Later calls know the script as one that this user has launched.
        None => config::trust::remember_script(&app.env, &app.project.root, &script).map_err(errors::internal)?,
    }
    if let Some(directory) = &plan.git_hooks {
        git_hooks::write(directory)?;
    }
    let adapter = Adapter::new(&script, &plan.state_dir, &app.project.root, &app.env).map_err(errors::internal)?;
    let adapter = adapter_endpoint::with_session(app, adapter, &plan.session).with_socket(plan.socket.as_deref());
    let hook_check = hook_check::start(app, &plan).context("cannot write the hooks' settings file")?;
    // A backend without its directory cannot tell that nothing runs: a first launch that is killed from here on would stay
    // without an answer.
    files::private_dir(&plan.state_dir).map_err(errors::internal)?;
    record::end_dead_claimants(app, &plan)?;
    // While this is held, the session is no dead one, though nothing of it runs yet.
    let _in_progress = LaunchLock::acquire(app, &plan.session).map_err(errors::internal)?;
    match record::record(app, &plan)? {
        Recorded::Earlier(answer) => return record::resolve_previous(app, answer, &plan.purpose),
        Recorded::Starting => {}
        Recorded::Claimed(claim) => {
            plan.notes.extend(claim.notes.iter().cloned());
            if let Purpose::Start(start) = &mut plan.purpose {
                start.claim = Some(claim);
            }
        }
        Recorded::Continued(tasks) => {
            if let Purpose::Relaunch(relaunch) = &mut plan.purpose {
                relaunch.continued = tasks;
            }
        }
    }
    if let Purpose::Switch(switch) = &plan.purpose {
        switch.end_previous(app)?;
    }
    let steps = PostStart::new(app, &adapter, &plan);
    let mut notes = plan.notes.clone();
    let started = match start(app, &plan, &adapter, &steps, &mut notes) {
        Ok(started) => started,
        Err(why) => return failure::settle(app, &plan, &adapter, why, notes),
    };
    let id = &plan.session.id;
    let unknown_outcome = |error| partly_done(app, id, error);
    if let LaunchOutcome::Unknown(_, why) = started.outcome {
        notes.push(format!("unknown whether {id} is running: {why}"));
    }
    steps.run(app, &mut notes);
    notes.extend(hook_check.and_then(|check| check.note(app, &plan.session)));
    notes.extend(guard_note(app, &plan.session));
    // Messages that arrived while the session started.
    notes.extend(prompt::try_deliver(app, id));
    notes.extend(store_safety::keep_safe(app));
    let first_prompt = match wait {
        PromptWatch::Skip => None,
        PromptWatch::Briefly => {
            first_prompt::watch(app, &plan, first_prompt::DEFAULT_WAIT, false).map_err(unknown_outcome)?
        }
        PromptWatch::For(limit) => first_prompt::watch(app, &plan, limit, true).map_err(unknown_outcome)?,
    };
    // Hooks may have reported meanwhile.
    let session = match &first_prompt {
        Some(_) => app.read(|tx| lookup::session(tx, id)).map_err(unknown_outcome)?,
        None => started.session,
    };
    if session.status == SessionStatus::Failed && first_prompt.as_ref().is_some_and(FirstPrompt::is_unread) {
        return Err(failure::roll_back(app, &plan, &adapter, failure::ended_error(&plan, &adapter, &session)));
    }
    let answer = answer_with_prompt(&session, &plan.purpose, plan.requested_id.as_ref(), notes, first_prompt.as_ref())?;
    let is_news = answer.notes != started.stored_notes || first_prompt.is_some();
    if let Some(request) = app.idempotency_key.as_ref().filter(|_| is_news) {
        app.transaction(|tx| request.store_response(tx, &answer))?;
    }
    Ok(answer)
}

/// Makes the worktree of the session's lane ready, when the session works in it. Returns notes.
fn ready_lane(app: &App, session: &Session) -> Result<Vec<String>> {
    let lane = session.lane.as_ref().map(|name| app.read(|tx| Ok(lanes::find(tx, name)?))).transpose()?.flatten();
    match lane.filter(|lane| lane.worktree == session.worktree) {
        Some(lane) => setup::ensure(app, &lane),
        None => Ok(Vec::new()),
    }
}

/// A session whose program was started.
struct Started {
    session: Session,
    outcome: LaunchOutcome,
    /// The notes that a repeat of the request would return.
    stored_notes: Vec<String>,
}

/// Starts the program, waits until it is ready, and records that it runs.
fn start(
    app: &App,
    plan: &LaunchPlan,
    adapter: &Adapter,
    steps: &PostStart<'_>,
    notes: &mut Vec<String>,
) -> Result<Started, NotRunning> {
    let (id, name) = (&plan.session.id, plan.session.name());
    steps.prepare(app, notes).map_err(NotRunning::NotStarted)?;
    let report = adapter
        .start_with_callback(name, steps.start(), plan.timeout, &mut |note| notes.push(note))
        .map_err(NotRunning::StartFailed)?;
    let outcome = determine_outcome(adapter, plan, report);
    if matches!(outcome, LaunchOutcome::Ended) {
        return Err(NotRunning::Ended);
    }
    if plan.located.built_in.is_none()
        && let Err(error) = adapter.store_session_run(name, &plan.session.run_id)
    {
        notes.push(format!("the backend did not store the session's run, so it may not be known again: {error}"));
    }
    if steps.wait_ready(&outcome, notes) == Readiness::Exited {
        return Err(NotRunning::Ended);
    }
    // The notes for a repeat of this request, should this call be interrupted.
    let cut_off = steps.remaining().map(|left| format!("unknown whether {left}: the launch was interrupted"));
    let stored_notes: Vec<String> = notes.iter().cloned().chain(cut_off).collect();
    // The branch of a worktree that the launch has made.
    let directory = plan.session.worktree.as_deref().filter(|_| plan.session.branch.is_none());
    let branch = directory.and_then(|directory| Git::new(app.env.vars(), Path::new(directory)).branch());
    let confirm = || app.transaction(|tx| record::confirm(app, tx, plan, &outcome, branch.as_deref(), &stored_notes));
    let session = server_outage::retry(CONFIRM_LIMIT, confirm)
        .map_err(|error| NotRunning::Unrecorded(partly_done(app, id, error)))?;
    if session.status.is_final() {
        return Err(NotRunning::Ended);
    }
    Ok(Started { session, outcome, stored_notes })
}

/// The error of a launch whose program was started: repeating it without a request id would start a second one.
fn partly_done(app: &App, id: &SessionId, error: anyhow::Error) -> anyhow::Error {
    server_outage::partly_done(app, &format!("the program of {id} was started"), error)
}

/// A note about a structured session whose agent may run tools without asking.
fn guard_note(app: &App, session: &Session) -> Option<String> {
    let reports = app.read(|tx| Ok(session_reports::find(tx, &session.id)?)).ok()?;
    let why = reports.protocol.filter(|_| session.is_structured())?.unguarded?;
    Some(format!("{} is not guarded: {why}", session.id))
}

/// How long a launch waits for the delivery of its first prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptWatch {
    /// Not at all, because the caller sees the program itself.
    Skip,
    /// For ten seconds, or until a person is asked something.
    Briefly,
    /// For this long, also while a person is asked something.
    For(Duration),
}

/// The outcome of a start that the backend script reported as successful.
fn determine_outcome(adapter: &Adapter, plan: &LaunchPlan, report: Option<StartReport>) -> LaunchOutcome {
    let report = Box::new(report.unwrap_or_default());
    if let Some(pid) = report.pid {
        return match ProcessKey::of(pid) {
            Some(key) if report.status.as_deref() != Some("ended") => LaunchOutcome::Running(report, Some(key)),
            _ => LaunchOutcome::Ended,
        };
    }
    match adapter.is_running(plan.session.name()) {
        Tristate::Yes => LaunchOutcome::Running(report, None),
        Tristate::No => LaunchOutcome::Ended,
        Tristate::Unknown(why) => LaunchOutcome::Unknown(report, why),
    }
}
