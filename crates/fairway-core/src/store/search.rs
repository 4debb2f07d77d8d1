//! Records with their texts, newest first, for a search. The rows are streamed: none is kept.

use super::sql::{self, Row, Statement};
use super::{ReadTx, StoreError};
use crate::domain::search::SearchKind;
use crate::domain::{LaneName, SessionId, TaskId};
use crate::env::Timestamp;

/// The conditions of a search. An absent condition holds for every record.
#[derive(Debug, Clone, Default)]
pub struct SearchScope {
    /// Only records about this task.
    pub task: Option<TaskId>,
    /// Only records by or to this session.
    pub session: Option<SessionId>,
    /// Only records about this lane, its tasks and its sessions.
    pub lane: Option<LaneName>,
}

/// A record with its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchRow {
    /// The id of a task, or the number of a record.
    pub id: String,
    pub task: Option<String>,
    pub session: Option<String>,
    pub lane: Option<String>,
    /// The author.
    pub actor: Option<String>,
    pub at: Timestamp,
    /// The texts by the names of their fields.
    pub texts: Vec<(String, String)>,
}

/// The transcript of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptRow {
    pub session: String,
    pub lane: Option<String>,
    /// The task that it was launched for.
    pub task: Option<String>,
    pub path: String,
}

/// The columns before the texts.
const FIRST_TEXT: usize = 6;

// A large text in a sorted row would be kept, so the tasks are sorted without their texts.
const TASK_ORDER: &str = "SELECT id FROM tasks t WHERE ($1 IS NULL OR id = $1) AND ($3 IS NULL OR lane = $3) \
     AND ($2 IS NULL OR EXISTS (SELECT 1 FROM claims c WHERE c.task_id = t.id AND c.session_id = $2)) \
     ORDER BY updated_at DESC, id";
const TASK: &str = "SELECT id, id, claim_session, lane, claimant, updated_at, id AS id, title AS title, body AS body, \
     blocked_reason AS blocked_reason FROM tasks WHERE id = $1";
const CHECKPOINTS: &str = "SELECT c.id, c.task_id, c.session_id, t.lane, coalesce(c.session_id, c.owner), c.created_at, \
     c.summary AS summary, c.artifact AS artifact FROM checkpoints c JOIN tasks t ON t.id = c.task_id \
     WHERE c.origin IS NULL AND ($1 IS NULL OR c.task_id = $1) AND ($2 IS NULL OR c.session_id = $2) \
     AND ($3 IS NULL OR t.lane = $3) ORDER BY c.id DESC";
const EVIDENCE: &str = "SELECT e.id, e.task_id, e.session_id, t.lane, e.session_id, e.created_at, \
     e.summary AS summary, e.command AS command, e.check_name AS check_name, e.artifact AS artifact \
     FROM evidence e JOIN tasks t ON t.id = e.task_id WHERE ($1 IS NULL OR e.task_id = $1) \
     AND ($2 IS NULL OR e.session_id = $2) AND ($3 IS NULL OR t.lane = $3) ORDER BY e.id DESC";
const HANDOFFS: &str = "SELECT h.id, h.task_id, (SELECT s.id FROM agent_sessions s WHERE s.id = h.from_actor), t.lane, \
     h.from_actor, h.created_at, h.summary AS summary, h.payload AS payload, h.reason AS reason \
     FROM handoffs h JOIN tasks t ON t.id = h.task_id WHERE ($1 IS NULL OR h.task_id = $1) \
     AND ($2 IS NULL OR h.from_actor = $2 OR h.answered_by = $2) \
     AND ($3 IS NULL OR t.lane = $3 OR h.to_lane = $3) ORDER BY h.id DESC";
const REVIEWS: &str = "SELECT r.id, r.task_id, (SELECT s.id FROM agent_sessions s WHERE s.id = r.actor), t.lane, r.actor, \
     r.created_at, r.notes AS notes, r.domain AS domain FROM reviews r JOIN tasks t ON t.id = r.task_id \
     WHERE ($1 IS NULL OR r.task_id = $1) AND ($2 IS NULL OR r.actor = $2) AND ($3 IS NULL OR t.lane = $3) \
     ORDER BY r.id DESC";
// A message names no task.
macro_rules! messages {
    ($from:literal) => {
        concat!(
            "SELECT m.id, NULL, m.to_session, ",
            "coalesce(m.to_lane, (SELECT s.lane FROM agent_sessions s WHERE s.id = m.to_session)), coalesce(",
            $from,
            ", m.source), m.created_at, m.content AS content FROM messages m WHERE $1 IS NULL ",
            "AND ($2 IS NULL OR m.to_session = $2 OR m.offered_to = $2 OR ",
            $from,
            " = $2) AND ($3 IS NULL OR m.to_lane = $3 ",
            "OR EXISTS (SELECT 1 FROM agent_sessions s WHERE s.id = m.to_session AND s.lane = $3)) ORDER BY m.id DESC"
        )
    };
}
const MESSAGES: Statement<'_> = Statement {
    sqlite: messages!("CASE WHEN json_valid(m.metadata) THEN json_extract(m.metadata, '$.from') END"),
    postgres: messages!("json_text(m.metadata, 'from')"),
};
const TRANSCRIPTS: &str = "SELECT s.id, s.lane, s.task_id, coalesce(r.usage_path, s.transcript) FROM agent_sessions s \
     LEFT JOIN session_reports r ON r.session_id = s.id WHERE coalesce(r.usage_path, s.transcript) IS NOT NULL \
     AND ($1 IS NULL OR s.task_id = $1 \
         OR EXISTS (SELECT 1 FROM claims c WHERE c.task_id = $1 AND c.session_id = s.id)) \
     AND ($2 IS NULL OR s.id = $2) AND ($3 IS NULL OR s.lane = $3) ORDER BY s.started_at DESC, s.id";

fn read(row: &Row<'_>) -> Result<SearchRow, StoreError> {
    let mut texts = Vec::new();
    for column in FIRST_TEXT.. {
        let Some(name) = row.column_name(column) else { break };
        if let Some(text) = row.get::<Option<String>>(column)? {
            texts.push((name.to_owned(), text));
        }
    }
    Ok(SearchRow {
        id: row.get::<i64>(0).map(|number| number.to_string()).or_else(|_| row.get(0))?,
        task: row.get(1)?,
        session: row.get(2)?,
        lane: row.get(3)?,
        actor: row.get(4)?,
        at: row.get(5)?,
        texts,
    })
}

/// Passes the records of a kind to `see`, newest first, until `see` returns `false`. Transcripts have no records; see
/// [`transcripts`].
pub fn for_each(
    tx: &ReadTx<'_>,
    kind: SearchKind,
    scope: &SearchScope,
    mut see: impl FnMut(SearchRow) -> bool,
) -> Result<(), StoreError> {
    let (task, session, lane) = conditions(scope);
    let query = match kind {
        SearchKind::Task => {
            let ids = sql::rows(tx.conn(), TASK_ORDER, &[&task, &session, &lane], |row| row.get::<String>(0))?;
            for id in ids {
                if let Some(row) = sql::first(tx.conn(), TASK, &[&id], read)?
                    && !see(row)
                {
                    break;
                }
            }
            return Ok(());
        }
        SearchKind::Checkpoint => CHECKPOINTS.into(),
        SearchKind::Evidence => EVIDENCE.into(),
        SearchKind::Handoff => HANDOFFS.into(),
        SearchKind::Review => REVIEWS.into(),
        SearchKind::Message => MESSAGES,
        SearchKind::Transcript => return Ok(()),
    };
    sql::for_each(tx.conn(), query, &[&task, &session, &lane], |row| Ok(see(read(row)?)))
}

/// The transcripts of sessions, those of the newest sessions first. Several sessions may have the same file.
pub fn transcripts(tx: &ReadTx<'_>, scope: &SearchScope) -> Result<Vec<TranscriptRow>, StoreError> {
    let (task, session, lane) = conditions(scope);
    sql::rows(tx.conn(), TRANSCRIPTS, &[&task, &session, &lane], |row| {
        Ok(TranscriptRow { session: row.get(0)?, lane: row.get(1)?, task: row.get(2)?, path: row.get(3)? })
    })
}

fn conditions(scope: &SearchScope) -> (Option<&str>, Option<&str>, Option<&str>) {
    (
        scope.task.as_ref().map(TaskId::as_str),
        scope.session.as_ref().map(SessionId::as_str),
        scope.lane.as_ref().map(LaneName::as_str),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::open;

    /// A sort would read and keep every row before the first one is shown.
    #[test]
    fn records_come_newest_first_without_a_sort() {
        let conn = open::in_memory().unwrap();
        for query in [CHECKPOINTS, EVIDENCE, HANDOFFS, REVIEWS, MESSAGES.sqlite] {
            let explain = format!("EXPLAIN QUERY PLAN {query}");
            let plan = sql::rows(&conn, &explain, &[], |row| row.get::<String>(3)).unwrap().join("\n");
            assert!(!plan.contains("TEMP B-TREE"), "{plan}");
        }
    }
}
