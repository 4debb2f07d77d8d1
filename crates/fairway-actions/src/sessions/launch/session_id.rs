//! The id of a launched session.

use anyhow::Result;

use crate::App;
use crate::sessions::new_id::new_id;
use fairway_core::domain::id::Label;
use fairway_core::domain::session::{Session, SessionStatus};
use fairway_core::domain::{EventKind, Refusal, Role, SessionId};
use fairway_core::store::{ReadTx, claims, events, sessions};

/// The highest number that is appended to a requested id.
const MAX_NUMBER: u32 = 9_999;

/// Chooses the id of a new session. Without a requested id it is `base`, or `base` with the first free number; without both it is
/// a random one. The id of an ended session is used again only if that session was a failed launch: otherwise the new session
/// gets the next free number, `web-1-2` for `web-1`.
///
/// # Errors
/// `exists` when a live session has the id, or when no number is free.
pub(crate) fn choose(
    app: &App,
    tx: &ReadTx<'_>,
    requested: Option<&SessionId>,
    base: Option<&SessionId>,
    role: &Role,
    provider: &Label,
) -> Result<SessionId> {
    let Some(requested) = requested else {
        let numbered = base.map(|base| first_free(tx, base)).transpose()?.flatten();
        return numbered.map_or_else(|| new_id(app, tx, role, Some(provider)), Ok);
    };
    let exists = || Refusal::AlreadyExists { noun: "session", id: requested.to_string() };
    match sessions::find(tx, requested)? {
        None => return Ok(requested.clone()),
        Some(session) if is_failed_launch(tx, &session)? => return Ok(requested.clone()),
        Some(session) if !session.status.is_final() => return Err(exists().into()),
        Some(_) => {}
    }
    Ok(first_free(tx, requested)?.ok_or_else(exists)?)
}

/// The id, or the id with the first number from 2 on that is free; `None` when no number is free.
fn first_free(tx: &ReadTx<'_>, base: &SessionId) -> Result<Option<SessionId>> {
    for number in 1..=MAX_NUMBER {
        let text = if number == 1 { base.to_string() } else { format!("{base}-{number}") };
        // An id that is too long for a number.
        let Ok(id) = SessionId::parse(&text) else { break };
        match sessions::find(tx, &id)? {
            None => return Ok(Some(id)),
            Some(session) if is_failed_launch(tx, &session)? => return Ok(Some(id)),
            Some(_) => {}
        }
    }
    Ok(None)
}

/// Whether a session is nothing but a failed launch: its program never ran, and it has no claim. Its id is then free.
pub(crate) fn is_failed_launch(tx: &ReadTx<'_>, session: &Session) -> Result<bool> {
    if session.status != SessionStatus::Failed || session.adapter_script.is_none() {
        return Ok(false);
    }
    let newest = events::newest_of_session(tx, &session.id, |kind| {
        matches!(kind, EventKind::SessionStarting | EventKind::SessionRunning)
    })?;
    let never_ran = newest.is_some_and(|event| event.kind == EventKind::SessionStarting.as_str());
    Ok(never_ran && !claims::claiming_sessions(tx, None, None)?.contains(&session.id))
}
