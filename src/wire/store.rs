//! The store as JSON.

use std::path::PathBuf;

use serde::Serialize;

/// The store: its engine, place, versions and size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoreView {
    /// `sqlite` or `postgres`.
    pub engine: &'static str,
    /// The address of the server, without a password; null for a file.
    pub address: Option<String>,
    /// The file; null on a server.
    pub path: Option<PathBuf>,
    /// The length of the file in bytes; null on a server, and while there is no file.
    pub bytes: Option<u64>,
    /// The length of its log in bytes; null as above.
    pub wal_bytes: Option<u64>,
    /// The version of SQLite, or of the server.
    pub engine_version: String,
    /// The version of the schema; null while there is no store.
    pub schema_version: Option<i64>,
    /// The version of the schema that this program needs.
    pub needed_schema: i64,
    /// The protocol that encrypts the connection; null for a file and for a connection that is not encrypted.
    pub encryption: Option<String>,
    /// The number of the server's open connections; null for a file.
    pub connections: Option<i64>,
    /// The number of connections that the server allows; null for a file.
    pub max_connections: Option<i64>,
    /// The time of one exchange, in milliseconds.
    pub latency_ms: f64,
}
