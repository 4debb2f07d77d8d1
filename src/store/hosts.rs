//! Hosts as rows: the machines that work on a store.

use super::{
    ReadTx, StoreError,
    sql::{self, Row, Statement},
};
use crate::env::Timestamp;

/// A machine that works, or worked, on the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its id; `None` in a store whose records are all of an earlier version.
    pub id: Option<String>,
    /// Its name and pid namespace, for people.
    pub name: String,
    /// The root of its checkout; `None` in a store in a file, which has one checkout.
    pub root: Option<String>,
    /// The version of Fairway that wrote last; `None` in a store in a file.
    pub version: Option<String>,
    /// When it wrote last; in a store in a file, when its newest session or job was started or last reported.
    pub last_seen: Timestamp,
}

/// A store in a file has no table of hosts: the records of sessions name them.
const ALL: Statement<'_> = Statement {
    sqlite: "SELECT host_id, max(host), NULL, NULL, max(coalesce(last_heartbeat_at, started_at)) AS seen \
             FROM agent_sessions GROUP BY coalesce(host_id, host) ORDER BY seen DESC, host_id",
    postgres: "SELECT id, name, root, version, last_seen FROM hosts ORDER BY last_seen DESC, id",
};
const ONE: Statement<'_> = Statement {
    sqlite: "SELECT host_id, max(host), NULL, NULL, max(coalesce(last_heartbeat_at, started_at)) \
             FROM agent_sessions WHERE host_id = $1 GROUP BY host_id",
    postgres: "SELECT id, name, root, version, last_seen FROM hosts WHERE id = $1",
};

fn read(row: &Row<'_>) -> Result<Host, StoreError> {
    Ok(Host {
        id: row.get(0)?,
        name: row.get(1)?,
        root: row.get(2)?,
        version: row.get(3)?,
        last_seen: Timestamp::from_millis(row.get(4)?),
    })
}

/// Every host, the one that was seen last first.
///
/// # Errors
/// As the store fails.
pub fn all(tx: &ReadTx<'_>) -> Result<Vec<Host>, StoreError> {
    sql::rows(tx.conn(), ALL, &[], read)
}

/// The host of this id.
///
/// # Errors
/// As the store fails.
pub fn find(tx: &ReadTx<'_>, id: &str) -> Result<Option<Host>, StoreError> {
    sql::first(tx.conn(), ONE, &[&id], read)
}
