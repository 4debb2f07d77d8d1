//! The migrations of a project's schema.

use refinery::{Migration, Runner};

use super::StoreAddress;
use crate::store::StoreError;
use crate::store::schema::STATE;
use crate::store::sql::PostgresConnection;

/// Each leads to the schema of the SQLite migration of the same number.
const MIGRATIONS: &[(&str, &str)] = &[
    ("V10__project", include_str!("../../../migrations/postgres/V10__project.sql")),
    ("V11__hosts", include_str!("../../../migrations/postgres/V11__hosts.sql")),
    ("V12__questions", include_str!("../../../migrations/postgres/V12__questions.sql")),
    ("V13__program_missing", include_str!("../../../migrations/postgres/V13__program_missing.sql")),
    ("V14__seen_work", include_str!("../../../migrations/postgres/V14__seen_work.sql")),
    ("V15__review_comments", include_str!("../../../migrations/postgres/V15__review_comments.sql")),
    ("V16__landing_push", include_str!("../../../migrations/postgres/V16__landing_push.sql")),
    ("V17__structured_sessions", include_str!("../../../migrations/postgres/V17__structured_sessions.sql")),
    ("V18__sandboxes", include_str!("../../../migrations/postgres/V18__sandboxes.sql")),
    ("V19__answered_messages", include_str!("../../../migrations/postgres/V19__answered_messages.sql")),
    ("V20__lane_work", include_str!("../../../migrations/postgres/V20__lane_work.sql")),
    ("V21__pull_requests", include_str!("../../../migrations/postgres/V21__pull_requests.sql")),
    ("V22__last_message", include_str!("../../../migrations/postgres/V22__last_message.sql")),
    ("V23__parked_sessions", include_str!("../../../migrations/postgres/V23__parked_sessions.sql")),
    ("V24__budgets", include_str!("../../../migrations/postgres/V24__budgets.sql")),
    ("V25__pull_request_comments", include_str!("../../../migrations/postgres/V25__pull_request_comments.sql")),
];

/// Creates a project's schema, or migrates it to the newest version. Any number of processes may do so at once.
pub(super) fn migrate(connection: &PostgresConnection, address: &StoreAddress) -> Result<(), StoreError> {
    let schema = &address.schema;
    // By the schema's name: projects of one database do not wait for each other. The lock ends with the connection, too.
    connection.batch(&format!("SELECT pg_advisory_lock(hashtextextended('fairway {schema}', 0))"))?;
    let done = run(connection, address);
    let released = connection.batch("SELECT pg_advisory_unlock_all(); RESET search_path");
    done.and(released.map(drop))
}

fn run(connection: &PostgresConnection, address: &StoreAddress) -> Result<(), StoreError> {
    let schema = &address.schema;
    match version(connection, schema)? {
        Some(found) if found == STATE.newest => return Ok(()),
        Some(found) if found > STATE.newest => {
            return Err(StoreError::Newer { path: address.to_string().into(), found, known: STATE.newest });
        }
        _ => {}
    }
    if connection.batch(&format!("SELECT 1 FROM pg_namespace WHERE nspname = '{schema}'"))?.is_empty() {
        connection.batch(&format!("CREATE SCHEMA IF NOT EXISTS \"{schema}\""))?;
    }
    connection.batch(&format!("SET search_path TO \"{schema}\""))?;
    let migrations =
        MIGRATIONS.iter().map(|(name, text)| Migration::unapplied(name, text)).collect::<Result<Vec<_>, _>>()?;
    let runner = Runner::new(&migrations).set_grouped(true);
    connection.migrate(&runner)?;
    let set_version = format!("UPDATE project SET schema_version = {0} WHERE schema_version < {0}", STATE.newest);
    connection.batch(&set_version)?;
    Ok(())
}

/// The version of a project's schema; `None` without one. A role that may only use the tables is not refused where nothing is to be
/// done: `IF NOT EXISTS` asks for the right to create also what is there.
fn version(connection: &PostgresConnection, schema: &str) -> Result<Option<i64>, StoreError> {
    let table = format!("SELECT 1 FROM pg_tables WHERE schemaname = '{schema}' AND tablename = 'project'");
    if connection.batch(&table)?.is_empty() {
        return Ok(None);
    }
    let rows = connection.batch(&format!("SELECT schema_version FROM \"{schema}\".project"))?;
    Ok(rows.first().and_then(|row| row.get(0)?.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_migrations_lead_to_the_schema_of_sqlite() {
        let (name, _) = MIGRATIONS.last().unwrap();
        assert!(name.starts_with(&format!("V{}__", STATE.newest)), "{name}");
    }
}
