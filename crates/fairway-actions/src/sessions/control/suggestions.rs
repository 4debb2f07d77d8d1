//! Commands to suggest for a session.

use fairway_core::domain::session::{Session, SessionStatus};

/// The commands for a session that are possible in its present status, each as a pair of its verb and the full command. `attach`
/// is not suggested for a stale session, because its program is most likely gone.
pub fn commands(session: &Session) -> Vec<(&'static str, String)> {
    let id = &session.id;
    let has_backend = session.adapter_script.is_some() && !session.status.is_final();
    let mut commands = Vec::new();
    if has_backend && session.status != SessionStatus::Stale {
        commands.push(("attach", format!("fairway session attach {id}")));
    }
    if has_backend || session.transcript.is_some() {
        commands.push(("peek", format!("fairway session peek {id}")));
    }
    if has_backend {
        commands.push(("stop", format!("fairway session stop {id}")));
    }
    commands
}
