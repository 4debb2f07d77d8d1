//! Recording a checkpoint: the turn at which an agent is steered.

use std::time::Duration;

use anyhow::Result;

use super::insert::insert;
use crate::{
    actions::{Answer, App, core::lookup, mail},
    domain::{TaskId, checkpoint::CheckpointState, message::Channel, rules::fencing::TaskWrite, text_limits},
    store::checkpoints::CheckpointFields,
    wire::{CheckpointResultView, CheckpointView},
};

/// What is to be recorded.
#[derive(Debug, Clone)]
pub struct NewCheckpoint {
    /// What the words amount to.
    pub state: CheckpointState,
    /// The words.
    pub summary: String,
    /// Who owns the next step.
    pub owner: Option<String>,
    /// A file that belongs to it.
    pub artifact: Option<String>,
    /// After how long the next one is due.
    pub due: Option<Duration>,
}

/// Records a checkpoint; moves nothing. Answers also with the session's waiting messages, which are offered by it.
///
/// # Errors
/// `not_found`, `stale_claim`, `invalid_value`.
pub fn record(app: &App, id: &TaskId, words: NewCheckpoint) -> Result<Answer> {
    let line = |what, given: Option<&String>| given.map(|given| text_limits::check_line(what, given)).transpose();
    let summary = text_limits::check_line("summary", &words.summary)?;
    let owner = line("owner", words.owner.as_ref())?;
    let artifact = line("artifact", words.artifact.as_ref())?;
    app.mutate(|tx| {
        let task = lookup::task(tx, id)?;
        lookup::check_authority(tx, &task, &app.actor, TaskWrite::AddRecord)?;
        let draft = CheckpointFields {
            task: id.clone(),
            session: app.actor.session.clone(),
            state: words.state,
            owner: owner.clone(),
            summary: summary.clone(),
            artifact: artifact.clone(),
            due_at: words.due.map(|due| tx.now().plus(due)),
        };
        let checkpoint = insert(tx, &task, &draft, None)?;
        let turn = match &app.actor.session {
            Some(_) => {
                let reader = mail::inbox::reader_for(tx, &app.actor, tx.now())?;
                mail::inbox::read_batch(tx, &reader, Channel::Checkpoint, false)?
            }
            None => mail::inbox::InboxBatch::default(),
        };
        let mut line = format!("recorded checkpoint {} on {id}: {}", checkpoint.id, checkpoint.state);
        if !turn.messages.is_empty() {
            line.push('\n');
            line.push_str(mail::format_messages(&turn.messages).trim_end());
        }
        let document =
            CheckpointResultView { checkpoint: CheckpointView::from(&checkpoint), messages: turn.messages.clone() };
        Ok(turn.with_notes(Answer::new(&document, checkpoint.id, line)?))
    })
}
