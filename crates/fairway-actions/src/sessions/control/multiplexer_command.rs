//! The multiplexer's own command to attach to a session.

use std::path::Path;

use fairway_core::adapters::plumbing::{ServerAddress, SocketDir};
use fairway_core::domain::session::Session;

/// The socket that stands for the user's own server.
const DEFAULT_SOCKET: &str = "default";

/// The shell command that attaches a terminal to the session directly through its multiplexer. `None` for a session that has
/// ended, that has no pane, or whose backend is not tmux, screen or zellij.
pub fn attach_command(session: &Session) -> Option<String> {
    if session.status.is_final() {
        return None;
    }
    let pane = shell_words::quote(session.pane.as_deref()?);
    let socket = session.socket.as_deref().filter(|socket| *socket != DEFAULT_SOCKET);
    let quoted = socket.map(shell_words::quote);
    Some(match (session.backend.as_deref()?, quoted) {
        ("tmux", Some(socket)) => format!("tmux -S {socket} attach -t {pane}"),
        ("tmux", None) => format!("tmux attach -t {pane}"),
        ("screen", Some(dir)) => format!("SCREENDIR={dir} screen -x {pane}"),
        ("screen", None) => format!("screen -x {pane}"),
        ("zellij", dir) => {
            let name = zellij_name(session, socket)?;
            let dir = dir.map(|dir| format!("ZELLIJ_SOCKET_DIR={dir} ")).unwrap_or_default();
            format!("{dir}zellij attach {}", shell_words::quote(&name))
        }
        _ => return None,
    })
}

/// The name that the backend script gave the zellij session. On a server that is not its own it has a prefix.
fn zellij_name(session: &Session, socket: Option<&str>) -> Option<String> {
    let state = Path::new(session.adapter_state.as_deref()?);
    let own = ServerAddress::of(state, "zellij", session.name(), SocketDir::Private);
    let is_own = socket.is_some_and(|socket| Path::new(socket) == own.dir);
    Some(if is_own { own.name } else { format!("fairway-{}", own.name) })
}
