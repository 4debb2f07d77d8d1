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
use crate::os::{socket, user};

/// A connection to the server of a project.
#[derive(Debug)]
pub struct ApiClient {
    stream: UnixStream,
    timeout: Duration,
}

impl ApiClient {
    /// Connects to the server of the project with this runtime directory; each request may take as long as `limit`. `None` when
    /// nobody serves there.
    #[must_use]
    pub fn connect(runtime: &Path, limit: Duration) -> Option<Self> {
        let stream = socket::connect_at(&socket_path::find_listening(runtime)?).ok()?;
        // A socket that another user has bound would be told what is nobody else's affair.
        if socket::peer_uid(&stream).ok()? != user::uid() {
            return None;
        }
        Some(Self { stream, timeout: limit })
    }

    /// Posts a JSON document.
    ///
    /// # Errors
    /// When there is no whole answer in time. An answer that says no is one.
    pub fn post(&mut self, route: &str, body: &[u8]) -> Result<HttpResponse, ApiClientError> {
        let head = format!(
            "POST {route} HTTP/1.1\r\nhost: fairway\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.send([head.as_bytes(), body].concat())
    }

    /// Asks for a document; not for a stream, which has no end.
    ///
    /// # Errors
    /// As for [`Link::post`].
    pub fn get(&mut self, route: &str) -> Result<HttpResponse, ApiClientError> {
        self.send(format!("GET {route} HTTP/1.1\r\nhost: fairway\r\n\r\n").into_bytes())
    }

    fn send(&mut self, request: Vec<u8>) -> Result<HttpResponse, ApiClientError> {
        let deadline = Instant::now() + self.timeout;
        self.stream.set_write_timeout(Some(remaining(deadline)?))?;
        self.stream.write_all(&request)?;
        http::read_response(&mut self.stream, |stream| Ok(stream.set_read_timeout(Some(remaining(deadline)?))?))
    }
}

/// What is left until a deadline; never nothing, which would mean for ever.
fn remaining(deadline: Instant) -> Result<Duration, ApiClientError> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ApiClientError::TimedOut) } else { Ok(left) }
}
