//! The subject of an explanation that is given by its id alone.

use anyhow::Result;

use super::explain;
use crate::{
    actions::{App, core::lookup},
    domain::{Refusal, SessionId, TaskId, session::Session},
    store::{ReadTx, sessions, tasks},
    wire::ExplainView,
};

/// Explains the task or the session of this id.
///
/// # Errors
/// `ambiguous` when there are both; `not_found`; `invalid_value` for a text that is no id.
pub fn explain(app: &App, id: &str) -> Result<ExplainView> {
    let (task, session) = (TaskId::parse(id).ok(), SessionId::parse(id).ok());
    let now = app.env.now();
    let found = app.read_together(|tx| {
        let is_task = task.as_ref().map(|id| tasks::exists(tx, id)).transpose()?.unwrap_or(false);
        let is_session = session.as_ref().map(|id| sessions::find(tx, id)).transpose()?.flatten().is_some();
        match (&task, &session) {
            (Some(_), Some(_)) if is_task && is_session => {
                let found = vec![format!("task {id}"), format!("session {id}")];
                Err(Refusal::Ambiguous { noun: "id", id: id.to_owned(), found }.into())
            }
            (_, Some(session)) if is_session => {
                explain::session_in(tx, session, now).map(|read| Found::Session(read.into()))
            }
            (Some(task), _) if is_task => explain::task_in(app, tx, task, now).map(Found::Task),
            (Some(task), session) => Err(unknown(tx, task, session.as_ref())?),
            (None, Some(session)) => explain::session_in(tx, session, now).map(|read| Found::Session(read.into())),
            (None, None) => {
                let why = format!("'{}' is not the id of a task or session", id.escape_debug());
                Err(Refusal::invalid("id", why).into())
            }
        }
    })?;
    Ok(match found {
        Found::Task(view) => view,
        Found::Session(read) => explain::probed(app, *read, now),
    })
}

/// What an id names.
enum Found {
    Task(ExplainView),
    Session(Box<(Session, ExplainView)>),
}

/// The error for an id that neither a task nor a session has, with similar ids of both.
fn unknown(tx: &ReadTx<'_>, task: &TaskId, session: Option<&SessionId>) -> Result<anyhow::Error> {
    let errors = [lookup::task(tx, task).err(), session.and_then(|id| lookup::session(tx, id).err())];
    let mut near = Vec::new();
    for error in errors.into_iter().flatten() {
        match error.downcast::<Refusal>()? {
            Refusal::NotFound { near: found, .. } => near.extend(found),
            removed => return Ok(removed.into()),
        }
    }
    Ok(Refusal::NotFound { noun: "task or session", id: task.to_string(), near }.into())
}
