//! A whole task as a row of a query.

use std::time::Duration;

use crate::domain::TaskId;
use crate::domain::claim::Claim;
use crate::domain::id::Label;
use crate::domain::task::{Check, Task, TaskFields, TaskState, TaskStatus};
use crate::env::Timestamp;
use crate::store::StoreError;
use crate::store::sql::{self, Row};

/// Separates the items of a list in one column. Input validation excludes control characters.
pub(super) const ITEM_SEPARATOR: &str = "\u{1f}";
/// Separates the two halves of an item.
pub(super) const FIELD_SEPARATOR: &str = "\u{1e}";

// Every query of whole tasks binds ITEM as $1 and HALF as $2. A list is in the order of its items: SQLite reads it so from the
// primary key, PostgreSQL in any order.
macro_rules! columns {
    ($label:literal, $path:literal, $dependency:literal, $check:literal, $rest:expr) => {
        concat!(
            "SELECT t.id, t.title, t.body, t.status, t.role, t.lane, t.parent, t.priority, t.review_domains, t.branch, ",
            "t.commit_id, t.blocked_reason, t.claimant, t.claim_session, t.claim_role, t.epoch, t.claimed_at, ",
            "t.lease_until, t.lease_ms, t.open_deps, t.created_at, t.updated_at, t.closed_at, ",
            "(SELECT string_agg(label, $1",
            $label,
            ") FROM task_labels WHERE task_id = t.id), (SELECT string_agg(glob, $1",
            $path,
            ") FROM task_paths WHERE task_id = t.id), (SELECT string_agg(depends_on, $1",
            $dependency,
            ") FROM task_deps WHERE task_id = t.id), (SELECT string_agg(name || $2 || command, $1",
            $check,
            ") FROM task_checks WHERE task_id = t.id) ",
            $rest
        )
    };
}
macro_rules! select {
    ($rest:expr) => {
        $crate::store::sql::Statement {
            sqlite: $crate::store::tasks::row::columns!("", "", "", "", $rest),
            postgres: $crate::store::tasks::row::columns!(
                " ORDER BY label", " ORDER BY glob", " ORDER BY depends_on", " ORDER BY name", $rest
            ),
        }
    };
}
pub(super) use {columns, select};

/// Reads the task in a row of a `select!` query.
pub(super) fn read(row: &Row<'_>) -> Result<Task, StoreError> {
    let list = |column: usize| -> Result<Vec<String>, StoreError> {
        let text: Option<String> = row.get(column)?;
        Ok(text.map(|text| text.split(ITEM_SEPARATOR).map(str::to_owned).collect()).unwrap_or_default())
    };
    let id = row.get::<TaskId>(0)?;
    let status = row.get::<TaskStatus>(3)?;
    let checks = list(26)?
        .into_iter()
        .filter_map(|item| {
            item.split_once(FIELD_SEPARATOR).map(|(name, command)| (name.to_owned(), command.to_owned()))
        })
        .map(|(name, command)| Ok(Check { name: sql::parse_id("a check's name", &name, Label::parse)?, command }))
        .collect::<Result<_, StoreError>>()?;
    let fields = TaskFields {
        title: row.get(1)?,
        body: row.get(2)?,
        role: row.get(4)?,
        lane: row.get(5)?,
        parent: row.get(6)?,
        priority: row.get(7)?,
        labels: list(23)?,
        paths: list(24)?,
        depends_on: list(25)?
            .iter()
            .map(|text| sql::parse_id("a task id", text, TaskId::parse))
            .collect::<Result<_, _>>()?,
        checks,
        review_domains: row
            .get::<String>(8)?
            .split_whitespace()
            .map(|text| sql::parse_id("a review domain", text, Label::parse))
            .collect::<Result<_, _>>()?,
    };
    let epoch = row.get(15)?;
    let claim = || -> Result<Claim, StoreError> {
        Ok(Claim {
            claimant: row.get(12)?,
            session: row.get(13)?,
            role: row.get(14)?,
            epoch,
            claimed_at: row.get(16)?,
            lease_until: row.get(17)?,
            lease: row
                .get::<Option<i64>>(18)?
                .map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or_default())),
        })
    };
    let closed_at = || row.get::<Timestamp>(22);
    let state = match status {
        TaskStatus::Todo => TaskState::Todo,
        TaskStatus::InProgress => TaskState::InProgress(claim()?),
        TaskStatus::Blocked => TaskState::Blocked(claim()?, row.get(11)?),
        TaskStatus::Review => TaskState::Review(claim()?),
        TaskStatus::Done => TaskState::Done(closed_at()?),
        TaskStatus::Cancelled => TaskState::Cancelled(closed_at()?),
    };
    Ok(Task {
        id,
        fields,
        state,
        epoch,
        open_deps: row.get(19)?,
        branch: row.get(9)?,
        commit: row.get(10)?,
        created_at: row.get(20)?,
        updated_at: row.get(21)?,
    })
}
