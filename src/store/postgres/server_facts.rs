//! Facts about a server and the store on it.

use super::{PostgresStore, TlsMode};
use crate::{
    env::Timestamp,
    store::{
        StoreError,
        schema::STATE,
        sql,
        store_facts::{self, ReadOnlyCause, StoreFacts, StorePlace},
    },
};

// The row of this connection may be read by every user.
const ENCRYPTION: &str = "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl";
const CONNECTIONS: &str = "SELECT coalesce(sum(numbackends), 0)::bigint, current_setting('max_connections')::bigint, \
     current_setting('server_version') FROM pg_stat_database";
// The session's own default: each transaction says itself whether it writes.
const STATE_NOW: &str = "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only')::boolean, \
     (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
const IS_THERE: &str = "SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'project')";

impl PostgresStore {
    /// Facts about the server and the store; the store may be missing or have another schema.
    pub fn facts(&self) -> Result<StoreFacts, StoreError> {
        self.check()?;
        let (connection, schema) = (self.connection(), &self.address().schema);
        let server = sql::first(connection, CONNECTIONS, &[], |row| {
            Ok((row.get::<i64>(0)?, row.get::<i64>(1)?, row.get::<String>(2)?))
        })?;
        let (connections, max_connections, engine_version) = server.unwrap_or_default();
        let version = format!("SELECT schema_version FROM \"{schema}\".project");
        let schema_version = match sql::first(connection, IS_THERE, &[schema], |row| row.get::<bool>(0))? {
            Some(true) => sql::first(connection, &version, &[], |row| row.get(0))?,
            _ => None,
        };
        let latency = store_facts::fastest(|| sql::execute(connection, store_facts::SELECT_ONE, &[]).map(drop))?;
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
                address: self.address().to_string(),
                encryption,
                is_verified: self.address().tls_mode() == TlsMode::Verified,
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
}
