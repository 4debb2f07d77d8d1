//! The rows of an overview of the whole project: narrow, found through partial indexes, without texts that it does not
//! show.

use std::collections::BTreeMap;

use super::sql::{self, Row};
use super::{ReadTx, StoreError, tasks};
use crate::domain::checkpoint::CheckpointState;
use crate::domain::ended_by::EndedBy;
use crate::domain::issue::CHANGED;
use crate::domain::job::{JobId, JobStatus};
use crate::domain::review::Verdict;
use crate::domain::session_facts::HeldTask;
use crate::domain::{LaneName, SessionId, TaskId};
use crate::env::Timestamp;

const HELD: &str = "SELECT id, title, status, lane, claimant, claim_session, epoch, claimed_at, lease_until, \
     blocked_reason, updated_at FROM tasks INDEXED BY tasks_held WHERE claimant IS NOT NULL ORDER BY lane NULLS FIRST, id";
const NEWEST_WRITTEN: &str = "SELECT id, session_id, state, summary, created_at FROM checkpoints \
     INDEXED BY checkpoints_written WHERE task_id = $1 AND origin IS NULL ORDER BY id DESC LIMIT 1";
const NEWEST_WRITTEN_BY: &str = "SELECT id, session_id, state, summary, created_at FROM checkpoints \
     INDEXED BY checkpoints_written WHERE task_id = $1 AND origin IS NULL AND session_id = $2 ORDER BY id DESC LIMIT 1";
/// As `NEWEST_WRITTEN`, for every claimed task. `NEWEST_OF_LAUNCHED` is for the tasks that live sessions were launched for.
const NEWEST_OF_HELD: &str = "SELECT t.id, c.id, c.session_id, c.state, c.summary, c.created_at \
     FROM tasks t INDEXED BY tasks_held JOIN checkpoints c ON c.id = (SELECT max(w.id) FROM checkpoints w \
     INDEXED BY checkpoints_written WHERE w.task_id = t.id AND w.origin IS NULL) WHERE t.claimant IS NOT NULL";
const NEWEST_OF_HOLDERS: &str = "SELECT t.id, c.id, c.session_id, c.state, c.summary, c.created_at \
     FROM tasks t INDEXED BY tasks_held JOIN checkpoints c ON c.id = (SELECT max(w.id) FROM checkpoints w \
     INDEXED BY checkpoints_written WHERE w.task_id = t.id AND w.origin IS NULL AND w.session_id = t.claim_session) \
     WHERE t.claimant IS NOT NULL";
const NEWEST_OF_LAUNCHED: &str = "SELECT s.task_id, c.id, c.session_id, c.state, c.summary, c.created_at \
     FROM agent_sessions s INDEXED BY agent_sessions_live JOIN checkpoints c ON c.id = (SELECT max(w.id) FROM checkpoints w \
     INDEXED BY checkpoints_written WHERE w.task_id = s.task_id AND w.origin IS NULL AND w.session_id = s.id) \
     WHERE s.ended_at IS NULL";
const LAST_OUTPUTS: &str = "SELECT id, last_output_at FROM agent_sessions INDEXED BY agent_sessions_live \
     WHERE ended_at IS NULL AND last_output_at IS NOT NULL";
/// `CROSS JOIN` has SQLite read the reviews first, of which there are few, and not every open task.
const REFUSED_UNCLAIMED: &str = "SELECT t.id, t.lane, r.id, r.domain, r.verdict, COALESCE(r.reviewer, r.actor), r.notes, \
     r.created_at FROM reviews r CROSS JOIN tasks t \
     WHERE t.id = r.task_id AND r.verdict IN ('changes', 'reject') AND t.status = 'todo' \
     AND NOT EXISTS (SELECT 1 FROM reviews later \
     WHERE later.task_id = r.task_id AND later.domain = r.domain AND later.id > r.id AND later.verdict IS NOT NULL) \
     ORDER BY t.id, r.id DESC";
const CHANGED_ISSUES: &str = "SELECT t.id, t.lane, t.title FROM task_labels l CROSS JOIN tasks t \
     WHERE l.label = $1 AND t.id = l.task_id AND t.closed_at IS NULL ORDER BY t.id";
const COUNT_OPEN: &str = "SELECT count(*) FROM tasks INDEXED BY tasks_open WHERE closed_at IS NULL";
const COUNT_DONE: &str = "SELECT count(*) FROM tasks WHERE status = 'done'";
const TASK_STATES: &str = "SELECT id, CASE WHEN status = 'todo' AND open_deps = 0 THEN 1 ELSE 0 END, \
     CASE WHEN closed_at IS NULL THEN 1 ELSE 0 END, CASE WHEN status = 'done' THEN 1 ELSE 0 END FROM tasks";
const TASK_STATE: &str = "SELECT id, CASE WHEN status = 'todo' AND open_deps = 0 THEN 1 ELSE 0 END, \
     CASE WHEN closed_at IS NULL THEN 1 ELSE 0 END, CASE WHEN status = 'done' THEN 1 ELSE 0 END FROM tasks WHERE id = $1";
const SESSION_STAMPS: &str = "SELECT id, version, last_heartbeat_at, last_output_at FROM agent_sessions \
     INDEXED BY agent_sessions_live WHERE ended_at IS NULL";
const EXPIRED_PROMPTS: &str = "SELECT m.id, m.to_session, m.source, m.settled_at, s.reason, s.activity_source \
     FROM messages m INDEXED BY messages_settled LEFT JOIN agent_sessions s ON s.id = m.to_session \
     WHERE m.settled_at IS NOT NULL AND m.settled_at >= $1 AND m.status = 'expired' AND m.to_session IS NOT NULL \
     ORDER BY m.settled_at";
const FAILED_JOBS: &str = "SELECT id, session_id, command, status, exit_code, error_message, finished_at FROM exec_runs \
     INDEXED BY exec_runs_final WHERE finished_at IS NOT NULL AND finished_at >= $1 \
     AND status IN ('failed', 'timed_out', 'lost') ORDER BY finished_at DESC LIMIT $2";

const SUCCEEDED_SINCE: &str = "SELECT id FROM exec_runs INDEXED BY exec_runs_final \
     WHERE finished_at IS NOT NULL AND finished_at >= $1 AND status = 'succeeded' AND command = $2 LIMIT 1";

/// Every claimed task, by lane and id.
pub fn held(tx: &ReadTx<'_>) -> Result<Vec<HeldTask>, StoreError> {
    sql::rows(tx.conn(), HELD, &[], |row| {
        Ok(HeldTask {
            task: row.get(0)?,
            title: row.get(1)?,
            status: row.get(2)?,
            lane: row.get(3)?,
            claimant: row.get(4)?,
            session: row.get(5)?,
            epoch: row.get(6)?,
            claimed_at: row.get(7)?,
            lease_until: row.get(8)?,
            blocked_reason: row.get(9)?,
            updated_at: row.get(10)?,
        })
    })
}

/// A checkpoint that an agent or a person wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenCheckpoint {
    pub id: i64,
    pub session: Option<SessionId>,
    pub state: CheckpointState,
    pub summary: String,
    pub at: Timestamp,
}

fn read_checkpoint(row: &Row<'_>) -> Result<WrittenCheckpoint, StoreError> {
    read_checkpoint_from(row, 0)
}

/// A checkpoint whose columns begin at `column`.
fn read_checkpoint_from(row: &Row<'_>, column: usize) -> Result<WrittenCheckpoint, StoreError> {
    let state = row.get::<String>(column + 2)?;
    Ok(WrittenCheckpoint {
        id: row.get(column)?,
        session: row.get(column + 1)?,
        state: sql::parse_value("a checkpoint's state", &state, CheckpointState::parse)?,
        summary: row.get(column + 3)?,
        at: row.get::<Timestamp>(column + 4)?,
    })
}

/// The newest checkpoint of a task that an agent or a person wrote.
pub fn newest_written(tx: &ReadTx<'_>, task: &TaskId) -> Result<Option<WrittenCheckpoint>, StoreError> {
    sql::first(tx.conn(), NEWEST_WRITTEN, &[&task], read_checkpoint)
}

/// The newest checkpoint of a task that this session wrote.
pub fn newest_written_by(
    tx: &ReadTx<'_>,
    task: &TaskId,
    session: &SessionId,
) -> Result<Option<WrittenCheckpoint>, StoreError> {
    sql::first(tx.conn(), NEWEST_WRITTEN_BY, &[&task, &session], read_checkpoint)
}

fn newest_by_task(tx: &ReadTx<'_>, query: &str) -> Result<Vec<(TaskId, WrittenCheckpoint)>, StoreError> {
    sql::rows(tx.conn(), query, &[], |row| {
        let task = row.get::<TaskId>(0)?;
        Ok((task, read_checkpoint_from(row, 1)?))
    })
}

/// As [`newest_written`], for every claimed task at once.
pub fn newest_of_held(tx: &ReadTx<'_>) -> Result<BTreeMap<TaskId, WrittenCheckpoint>, StoreError> {
    Ok(newest_by_task(tx, NEWEST_OF_HELD)?.into_iter().collect())
}

/// As [`newest_written_by`], but at once for every session that has claimed a task, and for every live session that was launched
/// for a task.
pub fn newest_of_sessions(tx: &ReadTx<'_>) -> Result<BTreeMap<(TaskId, SessionId), WrittenCheckpoint>, StoreError> {
    let mut found = BTreeMap::new();
    for query in [NEWEST_OF_HOLDERS, NEWEST_OF_LAUNCHED] {
        for (task, newest) in newest_by_task(tx, query)? {
            if let Some(session) = newest.session.clone() {
                found.insert((task, session), newest);
            }
        }
    }
    Ok(found)
}

/// When the backends of live sessions last saw output of them. A session without such a time is left out.
pub fn last_outputs(tx: &ReadTx<'_>) -> Result<Vec<(SessionId, Timestamp)>, StoreError> {
    sql::rows(tx.conn(), LAST_OUTPUTS, &[], |row| {
        let id = row.get::<SessionId>(0)?;
        Ok((id, row.get::<Timestamp>(1)?))
    })
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskCounts {
    /// Tasks that can be claimed now.
    pub ready: i64,
    /// Tasks that are neither done nor cancelled.
    pub open: i64,
    pub done: i64,
}

pub fn counts(tx: &ReadTx<'_>) -> Result<TaskCounts, StoreError> {
    let count = |query| -> Result<i64, StoreError> {
        Ok(sql::first(tx.conn(), query, &[], |row| row.get(0))?.unwrap_or_default())
    };
    Ok(TaskCounts { ready: tasks::count_ready(tx)?, open: count(COUNT_OPEN)?, done: count(COUNT_DONE)? })
}

/// The counts of [`TaskCounts`] for one task: each is 0 or 1.
pub type TaskState = TaskCounts;

fn read_state(row: &Row<'_>) -> Result<(String, TaskState), StoreError> {
    Ok((row.get(0)?, TaskCounts { ready: row.get(1)?, open: row.get(2)?, done: row.get(3)? }))
}

/// Passes the id of every task, closed ones included, to `see`, together with the task's share of each count: 0 or 1.
pub fn for_each_state(tx: &ReadTx<'_>, mut see: impl FnMut(String, TaskState)) -> Result<(), StoreError> {
    sql::for_each(tx.conn(), TASK_STATES, &[], |row| {
        let (id, state) = read_state(row)?;
        see(id, state);
        Ok(true)
    })
}

/// The state of a task; `None` when there is no such task.
pub fn state(tx: &ReadTx<'_>, task: &TaskId) -> Result<Option<TaskState>, StoreError> {
    Ok(sql::first(tx.conn(), TASK_STATE, &[&task], read_state)?.map(|(_, state)| state))
}

/// The columns of a live session by which a change of it is noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStamp {
    pub id: SessionId,
    pub version: i64,
    /// Its last heartbeat, which may be corrected after a step of the clock without a new version.
    pub last_heartbeat_at: Option<Timestamp>,
    /// When its backend last saw output of it.
    pub last_output_at: Option<Timestamp>,
}

/// The stamps, by which a change can be noticed, of every session that is not final.
pub fn session_stamps(tx: &ReadTx<'_>) -> Result<Vec<SessionStamp>, StoreError> {
    sql::rows(tx.conn(), SESSION_STAMPS, &[], |row| {
        Ok(SessionStamp {
            id: row.get(0)?,
            version: row.get(1)?,
            last_heartbeat_at: row.get(2)?,
            last_output_at: row.get(3)?,
        })
    })
}

/// A message to a session that expired without being acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiredMessage {
    pub id: i64,
    pub to: SessionId,
    pub source: String,
    pub at: Timestamp,
    /// Whether a person has ended that session on purpose.
    pub is_given_up: bool,
}

/// The messages to sessions that expired since a time, oldest first.
pub fn expired_messages(tx: &ReadTx<'_>, since: Timestamp) -> Result<Vec<ExpiredMessage>, StoreError> {
    let found = sql::rows(tx.conn(), EXPIRED_PROMPTS, &[&since], |row| {
        // Other keys are those of people and of sessions that Fairway does not know.
        let Ok(to) = SessionId::parse(&row.get::<String>(1)?) else { return Ok(None) };
        let (reason, activity_source): (Option<String>, Option<String>) = (row.get(4)?, row.get(5)?);
        let is_given_up = EndedBy::parse(reason.as_deref(), activity_source.as_deref()).is_person();
        Ok(Some(ExpiredMessage { id: row.get(0)?, to, source: row.get(2)?, at: row.get(3)?, is_given_up }))
    })?;
    Ok(found.into_iter().flatten().collect())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedJob {
    pub id: JobId,
    pub session: Option<String>,
    /// The command, not masked.
    pub command: String,
    pub status: JobStatus,
    pub exit_code: Option<i64>,
    /// Why it failed, in a sentence, not masked.
    pub error_message: Option<String>,
    pub finished_at: Timestamp,
}

/// An unclaimed task that a review sent back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedTask {
    pub task: TaskId,
    pub lane: Option<LaneName>,
    pub review: i64,
    pub domain: String,
    /// The verdict, which is no approval.
    pub verdict: Verdict,
    pub reviewer: String,
    pub notes: Option<String>,
    pub at: Timestamp,
}

/// The unclaimed open tasks that their newest verdict in some domain sent back. Each task is listed once, with the newest of
/// these verdicts.
pub fn refused_unclaimed(tx: &ReadTx<'_>) -> Result<Vec<RefusedTask>, StoreError> {
    let mut found = sql::rows(tx.conn(), REFUSED_UNCLAIMED, &[], |row| {
        Ok(RefusedTask {
            task: row.get(0)?,
            lane: row.get(1)?,
            review: row.get(2)?,
            domain: row.get(3)?,
            verdict: row.get(4)?,
            reviewer: row.get(5)?,
            notes: row.get(6)?,
            at: row.get(7)?,
        })
    })?;
    found.dedup_by(|later, newest| later.task == newest.task);
    Ok(found)
}

/// An open task whose issue has a new text that no person has looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedIssue {
    pub task: TaskId,
    pub lane: Option<LaneName>,
    pub title: String,
}

/// The open tasks whose issues have a new text.
pub fn changed_issues(tx: &ReadTx<'_>) -> Result<Vec<ChangedIssue>, StoreError> {
    sql::rows(tx.conn(), CHANGED_ISSUES, &[&CHANGED], |row| {
        Ok(ChangedIssue { task: row.get(0)?, lane: row.get(1)?, title: row.get(2)? })
    })
}

/// The jobs that failed, timed out or were lost since a time, newest first, at most `limit`.
pub fn failed_jobs(tx: &ReadTx<'_>, since: Timestamp, limit: i64) -> Result<Vec<FailedJob>, StoreError> {
    sql::rows(tx.conn(), FAILED_JOBS, &[&since, &limit], |row| {
        Ok(FailedJob {
            id: row.get(0)?,
            session: row.get(1)?,
            command: row.get(2)?,
            status: row.get(3)?,
            exit_code: row.get(4)?,
            error_message: row.get(5)?,
            finished_at: row.get(6)?,
        })
    })
}

/// Whether a job with the same command has succeeded since this one failed.
pub fn succeeded_since(tx: &ReadTx<'_>, job: &FailedJob) -> Result<bool, StoreError> {
    let args = [&job.finished_at.millis() as _, &job.command as _];
    Ok(sql::first(tx.conn(), SUCCEEDED_SINCE, &args, |row| row.get::<String>(0))?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::open;

    /// An overview of many tasks, sessions and jobs costs as much as it shows.
    #[test]
    fn overview_reads_through_indexes() {
        let conn = open::in_memory().unwrap();
        for (query, index) in [
            (HELD, "tasks_held"),
            (NEWEST_WRITTEN, "checkpoints_written"),
            (NEWEST_WRITTEN_BY, "checkpoints_written"),
            (NEWEST_OF_HELD, "tasks_held"),
            (NEWEST_OF_HELD, "checkpoints_written"),
            (NEWEST_OF_HOLDERS, "tasks_held"),
            (NEWEST_OF_HOLDERS, "checkpoints_written"),
            (NEWEST_OF_LAUNCHED, "agent_sessions_live"),
            (NEWEST_OF_LAUNCHED, "checkpoints_written"),
            (LAST_OUTPUTS, "agent_sessions_live"),
            (COUNT_OPEN, "tasks_open"),
            (TASK_STATE, "sqlite_autoindex_tasks_1"),
            (SESSION_STAMPS, "agent_sessions_live"),
            (EXPIRED_PROMPTS, "messages_settled"),
            (FAILED_JOBS, "exec_runs_final"),
            (SUCCEEDED_SINCE, "exec_runs_final"),
        ] {
            let explain = format!("EXPLAIN QUERY PLAN {query}");
            let plan = sql::rows(&conn, &explain, &[], |row| row.get::<String>(3)).unwrap().join("\n");
            assert!(plan.contains(index), "{plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{plan}");
        }
    }
}
