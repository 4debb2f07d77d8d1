//! The subject of an explanation that is given by its id alone.

use anyhow::Result;

use super::explain;
use crate::{
    actions::{App, core::lookup},
    domain::{Refusal, SessionId, TaskId},
    store::{ReadTx, sessions, tasks},
    wire::ExplainView,
};

/// Explains the task or the session of this id.
///
/// # Errors
/// `ambiguous` when there are both; `not_found`; `invalid_value` for a text that is no id.
pub fn explain(app: &App, id: &str) -> Result<ExplainView> {
    let (task, session) = (TaskId::parse(id).ok(), SessionId::parse(id).ok());
    let (is_task, is_session) = app.read(|tx| {
        let is_task = task.as_ref().map(|id| tasks::exists(tx, id)).transpose()?.unwrap_or(false);
        let is_session = session.as_ref().map(|id| sessions::find(tx, id)).transpose()?.flatten().is_some();
        Ok((is_task, is_session))
    })?;
    match (task, session) {
        (Some(_), Some(_)) if is_task && is_session => {
            let found = vec![format!("task {id}"), format!("session {id}")];
            Err(Refusal::Ambiguous { noun: "id", id: id.to_owned(), found }.into())
        }
        (_, Some(session)) if is_session => explain::session(app, &session),
        (Some(task), _) if is_task => explain::task(app, &task),
        (Some(task), session) => Err(app.read(|tx| unknown(tx, &task, session.as_ref()))?),
        (None, Some(session)) => explain::session(app, &session),
        (None, None) => {
            let why = format!("'{}' is not the id of a task or session", id.escape_debug());
            Err(Refusal::invalid("id", why).into())
        }
    }
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
