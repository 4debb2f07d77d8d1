//! Which session a provider's event is about.

use anyhow::Result;

use super::upsert::{SessionPatch, agrees};
use crate::{
    actions::{App, core::lookup},
    domain::{Refusal, provider_event::ProviderState, session::Session},
    store::{ReadTx, sessions},
};

/// The session that is meant: by its id, by the provider's own id, else the acting one when everything that is told fits
/// it. `None`: a new one. What has ended is found too, so that it can be refused; only `started` begins anew.
///
/// A watcher may run inside another agent's session, hence the acting session comes last here: an event about somebody
/// else must not end the one who watches.
///
/// # Errors
/// `not_found` when the acting session is unknown; `session_mismatch` for a session of another task or role.
pub(crate) fn resolve(
    app: &App,
    tx: &ReadTx<'_>,
    told: &SessionPatch,
    state: ProviderState,
) -> Result<Option<Session>> {
    let acting = app.actor.session.as_ref().map(|id| lookup::session(tx, id)).transpose()?;
    let found = match (&told.id, &told.provider, &told.external_session_id) {
        (Some(id), ..) => sessions::find(tx, id)?,
        (None, Some(provider), Some(external)) => match sessions::by_external(tx, provider, external)? {
            Some(live) => Some(live),
            None if state == ProviderState::Started => None,
            None => sessions::ended_by_external(tx, provider, external)?,
        },
        (None, ..) => None,
    };
    let begins = told.id.is_none() && state == ProviderState::Started;
    let found = found.or_else(|| acting.filter(|acting| told.id.is_none() && matches_patch(acting, told)));
    let found = found.filter(|found| !(begins && found.status.is_final()));
    if let Some(session) = &found {
        check_belongs(session, told)?;
    }
    Ok(found)
}

/// Whether a session can be the one that is told of: it is known under no other id, and nothing says otherwise.
fn matches_patch(session: &Session, told: &SessionPatch) -> bool {
    session.external_session_id.is_none()
        && session.provider.is_some()
        && agrees(session.provider.as_ref(), told.provider.as_ref())
        && agrees(session.backend.as_ref(), told.backend.as_ref())
        && agrees(Some(&session.role), told.role.as_ref())
        && agrees(session.task.as_ref(), told.task.as_ref())
        && agrees(session.lane.as_ref(), told.lane.as_ref())
}

/// An event that names another task or role is not this session's.
fn check_belongs(session: &Session, told: &SessionPatch) -> Result<(), Refusal> {
    session.check_open()?;
    let why = match (&session.task, &told.task, &told.role) {
        (Some(has), Some(told), _) if has != told => {
            format!("session {} works on {has}, not on {told}", session.id)
        }
        (_, _, Some(role)) if *role != session.role => {
            format!("session {} has role {}, not {role}", session.id, session.role)
        }
        _ => return Ok(()),
    };
    Err(Refusal::SessionMismatch { why })
}
