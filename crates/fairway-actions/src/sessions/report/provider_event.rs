//! Events that a provider reports about its sessions, with all effects in one transaction. An event claims no task, changes
//! no task status, and passes no gate.

use anyhow::Result;

use super::resolve_session::resolve;
use super::upsert::{self, LocalHost, SessionPatch};
use crate::core::{errors, fingerprint, lookup, session_events};
use crate::queue::{checkpoint, evidence, handoff};
use crate::sessions::actor;
use crate::{Answer, App, IdempotencyKey};
use fairway_core::domain::checkpoint::{Checkpoint, CheckpointOrigin};
use fairway_core::domain::evidence::{Evidence, EvidenceResult, PROVIDER_KIND};
use fairway_core::domain::handoff::{Handoff, HandoffStatus};
use fairway_core::domain::provider_event::{Effect, ProviderState, SessionEffect};
use fairway_core::domain::rules::fencing::TaskWrite;
use fairway_core::domain::rules::session_machine::{Report, SessionEvent};
use fairway_core::domain::session::{Activity, Session, SessionStatus};
use fairway_core::domain::task::Task;
use fairway_core::domain::{Actor, Refusal, Role, RunId, SessionId, secrets, text_limits};
use fairway_core::env::Timestamp;
use fairway_core::os::digest::sha256_hex;
use fairway_core::store::checkpoints::CheckpointFields;
use fairway_core::store::{ReadTx, WriteTx, idempotency_keys, tasks};
use fairway_core::wire::{ProviderEventView, SessionView};

/// The source of activities that a provider reports.
const SOURCE: &str = "provider";

#[derive(Debug, Clone)]
pub struct ProviderReport {
    pub state: ProviderState,
    /// The session and its reported fields; provider and external id are required.
    pub patch: SessionPatch,
    /// The text of the request, question, reason or result.
    pub summary: Option<String>,
    /// A file that belongs to the event.
    pub artifact: Option<String>,
    /// The role that the completed task is handed over to.
    pub handoff_to: Option<Role>,
    /// The event's id, which makes a repeat harmless.
    pub event_id: Option<String>,
}

/// Records one event of a provider: upserts the session, and adds to its task the checkpoint, evidence or handoff that belongs to
/// the reported state. With `dry_run` everything is checked and nothing is written.
///
/// # Errors
/// `session_final`, also for a session that has ended under its external id; `session_mismatch` for a session of another task,
/// role or run; `stale_claim` when the session has lost the task; `wrong_state` for a handoff of a closed task; `not_found`;
/// `request_reused` for an event id with other content; `usage` for a new session without a role; `invalid_value`.
pub fn record(app: &App, reported: &ProviderReport, dry_run: bool) -> Result<Answer> {
    // A program's text may quote secrets.
    let reported = &ProviderReport { summary: reported.summary.as_deref().map(secrets::mask), ..reported.clone() };
    check(reported)?;
    // Read before the transaction, like everything outside of the store.
    let local = if dry_run { LocalHost::preview() } else { LocalHost::read(None) };
    let sha256 = match &reported.artifact {
        Some(path) if reported.state == ProviderState::Completed && reported.handoff_to.is_none() => {
            evidence::digest(&app.env.cwd.join(path))
        }
        _ => None,
    };
    let known = reported.event_id.as_deref().map(|id| idempotency_key(reported, id));
    if dry_run {
        return app.read(|tx| {
            if let Some(answer) = previous_answer(tx, reported, known.as_ref())? {
                return Ok(answer.note("this event is already recorded; a repeat writes nothing"));
            }
            let plan = plan(app, tx, reported, &local, app.env.now())?;
            answer(reported, &plan, WrittenRecords::default(), &plan.after, true)
        });
    }
    app.mutate_unattributed(|tx| {
        if let Some(answer) = previous_answer(tx, reported, known.as_ref())? {
            return Ok(answer);
        }
        let plan = plan(app, tx, reported, &local, tx.now())?;
        touch_acting_session(app, tx, &plan.after.id)?;
        let written = write_records(tx, reported, &plan, sha256.as_deref())?;
        let now = lookup::session(tx, &plan.after.id)?;
        let answer = answer(reported, &plan, written, &now, false)?;
        if let Some(known) = &known {
            let text = serde_json::to_string(&answer).map_err(errors::internal)?;
            idempotency_keys::upsert(tx, &known.id, &known.fingerprint, Some(&text))?;
        }
        Ok(answer)
    })
}

fn check(reported: &ProviderReport) -> Result<(), Refusal> {
    upsert::validate(&reported.patch)?;
    for (what, value) in [("summary", &reported.summary), ("artifact", &reported.artifact)] {
        if let Some(value) = value {
            text_limits::check_line(what, value)?;
        }
    }
    if reported.handoff_to.is_some() && reported.state != ProviderState::Completed {
        return Err(Refusal::Usage { why: "--handoff-to requires --state completed".into() });
    }
    Ok(())
}

/// The idempotency key of an event id. It identifies the content and not the reporter: a stream that is read again is the
/// same stream. Request ids of callers contain no spaces, so the two kinds never collide.
fn idempotency_key(reported: &ProviderReport, id: &str) -> IdempotencyKey {
    let (provider, external) = (&reported.patch.provider, &reported.patch.external_session_id);
    let provider = provider.as_ref().map(ToString::to_string).unwrap_or_default();
    IdempotencyKey {
        id: format!("event {provider} {} {id}", external.as_deref().unwrap_or_default()),
        fingerprint: fingerprint::of_event(&sha256_hex(canonical(reported).to_string().as_bytes())),
    }
}

/// The fields of an event under fixed names, which are hashed and must not follow Rust renames. The event's id is left out.
fn canonical(reported: &ProviderReport) -> serde_json::Value {
    let ProviderReport { state, patch, summary, artifact, handoff_to, event_id: _ } = reported;
    serde_json::json!({
        "state": state.as_str(),
        "id": patch.id.as_ref().map(ToString::to_string),
        "role": patch.role.as_ref().map(ToString::to_string),
        "lane": patch.lane.as_ref().map(ToString::to_string),
        "task": patch.task.as_ref().map(ToString::to_string),
        "provider": patch.provider.as_ref().map(ToString::to_string),
        "backend": patch.backend,
        "name": patch.backend_name,
        "external_session_id": patch.external_session_id,
        "pid": patch.pid,
        "pane": patch.pane,
        "socket": patch.socket,
        "transcript": patch.transcript,
        "worktree": patch.worktree,
        "branch": patch.branch,
        "activity": patch.activity.map(Activity::as_str),
        "status": patch.status.map(SessionStatus::as_str),
        "started_at": patch.started_at.map(|at| at.to_string()),
        "run_id": patch.run_id.as_ref().map(RunId::as_str),
        "summary": summary,
        "artifact": artifact,
        "handoff_to": handoff_to.as_ref().map(ToString::to_string),
    })
}

/// The stored answer of the same event.
fn previous_answer(
    tx: &ReadTx<'_>,
    reported: &ProviderReport,
    known: Option<&IdempotencyKey>,
) -> Result<Option<Answer>> {
    let Some(known) = known else { return Ok(None) };
    known.stored_response(tx).map_err(|error| match (error.downcast_ref(), &reported.event_id) {
        // The error names the caller's event id, not the stored key.
        (Some(Refusal::RequestReused { .. }), Some(id)) => Refusal::EventReused { id: id.clone() }.into(),
        _ => error,
    })
}

/// The checked effects of an event.
struct EventPlan {
    /// The session as it was found, or as it starts.
    before: Session,
    is_new: bool,
    /// The session with the reported fields; status and activity are unchanged.
    after: Session,
    effect: Effect,
    /// The task that gets the records.
    task: Option<Task>,
    /// The summary of the records.
    summary: String,
}

fn plan(app: &App, tx: &ReadTx<'_>, reported: &ProviderReport, local: &LocalHost, now: Timestamp) -> Result<EventPlan> {
    let patch = &reported.patch;
    upsert::check_references(tx, patch)?;
    let found = resolve(app, tx, patch, reported.state)?;
    let is_new = found.is_none();
    let (before, after) = match found {
        Some(session) => {
            if app.actor.session.as_ref() == Some(&session.id) {
                session.check_run_id(app.actor.run_id.as_ref())?;
            }
            let after = upsert::apply_patch(app, patch, &session, local);
            upsert::check_external_id_unused(tx, &after)?;
            (session, after)
        }
        None => {
            let is_own = app.actor.session.is_none();
            let session = upsert::new_session(app, tx, patch, patch.id.as_ref(), is_own, local, now)?;
            (session.clone(), session)
        }
    };
    let effect = reported.state.effect();
    let task = after.task.as_ref().filter(|_| effect.checkpoint.is_some());
    let task = task.map(|id| lookup::task(tx, id)).transpose()?;
    match &task {
        Some(task) => {
            lookup::check_authority(tx, task, &session_actor(app, &after), TaskWrite::AddRecord)?;
            if reported.handoff_to.is_some() {
                handoff::require_open(task)?;
            }
        }
        None if reported.handoff_to.is_some() => {
            return Err(Refusal::Usage { why: "no task to hand over: --task-id is missing".into() }.into());
        }
        None => {}
    }
    let text = summary_text(reported, &effect, &after);
    Ok(EventPlan { before, is_new, after, effect, task, summary: text })
}

/// The session as the actor of the event, so that its own claims fence the write, independently of the reporter.
fn session_actor(app: &App, session: &Session) -> Actor {
    Actor { epoch: app.actor.epoch, ..actor::of_session(session) }
}

/// The summary of the records. That of a started session also names its external id and its transcript.
fn summary_text(reported: &ProviderReport, effect: &Effect, after: &Session) -> String {
    let text = reported.summary.clone().unwrap_or_else(|| effect.default_summary.to_owned());
    if reported.state != ProviderState::Started {
        return text;
    }
    let (provider, external) = (after.provider.as_ref(), after.external_session_id.as_deref());
    let mut long = text.clone();
    if let (Some(provider), Some(external)) = (provider, external) {
        long = format!("{long}; {provider} session {external}");
    }
    if let Some(transcript) = &after.transcript {
        long = format!("{long}, transcript {transcript}");
    }
    if long.len() > text_limits::MAX_LINE_BYTES { text } else { long }
}

/// Records a heartbeat of the acting session when it reports about another session.
fn touch_acting_session(app: &App, tx: &WriteTx<'_>, about: &SessionId) -> Result<()> {
    let Some(actor) = app.actor.session.as_ref().filter(|actor| *actor != about) else { return Ok(()) };
    session_events::acted(tx, &lookup::session(tx, actor)?, app.actor.run_id.as_ref())?;
    tasks::renew_leases(tx, actor.as_str(), None)?;
    Ok(())
}

/// The records that an event has added to its task.
#[derive(Default)]
struct WrittenRecords {
    checkpoint: Option<Checkpoint>,
    evidence: Option<Evidence>,
    handoff: Option<Handoff>,
}

fn write_records(
    tx: &WriteTx<'_>,
    reported: &ProviderReport,
    plan: &EventPlan,
    sha256: Option<&str>,
) -> Result<WrittenRecords> {
    if plan.is_new {
        session_events::register(tx, &plan.before)?;
    }
    write_session(tx, reported, plan)?;
    let mut written = WrittenRecords::default();
    let (Some(task), Some(state)) = (&plan.task, plan.effect.checkpoint) else { return Ok(written) };
    let session = &plan.after;
    let transcript = session.transcript.as_ref().filter(|_| reported.state == ProviderState::Started);
    let draft = CheckpointFields {
        task: task.id.clone(),
        session: Some(session.id.clone()),
        state,
        owner: None,
        summary: plan.summary.clone(),
        artifact: reported.artifact.as_ref().or(transcript).cloned(),
        due_at: None,
        origin: Some(CheckpointOrigin::Provider),
    };
    written.checkpoint = Some(checkpoint::insert(tx, task, &draft, Some(session))?);
    if reported.state != ProviderState::Completed {
        return Ok(written);
    }
    match &reported.handoff_to {
        Some(role) => {
            // A task is offered once; the program of an agent cannot withdraw an offer.
            let offered = match handoff::open_of_task(tx, &task.id)? {
                Some(open) => open,
                None => handoff::insert(tx, new_handoff(plan, task, role), Some(session))?,
            };
            written.handoff = Some(offered);
        }
        None => {
            let record = claimed_evidence(reported, plan, task, sha256);
            written.evidence = Some(evidence::insert(tx, task, record, Some(session))?);
        }
    }
    Ok(written)
}

/// Writes the session's reported fields, its status and its activity.
fn write_session(tx: &WriteTx<'_>, reported: &ProviderReport, plan: &EventPlan) -> Result<()> {
    let session = session_events::apply(tx, &plan.before, &SessionEvent::Described { facts: &plan.after })?;
    let (reason, waiting_for) = (reason_text(reported), waiting_for_text(reported, &plan.effect));
    let why = format!("reported {}", reported.state);
    let event = match plan.effect.session {
        SessionEffect::Running => SessionEvent::Reported(Report {
            activity: plan.effect.activity,
            waiting_for: waiting_for.as_deref(),
            ..Report::without_activity(SOURCE, &why)
        }),
        SessionEffect::Stale => SessionEvent::Silent { why: &reason },
        SessionEffect::Finished(status) => SessionEvent::Ended { status, exit_code: None, reason: Some(&reason) },
    };
    session_events::apply(tx, &session, &event).map(drop)
}

fn waiting_for_text(reported: &ProviderReport, effect: &Effect) -> Option<String> {
    let what = effect.waiting_for?;
    Some(reported.summary.as_ref().map_or_else(|| what.to_owned(), |text| format!("{what}: {text}")))
}

/// The reason of a stale or final status.
fn reason_text(reported: &ProviderReport) -> String {
    let text = reported.summary.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
    format!("reported {}{text}", reported.state)
}

fn new_handoff(plan: &EventPlan, task: &Task, role: &Role) -> Handoff {
    Handoff {
        id: 0,
        task: task.id.clone(),
        from_role: Some(plan.after.role.clone()),
        from_actor: plan.after.id.to_string(),
        to_role: Some(role.clone()),
        to_lane: None,
        status: HandoffStatus::Open,
        summary: plan.summary.clone(),
        payload: None,
        epoch: task.epoch,
        created_at: Timestamp::from_millis(0),
        answered_at: None,
        answered_by: None,
    }
}

/// Evidence claimed by the provider. It is not observed, and no gate counts its kind.
fn claimed_evidence(reported: &ProviderReport, plan: &EventPlan, task: &Task, sha256: Option<&str>) -> Evidence {
    Evidence {
        id: 0,
        task: task.id.clone(),
        session: Some(plan.after.id.clone()),
        kind: PROVIDER_KIND.to_owned(),
        result: EvidenceResult::Pass,
        command: None,
        check: None,
        exit_code: None,
        duration_ms: None,
        artifact: reported.artifact.clone(),
        sha256: sha256.map(str::to_owned),
        commit: None,
        summary: Some(plan.summary.clone()),
        observed: false,
        created_at: Timestamp::from_millis(0),
    }
}

fn answer(
    reported: &ProviderReport,
    plan: &EventPlan,
    written: WrittenRecords,
    session: &Session,
    dry_run: bool,
) -> Result<Answer> {
    let id = &session.id;
    let becomes = match (plan.effect.session, plan.effect.waiting_for) {
        (SessionEffect::Running, None) => "running".to_owned(),
        (SessionEffect::Running, Some(what)) => format!("running, waiting for {what}"),
        (SessionEffect::Stale, _) => SessionStatus::Stale.to_string(),
        (SessionEffect::Finished(status), _) => status.to_string(),
    };
    let new = if plan.is_new { "new session" } else { "session" };
    let mut effects = vec![format!("{new} {id}: {becomes}")];
    if let (Some(task), Some(state)) = (&plan.task, plan.effect.checkpoint) {
        effects.push(format!("checkpoint {state} on {}", task.id));
        match (&reported.handoff_to, reported.state) {
            (Some(role), _) => effects.push(format!("handoff of {} to role {role}", task.id)),
            (None, ProviderState::Completed) => effects.push(format!("evidence {PROVIDER_KIND} on {}", task.id)),
            (None, _) => {}
        }
    }
    let verb = if dry_run { "would record" } else { "recorded" };
    let line = format!("{verb} {}: {}", reported.state, effects.join("; "));
    let view = ProviderEventView {
        state: reported.state,
        dry_run,
        created: plan.is_new,
        session: SessionView::from(session),
        checkpoint: written.checkpoint,
        evidence: written.evidence,
        handoff: written.handoff,
        effects,
    };
    let answer = Answer::new(&view, id, line)?;
    let keeps = reported.summary.is_some() || reported.artifact.is_some();
    Ok(match (plan.effect.checkpoint, &plan.task) {
        (None, _) if keeps => answer.note("state running records no checkpoint; summary and artifact are discarded"),
        (Some(_), None) => answer.note("the session has no task; only the session is updated"),
        _ => answer,
    })
}
