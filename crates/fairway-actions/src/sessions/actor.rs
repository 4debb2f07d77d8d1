//! A session as the actor of a change.

use fairway_core::domain::Actor;
use fairway_core::domain::session::Session;

/// Describes the session as the actor of a change. The epoch is `None`, because it belongs to a claim.
pub fn of_session(session: &Session) -> Actor {
    Actor {
        name: session.id.to_string(),
        session: Some(session.id.clone()),
        run_id: Some(session.run_id.clone()),
        role: Some(session.role.clone()),
        lane: session.lane.clone(),
        epoch: None,
    }
}
