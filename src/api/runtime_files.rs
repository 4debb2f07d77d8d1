//! Having the place where one server listens: its lock, its socket and the files beside it, all of which go with it.

use std::{
    fs, io,
    os::unix::{fs::FileTypeExt, net::UnixListener},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use crate::{
    actions::App,
    api_client::socket_path::{self, LOCK, POINTER, PORT, TOKEN},
    domain::{Refusal, SessionId},
    os::{files, lock::FileLock, random, socket},
};

/// The place.
#[derive(Debug)]
pub(super) struct Place {
    runtime: PathBuf,
    /// Where the socket lies.
    pub(super) socket: PathBuf,
    listener: Option<UnixListener>,
    made: Vec<PathBuf>,
    // Given back last.
    _lock: FileLock,
}

impl Place {
    /// Takes it.
    ///
    /// # Errors
    /// `serve_running` when somebody serves there; `exists` when something else than a socket lies there.
    pub(super) fn take(app: &App) -> Result<Self> {
        let runtime = app.project.runtime();
        files::private_dir(&app.project.state).context("the state folder cannot be used")?;
        files::private_dir(&runtime).context("the runtime folder cannot be used")?;
        let lock = FileLock::try_acquire(&runtime.join(LOCK)).context("the server's lock cannot be taken")?;
        let path = socket_path::of(&runtime, &app.env);
        let Some(lock) = lock else {
            let place = path.unwrap_or(runtime).display().to_string();
            return Err(Refusal::ServeRunning { place }.into());
        };
        let path = path.ok_or_else(|| {
            let why = "is too long for a socket, and there is no XDG_RUNTIME_DIR to put it into".to_owned();
            Refusal::Invalid { what: "the path of .fairway/runtime", why }
        })?;
        let (folder, name) = path.parent().zip(path.file_name()).context("the socket has no folder")?;
        vacate(&path)?;
        let listener = socket::listen(folder, &name.to_string_lossy());
        let listener = listener.with_context(|| format!("cannot listen at {}", path.display()))?;
        let mut place = Self { runtime, socket: path, listener: Some(listener), made: Vec::new(), _lock: lock };
        place.made.push(place.socket.clone());
        for name in [POINTER, PORT, TOKEN] {
            // Of one that was killed.
            remove(&place.runtime.join(name));
        }
        if !place.socket.starts_with(&place.runtime) {
            let text = format!("{}\n", place.socket.display());
            place.file(POINTER, &text)?;
        }
        Ok(place)
    }

    /// Who listens there; once.
    pub(super) fn listener(&mut self) -> Option<UnixListener> {
        self.listener.take()
    }

    /// Writes a new token down, for this user alone.
    ///
    /// # Errors
    /// As it cannot be made or written.
    pub(super) fn token(&mut self) -> Result<String> {
        let token = random::hex().context("there is no token to be had")?;
        self.file(TOKEN, &token)?;
        Ok(token)
    }

    /// Writes the number of the port down, also under a session's name.
    ///
    /// # Errors
    /// As it cannot be written.
    pub(super) fn port(&mut self, port: u16, session: Option<&SessionId>) -> Result<()> {
        let text = format!("{port}\n");
        if let Some(session) = session {
            self.file(&format!("worker-{session}.port"), &text)?;
        }
        self.file(PORT, &text)
    }

    fn file(&mut self, name: &str, text: &str) -> Result<()> {
        let path = self.runtime.join(name);
        files::write_atomic_nosync(&path, text.as_bytes(), 0o600)
            .with_context(|| format!("{} cannot be written", path.display()))?;
        self.made.push(path);
        Ok(())
    }

    /// Lets nobody in any more.
    pub(super) fn shut(&mut self) {
        for path in self.made.drain(..) {
            remove(&path);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shut();
    }
}

fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Makes room for a socket: only a socket at which nobody listens is ever removed.
fn vacate(path: &Path) -> Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.with_context(|| format!("{} cannot be looked at", path.display()))?,
    };
    if !found.file_type().is_socket() {
        return Err(Refusal::Exists { noun: "file", id: path.display().to_string() }.into());
    }
    if socket::connect_at(path).is_ok() {
        return Err(Refusal::ServeRunning { place: path.display().to_string() }.into());
    }
    fs::remove_file(path).with_context(|| format!("{} cannot be removed", path.display()))
}
