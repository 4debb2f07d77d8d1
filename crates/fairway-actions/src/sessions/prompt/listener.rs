//! Listeners for a session's messages: the stream of its runtime, a wake hook, a sidecar. A process listens as long as it
//! lives. There is one listener of each kind; a new one supersedes the previous one, which notices it.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::App;
use fairway_core::domain::SessionId;
use fairway_core::os::digest::sha256_hex;
use fairway_core::os::named_listener::{self, NamedListener};

/// The kind of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenerKind {
    /// The stream of the session's runtime.
    Stream,
    /// A hook that waits for messages.
    WakeHook,
    Sidecar,
}

/// A listener, until it is dropped. Its descriptor becomes readable when another one of its kind supersedes it. Its owner must
/// read the messages once after creating it, and again each time that a waiter wakes it which was bound before.
#[derive(Debug)]
pub struct Listener {
    listener: NamedListener,
}

impl Listener {
    pub fn is_superseded(&self) -> bool {
        self.listener.is_superseded()
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// Starts to listen for a session's messages. An earlier listener of this kind is superseded.
pub fn listen(app: &App, session: &SessionId, kind: ListenerKind) -> Result<Listener> {
    let listener = NamedListener::bind_replacing(&socket_dir(app), &socket_name(session, kind))
        .context("cannot listen for messages")?;
    Ok(Listener { listener })
}

/// Whether a process listens for the session's messages, so that typing is left to it.
pub fn has_any(app: &App, session: &SessionId) -> bool {
    [ListenerKind::Stream, ListenerKind::WakeHook, ListenerKind::Sidecar]
        .into_iter()
        .any(|kind| has_kind(app, session, kind))
}

pub fn has_kind(app: &App, session: &SessionId, kind: ListenerKind) -> bool {
    named_listener::is_listening(&socket_dir(app), &socket_name(session, kind))
}

fn socket_dir(app: &App) -> PathBuf {
    app.project.runtime_dir().join("listen")
}

/// The socket's file name. It contains a digest, because a session's id may be as long as a socket's whole address.
fn socket_name(session: &SessionId, kind: ListenerKind) -> String {
    let kind = match kind {
        ListenerKind::Stream => "stream",
        ListenerKind::WakeHook => "wait",
        ListenerKind::Sidecar => "sidecar",
    };
    let digest = sha256_hex(session.as_str().as_bytes());
    format!("{kind}-{}", digest.get(..16).unwrap_or(&digest))
}
