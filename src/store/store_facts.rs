//! Facts about the store as a whole: its engine, place, versions and size.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use super::{Store, StoreError, open, schema::STATE, sqlite_store::SqliteStore};
use crate::env::Timestamp;

/// The measured exchange.
pub(super) const SELECT_ONE: &str = "SELECT 1";
/// The number of measured exchanges; the fastest counts.
const MEASUREMENTS: usize = 3;

/// Where a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorePlace {
    File {
        /// Its path; `None` when it is not there yet.
        path: Option<PathBuf>,
        /// Its length in bytes.
        bytes: u64,
        /// The length of its log in bytes.
        wal_bytes: u64,
    },
    Server {
        /// The address without a password.
        address: String,
        /// The protocol that encrypts the connection; `None` when it is not encrypted.
        encryption: Option<String>,
        /// Whether the server's certificate is verified.
        is_verified: bool,
        /// The number of the server's open connections, this one included.
        connections: i64,
        /// The number of connections that the server allows.
        max_connections: i64,
        /// Why the server takes no writes; `None` when it does.
        read_only: Option<ReadOnlyCause>,
        /// The server's time.
        time: Timestamp,
    },
}

/// Why a server takes no writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOnlyCause {
    /// It follows another server.
    Replica,
    /// A setting of the server, the database or the user says so.
    Setting,
}

/// Facts about a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFacts {
    /// Where it is.
    pub place: StorePlace,
    /// The version of SQLite, or of the server.
    pub engine_version: String,
    /// The version of its schema; `None` while there is no store.
    pub schema_version: Option<i64>,
    /// The version of the schema that this program needs.
    pub needed_schema: i64,
    /// The time of one exchange with it.
    pub latency: Duration,
}

/// Facts about an open store. A server's store may be missing, or have another schema.
pub fn facts(store: &Store) -> Result<StoreFacts, StoreError> {
    #[cfg(feature = "postgres")]
    if let Some(server) = store.server() {
        return server.facts();
    }
    of_file(store.file()?)
}

fn of_file(file: &SqliteStore) -> Result<StoreFacts, StoreError> {
    let path = file.path();
    let bytes = path.and_then(|path| fs::metadata(path).ok()).map_or(0, |found| found.len());
    let latency = fastest(|| Ok(file.conn.query_row(SELECT_ONE, [], |_| Ok(()))?))?;
    let schema_version = path.map(|path| open::schema_version(&file.conn, path, &STATE)).transpose()?;
    Ok(StoreFacts {
        place: StorePlace::File {
            path: path.map(PathBuf::from),
            bytes,
            wal_bytes: path.and_then(open::wal_size).unwrap_or(0),
        },
        engine_version: rusqlite::version().to_owned(),
        schema_version,
        needed_schema: STATE.newest,
        latency,
    })
}

/// The time of the fastest of some exchanges.
pub(super) fn fastest(mut exchange: impl FnMut() -> Result<(), StoreError>) -> Result<Duration, StoreError> {
    let mut fastest = Duration::MAX;
    for _ in 0..MEASUREMENTS {
        let start = Instant::now();
        exchange()?;
        fastest = fastest.min(start.elapsed());
    }
    Ok(fastest)
}
