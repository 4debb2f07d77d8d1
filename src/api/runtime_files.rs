//! The server's files: lock, socket, port and token. They are removed when the server ends.

use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context as _, Result};

use fairway_actions::App;
use fairway_core::api_client::server_files::{
    self, LOCK_FILE, PAGE_FILE, POINTER_FILE, PORT_FILE, ShownPage, TOKEN_FILE,
};
use fairway_core::domain::{Refusal, SessionId};
use fairway_core::os::lock::FileLock;
use fairway_core::os::{files, random, socket};

/// The server's files. Their owner holds the lock.
#[derive(Debug)]
pub(super) struct RuntimeFiles {
    dir: PathBuf,
    pub(super) socket: PathBuf,
    listener: Option<UnixListener>,
    created: Vec<PathBuf>,
    // Dropped last: the other files are removed under the lock.
    _lock: FileLock,
}

impl RuntimeFiles {
    /// Takes the server's lock and listens on the socket. Errors: `serve_running` when another server runs; `exists` when a
    /// file of another kind is at the path of the socket.
    pub(super) fn acquire(app: &App) -> Result<Self> {
        let runtime = app.project.runtime_dir();
        files::private_dir(&app.project.state).context("cannot use the state directory")?;
        files::private_dir(&runtime).context("cannot use the runtime directory")?;
        let lock = FileLock::try_acquire(&runtime.join(LOCK_FILE)).context("cannot take the server's lock")?;
        let path = server_files::for_runtime_dir(&runtime, &app.env);
        let Some(lock) = lock else {
            let listening_at = path.unwrap_or(runtime).display().to_string();
            return Err(Refusal::ServeRunning { place: listening_at }.into());
        };
        let path = path.ok_or_else(|| {
            let why = "is too long for a Unix socket, and XDG_RUNTIME_DIR is not set".to_owned();
            Refusal::Invalid { what: "the path of .fairway/runtime", why }
        })?;
        let (directory, name) = path.parent().zip(path.file_name()).context("the socket has no directory")?;
        remove_stale_socket(&path)?;
        let listener = socket::listen(directory, &name.to_string_lossy());
        let listener = listener.with_context(|| format!("cannot listen at {}", path.display()))?;
        let mut files = Self { dir: runtime, socket: path, listener: Some(listener), created: Vec::new(), _lock: lock };
        files.created.push(files.socket.clone());
        for name in [POINTER_FILE, PORT_FILE, TOKEN_FILE, PAGE_FILE] {
            // Left by a server that was killed.
            remove_if_present(&files.dir.join(name));
        }
        if !files.socket.starts_with(&files.dir) {
            let text = format!("{}\n", files.socket.display());
            files.write_file(POINTER_FILE, &text)?;
        }
        Ok(files)
    }

    /// Returns the listener only once, and `None` afterwards.
    pub(super) fn take_listener(&mut self) -> Option<UnixListener> {
        self.listener.take()
    }

    /// Makes a new token for the worker API, writes it to a file with mode 0600, and returns it.
    pub(super) fn write_token(&mut self) -> Result<String> {
        let token = random::hex().context("cannot generate an API token")?;
        self.write_file(TOKEN_FILE, &token)?;
        Ok(token)
    }

    /// Writes the port number to a file of the server and, if `session` is given, also to a file of that session.
    pub(super) fn write_port(&mut self, port: u16, session: Option<&SessionId>) -> Result<()> {
        let text = format!("{port}\n");
        if let Some(session) = session {
            self.write_file(&format!("worker-{session}.port"), &text)?;
        }
        self.write_file(PORT_FILE, &text)
    }

    pub(super) fn write_page(&mut self, page: &ShownPage) -> Result<()> {
        self.write_file(PAGE_FILE, &serde_json::to_string(page)?)
    }

    fn write_file(&mut self, name: &str, text: &str) -> Result<()> {
        let path = self.dir.join(name);
        files::write_atomic_nosync(&path, text.as_bytes(), 0o600)
            .with_context(|| format!("cannot write {}", path.display()))?;
        self.created.push(path);
        Ok(())
    }

    /// Removes all files that the server has created, so that no new client finds the server.
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

/// Removes a socket at which no process listens. Other files stay, and are an error.
fn remove_stale_socket(path: &Path) -> Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.with_context(|| format!("cannot inspect {}", path.display()))?,
    };
    if !found.file_type().is_socket() {
        return Err(Refusal::AlreadyExists { noun: "file", id: path.display().to_string() }.into());
    }
    if socket::connect_at(path).is_ok() {
        return Err(Refusal::ServeRunning { place: path.display().to_string() }.into());
    }
    fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))
}
