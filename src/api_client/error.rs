//! Why a request to the server failed.

use std::io;

use thiserror::Error;

/// Why a server did not answer.
#[derive(Debug, Error)]
pub enum ApiClientError {
    /// It did not answer in time.
    #[error("the server did not answer in time")]
    TimedOut,
    /// The connection broke.
    #[error("the connection to the server broke: {0}")]
    Disconnected(io::Error),
    /// What it said is no answer.
    #[error("the server's answer cannot be read: {0}")]
    InvalidResponse(&'static str),
}

impl From<io::Error> for ApiClientError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::TimedOut,
            _ => Self::Disconnected(error),
        }
    }
}
