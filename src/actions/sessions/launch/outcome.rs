//! The outcome of a launch and the answer for it.

use anyhow::Result;

use crate::{
    actions::Answer,
    adapters::StartReport,
    domain::session::{Session, SessionStatus},
    os::process::ProcessKey,
    wire::SessionView,
};

/// How a start turned out.
pub(crate) enum LaunchOutcome {
    /// It runs; the process where the script told one.
    Running(Box<StartReport>, Option<ProcessKey>),
    /// It was started, and whether it runs cannot be told.
    Unknown(Box<StartReport>, String),
    /// It has ended again.
    Ended,
}

/// The answer of a launch with the session as it is now.
///
/// # Errors
/// When the answer cannot be serialized.
pub(crate) fn launch_answer(session: &Session, remarks: Vec<String>) -> Result<Answer> {
    let id = &session.id;
    let line = match session.status {
        SessionStatus::Ended => format!("launched {id}; its program has already ended with exit code 0"),
        _ => format!(
            "launched {id}\n  attach: fairway session attach {id}\n  peek: fairway session peek {id}\n  \
             stop: fairway session stop {id}"
        ),
    };
    let mut answer = Answer::new(&SessionView::from(session), id, line)?;
    answer.notes = remarks;
    Ok(answer)
}
