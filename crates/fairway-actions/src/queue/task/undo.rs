//! Takes back one's own newest change of a task within a minute: a verdict, a cancellation, a release, a block or a priority.

use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::edit;
use super::transition::{self, Transition};
use crate::core::lookup;
use crate::queue::review::{self, Author};
use crate::{Answer, App};
use fairway_core::domain::review::{Review, Verdict};
use fairway_core::domain::rules::fencing::TaskWrite;
use fairway_core::domain::task::{Task, TaskFields, TaskState, TaskStatus};
use fairway_core::domain::{Event, EventKind, LaneName, Refusal, TaskId, plural};
use fairway_core::env::Timestamp;
use fairway_core::store::events::{self, LoggedEvent};
use fairway_core::store::{ReadTx, WriteTx, claims, reviews, sessions, tasks};

const UNDO_TIME: Duration = Duration::from_secs(60);
/// The reason in the events of an undo.
const REASON: &str = "taken back";

/// A change that can be taken back, and its event.
struct Undoable {
    event: LoggedEvent,
    change: Change,
}

enum Change {
    /// `has_resumed`: the verdict sent the task back to its author.
    Verdict {
        review: Box<Review>,
        has_resumed: bool,
    },
    /// Cancelled or released. The claim, if there was one, ended.
    End,
    Block,
    Priority {
        before: u8,
    },
}

/// Takes back the actor's change of a task, which must be the newest one, and the one of the event `seq`, if that is given.
///
/// # Errors
/// `not_undoable`; `lane_full` and the like when the claim cannot go on.
pub fn undo(app: &App, id: &TaskId, seq: Option<i64>) -> Result<Answer> {
    let by = Author::of(app)?;
    app.mutate(|tx| {
        let task = lookup::task(tx, id)?;
        let Undoable { event, change } = undoable(app, tx, id, seq, tx.now())?.map_err(|why| refusal(id, why))?;
        let verb = |kind| Transition { reason: Some(REASON), ..Transition::new(kind, TaskWrite::Override, "") };
        let what = match &change {
            Change::Verdict { review, has_resumed } => {
                review::take_back(&by, tx, &task, review, Some(REASON))?;
                if *has_resumed {
                    transition::apply(tx, &task, &task.submitted()?, &verb(EventKind::TaskSubmitted))?;
                }
                format!("the verdict '{}'", review.verdict.map_or("", Verdict::as_str))
            }
            Change::End if event.kind == EventKind::TaskCancelled.as_str() => {
                transition::apply(tx, &task, &before_end(app, tx, &task, &event)?, &verb(EventKind::TaskReopened))?;
                "the cancellation".to_owned()
            }
            Change::End => {
                let state = before_end(app, tx, &task, &event)?;
                tasks::set_state(tx, &task, &state)?;
                let claim = state.claim();
                tx.record(
                    &Event::new(EventKind::TaskClaimed)
                        .task(id)
                        .lane(lookup::task(tx, id)?.fields.lane.as_ref())
                        .with("epoch", claim.map(|claim| claim.epoch))
                        .with("claimant", claim.map(|claim| claim.claimant.as_str()))
                        .with("role", claim.and_then(|claim| claim.role.as_ref()).map(ToString::to_string))
                        .with("takeover", "restored")
                        .with("reason", REASON),
                )?;
                "the release".to_owned()
            }
            Change::Block => {
                transition::apply(tx, &task, &task.unblocked()?, &verb(EventKind::TaskUnblocked))?;
                "the block".to_owned()
            }
            Change::Priority { before } => {
                edit::edit_in(app, tx, id, |fields| {
                    fields.priority = *before;
                    Ok(())
                })?;
                format!("priority {}", task.fields.priority)
            }
        };
        let now = lookup::task(tx, id)?;
        let after = match &change {
            Change::Priority { before } => format!(": priority {before}"),
            _ if now.state.status() == task.state.status() => String::new(),
            _ => format!(": {} → {}", task.state.status(), now.state.status()),
        };
        Answer::new(&lookup::task_view(tx, id)?, id, format!("took back {what} of {id}{after}"))
    })
}

/// The command that takes back what the actor has just done to a task; `None` when nothing can be taken back.
pub fn offer(app: &App, id: &TaskId) -> Result<Option<String>> {
    let found = app.read(|tx| undoable(app, tx, id, None, app.env.now()))?;
    Ok(found.ok().map(|found| format!("fairway task undo {id} --event {}", found.event.seq)))
}

fn refusal(task: &TaskId, why: String) -> Refusal {
    Refusal::NotUndoable { task: task.clone(), why }
}

/// The task's newest change, or the reason why the actor cannot take it back.
fn undoable(
    app: &App,
    tx: &ReadTx<'_>,
    id: &TaskId,
    seq: Option<i64>,
    now: Timestamp,
) -> Result<Result<Undoable, String>> {
    let mut newest = Vec::new();
    events::for_each_of_task(tx, id, is_change, |event| {
        newest.push(event);
        Ok(newest.len() < 2)
    })?;
    let mut newest = newest.into_iter();
    let Some(last) = newest.next() else { return Ok(Err("nothing was done to it".to_owned())) };
    // A verdict that sends the task back has two events.
    let (event, has_resumed) = match newest.next() {
        Some(verdict) if is_resumed_by(&last, &verdict) => (verdict, true),
        _ => (last, false),
    };
    if seq.is_some_and(|seq| seq != event.seq) {
        return Ok(Err(format!("it has changed since: {} by {}", event.kind, event.actor)));
    }
    let Some(change) = change(tx, &event, has_resumed)? else {
        return Ok(Err(format!("the newest change of it, {}, has no undo", event.kind)));
    };
    if !app.actor.is_named(&event.actor) {
        return Ok(Err(format!("{} did it, not you ({})", event.actor, app.actor.name)));
    }
    let age = now.since(event.at);
    if age > UNDO_TIME {
        let minutes = usize::try_from(age.as_secs() / 60).unwrap_or(usize::MAX);
        return Ok(Err(format!(
            "{} was {} ago, and one minute is allowed",
            event.kind,
            plural::count(minutes, "minute")
        )));
    }
    let claim = if matches!(change, Change::End) { claims::newest(tx, id)? } else { None };
    let session = claim.and_then(|claim| claim.session).map(|id| sessions::find(tx, &id)).transpose()?.flatten();
    if let Some(session) = session.filter(|session| session.status.is_final()) {
        return Ok(Err(format!("its session {} has {}", session.id, session.status)));
    }
    Ok(Ok(Undoable { event, change }))
}

/// Whether events of a kind change what an undo would find.
const fn is_change(kind: EventKind) -> bool {
    kind.is_transition()
        || matches!(
            kind,
            EventKind::TaskAdded
                | EventKind::TaskEdited
                | EventKind::TaskSentBack
                | EventKind::ReviewRecorded
                | EventKind::ReviewWithdrawn
                | EventKind::HandoffCreated
                | EventKind::LandingProposed
        )
}

fn change(tx: &ReadTx<'_>, event: &LoggedEvent, has_resumed: bool) -> Result<Option<Change>> {
    Ok(match EventKind::parse(&event.kind) {
        Some(EventKind::ReviewRecorded) => {
            let review = event.data.get("id").and_then(Value::as_i64).map(|id| reviews::find(tx, id)).transpose()?;
            review.flatten().map(|review| Change::Verdict { review: Box::new(review), has_resumed })
        }
        Some(EventKind::TaskCancelled | EventKind::TaskReleased) => Some(Change::End),
        Some(EventKind::TaskBlocked) => Some(Change::Block),
        Some(EventKind::TaskEdited) => {
            let is_alone = event.data.get("fields").and_then(Value::as_array).is_some_and(|fields| fields.len() == 1);
            let before = event.data.get("priority_before").and_then(Value::as_u64).filter(|_| is_alone);
            before.and_then(|before| u8::try_from(before).ok()).map(|before| Change::Priority { before })
        }
        _ => None,
    })
}

/// Whether a task was sent back to its author by this verdict.
fn is_resumed_by(resumed: &LoggedEvent, verdict: &LoggedEvent) -> bool {
    let reason = verdict.data.get("id").and_then(Value::as_i64).map(review::refusal_reason);
    resumed.kind == EventKind::TaskResumed.as_str()
        && verdict.kind == EventKind::ReviewRecorded.as_str()
        && resumed.data.get("reason").and_then(Value::as_str) == reason.as_deref()
}

/// The state before a cancellation or a release. Its claim goes on with its epoch, and its lane is that of the task again.
fn before_end(app: &App, tx: &WriteTx<'_>, task: &Task, event: &LoggedEvent) -> Result<TaskState> {
    let text = |key: &str| event.data.get(key).and_then(Value::as_str);
    let from = text("from").and_then(TaskStatus::parse).filter(|status| status.is_claimed());
    let Some((from, mut claim)) = from.zip(claims::resume(tx, &task.id)?.filter(|_| from.is_some())) else {
        return Ok(TaskState::Todo);
    };
    let lane = text("unassigned_lane").map(LaneName::parse).transpose()?;
    if lane.is_some() {
        tasks::set_lane(tx, &task.id, lane.as_ref())?;
    }
    let state = match from {
        TaskStatus::Blocked => {
            let blocked = events::newest_of(tx, &task.id, |kind| kind == EventKind::TaskBlocked)?;
            let reason = blocked.as_ref().and_then(|event| event.data.get("reason")).and_then(Value::as_str);
            TaskState::Blocked(claim, reason.unwrap_or_default().to_owned())
        }
        TaskStatus::Review => TaskState::Review(claim),
        _ => {
            claim.lease = app.settings.claims.lease;
            claim.lease_until = claim.lease.map(|lease| tx.now().plus(lease));
            TaskState::InProgress(claim)
        }
    };
    let fields = TaskFields { lane: lane.or_else(|| task.fields.lane.clone()), ..task.fields.clone() };
    let again = Task { fields, state, ..task.clone() };
    edit::check_claim_rules(app, tx, &again, &TaskFields::with_title(String::new()))?;
    Ok(again.state)
}
