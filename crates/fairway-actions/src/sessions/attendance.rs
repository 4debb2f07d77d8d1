//! Whether a person is present: who watches for permission requests, and which sessions have a terminal attached. Presence is a
//! shared lock on a file, so that it ends with the process, however that ends.

use std::path::PathBuf;
use std::{io, thread};

use super::control::running_session::RunningSession;
use crate::App;
use fairway_core::domain::SessionId;
use fairway_core::domain::session::Session;
use fairway_core::os::files;
use fairway_core::os::lock::SharedLock;
use fairway_core::os::notify::notify_all;

/// The name of the watchers' file. A session's file has a name with a colon, which no session's id has.
const WATCHERS: &str = "approvals";

/// Marks a person as present until it is dropped.
#[derive(Debug)]
pub struct Presence {
    _lock: SharedLock,
}

/// Marks the caller as a watcher of permission requests until the returned presence is dropped.
pub fn watch_approvals(app: &App) -> io::Result<Presence> {
    enter(app, WATCHERS)
}

/// Whether a person watches for permission requests; `false` when the lock file cannot be read.
pub fn is_watched(app: &App) -> bool {
    is_present(app, WATCHERS)
}

/// Marks the session as attached to a person's terminal until the returned presence is dropped, and wakes the processes that
/// wait for changes of the store.
pub fn attach(app: &App, session: &SessionId) -> io::Result<Presence> {
    let presence = enter(app, &of_session(session))?;
    wake(app);
    Ok(presence)
}

/// Whether a person's terminal is attached to the session; `false` when the lock file cannot be read.
pub fn is_attached(app: &App, session: &SessionId) -> bool {
    is_present(app, &of_session(session))
}

/// Asks the backend whether a terminal is attached to the session. When the session has no backend, or the backend does not
/// answer, the agent is assumed to run in a person's terminal.
pub fn has_terminal(app: &App, session: &Session) -> bool {
    if session.adapter_script.is_none() {
        return true;
    }
    let asked = RunningSession::find(app, &session.id, &["session", "attach", session.id.as_str()]).ok();
    asked.and_then(|live| live.adapter.is_attached(live.backend_name()).ok()).unwrap_or(true)
}

/// Starts a thread that wakes the processes that wait for changes of the store, once the last watcher of permission requests
/// has gone. The thread ends with the process.
pub fn wake_when_unwatched(app: &App) {
    let Ok(wake_dir) = app.store_for_writing().map(|store| store.wake_dir().to_owned()) else { return };
    let path = dir(app).join(WATCHERS);
    thread::spawn(move || {
        if SharedLock::wait_until_free(&path).is_ok() {
            notify_all(&wake_dir);
        }
    });
}

fn enter(app: &App, name: &str) -> io::Result<Presence> {
    let dir = dir(app);
    files::private_dir(&dir)?;
    Ok(Presence { _lock: SharedLock::acquire_waiting(&dir.join(name))? })
}

fn is_present(app: &App, name: &str) -> bool {
    SharedLock::is_locked(&dir(app).join(name)).unwrap_or(false)
}

fn wake(app: &App) {
    if let Ok(store) = app.store_for_writing() {
        notify_all(store.wake_dir());
    }
}

fn dir(app: &App) -> PathBuf {
    app.project.runtime_dir().join("attended")
}

fn of_session(session: &SessionId) -> String {
    format!("session:{session}")
}
