//! Why a request to the server failed.

use std::io;

use thiserror::Error;

/// Why there is no response.
#[derive(Debug, Error)]
pub enum ApiClientError {
    /// The server did not respond in time.
    #[error("the server did not respond in time")]
    TimedOut,
    /// The connection broke.
    #[error("the connection to the server was lost: {0}")]
    Disconnected(io::Error),
    /// The response is not valid HTTP.
    #[error("invalid response from the server: {0}")]
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
