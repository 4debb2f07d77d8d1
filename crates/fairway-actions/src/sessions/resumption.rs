//! The end of a parking by its time: what waits is delivered, and an agent that a usage limit has stopped goes on, once.

use anyhow::Result;

use super::launch::provider_hooks::ProviderHooks;
use super::launch::start::PromptWatch;
use super::start::relaunch::{self, RelaunchRequest};
use super::start::switch;
use super::{parking, prompt};
use crate::App;
use crate::core::inside_session::{self, CallPlace};
use crate::core::{errors, lookup, parking_end, session_events, session_process};
use fairway_core::domain::SessionId;
use fairway_core::domain::rules::session_machine::SessionEvent;
use fairway_core::domain::session::{Activity, Session};
use fairway_core::domain::session_facts::SessionOverview;
use fairway_core::env::Timestamp;
use fairway_core::store::overview;

/// Notes about the parkings that have ended, and the time at which the next one is due.
#[derive(Debug, Default)]
pub struct Resumed {
    pub notes: Vec<String>,
    pub next: Option<Timestamp>,
}

/// Acts on the parkings of this host that have ended. Of several callers one acts on each. From inside of a session it does nothing.
pub fn resume_due(app: &App, hooks: &'static dyn ProviderHooks) -> Result<Resumed> {
    let now = app.store_for_reading()?.time(app.env.now())?;
    let parked = app.read(|tx| Ok(parking::with_parking(tx)?))?;
    let mut resumed = Resumed::default();
    for session in &parked {
        match parking_end::due_at(app, session) {
            Some(due) if due > now => resumed.next = resumed.next.into_iter().chain([due]).min(),
            Some(_) if inside_session::place(app) == CallPlace::Outside => {
                resumed.notes.extend(end_parking(app, session, hooks)?);
            }
            _ => {}
        }
    }
    Ok(resumed)
}

/// Lets a process of its own act when one of these sessions is due, for a caller that must not wait.
pub(crate) fn resume_in_background(app: &App, sessions: &[SessionOverview], now: Timestamp) {
    let is_due = |one: &SessionOverview| parking_end::due_at(app, &one.session).is_some_and(|due| due <= now);
    if sessions.iter().any(is_due) && inside_session::place(app) == CallPlace::Outside {
        prompt::start_command(app, &["session", "reconcile", "--quiet"]);
    }
}

/// Ends the parking of this session, unless that has happened by now. Returns what a person may want to know.
fn end_parking(app: &App, session: &Session, hooks: &'static dyn ProviderHooks) -> Result<Option<String>> {
    let id = &session.id;
    let told = parking_end::told(app, session);
    let is_over = session.status.is_final() || session_process::aliveness(session).is_dead();
    let is_first = app.transaction(|tx| {
        let now = lookup::session(tx, id)?;
        let is_same = now.run_id == session.run_id && now.parked_until == session.parked_until;
        if !is_same || now.activity == Activity::Busy {
            return Ok(false);
        }
        let after = session_events::apply(tx, &now, &SessionEvent::Unparked)?;
        if let Some(told) = told.filter(|_| !is_over) {
            parking::tell_to_go_on(tx, &after, told)?;
        }
        Ok(!is_over || overview::held(tx)?.iter().any(|held| held.session.as_ref() == Some(id)))
    })?;
    let Some(told) = told.filter(|_| is_first) else {
        return Ok(if is_over || !is_first { None } else { prompt::try_deliver(app, id) });
    };
    let went_on = if is_over {
        relaunch(app, id, told, hooks)
    } else if session.has_terminal() {
        // A dialog may stand there whose first choice changes the model.
        switch::restart(app, session, hooks)
    } else {
        Ok(false)
    };
    Ok(match went_on {
        Ok(true) => Some(format!("{id} goes on: {told}")),
        Ok(false) => prompt::try_deliver(app, id).or_else(|| Some(format!("{id} goes on: {told}"))),
        Err(error) => Some(format!("{id} does not go on: {}", errors::classify(&error).message)),
    })
}

fn relaunch(app: &App, id: &SessionId, told: &str, hooks: &'static dyn ProviderHooks) -> Result<bool> {
    let prompt = Some(told.to_owned());
    let request = RelaunchRequest { prompt, watch: PromptWatch::Skip, ..RelaunchRequest::new(hooks) };
    relaunch::relaunch(app, id, &request).map(|_| true)
}
