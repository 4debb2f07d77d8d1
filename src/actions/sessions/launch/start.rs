//! A launch: record the intent, start, confirm. Only a start claims its task. A failed launch leaves no running session and no
//! process, and the claim of a start is released.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result};

use super::{
    confirm::confirm,
    first_prompt::{self, FirstPrompt},
    git_hooks, hook_check,
    intent::{self, Recorded, record_intent, resolve_previous, store_response},
    last_output,
    launch_lock::LaunchLock,
    outcome::{LaunchOutcome, answer_with_prompt, launch_answer},
    plan::LaunchPlan,
    post_start::PostStart,
    purpose::Purpose,
    rollback::roll_back,
};
use crate::{
    actions::{
        Answer, App,
        core::{errors, lookup, server_outage, session_end::DeadSession, store_safety},
        sessions::{
            adapter_endpoint,
            claim::with_dead,
            liveness::{backend_probe::BackendProber, dead},
            prompt,
        },
    },
    adapters::{Adapter, AdapterError, StartReport, Tristate, readiness::Readiness},
    config,
    domain::session::{Session, SessionStatus},
    os::{files, git::Git, host, poll_until, process::ProcessKey},
    store::session_reports,
};

pub use super::intent::previous_result;

/// How long a supervisor may take to record that its program has ended.
const EXIT_RECORD_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a launch tries to record that its program runs while the store's server is away.
const CONFIRM_LIMIT: Duration = Duration::from_secs(10);

/// Start of the message about a program's end, as the plumbing commands print it and the supervisor records it.
const EXIT_CODE_PREFIX: &str = "its program ended with exit code ";

/// Launches a planned session. The first prompt is typed once: by the script where it can, else by this call once the
/// program is ready. When typing fails, a note says so.
///
/// # Errors
/// `adapter_failed`, `adapter_timeout`, `adapter_busy`, `session_exists`, `program_failed`: the session is then `failed`,
/// nothing of it runs, and no task has changed.
pub fn launch(app: &App, mut plan: LaunchPlan, wait: PromptWatch) -> Result<Answer> {
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
    let adapter = adapter_endpoint::with_session(adapter, &plan.session).with_socket(plan.socket.as_deref());
    let hook_check = hook_check::start(app, &plan).context("cannot write the hooks' settings file")?;
    // A backend without its directory cannot tell that nothing runs: a first launch that is killed from here on would stay
    // without an answer.
    files::private_dir(&plan.state_dir).map_err(errors::internal)?;
    end_dead_claimants(app, &plan)?;
    // While this is held, the session is no dead one, though nothing of it runs yet.
    let _in_progress = LaunchLock::acquire(app, &plan.session).map_err(errors::internal)?;
    let recorded = with_dead(
        app,
        || dead_predecessors(app, &plan),
        |dead| app.transaction(|tx| record_intent(app, tx, &plan, dead)),
    );
    match recorded? {
        Recorded::Earlier(answer) => return resolve_previous(app, answer, &plan.purpose),
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
    let id = &plan.session.id;
    let steps = PostStart::new(app, &adapter, &plan);
    let mut notes = plan.notes.clone();
    if let Err(error) = steps.prepare(app, &mut notes) {
        return Err(roll_back(app, &plan, &adapter, error));
    }
    let started =
        adapter.start_with_callback(plan.session.name(), steps.start(), plan.timeout, &mut |note| notes.push(note));
    let outcome = match started.map(|report| determine_outcome(&adapter, &plan, report)) {
        Err(error) => return Err(roll_back(app, &plan, &adapter, program_exit_error(app, &plan, &adapter, error))),
        Ok(LaunchOutcome::Ended) => return finish_ended(app, &plan, &adapter, notes),
        Ok(outcome) => outcome,
    };
    if plan.located.built_in.is_none()
        && let Err(error) = adapter.store_session_run(plan.session.name(), &plan.session.run_id)
    {
        notes.push(format!("the backend did not store the session's run, so it may not be known again: {error}"));
    }
    if steps.wait_ready(&outcome, &mut notes) == Readiness::Exited {
        return finish_ended(app, &plan, &adapter, notes);
    }
    // The notes for a repeat of this request, should this call be interrupted.
    let cut_off = steps.remaining().map(|left| format!("unknown whether {left}: the launch was interrupted"));
    let stored: Vec<String> = notes.iter().cloned().chain(cut_off).collect();
    // The branch of a worktree that the launch has made.
    let directory = plan.session.worktree.as_deref().filter(|_| plan.session.branch.is_none());
    let branch = directory.and_then(|directory| Git::new(app.env.vars(), Path::new(directory)).branch());
    // From here on a repetition without a request id would start a second program.
    let unknown_outcome = |error| server_outage::partly_done(app, &format!("the program of {id} was started"), error);
    let confirm = || app.transaction(|tx| confirm(app, tx, &plan, &outcome, branch.as_deref(), &stored));
    let session = server_outage::retry(CONFIRM_LIMIT, confirm).map_err(unknown_outcome)?;
    if session.status.is_final() {
        return finish_ended(app, &plan, &adapter, notes);
    }
    if let LaunchOutcome::Unknown(_, why) = outcome {
        notes.push(format!("unknown whether {id} is running: {why}"));
    }
    steps.run(app, &mut notes);
    notes.extend(hook_check.and_then(|check| check.note(id)));
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
    let session =
        if first_prompt.is_some() { app.read(|tx| lookup::session(tx, id)).map_err(unknown_outcome)? } else { session };
    if session.status == SessionStatus::Failed && first_prompt.as_ref().is_some_and(FirstPrompt::is_unread) {
        return Err(roll_back(app, &plan, &adapter, ended_error(&plan, &adapter, &session)));
    }
    let answer = answer_with_prompt(&session, &plan.purpose, plan.requested_id.as_ref(), notes, first_prompt.as_ref())?;
    let is_news = answer.notes != stored || first_prompt.is_some();
    if let Some(request) = app.idempotency_key.as_ref().filter(|_| is_news) {
        app.transaction(|tx| store_response(tx, request, &answer))?;
    }
    Ok(answer)
}

/// The note about a structured session whose agent may run a tool without asking.
fn guard_note(app: &App, session: &Session) -> Option<String> {
    let reports = app.read(|tx| Ok(session_reports::find(tx, &session.id)?)).ok()?;
    let why = reports.protocol.filter(|_| session.is_structured())?.unguarded?;
    Some(format!("{} is not guarded: {why}", session.id))
}

/// How long a launch waits for what becomes of its first prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptWatch {
    /// It does not: the caller sees the program itself.
    Skip,
    /// Ten seconds, or until a person is asked something.
    Briefly,
    /// So long, also while a person is asked something.
    For(Duration),
}

/// Records the ends of dead sessions with claims in the lane, unless the launch itself continues a claim. From its sandbox an agent
/// cannot see that they are dead, and goes by what this host has recorded.
fn end_dead_claimants(app: &App, plan: &LaunchPlan) -> Result<()> {
    let continues = match &plan.purpose {
        Purpose::Launch => false,
        Purpose::Start(start) => start.claims,
        Purpose::Relaunch(_) | Purpose::Switch(_) => true,
    };
    let lane = plan.session.lane.as_ref().filter(|_| !continues);
    for dead in dead::dead_claimants(app, lane, None)? {
        app.transaction(|tx| match dead.confirm(tx)? {
            Some(session) => dead.end(tx, &session),
            None => Ok(()),
        })?;
    }
    Ok(())
}

/// The dead sessions whose claim a start may continue, and the one whose unfinished request is repeated.
fn dead_predecessors(app: &App, plan: &LaunchPlan) -> Result<Vec<DeadSession>> {
    let (lane, task) = (plan.session.lane.as_ref(), plan.session.task.as_ref());
    let mut dead = match plan.purpose {
        Purpose::Launch | Purpose::Switch(_) => return Ok(Vec::new()),
        Purpose::Start(_) => dead::dead_claimants(app, lane, task)?,
        Purpose::Relaunch(_) => Vec::new(),
    };
    if let Some(unfinished) = intent::unfinished(app)?
        && dead.iter().all(|dead| dead.id != unfinished.id)
    {
        dead.extend(dead::prove(app, &unfinished, &mut BackendProber::new()));
    }
    Ok(dead)
}

/// The outcome of a start that the script reported as successful.
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

/// The error of a failed start. When the script reports that the program has ended, the error holds its exit code and its
/// last output.
fn program_exit_error(app: &App, plan: &LaunchPlan, adapter: &Adapter, error: AdapterError) -> AdapterError {
    let AdapterError::Failed { why, .. } = &error else { return error };
    let Some(code) = parse_exit_code(why) else { return error };
    if let Some(session) = wait_recorded_exit(app, plan) {
        return ended_error(plan, adapter, &session);
    }
    let (session, why) = (plan.session.id.to_string(), format!("{EXIT_CODE_PREFIX}{code}"));
    AdapterError::ProgramEnded { session, why, screen: last_output::read(adapter, plan) }
}

/// The exit code in a script's message about its program's end.
fn parse_exit_code(why: &str) -> Option<i32> {
    let (_, code) = why.split_once(EXIT_CODE_PREFIX)?;
    code.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

/// The session once its supervisor has recorded its end.
fn wait_recorded_exit(app: &App, plan: &LaunchPlan) -> Option<Session> {
    poll_until::poll_until(EXIT_RECORD_TIMEOUT, Duration::from_millis(50), || {
        let session = app.read(|tx| lookup::session(tx, &plan.session.id)).ok()?;
        session.status.is_final().then_some(session)
    })
}

/// The error about a session whose program has ended as a failure.
fn ended_error(plan: &LaunchPlan, adapter: &Adapter, session: &Session) -> AdapterError {
    let why = session.reason.clone().unwrap_or_else(|| "it has failed".into());
    AdapterError::ProgramEnded { session: session.id.to_string(), why, screen: last_output::read(adapter, plan) }
}

/// Answers a launch whose program ended before the launch was confirmed.
fn finish_ended(app: &App, plan: &LaunchPlan, adapter: &Adapter, notes: Vec<String>) -> Result<Answer> {
    let id = &plan.session.id;
    // The session's supervisor records the exit code; a script without a supervisor records none.
    match wait_recorded_exit(app, plan) {
        Some(session) if session.status == SessionStatus::Ended => {
            let answer = launch_answer(&session, &plan.purpose, plan.requested_id.as_ref(), notes)?;
            if let Some(request) = &app.idempotency_key {
                app.transaction(|tx| store_response(tx, request, &answer))?;
            }
            Ok(answer)
        }
        Some(session) => {
            let error = ended_error(plan, adapter, &session);
            Err(roll_back(app, plan, adapter, error))
        }
        None => {
            let (session, why, screen) =
                (id.to_string(), "it is not running".to_owned(), last_output::read(adapter, plan));
            Err(roll_back(app, plan, adapter, AdapterError::ProgramEnded { session, why, screen }))
        }
    }
}
