//! What to type to get at a session.

use crate::domain::session::Session;

/// The commands that make sense for a session as it stands, each with what it does.
#[must_use]
pub fn commands(session: &Session) -> Vec<(&'static str, String)> {
    let id = &session.id;
    let can_be_called = session.adapter_script.is_some() && !session.status.is_final();
    let mut commands = Vec::new();
    if can_be_called {
        commands.push(("sit down", format!("fairway session attach {id}")));
    }
    if can_be_called || session.transcript.is_some() {
        commands.push(("look", format!("fairway session peek {id}")));
    }
    if can_be_called {
        commands.push(("end it", format!("fairway session stop {id}")));
    }
    commands
}
