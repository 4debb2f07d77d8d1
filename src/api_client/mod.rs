//! The client of our own socket: small, blocking, one request after the other on one connection. Whoever uses it can do
//! without a server.

mod http;
pub mod socket_path;

use std::{
    io::{self, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::{Duration, Instant},
};

use thiserror::Error;

pub use http::Reply;

use crate::os::{socket, user};

/// Why a server did not answer.
#[derive(Debug, Error)]
pub enum LinkError {
    /// It did not answer in time.
    #[error("the server did not answer in time")]
    Late,
    /// The connection broke.
    #[error("the connection to the server broke: {0}")]
    Broken(io::Error),
    /// What it said is no answer.
    #[error("the server's answer cannot be read: {0}")]
    Garbled(&'static str),
}

impl From<io::Error> for LinkError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Late,
            _ => Self::Broken(error),
        }
    }
}

/// A connection to the server of a project.
#[derive(Debug)]
pub struct Link {
    stream: UnixStream,
    limit: Duration,
}

impl Link {
    /// Connects to the server of the project with this runtime folder; each request may take as long as `limit`. `None` when
    /// nobody serves there.
    #[must_use]
    pub fn connect(runtime: &Path, limit: Duration) -> Option<Self> {
        let stream = socket::connect_at(&socket_path::found(runtime)?).ok()?;
        // A socket that another user has bound would be told what is nobody else's affair.
        if socket::peer_uid(&stream).ok()? != user::uid() {
            return None;
        }
        Some(Self { stream, limit })
    }

    /// Posts a JSON document.
    ///
    /// # Errors
    /// When there is no whole answer in time. An answer that says no is one.
    pub fn post(&mut self, route: &str, body: &[u8]) -> Result<Reply, LinkError> {
        let head = format!(
            "POST {route} HTTP/1.1\r\nhost: fairway\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.ask([head.as_bytes(), body].concat())
    }

    /// Asks for a document; not for a stream, which has no end.
    ///
    /// # Errors
    /// As for [`Link::post`].
    pub fn get(&mut self, route: &str) -> Result<Reply, LinkError> {
        self.ask(format!("GET {route} HTTP/1.1\r\nhost: fairway\r\n\r\n").into_bytes())
    }

    fn ask(&mut self, request: Vec<u8>) -> Result<Reply, LinkError> {
        let deadline = Instant::now() + self.limit;
        self.stream.set_write_timeout(Some(left(deadline)?))?;
        self.stream.write_all(&request)?;
        http::read(&mut self.stream, |stream| Ok(stream.set_read_timeout(Some(left(deadline)?))?))
    }
}

/// What is left until a deadline; never nothing, which would mean for ever.
fn left(deadline: Instant) -> Result<Duration, LinkError> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(LinkError::Late) } else { Ok(left) }
}

#[cfg(test)]
mod tests;
