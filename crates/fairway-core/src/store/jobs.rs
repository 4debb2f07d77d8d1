//! Jobs as rows of `exec_runs`. Active and queued jobs are found through partial indexes, so the cost does not depend on the
//! number of finished jobs.

use std::collections::BTreeSet;

use super::sql::{self, Row, Statement};
use super::{ReadTx, StoreError, WriteTx};
use crate::domain::RoutingKey;
use crate::domain::job::{Job, JobId, JobResult, JobStatus, TerminalSize};
use crate::env::Timestamp;
use crate::os::host::HostIdentity;

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT r.seq, r.id, r.session_id, r.queue, r.status, r.command, r.cwd, r.background, r.pty_rows, ",
            "r.pty_cols, r.timeout_ms, r.max_output_bytes, r.recovery, r.attempt, r.host, r.boot_id, r.supervisor_pid, ",
            "r.supervisor_started, r.pid, r.pid_started, r.exit_code, r.signal, r.output_bytes, r.truncated, ",
            "r.error_message, r.actor, r.queued_at, r.started_at, r.finished_at, r.updated_at, r.host_id FROM exec_runs r ",
            $rest
        )
    };
}

const ONE: &str = select!("WHERE r.id = $1");
const BY_PREFIX: &str = select!("WHERE r.id >= $1 AND r.id < $1 || 'g' ORDER BY r.seq DESC LIMIT 8");
/// `g` sorts after every hexadecimal digit.
const BY_SHORT_ID: Statement<'_> = Statement {
    sqlite: select!(
        "INDEXED BY exec_runs_short WHERE substr(r.id, -8) >= $1 AND substr(r.id, -8) < $1 || 'g' \
         AND r.id LIKE '%' || $2 ORDER BY r.seq DESC LIMIT 8"
    ),
    postgres: select!(
        "WHERE right(r.id, 8) >= $1 AND right(r.id, 8) < $1 || 'g' AND r.id LIKE '%' || $2 ORDER BY r.seq DESC LIMIT 8"
    ),
};
const ACTIVE: &str = select!("INDEXED BY exec_runs_active WHERE r.status IN ('starting', 'running') ORDER BY r.seq");
const NEWEST: &str = select!("ORDER BY r.seq DESC LIMIT $1");
const OF_SESSION: &str = select!(
    "INDEXED BY exec_runs_session WHERE r.session_id IS NOT NULL AND r.session_id = $1 ORDER BY r.seq DESC LIMIT $2"
);
const QUEUED: &str = select!("INDEXED BY exec_runs_queued WHERE r.status = 'queued' ORDER BY r.seq LIMIT $1");
/// The first queued job whose queue has no active job. The busy queues are collected once per query.
const NEXT: &str = select!(
    "INDEXED BY exec_runs_queued WHERE r.status = 'queued' \
     AND CASE WHEN r.host_id IS NULL THEN r.host = $1 ELSE r.host_id = $2 END AND (r.queue IS NULL OR r.queue NOT IN (\
     SELECT a.queue FROM exec_runs a INDEXED BY exec_runs_active WHERE a.status IN ('starting', 'running') \
     AND a.queue IS NOT NULL)) ORDER BY r.seq LIMIT 1"
);
const FIRST_QUEUED: &str = select!(
    "INDEXED BY exec_runs_queued WHERE r.status = 'queued' \
     AND CASE WHEN r.host_id IS NULL THEN r.host = $1 ELSE r.host_id = $2 END ORDER BY r.seq LIMIT 1"
);
const COUNT_ACTIVE: &str = "SELECT count(*) FROM exec_runs INDEXED BY exec_runs_active \
     WHERE status IN ('starting', 'running') AND CASE WHEN host_id IS NULL THEN host = $1 ELSE host_id = $2 END";
const FINISHED_SIZES: &str = "SELECT id, finished_at, CASE WHEN output_bytes < max_output_bytes THEN output_bytes \
     ELSE max_output_bytes END FROM exec_runs INDEXED BY exec_runs_final WHERE finished_at IS NOT NULL ORDER BY finished_at, seq";
const COUNT_FINISHED: &str = "SELECT count(*) FROM exec_runs INDEXED BY exec_runs_final WHERE finished_at IS NOT NULL";
const FIRST_FINISHED: &str = "SELECT finished_at FROM exec_runs INDEXED BY exec_runs_final WHERE finished_at IS NOT NULL \
     ORDER BY finished_at LIMIT 1";
const ALL: &str = "SELECT id, status FROM exec_runs";
const ELSEWHERE: &str = "SELECT id FROM exec_runs \
     WHERE CASE WHEN host_id IS NULL THEN host <> $1 ELSE host_id <> coalesce($2, '') END";
const INSERT: &str = "INSERT INTO exec_runs (id, session_id, queue, status, command, cwd, background, pty_rows, \
     pty_cols, timeout_ms, max_output_bytes, recovery, attempt, host, boot_id, actor, queued_at, updated_at, \
     host_id) VALUES ($1, $2, $3, 'queued', $4, $5, $6, $7, $8, $9, $10, $11, 1, $12, $13, $14, $15, $15, $16) RETURNING seq";
const MARK_STARTING: &str = "UPDATE exec_runs SET status = 'starting', host = $2, host_id = $7, boot_id = $3, supervisor_pid = $4, \
     supervisor_started = $5, pid = NULL, pid_started = NULL, started_at = NULL, updated_at = $6 \
     WHERE id = $1 AND status = 'queued'";
const MARK_RUNNING: &str = "UPDATE exec_runs SET status = 'running', pid = $2, pid_started = $3, supervisor_pid = $4, \
     supervisor_started = $5, started_at = $6, updated_at = $6 WHERE id = $1 AND status = 'starting'";
const REQUEUE: &str = "UPDATE exec_runs SET status = 'queued', attempt = $2, supervisor_pid = NULL, supervisor_started = NULL, \
     pid = NULL, pid_started = NULL, started_at = NULL, updated_at = $3 \
     WHERE id = $1 AND status IN ('starting', 'running')";
const FINISH: &str = "UPDATE exec_runs SET status = $2, exit_code = $3, signal = $4, error_message = $5, \
     output_bytes = $6, truncated = $7, supervisor_pid = NULL, supervisor_started = NULL, finished_at = $8, updated_at = $8 \
     WHERE id = $1 AND finished_at IS NULL";
const REMOVE: &str = "DELETE FROM exec_runs WHERE id = $1 AND finished_at IS NOT NULL";

fn read(row: &Row<'_>) -> Result<Job, StoreError> {
    let size = match (row.get::<Option<u16>>(8)?, row.get::<Option<u16>>(9)?) {
        (Some(rows), Some(cols)) => Some(TerminalSize { rows, cols }),
        _ => None,
    };
    Ok(Job {
        seq: row.get(0)?,
        id: row.get(1)?,
        session: row.get(2)?,
        queue: row.get(3)?,
        status: row.get(4)?,
        command: row.get(5)?,
        cwd: row.get(6)?,
        background: row.get(7)?,
        pty: size,
        timeout_ms: row.get(10)?,
        max_output_bytes: row.get(11)?,
        recovery: row.get(12)?,
        attempt: row.get(13)?,
        host: row.get(14)?,
        boot_id: row.get(15)?,
        supervisor_pid: row.get(16)?,
        supervisor_started: row.get(17)?,
        pid: row.get(18)?,
        pid_started: row.get(19)?,
        exit_code: row.get(20)?,
        signal: row.get(21)?,
        output_bytes: row.get(22)?,
        truncated: row.get(23)?,
        error_message: row.get(24)?,
        actor: row.get(25)?,
        queued_at: row.get(26)?,
        started_at: row.get(27)?,
        finished_at: row.get(28)?,
        updated_at: row.get(29)?,
        host_id: row.get(30)?,
    })
}

pub fn find(tx: &ReadTx<'_>, id: &JobId) -> Result<Option<Job>, StoreError> {
    sql::first(tx.conn(), ONE, &[&id.to_string()], read)
}

/// The jobs whose last eight digits begin with `digits` and whose ids end in `end`, newest first, at most eight. Both texts may
/// contain digits and hyphens only.
pub fn by_short_id(tx: &ReadTx<'_>, digits: &str, end: &str) -> Result<Vec<Job>, StoreError> {
    sql::rows(tx.conn(), BY_SHORT_ID, &[&digits, &end], read)
}

/// The newest jobs whose ids begin with `prefix`, which may contain digits and hyphens only; at most eight.
pub fn by_prefix(tx: &ReadTx<'_>, prefix: &str) -> Result<Vec<Job>, StoreError> {
    sql::rows(tx.conn(), BY_PREFIX, &[&prefix], read)
}

/// Every starting or running job, on any host, in the order in which they were spawned.
pub fn active(tx: &ReadTx<'_>) -> Result<Vec<Job>, StoreError> {
    sql::rows(tx.conn(), ACTIVE, &[], read)
}

/// The number of starting and running jobs on a host.
pub fn count_active(tx: &ReadTx<'_>, host: &HostIdentity) -> Result<i64, StoreError> {
    Ok(sql::first(tx.conn(), COUNT_ACTIVE, &[&host.name, &host.id], |row| row.get(0))?.unwrap_or_default())
}

/// The oldest queued jobs of all hosts, in the order in which they were spawned, at most `limit`.
pub fn queued(tx: &ReadTx<'_>, limit: i64) -> Result<Vec<Job>, StoreError> {
    sql::rows(tx.conn(), QUEUED, &[&limit], read)
}

/// The queued job of a host that was spawned first; `None` when none is queued.
pub fn first_queued(tx: &ReadTx<'_>, host: &HostIdentity) -> Result<Option<Job>, StoreError> {
    sql::first(tx.conn(), FIRST_QUEUED, &[&host.name, &host.id], read)
}

/// The oldest job of a host that may start: a queued job that names no queue, or whose queue has no active job on any host.
pub fn next_startable(tx: &ReadTx<'_>, host: &HostIdentity) -> Result<Option<Job>, StoreError> {
    sql::first(tx.conn(), NEXT, &[&host.name, &host.id], read)
}

/// The newest jobs, newest first, at most `limit`; only those of `session` if it is given.
pub fn newest(tx: &ReadTx<'_>, session: Option<&RoutingKey>, limit: i64) -> Result<Vec<Job>, StoreError> {
    match session {
        Some(session) => sql::rows(tx.conn(), OF_SESSION, &[&session, &limit], read),
        None => sql::rows(tx.conn(), NEWEST, &[&limit], read),
    }
}

/// Every final job with its end time and an upper bound of the size of its stored output in bytes, by end time.
pub fn finished_sizes(tx: &ReadTx<'_>) -> Result<Vec<(JobId, Timestamp, i64)>, StoreError> {
    sql::rows(tx.conn(), FINISHED_SIZES, &[], |row| {
        let id = row.get::<JobId>(0)?;
        Ok((id, row.get::<Timestamp>(1)?, row.get(2)?))
    })
}

/// The number of final jobs, and the earliest of their end times.
pub fn count_finished(tx: &ReadTx<'_>) -> Result<(i64, Option<Timestamp>), StoreError> {
    let count = sql::first(tx.conn(), COUNT_FINISHED, &[], |row| row.get(0))?.unwrap_or_default();
    let first = sql::first(tx.conn(), FIRST_FINISHED, &[], |row| row.get::<Timestamp>(0))?;
    Ok((count, first))
}

pub fn all(tx: &ReadTx<'_>) -> Result<Vec<(JobId, JobStatus)>, StoreError> {
    sql::rows(tx.conn(), ALL, &[], |row| {
        let id = row.get::<JobId>(0)?;
        Ok((id, row.get::<JobStatus>(1)?))
    })
}

pub fn elsewhere(tx: &ReadTx<'_>, host: &HostIdentity) -> Result<BTreeSet<JobId>, StoreError> {
    let ids = sql::rows(tx.conn(), ELSEWHERE, &[&host.name, &host.id], |row| row.get::<JobId>(0))?;
    Ok(ids.into_iter().collect())
}

/// Inserts a queued job; the store sets its sequence number and times.
pub fn insert(tx: &WriteTx<'_>, run: Job) -> Result<Job, StoreError> {
    let seq = sql::first(
        tx.conn(),
        INSERT,
        &[
            &run.id.to_string(),
            &run.session,
            &run.queue,
            &run.command,
            &run.cwd,
            &run.background,
            &run.pty.map(|size| size.rows),
            &run.pty.map(|size| size.cols),
            &run.timeout_ms,
            &run.max_output_bytes,
            &run.recovery,
            &run.host,
            &run.boot_id,
            &run.actor,
            &tx.now(),
            &run.host_id,
        ],
        |row| row.get(0),
    )?;
    Ok(Job {
        seq: seq.unwrap_or_default(),
        status: JobStatus::Queued,
        attempt: 1,
        queued_at: tx.now(),
        updated_at: tx.now(),
        ..run
    })
}

/// A process as its two columns: pid, and start time in kernel ticks since boot.
pub type PidAndStart = (i64, i64);

/// Marks a queued job as starting under `supervisor`, on `host` in the boot `boot`. Returns `false` if the job is no longer
/// queued.
pub fn mark_starting(
    tx: &WriteTx<'_>,
    id: &JobId,
    host: &HostIdentity,
    boot: &str,
    supervisor: PidAndStart,
) -> Result<bool, StoreError> {
    let values: &[&dyn sql::ToValue] =
        &[&id.to_string(), &host.name, &boot, &supervisor.0, &supervisor.1, &tx.now(), &host.id];
    Ok(sql::execute(tx.conn(), MARK_STARTING, values)? == 1)
}

/// Marks a starting job as running and records its root process, before that process executes the command. Returns `false` if the
/// job is not starting.
pub fn mark_running(
    tx: &WriteTx<'_>,
    id: &JobId,
    process: PidAndStart,
    supervisor: PidAndStart,
) -> Result<bool, StoreError> {
    let values: &[&dyn sql::ToValue] =
        &[&id.to_string(), &process.0, &process.1, &supervisor.0, &supervisor.1, &tx.now()];
    Ok(sql::execute(tx.conn(), MARK_RUNNING, values)? == 1)
}

/// Puts an active job back at its old position in the queue. Returns `false` if it is not active.
pub fn requeue(tx: &WriteTx<'_>, id: &JobId, attempt: i64) -> Result<bool, StoreError> {
    Ok(sql::execute(tx.conn(), REQUEUE, &[&id.to_string(), &attempt, &tx.now()])? == 1)
}

/// Sets the final status of a job. Returns `false`, and changes nothing, if the job is final already.
pub fn finish(
    tx: &WriteTx<'_>,
    id: &JobId,
    ending: &JobResult,
    output_bytes: i64,
    truncated: bool,
) -> Result<bool, StoreError> {
    let values: &[&dyn sql::ToValue] = &[
        &id.to_string(),
        &ending.status,
        &ending.exit_code,
        &ending.signal,
        &ending.error_message,
        &output_bytes,
        &truncated,
        &tx.now(),
    ];
    Ok(sql::execute(tx.conn(), FINISH, values)? == 1)
}

/// Deletes a final job. Returns `false` if it is not final or does not exist.
pub fn remove(tx: &WriteTx<'_>, id: &JobId) -> Result<bool, StoreError> {
    Ok(sql::execute(tx.conn(), REMOVE, &[&id.to_string()])? == 1)
}
