//! What a provider says about a session of its own: everything that follows from it, in one transaction. It claims
//! nothing, moves no task, and passes no gate.

use anyhow::Result;

use super::{
    finish, heartbeat, life,
    meant::meant,
    upsert::{self, Local, Told},
};
use crate::{
    actions::{Answer, App, Request, app, checkpoint, evidence, failure, fingerprint, handoff, lookup, prompt},
    adapters::builtin,
    domain::{
        Actor, Refusal, Role, SessionId,
        evidence::{Evidence, EvidenceResult, PROVIDER_KIND},
        handoff::{Handoff, HandoffStatus},
        provider_event::{Effect, Life, ProviderState},
        rules::authority::Intent,
        secrets,
        session::{Activity, Session, SessionStatus},
        task::Task,
        text,
    },
    env::Timestamp,
    os::host,
    store::{ReadTx, WriteTx, checkpoints::Draft, requests, tasks},
    wire::{CheckpointView, EvidenceView, HandoffView, ProviderEventView, SessionView},
};

/// Where activities come from that a provider reports.
const SOURCE: &str = "provider";

/// What a provider reports.
#[derive(Debug, Clone)]
pub struct Reported {
    /// How the session stands.
    pub state: ProviderState,
    /// Which session, and what else is told of it; provider and external id are needed.
    pub told: Told,
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
pub fn event(app: &App, reported: &Reported, dry_run: bool) -> Result<Answer> {
    // A program's words may quote what no one should keep.
    let reported = &Reported { summary: reported.summary.as_deref().map(secrets::masked), ..reported.clone() };
    check(reported)?;
    // Looked at before the transaction, like everything outside.
    let (here, boot) = (host::identity(), host::boot_id());
    let local = Local { here: &here, boot: (!boot.is_empty()).then_some(boot.as_str()), process: None, server: None };
    let sha256 = match &reported.artifact {
        Some(path) if reported.state == ProviderState::Completed && reported.handoff_to.is_none() => {
            evidence::add::digest(&app.env.cwd.join(path))
        }
        _ => None,
    };
    let known = reported.event_id.as_deref().map(|id| request(reported, id));
    if dry_run {
        return app.read(|tx| {
            if let Some(answer) = repeated(tx, reported, known.as_ref())? {
                return Ok(answer.remark("this event is recorded already; a repeat writes nothing"));
            }
            let plan = plan(app, tx, reported, &local, app.env.now())?;
            answer(reported, &plan, Written::default(), &plan.after, true)
        });
    }
    app.register(|tx| {
        if let Some(answer) = repeated(tx, reported, known.as_ref())? {
            return Ok(answer);
        }
        let plan = plan(app, tx, reported, &local, tx.now())?;
        signs(app, tx, &plan.after.id)?;
        let written = write(tx, reported, &plan, sha256.as_deref())?;
        let now = lookup::session(tx, &plan.after.id)?;
        let answer = answer(reported, &plan, written, &now, false)?;
        if let Some(known) = &known {
            let text = serde_json::to_string(&answer).map_err(failure::internal)?;
            requests::put(tx, &known.id, &known.words, Some(&text))?;
        }
        Ok(answer)
    })
}

fn check(reported: &Reported) -> Result<(), Refusal> {
    upsert::check(&reported.told)?;
    for (what, value) in [("summary", &reported.summary), ("artifact", &reported.artifact)] {
        if let Some(value) = value {
            text::line(what, value)?;
        }
    }
    if reported.handoff_to.is_some() && reported.state != ProviderState::Completed {
        return Err(Refusal::Usage { why: "--handoff-to goes with --state completed".into() });
    }
    Ok(())
}

/// An event id as a request. It stands for what is reported and not for who reports it: a stream that is read again, by
/// whomever, is the same stream. A caller's own request ids hold no spaces, so the two never meet.
fn request(reported: &Reported, id: &str) -> Request {
    let (provider, external) = (&reported.told.provider, &reported.told.external_session_id);
    let provider = provider.as_ref().map(ToString::to_string).unwrap_or_default();
    Request {
        id: format!("event {provider} {} {id}", external.as_deref().unwrap_or_default()),
        words: fingerprint::of_event(&builtin::digest(canonical(reported).to_string().as_bytes())),
    }
}

/// The fields of an event under names of their own, which stay when Rust names change. The event's id is left out.
fn canonical(reported: &Reported) -> serde_json::Value {
    let Reported { state, told, summary, artifact, handoff_to, event_id: _ } = reported;
    serde_json::json!({
        "state": state.as_str(),
        "id": told.id.as_ref().map(ToString::to_string),
        "role": told.role.as_ref().map(ToString::to_string),
        "lane": told.lane.as_ref().map(ToString::to_string),
        "task": told.task.as_ref().map(ToString::to_string),
        "provider": told.provider.as_ref().map(ToString::to_string),
        "backend": told.backend,
        "name": told.name,
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
fn repeated(tx: &ReadTx<'_>, reported: &Reported, known: Option<&Request>) -> Result<Option<Answer>> {
    let Some(known) = known else { return Ok(None) };
    app::remembered(tx, known).map_err(|error| match (error.downcast_ref(), &reported.event_id) {
        // The id as it was given, and not as it is kept.
        (Some(Refusal::RequestReused { .. }), Some(id)) => Refusal::EventReused { id: id.clone() }.into(),
        _ => error,
    })
}

/// What will be written: nothing in it can be refused any more.
struct Plan {
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
    words: String,
}

fn plan(app: &App, tx: &ReadTx<'_>, reported: &Reported, local: &Local<'_>, now: Timestamp) -> Result<Plan> {
    let told = &reported.told;
    upsert::links(tx, told)?;
    let found = meant(app, tx, told, reported.state)?;
    let is_new = found.is_none();
    let (before, after) = match found {
        Some(session) => {
            if app.actor.session.as_ref() == Some(&session.id) {
                session.of_run(app.actor.run_id.as_deref())?;
            }
            let after = upsert::told_of(app, told, &session, local, now);
            upsert::free_external(tx, &after)?;
            (session, after)
        }
        None => {
            let own = app.actor.session.is_none();
            let session = upsert::newborn(app, tx, told, told.id.as_ref(), own, local, now)?;
            (session.clone(), session)
        }
    };
    let effect = reported.state.effect();
    let task = after.task.as_ref().filter(|_| effect.checkpoint.is_some());
    let task = task.map(|id| lookup::task(tx, id)).transpose()?;
    match &task {
        Some(task) => {
            lookup::authority(tx, task, &speaks(app, &after), Intent::Record)?;
            if reported.handoff_to.is_some() {
                handoff::open(task)?;
            }
        }
        None if reported.handoff_to.is_some() => {
            return Err(Refusal::Usage { why: "there is no task to hand over; --task-id names one".into() }.into());
        }
        None => {}
    }
    let words = words(reported, &effect, &after);
    Ok(Plan { before, is_new, after, effect, task, words })
}

/// The session as the one who writes: it is fenced by its own claims, whoever brings the news.
fn speaks(app: &App, session: &Session) -> Actor {
    Actor {
        name: session.id.to_string(),
        session: Some(session.id.clone()),
        run_id: Some(session.run_id.clone()),
        role: Some(session.role.clone()),
        lane: session.lane.clone(),
        epoch: app.actor.epoch,
    }
}

/// The words of the records. The first ones also say which conversation began, and where it is written down.
fn words(reported: &Reported, effect: &Effect, after: &Session) -> String {
    let words = reported.summary.clone().unwrap_or_else(|| effect.words.to_owned());
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
    if long.len() > text::LINE_MAX { words } else { long }
}

/// What the acting session does is a sign of its own life, when it speaks of another one.
fn signs(app: &App, tx: &WriteTx<'_>, about: &SessionId) -> Result<()> {
    let Some(actor) = app.actor.session.as_ref().filter(|actor| *actor != about) else { return Ok(()) };
    life::sign(tx, &lookup::session(tx, actor)?, app.actor.run_id.as_deref())?;
    tasks::renew_leases(tx, actor.as_str(), None)?;
    Ok(())
}

/// The records that an event left on its task.
#[derive(Default)]
struct Written {
    checkpoint: Option<CheckpointView>,
    evidence: Option<EvidenceView>,
    handoff: Option<HandoffView>,
}

fn write(tx: &WriteTx<'_>, reported: &Reported, plan: &Plan, sha256: Option<&str>) -> Result<Written> {
    if plan.is_new {
        upsert::insert(tx, &plan.before)?;
    }
    live(tx, reported, plan)?;
    upsert::changed(tx, &plan.after, &upsert::differing(&plan.before, &plan.after))?;
    let mut written = Written::default();
    let (Some(task), Some(state)) = (&plan.task, plan.effect.checkpoint) else { return Ok(written) };
    let session = &plan.after;
    let transcript = session.transcript.as_ref().filter(|_| reported.state == ProviderState::Started);
    let draft = Draft {
        task: task.id.clone(),
        session: Some(session.id.clone()),
        state,
        owner: None,
        summary: plan.words.clone(),
        artifact: reported.artifact.as_ref().or(transcript).cloned(),
        due_at: None,
    };
    written.checkpoint = Some(CheckpointView::from(&checkpoint::insert(tx, task, &draft, Some(session))?));
    if reported.state != ProviderState::Completed {
        return Ok(written);
    }
    match &reported.handoff_to {
        Some(role) => {
            let made = handoff::insert(tx, offered(plan, task, role), Some(session))?;
            written.handoff = Some(HandoffView::from(&made));
        }
        None => {
            let record = claimed(reported, plan, task, sha256);
            written.evidence = Some(EvidenceView::from(&evidence::insert(tx, task, record, Some(session))?));
        }
    }
    Ok(written)
}

/// Writes how the session stands now, with what is told of it.
fn live(tx: &WriteTx<'_>, reported: &Reported, plan: &Plan) -> Result<()> {
    let (before, after) = (&plan.before, &plan.after);
    match plan.effect.life {
        Life::Runs => {
            let mut alive = after.alive(tx.now())?;
            if let Some(activity) = plan.effect.activity {
                alive = alive.doing(activity, waiting(reported, &plan.effect).as_deref(), SOURCE, tx.now());
            }
            life::write(tx, &alive)?;
            prompt::heard(tx, before)?;
            if before.status != SessionStatus::Running {
                life::lifted(tx, before, &format!("reported {}", reported.state))?;
            }
            heartbeat::changes(tx, before, &alive)?;
            tasks::renew_leases(tx, before.id.as_str(), None)?;
        }
        Life::Suspected => {
            let why = reason(reported);
            life::write(tx, &after.suspected(Some(&why))?)?;
            if before.status != SessionStatus::Stale {
                life::marked(tx, before, &why)?;
            }
        }
        Life::Over(status) => {
            finish(tx, after, status, None, Some(&reason(reported)))?;
        }
    }
    Ok(())
}

/// What the session waits for, with its text.
fn waiting(reported: &Reported, effect: &Effect) -> Option<String> {
    let what = effect.waits_for?;
    Some(reported.summary.as_ref().map_or_else(|| what.to_owned(), |words| format!("{what}: {words}")))
}

/// Why the session is stale or over.
fn reason(reported: &Reported) -> String {
    let words = reported.summary.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
    format!("reported {}{words}", reported.state)
}

fn offered(plan: &Plan, task: &Task, role: &Role) -> Handoff {
    Handoff {
        id: 0,
        task: task.id.clone(),
        from_role: Some(plan.after.role.clone()),
        from_actor: plan.after.id.to_string(),
        to_role: Some(role.clone()),
        to_lane: None,
        status: HandoffStatus::Open,
        summary: plan.words.clone(),
        payload: None,
        epoch: task.epoch,
        created_at: Timestamp::from_millis(0),
        answered_at: None,
        answered_by: None,
    }
}

/// The provider's own word that the work is done. It is not observed, and no gate counts its kind.
fn claimed(reported: &Reported, plan: &Plan, task: &Task, sha256: Option<&str>) -> Evidence {
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
        summary: Some(plan.words.clone()),
        observed: false,
        created_at: Timestamp::from_millis(0),
    }
}

fn answer(reported: &Reported, plan: &Plan, written: Written, session: &Session, dry_run: bool) -> Result<Answer> {
    let id = &session.id;
    let becomes = match (plan.effect.life, plan.effect.waits_for) {
        (Life::Runs, None) => "running".to_owned(),
        (Life::Runs, Some(what)) => format!("running, waits for {what}"),
        (Life::Suspected, _) => SessionStatus::Stale.to_string(),
        (Life::Over(status), _) => status.to_string(),
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
        (None, _) if keeps => answer.remark("running leaves no checkpoint: summary and artifact are not kept"),
        (Some(_), None) => answer.remark("no task is known: only the session is written"),
        _ => answer,
    })
}
