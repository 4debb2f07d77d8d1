//! Hosts as rows: the machines that work on a store.

use super::sql::{self, Row, Statement};
use super::{ReadTx, StoreError};
use crate::env::Timestamp;

/// A machine that works, or worked, on the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its id; `None` when all records of the store are of an earlier version.
    pub id: Option<String>,
    /// Its name and pid namespace, for people.
    pub name: String,
    /// The root of its checkout; `None` in a store in a file, which has one checkout.
    pub root: Option<String>,
    /// The version of Fairway that wrote last; `None` in a store in a file.
    pub version: Option<String>,
    /// When it wrote last; in a store in a file, when its newest session or job was started or last reported.
    pub last_seen: Timestamp,
    /// The time at the server when the row was read; `None` for a store in a file.
    pub read_at: Option<Timestamp>,
}

/// A store in a file has no table of hosts: the records of sessions name them.
const ALL: Statement<'_> = Statement {
    sqlite: "SELECT host_id, max(host), NULL, NULL, max(coalesce(last_heartbeat_at, started_at)) AS seen, NULL \
             FROM agent_sessions GROUP BY coalesce(host_id, host) ORDER BY seen DESC, host_id",
    postgres: "SELECT id, name, root, version, last_seen, (extract(epoch FROM clock_timestamp()) * 1000)::bigint \
               FROM hosts ORDER BY last_seen DESC, id",
};
/// Live sessions, active jobs and lanes with a worktree, by host.
const USE: &str = "SELECT host_id, host, CAST(sum(sessions) AS BIGINT), CAST(sum(jobs) AS BIGINT), \
     CAST(sum(lanes) AS BIGINT), max(seen) FROM (\
     SELECT host_id, host, 1 AS sessions, 0 AS jobs, 0 AS lanes, coalesce(last_heartbeat_at, started_at) AS seen \
     FROM agent_sessions INDEXED BY agent_sessions_live WHERE ended_at IS NULL \
     UNION ALL SELECT host_id, host, 0, 1, 0, updated_at \
     FROM exec_runs INDEXED BY exec_runs_active WHERE status IN ('starting', 'running') \
     UNION ALL SELECT host_id, host, 0, 0, 1, NULL FROM lanes WHERE host IS NOT NULL AND removed_at IS NULL\
     ) AS uses GROUP BY host_id, host ORDER BY host_id, host";
const ONE: Statement<'_> = Statement {
    sqlite: "SELECT host_id, max(host), NULL, NULL, max(coalesce(last_heartbeat_at, started_at)), NULL \
             FROM agent_sessions WHERE host_id = $1 GROUP BY host_id",
    postgres: "SELECT id, name, root, version, last_seen, (extract(epoch FROM clock_timestamp()) * 1000)::bigint \
               FROM hosts WHERE id = $1",
};

/// A store in a file is used by one machine.
const OTHER_HOLDER: Statement<'_> = Statement {
    sqlite: "SELECT host, host FROM agent_sessions WHERE 0 AND id = $1 AND boot_id = $2",
    postgres: "SELECT name, root FROM hosts WHERE id = $1 AND boot_id <> $2 AND earlier_boots::jsonb @> to_jsonb($2::text)",
};

/// The sessions, jobs and lanes of a store that are on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostUse {
    /// The host's id; `None` in records of an earlier version.
    pub id: Option<String>,
    pub name: String,
    pub sessions: i64,
    /// The number of starting and running jobs.
    pub jobs: i64,
    /// The number of lanes with a worktree there.
    pub lanes: i64,
    /// When one of the sessions or jobs was heard of last.
    pub last_seen: Option<Timestamp>,
}

fn read(row: &Row<'_>) -> Result<Host, StoreError> {
    Ok(Host {
        id: row.get(0)?,
        name: row.get(1)?,
        root: row.get(2)?,
        version: row.get(3)?,
        last_seen: row.get(4)?,
        read_at: row.get(5)?,
    })
}

/// Every host; the one that was seen most recently comes first.
pub fn all(tx: &ReadTx<'_>) -> Result<Vec<Host>, StoreError> {
    sql::rows(tx.conn(), ALL, &[], read)
}

/// The numbers of live sessions, active jobs and lanes with a worktree on each host that has any. A host that was renamed may be
/// listed several times.
pub fn uses(tx: &ReadTx<'_>) -> Result<Vec<HostUse>, StoreError> {
    sql::rows(tx.conn(), USE, &[], |row| {
        Ok(HostUse {
            id: row.get(0)?,
            name: row.get(1)?,
            sessions: row.get(2)?,
            jobs: row.get(3)?,
            lanes: row.get(4)?,
            last_seen: row.get(5)?,
        })
    })
}

pub fn find(tx: &ReadTx<'_>, id: &str) -> Result<Option<Host>, StoreError> {
    sql::first(tx.conn(), ONE, &[&id], read)
}

/// The name and the root of another machine that uses the host id `id` too: it has written to the store since this machine did in
/// the boot `boot_id`. Returns `None` when there is none.
pub fn other_holder(tx: &ReadTx<'_>, id: &str, boot_id: &str) -> Result<Option<(String, String)>, StoreError> {
    sql::first(tx.conn(), OTHER_HOLDER, &[&id, &boot_id], |row| Ok((row.get(0)?, row.get(1)?)))
}
