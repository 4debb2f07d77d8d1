//! The schemas of the store and the output store, and their migrations.

use refinery::{Migration, Runner};
use rusqlite::Connection;

use super::StoreError;

/// The schema of one file.
#[derive(Debug)]
pub(super) struct Schema {
    /// Written into the file's header by the first migration.
    pub application_id: i64,
    /// The newest version that this binary knows; each migration sets it as the file's `user_version`.
    pub newest: i64,
    /// The durability of a commit: `FULL` survives a power failure, `NORMAL` the end of every process.
    pub synchronous: &'static str,
    migrations: &'static [(&'static str, &'static str)],
}

/// The store: "FAIR".
pub(super) const STATE: Schema =
    Schema { application_id: 1_178_683_730, newest: 19, synchronous: "FULL", migrations: MIGRATIONS };

/// The output store: "FAIO".
pub(super) const OUTPUT: Schema =
    Schema { application_id: 1_178_683_727, newest: 1, synchronous: "NORMAL", migrations: OUTPUT_MIGRATIONS };

// An explicit list: the embedding macro does not notice a new file.
const MIGRATIONS: &[(&str, &str)] = &[
    ("V1__lane_queue", include_str!("../../migrations/V1__lane_queue.sql")),
    ("V2__multiplexer_server", include_str!("../../migrations/V2__multiplexer_server.sql")),
    ("V3__background_runs", include_str!("../../migrations/V3__background_runs.sql")),
    ("V4__worker_api", include_str!("../../migrations/V4__worker_api.sql")),
    ("V5__plain_names", include_str!("../../migrations/V5__plain_names.sql")),
    ("V6__one_story", include_str!("../../migrations/V6__one_story.sql")),
    ("V7__agents", include_str!("../../migrations/V7__agents.sql")),
    ("V8__notifications", include_str!("../../migrations/V8__notifications.sql")),
    ("V9__overlap", include_str!("../../migrations/V9__overlap.sql")),
    ("V10__landings", include_str!("../../migrations/V10__landings.sql")),
    ("V11__hosts", include_str!("../../migrations/V11__hosts.sql")),
    ("V12__questions", include_str!("../../migrations/V12__questions.sql")),
    ("V13__program_missing", include_str!("../../migrations/V13__program_missing.sql")),
    ("V14__seen_work", include_str!("../../migrations/V14__seen_work.sql")),
    ("V15__review_comments", include_str!("../../migrations/V15__review_comments.sql")),
    ("V16__landing_push", include_str!("../../migrations/V16__landing_push.sql")),
    ("V17__structured_sessions", include_str!("../../migrations/V17__structured_sessions.sql")),
    ("V18__sandboxes", include_str!("../../migrations/V18__sandboxes.sql")),
    ("V19__answered_messages", include_str!("../../migrations/V19__answered_messages.sql")),
];
const OUTPUT_MIGRATIONS: &[(&str, &str)] =
    &[("V1__run_output", include_str!("../../migrations/runs/V1__run_output.sql"))];

/// Runs all missing migrations in one transaction.
pub(super) fn migrate(conn: &mut Connection, schema: &Schema) -> Result<(), StoreError> {
    let migrations =
        schema.migrations.iter().map(|(name, sql)| Migration::unapplied(name, sql)).collect::<Result<Vec<_>, _>>()?;
    Runner::new(&migrations).set_grouped(true).run(conn)?;
    let broken: Option<String> = conn
        .query_row("SELECT \"table\" FROM pragma_foreign_key_check LIMIT 1", [], |row| row.get(0))
        .map(Some)
        .or_else(|error| match error {
            rusqlite::Error::QueryReturnedNoRows => Ok(None),
            other => Err(other),
        })?;
    match broken {
        None => Ok(()),
        Some(table) => Err(StoreError::Damaged { path: None, why: format!("broken references in {table}") }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the schema alone is looked at, without a store around it")]
    fn migrations_lead_to_the_version_that_this_binary_knows() {
        for schema in [STATE, OUTPUT] {
            let mut conn = Connection::open_in_memory().unwrap();
            migrate(&mut conn, &schema).unwrap();
            let read = |pragma: &str| conn.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).unwrap();
            assert_eq!((read("user_version"), read("application_id")), (schema.newest, schema.application_id));
            let (name, _) = schema.migrations.last().unwrap();
            assert!(name.starts_with(&format!("V{}__", schema.newest)), "{name}");
        }
    }
}
