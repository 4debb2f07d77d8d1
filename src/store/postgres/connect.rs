//! Connecting to a server, and what a connection must be fit for.

use postgres::NoTls;

use super::address::StoreAddress;
use crate::store::{StoreError, sql::PostgresConnection};

/// The oldest server: it has `client_connection_check_interval`.
const OLDEST_SERVER: (i64, &str) = (140_000, "14");
const FACTS: &str = "SELECT current_setting('server_version_num'), current_setting('server_version'), \
     current_setting('server_encoding'), current_setting('synchronous_commit')";

/// Opens a connection and checks the server.
pub(super) fn connect(address: &StoreAddress) -> Result<PostgresConnection, StoreError> {
    let connection = PostgresConnection::new(address.config.connect(NoTls)?);
    let facts = connection.batch(FACTS)?;
    let fact = |column| facts.first().and_then(|row| row.get(column)).unwrap_or_default();
    if fact(0).parse::<i64>().unwrap_or_default() < OLDEST_SERVER.0 {
        let why = format!("the server is PostgreSQL {}; {} or newer is needed", fact(1), OLDEST_SERVER.1);
        return Err(StoreError::Server { why });
    }
    if fact(2) != "UTF8" {
        return Err(StoreError::Server { why: format!("the database's encoding is {}, not UTF8", fact(2)) });
    }
    // A commit that was acknowledged is kept. A stronger setting of the server stays.
    if fact(3) == "off" {
        connection.batch("SET synchronous_commit = on")?;
    }
    Ok(connection)
}
