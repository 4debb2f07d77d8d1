//! A blocking connection to the server's socket.

use std::{
    io::Write as _,
    os::unix::net::UnixStream,
    path::Path,
    time::{Duration, Instant},
};

use super::{
    error::ApiClientError,
    http::{self, HttpResponse},
    socket_path,
};
use crate::{
    env::vars,
    os::{lock, process, socket, user},
};

/// A connection to the server of a project.
#[derive(Debug)]
pub struct ApiClient {
    stream: UnixStream,
    timeout: Duration,
}

impl ApiClient {
    /// Connects to the server of the project with this runtime directory. Each request may take `limit`. `None` when no server
    /// listens there.
    pub fn connect(runtime: &Path, limit: Duration) -> Option<Self> {
        let stream = socket::connect_at(&socket_path::find_listening(runtime)?).ok()?;
        // A socket that another user has bound must not get this user's requests.
        if socket::peer_uid(&stream).ok()? != user::uid() {
            return None;
        }
        Some(Self { stream, timeout: limit })
    }

    /// Whether the server is a process of this very program that was started outside of sessions, without libraries of others, and
    /// holds the lock of servers in this runtime directory. False where this is unknown.
    pub fn is_own_server(&self, runtime: &Path) -> bool {
        /// The variables that make another program of the same file, or say that an agent started it.
        const SUSPECT: &[&str] =
            &["LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", vars::FAIRWAY_SESSION_ID, vars::FAIRWAY_RUN_ID];
        let Ok(pid) = socket::peer_pid(&self.stream) else { return false };
        process::is_same_program(pid)
            && lock::is_held_by(&runtime.join(socket_path::LOCK_FILE), pid)
            && process::has_variable(pid, SUSPECT) == Some(false)
    }

    /// Posts a JSON document.
    pub fn post(&mut self, route: &str, body: &[u8]) -> Result<HttpResponse, ApiClientError> {
        let head = format!(
            "POST {route} HTTP/1.1\r\nhost: fairway\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let _span = tracing::debug_span!("server", method = "POST", route).entered();
        self.send([head.as_bytes(), body].concat())
    }

    /// Gets a JSON document. Not for event streams, which do not end.
    pub fn get(&mut self, route: &str) -> Result<HttpResponse, ApiClientError> {
        let _span = tracing::debug_span!("server", method = "GET", route).entered();
        self.send(format!("GET {route} HTTP/1.1\r\nhost: fairway\r\n\r\n").into_bytes())
    }

    fn send(&mut self, request: Vec<u8>) -> Result<HttpResponse, ApiClientError> {
        let deadline = Instant::now() + self.timeout;
        self.stream.set_write_timeout(Some(remaining(deadline)?))?;
        self.stream.write_all(&request)?;
        http::read_response(&mut self.stream, |stream| Ok(stream.set_read_timeout(Some(remaining(deadline)?))?))
    }
}

/// The time until a deadline. Never zero: a socket timeout of zero means no timeout.
fn remaining(deadline: Instant) -> Result<Duration, ApiClientError> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ApiClientError::TimedOut) } else { Ok(left) }
}
