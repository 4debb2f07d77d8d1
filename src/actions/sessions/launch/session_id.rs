//! The id of a launched session.

use anyhow::Result;

use crate::{
    actions::{App, sessions::new_id::new_id},
    domain::{
        EventKind, Refusal, Role, SessionId,
        id::Label,
        session::{Session, SessionStatus},
    },
    store::{ReadTx, events, sessions},
};

/// The highest number that is tried behind a requested id.
const MAX_NUMBER: u32 = 9_999;

/// The id for a session that is launched as `requested`. The id of an ended session is history: the new session gets the next
/// free number, `web-1-2` for `web-1`. Without a requested id it is a new one.
///
/// # Errors
/// `exists` when a live session has the id, or when no number is free; as the store fails.
pub(crate) fn choose(
    app: &App,
    tx: &ReadTx<'_>,
    requested: Option<&SessionId>,
    role: &Role,
    provider: &Label,
) -> Result<SessionId> {
    let Some(requested) = requested else { return new_id(app, tx, role, Some(provider)) };
    let exists = || Refusal::AlreadyExists { noun: "session", id: requested.to_string() };
    match sessions::find(tx, requested)? {
        None => return Ok(requested.clone()),
        Some(session) if is_failed_launch(tx, &session)? => return Ok(requested.clone()),
        Some(session) if !session.status.is_final() => return Err(exists().into()),
        Some(_) => {}
    }
    for number in 2..=MAX_NUMBER {
        // An id that is too long for a number.
        let Ok(id) = SessionId::parse(&format!("{requested}-{number}")) else { break };
        match sessions::find(tx, &id)? {
            None => return Ok(id),
            Some(session) if is_failed_launch(tx, &session)? => return Ok(id),
            Some(_) => {}
        }
    }
    Err(exists().into())
}

/// Whether a session is nothing but a launch that failed: its last session run never ran, so that its id is free.
///
/// # Errors
/// As the store fails.
pub(crate) fn is_failed_launch(tx: &ReadTx<'_>, session: &Session) -> Result<bool> {
    if session.status != SessionStatus::Failed || session.adapter_script.is_none() {
        return Ok(false);
    }
    let newest = events::newest_of_session(tx, &session.id, |kind| {
        matches!(kind, EventKind::SessionStarting | EventKind::SessionRunning)
    })?;
    Ok(newest.is_some_and(|event| event.kind == EventKind::SessionStarting.as_str()))
}
