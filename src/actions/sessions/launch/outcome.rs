//! The outcome of a launch and the answer for it.

use anyhow::Result;

use super::first_prompt::FirstPrompt;
use crate::{
    actions::Answer,
    adapters::StartReport,
    domain::{
        SessionId,
        session::{Session, SessionStatus},
    },
    os::process::ProcessKey,
    wire::{LaunchedView, SessionView},
};

/// The outcome of a start.
pub(crate) enum LaunchOutcome {
    /// The program runs; with its process, where the script reported one.
    Running(Box<StartReport>, Option<ProcessKey>),
    /// The program was started; whether it runs is unknown, for this reason.
    Unknown(Box<StartReport>, String),
    /// The program has already ended.
    Ended,
}

/// The answer of a launch with the session as it is now. `requested_id` is given where the session has another one.
///
/// # Errors
/// When the answer cannot be serialized.
pub(crate) fn launch_answer(session: &Session, requested_id: Option<&SessionId>, notes: Vec<String>) -> Result<Answer> {
    answer_with_prompt(session, requested_id, notes, None)
}

/// The same with what became of the first prompt.
///
/// # Errors
/// When the answer cannot be serialized.
pub(crate) fn answer_with_prompt(
    session: &Session,
    requested_id: Option<&SessionId>,
    notes: Vec<String>,
    first_prompt: Option<&FirstPrompt>,
) -> Result<Answer> {
    let id = &session.id;
    let mut line = match session.status {
        SessionStatus::Ended => format!("launched {id}; its program has already ended with exit code 0"),
        _ => format!(
            "launched {id}\n  attach: fairway session attach {id}\n  peek: fairway session peek {id}\n  \
             stop: fairway session stop {id}"
        ),
    };
    if let Some(text) = first_prompt.and_then(FirstPrompt::line) {
        line = format!("{line}\n  {text}");
    }
    let view = LaunchedView {
        session: SessionView::from(session),
        requested_id: requested_id.map(ToString::to_string),
        notes: notes.clone(),
        first_prompt: first_prompt.map(FirstPrompt::view),
    };
    let mut answer = Answer::new(&view, id, line)?;
    answer.notes = notes;
    Ok(answer)
}
