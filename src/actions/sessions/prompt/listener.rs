//! Those who bring a session's messages at once, as long as they live: its runtime's stream, a hook that waits to wake it, a
//! sidecar. One of each kind; a new one takes the place of the one before, which learns of it.

use std::{
    os::fd::{AsFd, BorrowedFd},
    path::PathBuf,
};

use anyhow::{Context, Result};

use crate::{
    actions::App,
    adapters::builtin_scripts,
    domain::SessionId,
    os::named_listener::{self, NamedListener},
};

/// What brings a session's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenerKind {
    /// Its runtime's stream.
    Stream,
    /// A hook that waits to wake it.
    WakeHook,
    /// A sidecar.
    Sidecar,
}

/// One who listens, until it is dropped. Its descriptor becomes readable when another of its kind takes its place: then it
/// is to end. Look for messages once after it was made, and after each wake of a waiter that was bound before.
#[derive(Debug)]
pub struct Listener {
    presence: NamedListener,
}

impl Listener {
    /// Whether another of its kind has taken its place.
    #[must_use]
    pub fn is_superseded(&self) -> bool {
        self.presence.is_superseded()
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.presence.as_fd()
    }
}

/// Listens for a session's messages from now on.
///
/// # Errors
/// When nothing can be bound in the project's directory.
pub fn listen(app: &App, session: &SessionId, kind: ListenerKind) -> Result<Listener> {
    let presence = NamedListener::bind_replacing(&socket_dir(app), &socket_name(session, kind))
        .context("cannot listen for messages")?;
    Ok(Listener { presence })
}

/// Whether anybody listens for a session's messages.
#[must_use]
pub fn has_any(app: &App, session: &SessionId) -> bool {
    [ListenerKind::Stream, ListenerKind::WakeHook, ListenerKind::Sidecar]
        .into_iter()
        .any(|kind| has_kind(app, session, kind))
}

/// Whether one of this kind does.
#[must_use]
pub fn has_kind(app: &App, session: &SessionId, kind: ListenerKind) -> bool {
    named_listener::is_listening(&socket_dir(app), &socket_name(session, kind))
}

fn socket_dir(app: &App) -> PathBuf {
    app.project.runtime_dir().join("listen")
}

/// A session's id may be as long as a socket's whole address.
fn socket_name(session: &SessionId, kind: ListenerKind) -> String {
    let kind = match kind {
        ListenerKind::Stream => "stream",
        ListenerKind::WakeHook => "wait",
        ListenerKind::Sidecar => "sidecar",
    };
    let digest = builtin_scripts::sha256_hex(session.as_str().as_bytes());
    format!("{kind}-{}", digest.get(..16).unwrap_or(&digest))
}
