//! Facts about the store as a whole: its engine, place, versions and size.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[cfg(feature = "postgres")]
use super::postgres::PostgresStore;
use super::schema::STATE;
use super::sqlite_store::SqliteStore;
use super::{Store, StoreError, open};
#[cfg(feature = "postgres")]
use super::{TlsMode, sql};
use crate::env::Timestamp;

/// The measured exchange.
const SELECT_ONE: &str = "SELECT 1";
/// The number of measured exchanges; the fastest counts.
const MEASUREMENTS: usize = 3;

// The row of this connection may be read by every user.
#[cfg(feature = "postgres")]
const ENCRYPTION: &str = "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl";
#[cfg(feature = "postgres")]
const CONNECTIONS: &str = "SELECT coalesce(sum(numbackends), 0)::bigint, current_setting('max_connections')::bigint, \
     current_setting('server_version') FROM pg_stat_database";
// The session's own default: each transaction says itself whether it writes.
#[cfg(feature = "postgres")]
const STATE_NOW: &str = "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only')::boolean, \
     (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
#[cfg(feature = "postgres")]
const IS_THERE: &str = "SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'project')";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorePlace {
    File {
        /// Its path; `None` when it is not there yet.
        path: Option<PathBuf>,
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
        return of_server(server);
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

#[cfg(feature = "postgres")]
fn of_server(server: &PostgresStore) -> Result<StoreFacts, StoreError> {
    server.check()?;
    let (connection, schema) = (server.connection(), &server.address().schema);
    let found = sql::first(connection, CONNECTIONS, &[], |row| {
        Ok((row.get::<i64>(0)?, row.get::<i64>(1)?, row.get::<String>(2)?))
    })?;
    let (connections, max_connections, engine_version) = found.unwrap_or_default();
    let version = format!("SELECT schema_version FROM \"{schema}\".project");
    let schema_version = match sql::first(connection, IS_THERE, &[schema], |row| row.get::<bool>(0))? {
        Some(true) => sql::first(connection, &version, &[], |row| row.get(0))?,
        _ => None,
    };
    let latency = fastest(|| sql::execute(connection, SELECT_ONE, &[]).map(drop))?;
    let encryption = sql::first(connection, ENCRYPTION, &[], |row| row.get(0))?;
    // Last: the caller compares the time with its own.
    let state = sql::first(connection, STATE_NOW, &[], |row| {
        Ok((row.get::<bool>(0)?, row.get::<bool>(1)?, row.get::<i64>(2)?))
    })?;
    let (is_replica, is_read_only, millis) = state.unwrap_or_default();
    let read_only = match (is_replica, is_read_only) {
        (true, _) => Some(ReadOnlyCause::Replica),
        (false, true) => Some(ReadOnlyCause::Setting),
        (false, false) => None,
    };
    Ok(StoreFacts {
        place: StorePlace::Server {
            address: server.address().to_string(),
            encryption,
            is_verified: server.address().tls_mode() == TlsMode::Verified,
            connections,
            max_connections,
            read_only,
            time: Timestamp::from_millis(millis),
        },
        engine_version,
        schema_version,
        needed_schema: STATE.newest,
        latency,
    })
}

/// The time of the fastest of some exchanges.
fn fastest(mut exchange: impl FnMut() -> Result<(), StoreError>) -> Result<Duration, StoreError> {
    let mut fastest = Duration::MAX;
    for _ in 0..MEASUREMENTS {
        let start = Instant::now();
        exchange()?;
        fastest = fastest.min(start.elapsed());
    }
    Ok(fastest)
}
