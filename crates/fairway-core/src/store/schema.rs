//! The schemas of the store and the output store, and their migrations.

use refinery::{Migration, Runner, Target};
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
    /// The schema that the migrations lead to, in one text; `None` where the migrations are no longer than that.
    whole: Option<&'static str>,
}

impl Schema {
    fn migrations(&self) -> Result<Vec<Migration>, StoreError> {
        let listed = self.migrations.iter().map(|(name, sql)| Migration::unapplied(name, sql));
        Ok(listed.collect::<Result<_, _>>()?)
    }
}

/// The store: "FAIR".
pub(super) const STATE: Schema = Schema {
    application_id: 1_178_683_730,
    newest: 25,
    synchronous: "FULL",
    migrations: MIGRATIONS,
    whole: Some(include_str!("../../migrations/newest.sql")),
};

/// The output store: "FAIO".
pub(super) const OUTPUT: Schema = Schema {
    application_id: 1_178_683_727,
    newest: 1,
    synchronous: "NORMAL",
    migrations: OUTPUT_MIGRATIONS,
    whole: None,
};

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
    ("V20__lane_work", include_str!("../../migrations/V20__lane_work.sql")),
    ("V21__pull_requests", include_str!("../../migrations/V21__pull_requests.sql")),
    ("V22__last_message", include_str!("../../migrations/V22__last_message.sql")),
    ("V23__parked_sessions", include_str!("../../migrations/V23__parked_sessions.sql")),
    ("V24__budgets", include_str!("../../migrations/V24__budgets.sql")),
    ("V25__pull_request_comments", include_str!("../../migrations/V25__pull_request_comments.sql")),
];
const OUTPUT_MIGRATIONS: &[(&str, &str)] =
    &[("V1__run_output", include_str!("../../migrations/runs/V1__run_output.sql"))];

/// Creates the newest schema in an empty file that no other process uses. It runs one script with the whole schema, if there is
/// one. The migrations would take ten times as long: SQLite parses the whole schema again after each change of a table.
pub(super) fn create(conn: &mut Connection, schema: &Schema) -> Result<(), StoreError> {
    let Some(whole) = schema.whole else { return migrate(conn, schema) };
    conn.execute_batch(whole)?;
    // They count as applied.
    Runner::new(&schema.migrations()?).set_grouped(true).set_target(Target::Fake).run(conn)?;
    Ok(())
}

/// Runs all missing migrations in one transaction.
/// Fails with [`StoreError::Damaged`] when a row then refers to another one that does not exist.
pub(super) fn migrate(conn: &mut Connection, schema: &Schema) -> Result<(), StoreError> {
    Runner::new(&schema.migrations()?).set_grouped(true).run(conn)?;
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
#[expect(clippy::disallowed_methods, reason = "the schema alone is looked at, without a store around it")]
mod tests {
    use std::fs;

    use super::*;

    /// A file with a schema, as the text that makes it.
    fn text_of(conn: &Connection) -> String {
        let read = |pragma: &str| conn.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).unwrap();
        let mut statement = conn
            .prepare(
                "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'refinery%'
                 AND name NOT LIKE 'sqlite%' ORDER BY tbl_name, type <> 'table', name",
            )
            .unwrap();
        let parts: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let (application, version) = (read("application_id"), read("user_version"));
        format!(
            "-- The schema that the migrations lead to. A test makes it from them: UPDATE_DOCS=1 writes it anew.\n\nBEGIN;\n\n\
             {};\n\nPRAGMA application_id = {application};\nPRAGMA user_version = {version};\nCOMMIT;\n",
            parts.join(";\n\n"),
        )
    }

    fn history(conn: &Connection) -> Vec<(i64, String, String)> {
        let mut statement =
            conn.prepare("SELECT version, name, checksum FROM refinery_schema_history ORDER BY version").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        rows.map(Result::unwrap).collect()
    }

    #[test]
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

    /// A change of the schema is seen in that file, and comes with a migration.
    #[test]
    fn new_store_has_the_schema_that_the_migrations_lead_to() {
        let (mut migrated, mut created) =
            (Connection::open_in_memory().unwrap(), Connection::open_in_memory().unwrap());
        migrate(&mut migrated, &STATE).unwrap();
        let text = text_of(&migrated);
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/newest.sql");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(path, &text).unwrap();
        }
        assert_eq!(fs::read_to_string(path).unwrap(), text, "UPDATE_DOCS=1 writes migrations/newest.sql anew");
        assert_eq!(STATE.whole, Some(text.as_str()), "it was written anew: the next build has it");
        create(&mut created, &STATE).unwrap();
        assert_eq!((text_of(&created), history(&created)), (text, history(&migrated)));
        // None is left to run, and no table has rows, so that the text above is all.
        migrate(&mut created, &STATE).unwrap();
        let mut tables = migrated.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
        for table in tables.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap) {
            let rows: i64 =
                migrated.query_row(&format!("SELECT count(*) FROM \"{table}\""), [], |row| row.get(0)).unwrap();
            assert_eq!(rows > 0, table == "refinery_schema_history", "{table}");
        }
    }
}
