//! Record a checkpoint. Its answer delivers the session's waiting messages.

use std::time::Duration;

use anyhow::Result;

use super::insert::insert;
use crate::{
    actions::{Answer, App, core::lookup, mail},
    domain::{TaskId, checkpoint::CheckpointState, message::Channel, rules::fencing::TaskWrite, text_limits},
    store::checkpoints::CheckpointFields,
    wire::CheckpointResultView,
};

/// A checkpoint to record.
#[derive(Debug, Clone)]
pub struct NewCheckpoint {
    /// The state of the work.
    pub state: CheckpointState,
    pub summary: String,
    /// The owner of the next step.
    pub owner: Option<String>,
    /// The path of a related file.
    pub artifact: Option<String>,
    /// The time until the next checkpoint is due.
    pub due: Option<Duration>,
}

/// Records a checkpoint, without a state transition. The answer also offers the session's waiting messages.
///
/// # Errors
/// `not_found`, `stale_claim`, `invalid_value`.
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
