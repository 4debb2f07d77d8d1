//! Listing and showing sessions.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::App;
pub use crate::core::session_overview::SessionScope;
use crate::core::session_process::RunProcesses;
use crate::core::{errors, lookup, other_host, session_overview};
use crate::queue::claimants;
use crate::sessions::liveness::silence;
use crate::sessions::report::{shown_idle, turn_end};
use fairway_core::config::newest_proof;
use fairway_core::domain::SessionId;
use fairway_core::domain::other_host::OtherHost;
use fairway_core::domain::session::Session;
use fairway_core::domain::session_facts::{NextCommand, SessionOverview};
use fairway_core::store::{overview, session_reports};
use fairway_core::wire::{ProtocolView, SessionOverviewView};

/// The sessions of a scope with the facts about them, oldest first. Sessions that are silent for too long count as stale, no
/// matter which status is recorded.
pub fn list(app: &App, scope: SessionScope) -> Result<Vec<SessionOverviewView>> {
    Ok(overviews(app, scope)?.iter().map(SessionOverviewView::from).collect())
}

/// Like [`list`], as facts.
pub(crate) fn overviews(app: &App, scope: SessionScope) -> Result<Vec<SessionOverview>> {
    let mut found = app.read_together(|tx| {
        let mut found = session_overview::read(tx, scope, &overview::held(tx)?)?;
        shown_idle::judge(app, tx, &mut found)?;
        turn_end::judge(app, tx, &mut found)?;
        Ok(found)
    })?;
    silence::judge(app, &mut found, app.env.now(), &BTreeSet::new());
    Ok(found)
}

/// The agent and the mode that a structured session has reported, and whether it is guarded; `None` for any other session, and
/// before its first report.
pub fn protocol(app: &App, session: &Session) -> Result<Option<ProtocolView>> {
    let reports = app.read(|tx| Ok(session_reports::find(tx, &session.id)?))?;
    Ok(reports.protocol.filter(|_| session.is_structured()).map(|state| {
        let label = state.agent.split(" (acp ").next().unwrap_or_default();
        let provider = session.provider.as_ref().map(ToString::to_string).unwrap_or_default();
        let is_guarded = state.unguarded.is_none();
        let proof = is_guarded.then(|| newest_proof(&app.env, &provider, label, state.mode.as_deref())).flatten();
        ProtocolView {
            proven_at: proof.map(|proof| proof.at().to_string()),
            agent: state.agent,
            mode: state.mode,
            guarded: is_guarded,
            unguarded_reason: state.unguarded,
        }
    }))
}

/// A session, its host when that is another one, and, when it is dead or stale, the commands to continue each task that it has
/// claimed.
///
/// # Errors
/// `not_found`.
pub fn show(app: &App, id: &SessionId) -> Result<(SessionOverview, Option<OtherHost>, Vec<NextCommand>)> {
    app.read_together(|tx| {
        let session = lookup::session(tx, id)?;
        let mut found = session_overview::with_facts(tx, vec![session], &overview::held(tx)?)?;
        shown_idle::judge(app, tx, &mut found)?;
        turn_end::judge(app, tx, &mut found)?;
        silence::judge(app, &mut found, app.env.now(), &BTreeSet::new());
        let overview = found.into_iter().next().ok_or_else(|| errors::internal("the session was not kept"))?;
        let (session, mut processes) = (overview.judged(), RunProcesses::default());
        let mut ways = Vec::new();
        for held in &overview.holds {
            ways.extend(claimants::ways_on(tx, &held.task, held.status, &session, &overview.alive, &mut processes)?);
        }
        let other = other_host::of_session(tx, &overview.session)?;
        drop(session);
        Ok((overview, other, ways))
    })
}
