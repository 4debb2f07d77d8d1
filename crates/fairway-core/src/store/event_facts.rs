//! Facts that only the event log has: the changes of tasks' states, the issues that tasks were imported from, and the hosts that
//! sandboxes did not reach.

use std::collections::BTreeMap;

use serde_json::Value;

use super::sql::{self, Row, Statement};
use super::{ReadTx, StoreError, events};
use crate::domain::rules::task_times::TaskChange;
use crate::domain::task::TaskStatus;
use crate::domain::{EventKind, SessionId, TaskId};
use crate::env::Timestamp;

macro_rules! changes {
    ($to:literal) => {
        concat!(
            "SELECT task_id, at, kind, session_id, ",
            $to,
            " FROM events WHERE task_id IS NOT NULL AND kind IN ('task.added', 'task.imported', 'task.claimed', ",
            "'task.released', 'task.blocked', 'task.unblocked', 'task.submitted', 'task.resumed', 'task.done', ",
            "'task.landed', 'task.cancelled', 'task.reopened') ORDER BY seq"
        )
    };
}
const CHANGES: Statement<'_> = Statement {
    sqlite: changes!("coalesce(json_extract(data, '$.to'), json_extract(data, '$.status'))"),
    postgres: changes!("coalesce(data::json ->> 'to', data::json ->> 'status')"),
};

/// Every change of a task's state, in order. A change is marked as counted when one of `sessions` made it at `from` or later; an
/// empty list stands for all actors.
pub fn task_changes(tx: &ReadTx<'_>, from: Timestamp, sessions: &[&str]) -> Result<Vec<TaskChange>, StoreError> {
    let mut changes = Vec::new();
    sql::for_each(tx.conn(), CHANGES, &[], |row| {
        changes.extend(read_change(row, from, sessions)?);
        Ok(true)
    })?;
    Ok(changes)
}

/// The change of a row; `None` for a state that this binary does not know.
fn read_change(row: &Row<'_>, from: Timestamp, sessions: &[&str]) -> Result<Option<TaskChange>, StoreError> {
    let (kind, to): (String, Option<String>) = (row.get(2)?, row.get(4)?);
    let Some(kind) = EventKind::parse(&kind) else { return Ok(None) };
    let to = match (kind, to.as_deref()) {
        (EventKind::TaskClaimed, _) => Some(TaskStatus::InProgress),
        (EventKind::TaskAdded, None) => Some(TaskStatus::Todo),
        (_, Some(to)) => TaskStatus::parse(to),
        (_, None) => None,
    };
    let (at, session): (i64, Option<String>) = (row.get(1)?, row.get(3)?);
    let is_of_session = sessions.is_empty() || session.as_deref().is_some_and(|session| sessions.contains(&session));
    let (task, at) = (row.get(0)?, Timestamp::from_millis(at));
    Ok(to.map(|to| TaskChange { task, at, kind, to, is_counted: at >= from && is_of_session }))
}

macro_rules! links {
    ($url:literal, $title:literal, $body:literal, $labels:literal) => {
        concat!(
            "SELECT task_id, ",
            $url,
            ", ",
            $title,
            ", ",
            $body,
            ", ",
            $labels,
            " FROM events WHERE task_id IS NOT NULL AND kind IN ('task.imported', 'task.edited') AND ",
            $url,
            " IS NOT NULL ORDER BY seq"
        )
    };
}
const LINKS: Statement<'_> = Statement {
    sqlite: links!(
        "json_extract(data, '$.url')",
        "json_extract(data, '$.issue_title')",
        "json_extract(data, '$.issue_body')",
        "json_extract(data, '$.issue_labels')"
    ),
    postgres: links!(
        "data::json ->> 'url'",
        "data::json ->> 'issue_title'",
        "data::json ->> 'issue_body'",
        "data::json ->> 'issue_labels'"
    ),
};

/// The task of an issue, and digests of what was last imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueLink {
    pub task: TaskId,
    pub title: Option<String>,
    pub body: Option<String>,
    pub labels: Option<String>,
}

/// The tasks that were imported from issues, each under the issue's address in lower case.
pub fn issue_links(tx: &ReadTx<'_>) -> Result<BTreeMap<String, IssueLink>, StoreError> {
    let rows = sql::rows(tx.conn(), LINKS, &[], |row| {
        let url: String = row.get(1)?;
        let task = row.get::<TaskId>(0)?;
        let link = IssueLink { task, title: row.get(2)?, body: row.get(3)?, labels: row.get(4)? };
        Ok((url.to_ascii_lowercase(), link))
    })?;
    Ok(rows.into_iter().collect())
}

/// A host that a session's sandbox refused to reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedHostRow {
    pub session: SessionId,
    pub at: Timestamp,
    pub host: String,
    pub reason: String,
    /// The entry of the list of hosts that would open it.
    pub entry: Option<String>,
}

const REFUSED_HOSTS: &str = "SELECT session_id, at, data FROM events WHERE kind = 'sandbox.host_refused' AND session_id IN \
     (SELECT id FROM agent_sessions INDEXED BY agent_sessions_live WHERE ended_at IS NULL) ORDER BY seq";

/// The hosts that the sandboxes of live sessions refused to connect to, oldest refusal first.
pub fn refused_hosts(tx: &ReadTx<'_>) -> Result<Vec<RefusedHostRow>, StoreError> {
    sql::rows(tx.conn(), REFUSED_HOSTS, &[], |row| {
        let text: String = row.get(2)?;
        let data: Value = serde_json::from_str(&text).unwrap_or_default();
        let member = |name: &str| data.get(name).and_then(Value::as_str).map(str::to_owned);
        Ok(RefusedHostRow {
            session: sql::parse_id("a session id", &row.get::<String>(0)?, SessionId::parse)?,
            at: Timestamp::from_millis(row.get(1)?),
            host: member("host").unwrap_or_default(),
            reason: member("reason").unwrap_or_default(),
            entry: member("entry"),
        })
    })
}

/// Whether the event log says that the session's sandbox refused to connect to the host.
pub fn is_refusal_recorded(tx: &ReadTx<'_>, session: &SessionId, host: &str) -> Result<bool, StoreError> {
    let is_it = |kind| kind == EventKind::SandboxHostRefused;
    let found = events::newest_of_session_matching(tx, session, is_it, |event| event.data["host"] == host)?;
    Ok(found.is_some())
}
