//! The session of an agent that a person started by hand. The agent's command line passes the id of its conversation to the
//! programs that it starts, in an environment variable, and its hooks have registered a session with that id.

use anyhow::Result;

use super::actor;
use crate::App;
use fairway_core::config::session_variables;
use fairway_core::domain::Actor;
use fairway_core::domain::id::Label;
use fairway_core::store::sessions;

/// Finds the live session whose conversation a provider's environment variable names, and returns it as the actor. A role or
/// lane that the caller named stays. `None` when no variable names a live session of this store. The store is opened only when
/// such a variable is set.
pub fn find(app: &App) -> Result<Option<Actor>> {
    for (provider, variable) in session_variables() {
        let Some(conversation) = app.env.var(variable).filter(|value| !value.is_empty()) else { continue };
        let Ok(provider) = Label::parse(provider) else { continue };
        if let Some(session) = app.read(|tx| Ok(sessions::by_external(tx, &provider, conversation)?))? {
            let found = actor::of_session(&session);
            let given = &app.actor;
            return Ok(Some(Actor {
                role: given.role.clone().or(found.role),
                lane: given.lane.clone().or(found.lane),
                epoch: given.epoch,
                ..found
            }));
        }
    }
    Ok(None)
}
