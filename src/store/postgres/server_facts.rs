//! Facts about a server and the store on it.

use super::{PostgresStore, TlsMode};
use crate::store::{
    StoreError,
    schema::STATE,
    sql,
    store_facts::{self, StoreFacts, StorePlace},
};

// The row of this connection may be read by every user.
const ENCRYPTION: &str = "SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl";
const CONNECTIONS: &str = "SELECT coalesce(sum(numbackends), 0)::bigint, current_setting('max_connections')::bigint, \
     current_setting('server_version') FROM pg_stat_database";
const IS_THERE: &str = "SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'project')";

impl PostgresStore {
    /// Facts about the server and the store; the store may be missing or have another schema.
    ///
    /// # Errors
    /// As the server fails.
    pub fn facts(&self) -> Result<StoreFacts, StoreError> {
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
        Ok(StoreFacts {
            place: StorePlace::Server {
                address: self.address().to_string(),
                encryption: sql::first(connection, ENCRYPTION, &[], |row| row.get(0))?,
                is_verified: self.address().tls_mode() == TlsMode::Verified,
                connections,
                max_connections,
            },
            engine_version,
            schema_version,
            needed_schema: STATE.newest,
            latency: store_facts::fastest(|| sql::execute(connection, store_facts::SELECT_ONE, &[]).map(drop))?,
        })
    }
}
