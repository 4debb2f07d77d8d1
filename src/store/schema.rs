//! The schema and how a store comes to it.

use refinery::{Migration, Runner};
use rusqlite::Connection;

use super::StoreError;

/// "FAIR": written into the file's header by the first migration.
pub(super) const APPLICATION_ID: i64 = 1_178_683_730;

/// The newest schema that this binary knows; each migration sets it as the file's `user_version`.
pub(super) const NEWEST: i64 = 3;

// An explicit list: the embedding macro does not notice a new file.
const MIGRATIONS: &[(&str, &str)] = &[
    ("V1__lane_queue", include_str!("../../migrations/V1__lane_queue.sql")),
    ("V2__multiplexer_server", include_str!("../../migrations/V2__multiplexer_server.sql")),
    ("V3__background_runs", include_str!("../../migrations/V3__background_runs.sql")),
];

/// Brings a store up to date, all missing migrations in one transaction.
pub(super) fn migrate(conn: &mut Connection) -> Result<(), StoreError> {
    let migrations =
        MIGRATIONS.iter().map(|(name, sql)| Migration::unapplied(name, sql)).collect::<Result<Vec<_>, _>>()?;
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
    fn the_migrations_lead_to_the_version_that_this_binary_knows() {
        let mut conn = Connection::open_in_memory().unwrap();
        migrate(&mut conn).unwrap();
        let read = |pragma: &str| conn.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!((read("user_version"), read("application_id")), (NEWEST, APPLICATION_ID));
        assert_eq!(MIGRATIONS.len(), usize::try_from(NEWEST).unwrap());
    }
}
