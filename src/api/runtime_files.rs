//! Having the place where one server listens: its lock, its socket and the files beside it, all of which go with it.

use std::{
    fs, io,
    os::unix::{fs::FileTypeExt, net::UnixListener},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use crate::{
    actions::App,
    api_client::socket_path::{self, LOCK_FILE, POINTER_FILE, PORT_FILE, TOKEN_FILE},
    domain::{Refusal, SessionId},
    os::{files, lock::FileLock, random, socket},
};

/// The place.
#[derive(Debug)]
pub(super) struct RuntimeFiles {
    dir: PathBuf,
    /// Where the socket lies.
    pub(super) socket: PathBuf,
    listener: Option<UnixListener>,
    created: Vec<PathBuf>,
    // Given back last.
    _lock: FileLock,
}

impl RuntimeFiles {
    /// Takes it.
    ///
    /// # Errors
    /// `serve_running` when somebody serves there; `exists` when something else than a socket lies there.
    pub(super) fn acquire(app: &App) -> Result<Self> {
        let runtime = app.project.runtime_dir();
        files::private_dir(&app.project.state).context("the state directory cannot be used")?;
        files::private_dir(&runtime).context("the runtime directory cannot be used")?;
        let lock = FileLock::try_acquire(&runtime.join(LOCK_FILE)).context("the server's lock cannot be taken")?;
        let path = socket_path::for_runtime_dir(&runtime, &app.env);
        let Some(lock) = lock else {
            let place = path.unwrap_or(runtime).display().to_string();
            return Err(Refusal::ServeRunning { place }.into());
        };
        let path = path.ok_or_else(|| {
            let why = "is too long for a socket, and there is no XDG_RUNTIME_DIR to put it into".to_owned();
            Refusal::Invalid { what: "the path of .fairway/runtime", why }
        })?;
        let (directory, name) = path.parent().zip(path.file_name()).context("the socket has no directory")?;
        remove_stale_socket(&path)?;
        let listener = socket::listen(directory, &name.to_string_lossy());
        let listener = listener.with_context(|| format!("cannot listen at {}", path.display()))?;
        let mut place = Self { dir: runtime, socket: path, listener: Some(listener), created: Vec::new(), _lock: lock };
        place.created.push(place.socket.clone());
        for name in [POINTER_FILE, PORT_FILE, TOKEN_FILE] {
            // Of one that was killed.
            remove_if_present(&place.dir.join(name));
        }
        if !place.socket.starts_with(&place.dir) {
            let text = format!("{}\n", place.socket.display());
            place.write_file(POINTER_FILE, &text)?;
        }
        Ok(place)
    }

    /// Who listens there; once.
    pub(super) fn take_listener(&mut self) -> Option<UnixListener> {
        self.listener.take()
    }

    /// Writes a new token down, for this user alone.
    ///
    /// # Errors
    /// As it cannot be made or written.
    pub(super) fn write_token(&mut self) -> Result<String> {
        let token = random::hex().context("there is no token to be had")?;
        self.write_file(TOKEN_FILE, &token)?;
        Ok(token)
    }

    /// Writes the number of the port down, also under a session's name.
    ///
    /// # Errors
    /// As it cannot be written.
    pub(super) fn write_port(&mut self, port: u16, session: Option<&SessionId>) -> Result<()> {
        let text = format!("{port}\n");
        if let Some(session) = session {
            self.write_file(&format!("worker-{session}.port"), &text)?;
        }
        self.write_file(PORT_FILE, &text)
    }

    fn write_file(&mut self, name: &str, text: &str) -> Result<()> {
        let path = self.dir.join(name);
        files::write_atomic_nosync(&path, text.as_bytes(), 0o600)
            .with_context(|| format!("{} cannot be written", path.display()))?;
        self.created.push(path);
        Ok(())
    }

    /// Lets nobody in any more.
    pub(super) fn remove_all(&mut self) {
        for path in self.created.drain(..) {
            remove_if_present(&path);
        }
    }
}

impl Drop for RuntimeFiles {
    fn drop(&mut self) {
        self.remove_all();
    }
}

fn remove_if_present(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Makes room for a socket: only a socket at which nobody listens is ever removed.
fn remove_stale_socket(path: &Path) -> Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.with_context(|| format!("{} cannot be looked at", path.display()))?,
    };
    if !found.file_type().is_socket() {
        return Err(Refusal::AlreadyExists { noun: "file", id: path.display().to_string() }.into());
    }
    if socket::connect_at(path).is_ok() {
        return Err(Refusal::ServeRunning { place: path.display().to_string() }.into());
    }
    fs::remove_file(path).with_context(|| format!("{} cannot be removed", path.display()))
}
