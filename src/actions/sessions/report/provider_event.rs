//! What a provider says about a session of its own: everything that follows from it, in one transaction. It claims
//! nothing, moves no task, and passes no gate.

use anyhow::Result;

use super::{
    activity::record_activity_change,
    resolve_session::resolve,
    upsert::{self, LocalHost, SessionPatch},
};
use crate::{
    actions::{
        Answer, App, IdempotencyKey,
        core::{app, errors, fingerprint, keepalive, lookup},
        queue::{checkpoint, evidence, handoff},
        sessions::{actor, finish, prompt},
    },
    adapters::builtin_scripts,
    domain::{
        Actor, Refusal, Role, SessionId,
        evidence::{Evidence, EvidenceResult, PROVIDER_KIND},
        handoff::{Handoff, HandoffStatus},
        provider_event::{Effect, ProviderState, SessionEffect},
        rules::fencing::TaskWrite,
        secrets,
        session::{Activity, Session, SessionStatus},
        task::Task,
        text_limits,
    },
    env::Timestamp,
    store::{ReadTx, WriteTx, checkpoints::CheckpointFields, requests, tasks},
    wire::{CheckpointView, EvidenceView, HandoffView, ProviderEventView, SessionView},
};

/// Where activities come from that a provider reports.
const SOURCE: &str = "provider";

/// What a provider reports.
#[derive(Debug, Clone)]
pub struct ProviderReport {
    /// How the session stands.
    pub state: ProviderState,
    /// Which session, and what else is told of it; provider and external id are needed.
    pub patch: SessionPatch,
    /// The request, question, reason or result, in words.
    pub summary: Option<String>,
    /// A file that belongs to it.
    pub artifact: Option<String>,
    /// The role that takes over what was completed.
    pub handoff_to: Option<Role>,
    /// The event's own id: a repeat is harmless.
    pub event_id: Option<String>,
}

/// Takes in one event of a provider: the session is upserted, and its task gets the checkpoint, evidence or handoff that the
/// state stands for. With `dry_run` everything is checked and nothing written.
///
/// # Errors
/// `session_final`, also for a session that is known to have ended; `session_mismatch` for a session of another task, role
/// or run; `stale_claim` when the session has lost the task; `wrong_state` for a handoff of a closed task; `not_found`;
/// `request_reused` for an event id with other words; `usage` for a new session without a role; `invalid_value`.
pub fn record(app: &App, reported: &ProviderReport, dry_run: bool) -> Result<Answer> {
    // A program's words may quote what no one should keep.
    let reported = &ProviderReport { summary: reported.summary.as_deref().map(secrets::mask), ..reported.clone() };
    check(reported)?;
    // Looked at before the transaction, like everything outside.
    let local = LocalHost::read(None);
    let sha256 = match &reported.artifact {
        Some(path) if reported.state == ProviderState::Completed && reported.handoff_to.is_none() => {
            evidence::add::digest(&app.env.cwd.join(path))
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
            requests::upsert(tx, &known.id, &known.fingerprint, Some(&text))?;
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

/// An event id as a request. It stands for what is reported and not for who reports it: a stream that is read again, by
/// whomever, is the same stream. A caller's own request ids hold no spaces, so the two never meet.
fn idempotency_key(reported: &ProviderReport, id: &str) -> IdempotencyKey {
    let (provider, external) = (&reported.patch.provider, &reported.patch.external_session_id);
    let provider = provider.as_ref().map(ToString::to_string).unwrap_or_default();
    IdempotencyKey {
        id: format!("event {provider} {} {id}", external.as_deref().unwrap_or_default()),
        fingerprint: fingerprint::of_event(&builtin_scripts::sha256_hex(canonical(reported).to_string().as_bytes())),
    }
}

/// The fields of an event under names of their own, which stay when Rust names change. The event's id is left out.
fn canonical(reported: &ProviderReport) -> serde_json::Value {
    let ProviderReport { state, patch: told, summary, artifact, handoff_to, event_id: _ } = reported;
    serde_json::json!({
        "state": state.as_str(),
        "id": told.id.as_ref().map(ToString::to_string),
        "role": told.role.as_ref().map(ToString::to_string),
        "lane": told.lane.as_ref().map(ToString::to_string),
        "task": told.task.as_ref().map(ToString::to_string),
        "provider": told.provider.as_ref().map(ToString::to_string),
        "backend": told.backend,
        "name": told.backend_name,
        "external_session_id": told.external_session_id,
        "pid": told.pid,
        "pane": told.pane,
        "socket": told.socket,
        "transcript": told.transcript,
        "worktree": told.worktree,
        "branch": told.branch,
        "activity": told.activity.map(Activity::as_str),
        "status": told.status.map(SessionStatus::as_str),
        "started_at": told.started_at.map(|at| at.to_string()),
        "run_id": told.run_id,
        "summary": summary,
        "artifact": artifact,
        "handoff_to": handoff_to.as_ref().map(ToString::to_string),
    })
}

/// The answer that this event was given before.
fn previous_answer(
    tx: &ReadTx<'_>,
    reported: &ProviderReport,
    known: Option<&IdempotencyKey>,
) -> Result<Option<Answer>> {
    let Some(known) = known else { return Ok(None) };
    app::stored_response(tx, known).map_err(|error| match (error.downcast_ref(), &reported.event_id) {
        // The id as it was given, and not as it is kept.
        (Some(Refusal::RequestReused { .. }), Some(id)) => Refusal::EventReused { id: id.clone() }.into(),
        _ => error,
    })
}

/// What will be written: nothing in it can be refused any more.
struct EventPlan {
    /// The session as it is found, or as it begins.
    before: Session,
    /// Whether it is a new one.
    is_new: bool,
    /// The session with what is told of it; its status and activity are as before.
    after: Session,
    /// What follows from the state.
    effect: Effect,
    /// The task that the records go to.
    task: Option<Task>,
    /// The words of the records.
    summary: String,
}

fn plan(
    app: &App,
    tx: &ReadTx<'_>,
    reported: &ProviderReport,
    local: &LocalHost,
    now: Timestamp,
) -> Result<EventPlan> {
    let told = &reported.patch;
    upsert::check_references(tx, told)?;
    let found = resolve(app, tx, told, reported.state)?;
    let is_new = found.is_none();
    let (before, after) = match found {
        Some(session) => {
            if app.actor.session.as_ref() == Some(&session.id) {
                session.check_run_id(app.actor.run_id.as_deref())?;
            }
            let after = upsert::apply_patch(app, told, &session, local, now);
            upsert::check_external_id_unused(tx, &after)?;
            (session, after)
        }
        None => {
            let own = app.actor.session.is_none();
            let session = upsert::new_session(app, tx, told, told.id.as_ref(), own, local, now)?;
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
    let words = summary_text(reported, &effect, &after);
    Ok(EventPlan { before, is_new, after, effect, task, summary: words })
}

/// The session as the one who writes: it is fenced by its own claims, whoever brings the news.
fn session_actor(app: &App, session: &Session) -> Actor {
    Actor { epoch: app.actor.epoch, ..actor::of_session(session) }
}

/// The words of the records. The first ones also say which conversation began, and where it is written down.
fn summary_text(reported: &ProviderReport, effect: &Effect, after: &Session) -> String {
    let words = reported.summary.clone().unwrap_or_else(|| effect.default_summary.to_owned());
    if reported.state != ProviderState::Started {
        return words;
    }
    let (provider, external) = (after.provider.as_ref(), after.external_session_id.as_deref());
    let mut long = words.clone();
    if let (Some(provider), Some(external)) = (provider, external) {
        long = format!("{long}; {provider} session {external}");
    }
    if let Some(transcript) = &after.transcript {
        long = format!("{long}, transcript {transcript}");
    }
    if long.len() > text_limits::MAX_LINE_BYTES { words } else { long }
}

/// What the acting session does is a sign of its own life, when it speaks of another one.
fn touch_acting_session(app: &App, tx: &WriteTx<'_>, about: &SessionId) -> Result<()> {
    let Some(actor) = app.actor.session.as_ref().filter(|actor| *actor != about) else { return Ok(()) };
    keepalive::touch(tx, &lookup::session(tx, actor)?, app.actor.run_id.as_deref())?;
    tasks::renew_leases(tx, actor.as_str(), None)?;
    Ok(())
}

/// The records that an event left on its task.
#[derive(Default)]
struct WrittenRecords {
    checkpoint: Option<CheckpointView>,
    evidence: Option<EvidenceView>,
    handoff: Option<HandoffView>,
}

fn write_records(
    tx: &WriteTx<'_>,
    reported: &ProviderReport,
    plan: &EventPlan,
    sha256: Option<&str>,
) -> Result<WrittenRecords> {
    if plan.is_new {
        upsert::insert(tx, &plan.before)?;
    }
    write_session(tx, reported, plan)?;
    upsert::record_changes(tx, &plan.after, &upsert::changed_fields(&plan.before, &plan.after))?;
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
    };
    written.checkpoint = Some(CheckpointView::from(&checkpoint::insert(tx, task, &draft, Some(session))?));
    if reported.state != ProviderState::Completed {
        return Ok(written);
    }
    match &reported.handoff_to {
        Some(role) => {
            let made = handoff::insert(tx, new_handoff(plan, task, role), Some(session))?;
            written.handoff = Some(HandoffView::from(&made));
        }
        None => {
            let record = claimed_evidence(reported, plan, task, sha256);
            written.evidence = Some(EvidenceView::from(&evidence::insert(tx, task, record, Some(session))?));
        }
    }
    Ok(written)
}

/// Writes how the session stands now, with what is told of it.
fn write_session(tx: &WriteTx<'_>, reported: &ProviderReport, plan: &EventPlan) -> Result<()> {
    let (before, after) = (&plan.before, &plan.after);
    match plan.effect.session {
        SessionEffect::Running => {
            let mut alive = after.with_heartbeat(tx.now())?;
            if let Some(activity) = plan.effect.activity {
                alive = alive.with_activity(
                    activity,
                    waiting_for_text(reported, &plan.effect).as_deref(),
                    SOURCE,
                    tx.now(),
                );
            }
            keepalive::update_session(tx, &alive)?;
            prompt::confirm_typed(tx, before)?;
            if before.status != SessionStatus::Running {
                keepalive::record_running(tx, before, &format!("reported {}", reported.state))?;
            }
            record_activity_change(tx, before, &alive)?;
            tasks::renew_leases(tx, before.id.as_str(), None)?;
        }
        SessionEffect::Stale => {
            let why = reason_text(reported);
            keepalive::update_session(tx, &after.to_stale(Some(&why))?)?;
            if before.status != SessionStatus::Stale {
                keepalive::record_stale(tx, before, &why)?;
            }
        }
        SessionEffect::Finished(status) => {
            finish(tx, after, status, None, Some(&reason_text(reported)))?;
        }
    }
    Ok(())
}

/// What the session waits for, with its text.
fn waiting_for_text(reported: &ProviderReport, effect: &Effect) -> Option<String> {
    let what = effect.waiting_for?;
    Some(reported.summary.as_ref().map_or_else(|| what.to_owned(), |words| format!("{what}: {words}")))
}

/// Why the session is stale or over.
fn reason_text(reported: &ProviderReport) -> String {
    let words = reported.summary.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
    format!("reported {}{words}", reported.state)
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

/// The provider's own word that the work is done. It is not observed, and no gate counts its kind.
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
        state: reported.state.as_str(),
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
