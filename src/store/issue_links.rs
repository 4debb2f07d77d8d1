//! The issues that tasks were imported from. The event log has them: it outlives edits and the removal of a task.

use std::collections::BTreeMap;

use super::{
    ReadTx, StoreError,
    sql::{self, Statement},
};
use crate::domain::TaskId;

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
    /// The digest of the title.
    pub title: Option<String>,
    /// The digest of the body.
    pub body: Option<String>,
    /// The digest of the labels.
    pub labels: Option<String>,
}

/// Every imported issue, by its address in lower case.
pub fn all(tx: &ReadTx<'_>) -> Result<BTreeMap<String, IssueLink>, StoreError> {
    let rows = sql::rows(tx.conn(), LINKS, &[], |row| {
        let url: String = row.get(1)?;
        let task = row.get::<TaskId>(0)?;
        let link = IssueLink { task, title: row.get(2)?, body: row.get(3)?, labels: row.get(4)? };
        Ok((url.to_ascii_lowercase(), link))
    })?;
    Ok(rows.into_iter().collect())
}
