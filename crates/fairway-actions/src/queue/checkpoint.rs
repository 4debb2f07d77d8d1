//! Checkpoints: record and list the progress notes of a task.

use std::time::Duration;

use anyhow::Result;

use super::task::claimed_task;
use crate::core::lookup;
use crate::{Answer, App, mail};
use fairway_core::domain::checkpoint::{Checkpoint, CheckpointState};
use fairway_core::domain::message::Channel;
use fairway_core::domain::rules::fencing::TaskWrite;
use fairway_core::domain::session::Session;
use fairway_core::domain::task::Task;
use fairway_core::domain::{Event, EventKind, Refusal, TaskId, text_limits};
use fairway_core::store::checkpoints::{self, CheckpointFields};
use fairway_core::store::{StoreError, WriteTx};
use fairway_core::wire::CheckpointResultView;

/// Records a checkpoint with its event. `of` is the session that the checkpoint is about, when that is not the acting session.
pub(crate) fn insert(
    tx: &WriteTx<'_>,
    task: &Task,
    draft: &CheckpointFields,
    of: Option<&Session>,
) -> Result<Checkpoint, StoreError> {
    let checkpoint = checkpoints::insert(tx, draft)?;
    let event = Event::new(EventKind::CheckpointRecorded)
        .task(&task.id)
        .lane(task.fields.lane.as_ref())
        .with("id", checkpoint.id)
        .with("state", checkpoint.state.as_str())
        .with("summary", checkpoint.summary.as_str());
    let event = match checkpoint.origin {
        Some(origin) => event.with("origin", origin.as_str()),
        None => event,
    };
    tx.record(&match of {
        Some(session) => event.session(&session.id, &session.run_id),
        None => event,
    })?;
    Ok(checkpoint)
}

#[derive(Debug, Clone)]
pub struct NewCheckpoint {
    pub state: CheckpointState,
    pub summary: String,
    pub owner: Option<String>,
    pub artifact: Option<String>,
    /// The time until the next checkpoint is due.
    pub due: Option<Duration>,
}

/// Records a checkpoint and leaves the task's state as it is. When a session acts, the answer also delivers the messages that
/// wait for it.
pub fn record(app: &App, id: &TaskId, new: NewCheckpoint) -> Result<Answer> {
    let line = |what, given: Option<&String>| given.map(|given| text_limits::check_line(what, given)).transpose();
    let summary = text_limits::check_line("summary", &new.summary)?;
    let owner = line("owner", new.owner.as_ref())?;
    let artifact = line("artifact", new.artifact.as_ref())?;
    app.mutate(|tx| {
        let task = lookup::task(tx, id)?;
        lookup::check_authority(tx, &task, &app.actor, TaskWrite::AddRecord)?;
        let draft = CheckpointFields {
            task: id.clone(),
            session: app.actor.session.clone(),
            state: new.state,
            owner: owner.clone(),
            summary: summary.clone(),
            artifact: artifact.clone(),
            due_at: new.due.map(|due| tx.now().plus(due)),
            origin: None,
        };
        let checkpoint = insert(tx, &task, &draft, None)?;
        let turn = match &app.actor.session {
            Some(_) => {
                let reader = mail::inbox::reader_for(tx, &app.actor, None, tx.now())?;
                mail::inbox::read_batch(tx, &reader, Channel::Checkpoint, false)?
            }
            None => mail::inbox::InboxBatch::default(),
        };
        let mut line = format!("recorded checkpoint {} on {id}: {}", checkpoint.id, checkpoint.state);
        if !turn.messages.is_empty() {
            line.push('\n');
            line.push_str(mail::format_messages(&turn.messages).trim_end());
        }
        let document = CheckpointResultView { checkpoint: checkpoint.clone(), messages: turn.messages.clone() };
        Ok(turn.with_notes(Answer::new(&document, checkpoint.id, line)?))
    })
}

/// Records a checkpoint in the state `active` on `task`, else on the only task that the caller has claimed.
///
/// # Errors
/// `nothing_claimed`; `ambiguous` for several claimed tasks; the errors of [`record`].
pub fn note(app: &App, text: &str, task: Option<&TaskId>, artifact: Option<String>) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    let task = claimed_task::named_or_only(app, task.cloned(), |task| format!("fairway note TEXT --task {task}"))?;
    let state = CheckpointState::Active;
    record(app, &task, NewCheckpoint { state, summary: text.to_owned(), owner: None, artifact, due: None })
}

/// A task's checkpoints, oldest first. `written` leaves out those that Fairway recorded by itself.
pub fn list(app: &App, task: &TaskId, written: bool) -> Result<Vec<Checkpoint>> {
    app.read(|tx| {
        lookup::task(tx, task)?;
        let all = checkpoints::of_task(tx, task)?;
        Ok(all.into_iter().filter(|one| !written || one.origin.is_none()).collect())
    })
}

/// The newest checkpoint of a task. `written` leaves out those that Fairway recorded by itself.
///
/// # Errors
/// `not_found`, also when the task has none.
pub fn latest(app: &App, task: &TaskId, written: bool) -> Result<Checkpoint> {
    app.read(|tx| {
        lookup::task(tx, task)?;
        let newest = if written { checkpoints::newest_written(tx, task)? } else { checkpoints::newest(tx, task)? };
        newest.ok_or_else(|| Refusal::not_found("checkpoint of task", task.as_str()).into())
    })
}

pub fn show(app: &App, id: i64) -> Result<Checkpoint> {
    let found = app.read(|tx| Ok(checkpoints::find(tx, id)?))?;
    found.ok_or_else(|| Refusal::not_found("checkpoint", id.to_string()).into())
}

/// For each open task whose next checkpoint is overdue, its newest written checkpoint; the longest overdue comes first.
pub fn overdue(app: &App) -> Result<Vec<Checkpoint>> {
    app.read(|tx| Ok(checkpoints::overdue(tx, app.env.now())?))
}
