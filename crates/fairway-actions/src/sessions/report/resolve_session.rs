//! The session of a provider's event.

use anyhow::Result;

use super::upsert::{SessionPatch, agrees};
use crate::App;
use crate::core::lookup;
use fairway_core::domain::Refusal;
use fairway_core::domain::provider_event::ProviderState;
use fairway_core::domain::session::Session;
use fairway_core::store::{ReadTx, sessions};

/// Finds the session of an event: by its id, by the provider's own id, else the acting session when it matches the whole patch.
/// `None` means a new session. Only the state `started` begins a new session in the place of an ended one.
/// A watcher may run inside another agent's session. The acting session therefore comes last: an event about another session
/// must not end the watcher's.
///
/// # Errors
/// `session_final` for an ended session; `not_found` when the acting session is unknown; `session_mismatch` for a session of
/// another task or role.
pub(crate) fn resolve(
    app: &App,
    tx: &ReadTx<'_>,
    patch: &SessionPatch,
    state: ProviderState,
) -> Result<Option<Session>> {
    let acting = app.actor.session.as_ref().map(|id| lookup::session(tx, id)).transpose()?;
    let found = match (&patch.id, &patch.provider, &patch.external_session_id) {
        (Some(id), ..) => sessions::find(tx, id)?,
        (None, Some(provider), Some(external)) => match sessions::by_external(tx, provider, external)? {
            Some(live) => Some(live),
            None if state == ProviderState::Started => None,
            None => sessions::ended_by_external(tx, provider, external)?,
        },
        (None, ..) => None,
    };
    let begins = patch.id.is_none() && state == ProviderState::Started;
    let found = found.or_else(|| acting.filter(|acting| patch.id.is_none() && matches_patch(acting, patch)));
    let found = found.filter(|found| !(begins && found.status.is_final()));
    if let Some(session) = &found {
        check_belongs(session, patch)?;
    }
    Ok(found)
}

/// Whether a patch can be about this session: the session has no external id yet, and no field contradicts.
fn matches_patch(session: &Session, patch: &SessionPatch) -> bool {
    session.external_session_id.is_none()
        && session.provider.is_some()
        && agrees(session.provider.as_ref(), patch.provider.as_ref())
        && agrees(session.backend.as_ref(), patch.backend.as_ref())
        && agrees(Some(&session.role), patch.role.as_ref())
        && agrees(session.task.as_ref(), patch.task.as_ref())
        && agrees(session.lane.as_ref(), patch.lane.as_ref())
}

/// Refuses an event that names another task or role than the session's.
fn check_belongs(session: &Session, patch: &SessionPatch) -> Result<(), Refusal> {
    session.check_open()?;
    let why = match (&session.task, &patch.task, &patch.role) {
        (Some(has), Some(reported), _) if has != reported => {
            format!("session {} works on {has}, not on {reported}", session.id)
        }
        (_, _, Some(role)) if *role != session.role => {
            format!("session {} has role {}, not {role}", session.id, session.role)
        }
        _ => return Ok(()),
    };
    Err(Refusal::SessionMismatch { why })
}
