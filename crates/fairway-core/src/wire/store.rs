//! The store and its snapshots as documents.

use std::path::PathBuf;

use serde::Serialize;

/// The store: its engine, place, versions and size.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
    /// Whether the server's certificate is verified; null for a file and for a connection that is not encrypted.
    pub certificate_verified: Option<bool>,
    /// The number of the server's open connections; null for a file.
    pub connections: Option<i64>,
    /// The number of connections that the server allows; null for a file.
    pub max_connections: Option<i64>,
    /// The time of one exchange, in milliseconds.
    pub latency_ms: f64,
}

/// The answer to `store migrate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StoreMigrationView {
    /// The version of the schema now.
    pub schema_version: i64,
    /// The version before; null while there was no store.
    pub before: Option<i64>,
}

/// The answer to `store restored`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StoreRestoredView {
    /// The epoch of every claim now; older epochs are invalid.
    pub epoch: i64,
    /// The number of the newest event.
    pub event: i64,
}

/// The answer to `store copy`.
#[cfg(any(feature = "postgres", test))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StoreCopyView {
    /// The store that was left: its file, or its address without a password.
    pub from: String,
    /// The store that is used now: its file, or its address without a password.
    pub to: String,
    /// The number of tasks.
    pub tasks: i64,
    /// The number of rows of all tables.
    pub rows: i64,
    /// The epoch of every claim now; older epochs are invalid.
    pub epoch: i64,
    /// The name under which the old store is kept.
    pub left: String,
    /// The configuration files that were changed.
    pub changed: Vec<PathBuf>,
}

/// A snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SnapshotView {
    /// Its file, which `fairway restore FILE` takes too.
    pub file: PathBuf,
    /// When it was made.
    pub made_at: String,
    /// The newest event in it.
    pub event: i64,
    /// Its length in bytes.
    pub bytes: u64,
}
