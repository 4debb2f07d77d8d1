//! The sessions that a stop without ids ends.

use anyhow::Result;

use super::stop_from_inside;
use crate::App;
use crate::core::only::Choice;
use crate::core::{lookup, other_host};
use fairway_core::domain::session::Session;
use fairway_core::domain::{LaneName, SessionId, TaskId};
use fairway_core::os::host;
use fairway_core::store::sessions;

/// Sessions to stop.
#[derive(Debug, Default)]
pub struct StopSelection {
    /// Their ids, oldest first; the session that the caller runs in is the last one.
    pub ids: Vec<SessionId>,
    /// The live sessions that this host cannot stop, as notes.
    pub notes: Vec<String>,
}

/// Selects the live sessions of a lane, or of the whole project, that this host can stop; the session that calls comes last. The
/// other live sessions are named in notes.
///
/// # Errors
/// `not_found` for an unknown lane.
pub fn live(app: &App, lane: Option<&LaneName>) -> Result<StopSelection> {
    let here = host::identity();
    app.read(|tx| {
        if let Some(lane) = lane {
            lookup::lane(tx, lane)?;
        }
        let (mut selection, mut own) = (StopSelection::default(), None);
        for session in sessions::live(tx)? {
            if lane.is_some() && session.lane.as_ref() != lane {
                continue;
            }
            let id = session.id.clone();
            if session.adapter_script.is_none() {
                selection
                    .notes
                    .push(format!("{id} was not launched by fairway; to end its record: fairway session end {id}"));
            } else if !here.owns(&session.host, session.host_id.as_deref()) {
                let host = other_host::find(tx, &session.host, session.host_id.as_deref())?;
                let stop = host.command(&["session", "stop", id.as_str()]);
                selection.notes.push(format!("{id} runs on the host {}; stop it there: {stop}", host.name));
            } else if stop_from_inside::is_inside(&app.env, &session) {
                own = Some(id);
            } else {
                selection.ids.push(id);
            }
        }
        selection.ids.extend(own);
        Ok(selection)
    })
}

/// The only session that this host can stop.
///
/// # Errors
/// `usage` when there are several, or none.
pub fn only(app: &App) -> Result<SessionId> {
    let choice = Choice {
        found: &live(app, None)?.ids,
        noun: "session",
        fits: "run",
        none: ("no launched session runs here", "list the sessions: fairway session list"),
    };
    Ok(choice.only(|first| format!("stop one: fairway session stop {first}"))?)
}

/// The sessions that these ids mean. The id of a task means its only live session, where no session has that id.
pub fn named(app: &App, ids: Vec<SessionId>) -> Result<Vec<SessionId>> {
    app.read(|tx| {
        ids.into_iter()
            .map(|id| {
                if !TaskId::is_distinct(id.as_str()) || sessions::find(tx, &id)?.is_some() {
                    return Ok(id);
                }
                let is_its_own = |one: &Session| one.task.as_ref().is_some_and(|task| task.as_str() == id.as_str());
                let mut found = sessions::live(tx)?.into_iter().filter(is_its_own);
                Ok(match (found.next(), found.next()) {
                    (Some(only), None) => only.id,
                    _ => id,
                })
            })
            .collect()
    })
}
