//! Whether a person is there: who watches for permission requests, and which sessions have the terminal of an
//! `attach`. Presence is a shared lock on a file: it ends with the process, however that ends.

use std::{io, path::PathBuf, thread};

use crate::{
    actions::App,
    domain::SessionId,
    os::{files, lock::SharedLock, notify::notify_all},
};

/// The name of the watchers' file. A session's file has a name with a colon, which no session's id has.
const WATCHERS: &str = "approvals";

/// A person's presence, until it is dropped.
#[derive(Debug)]
pub struct Presence {
    _lock: SharedLock,
}

/// Counts as a watcher of permission requests until the presence is dropped.
pub fn watch_approvals(app: &App) -> io::Result<Presence> {
    enter(app, WATCHERS)
}

/// Whether a person watches for permission requests. What cannot be read counts as absent.
pub fn is_watched(app: &App) -> bool {
    is_present(app, WATCHERS)
}

/// Counts as the terminal of a session until the presence is dropped, and wakes the waiters of the store.
pub fn attach(app: &App, session: &SessionId) -> io::Result<Presence> {
    let presence = enter(app, &of_session(session))?;
    wake(app);
    Ok(presence)
}

/// Whether an `attach` has its terminal at a session.
pub fn is_attached(app: &App, session: &SessionId) -> bool {
    is_present(app, &of_session(session))
}

/// Wakes the waiters of the store when the last watcher has gone. The thread ends with the process.
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
