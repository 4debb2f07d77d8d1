//! Statements with numbered parameters that are bound by name, so that the SQL text is portable to other engines. Values and
//! rows are the store's own: no repository names an engine.

pub(super) mod columns;
mod domain_value;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
mod postgres_client;
#[cfg(feature = "postgres")]
mod postgres_error;
#[cfg(feature = "postgres")]
mod postgres_value;
mod row;
mod value;

#[cfg(feature = "postgres")]
pub(super) use postgres::PostgresConnection;
#[cfg(feature = "postgres")]
pub(super) use postgres_client::{CallError, PostgresClient};
#[cfg(feature = "postgres")]
pub(super) use postgres_error::{is_garbled, reason, store_error};
pub(super) use row::Row;
pub(super) use value::ToValue;
#[cfg(feature = "postgres")]
pub(super) use value::Value;

use serde::Serialize;

use super::StoreError;

/// The text of a statement: the same for both engines, or one for each where they differ.
#[derive(Debug, Clone, Copy)]
pub struct Statement<'s> {
    pub sqlite: &'s str,
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "read by the engine alone"))]
    pub postgres: &'s str,
}

impl<'s> From<&'s str> for Statement<'s> {
    fn from(text: &'s str) -> Self {
        Self { sqlite: text, postgres: text }
    }
}

impl<'s> From<&'s String> for Statement<'s> {
    fn from(text: &'s String) -> Self {
        text.as_str().into()
    }
}

/// A statement that reads the texts of the JSON array `$n`: `json_texts!(before, "$n", after)`. They are its column `value`.
macro_rules! json_texts {
    ($before:expr, $parameter:literal, $after:expr) => {
        $crate::store::sql::Statement {
            sqlite: concat!($before, "json_each(", $parameter, ")", $after),
            postgres: concat!($before, "json_array_elements_text(", $parameter, "::json)", $after),
        }
    };
}
/// A statement that reads the arrays of the JSON array `$1`: `json_rows!(before, after)`. Each is the column `value`, with the
/// items `value ->> 0` and so on. The type is `jsonb`, which is parsed once: `json` is parsed again for each item.
macro_rules! json_rows {
    ($before:expr, $after:expr) => {
        $crate::store::sql::Statement {
            sqlite: concat!($before, "json_each($1)", $after),
            postgres: concat!($before, "jsonb_array_elements($1::jsonb)", $after),
        }
    };
}
pub(super) use {json_rows, json_texts};

/// The connection that runs a statement.
#[derive(Debug, Clone, Copy)]
pub(super) enum Connection<'a> {
    /// A SQLite file.
    Sqlite(&'a rusqlite::Connection),
    /// A server.
    #[cfg(feature = "postgres")]
    Postgres(&'a PostgresConnection),
}

impl<'a> From<&'a rusqlite::Connection> for Connection<'a> {
    fn from(conn: &'a rusqlite::Connection) -> Self {
        Self::Sqlite(conn)
    }
}

impl<'a> From<&'a rusqlite::Transaction<'_>> for Connection<'a> {
    fn from(tx: &'a rusqlite::Transaction<'_>) -> Self {
        Self::Sqlite(tx)
    }
}

#[cfg(feature = "postgres")]
impl<'a> From<&'a PostgresConnection> for Connection<'a> {
    fn from(connection: &'a PostgresConnection) -> Self {
        Self::Postgres(connection)
    }
}

/// Runs a read. On a server, `run` may be called several times, so that statements which do not depend on each other are sent
/// together; for a file it is called once.
#[cfg_attr(not(feature = "postgres"), expect(clippy::unnecessary_wraps, reason = "a server may fail in between"))]
pub(super) fn together<R>(conn: Connection<'_>, mut run: impl FnMut() -> R) -> Result<R, StoreError> {
    match conn {
        Connection::Sqlite(_) => Ok(run()),
        #[cfg(feature = "postgres")]
        Connection::Postgres(connection) => connection.together(run),
    }
}

/// The number of rows that a cursor fetches first by default.
const USUAL_FETCH: usize = 64;

/// Sees a row; returns whether it wants the next one.
type SeeRow<'f> = dyn FnMut(&Row<'_>) -> Result<bool, StoreError> + 'f;

/// Runs a statement that returns no rows; returns the number of changed rows.
pub(super) fn execute<'c, 's>(
    conn: impl Into<Connection<'c>>,
    sql: impl Into<Statement<'s>>,
    values: &[&dyn ToValue],
) -> Result<usize, StoreError> {
    execute_on(conn.into(), sql.into(), values)
}

pub(super) fn rows<'c, 's, T>(
    conn: impl Into<Connection<'c>>,
    sql: impl Into<Statement<'s>>,
    values: &[&dyn ToValue],
    mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut found = Vec::new();
    for_each_on(conn.into(), sql.into(), values, Fetch::All, &mut |row| {
        found.push(read(row)?);
        Ok(true)
    })?;
    Ok(found)
}

/// Passes the rows to `see`, in order, until `see` returns `false`.
pub(super) fn for_each<'c, 's>(
    conn: impl Into<Connection<'c>>,
    sql: impl Into<Statement<'s>>,
    values: &[&dyn ToValue],
    see: impl FnMut(&Row<'_>) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    for_each_expecting(conn, sql, values, USUAL_FETCH, see)
}

/// As [`for_each`], for a caller that will probably look at `expected` rows: a server sends that many at first.
pub(super) fn for_each_expecting<'c, 's>(
    conn: impl Into<Connection<'c>>,
    sql: impl Into<Statement<'s>>,
    values: &[&dyn ToValue],
    expected: usize,
    mut see: impl FnMut(&Row<'_>) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    for_each_on(conn.into(), sql.into(), values, Fetch::Cursor { first: expected }, &mut see)
}

/// The first row of a query, if there is one.
pub(super) fn first<'c, 's, T>(
    conn: impl Into<Connection<'c>>,
    sql: impl Into<Statement<'s>>,
    values: &[&dyn ToValue],
    mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut found = None;
    for_each_on(conn.into(), sql.into(), values, Fetch::All, &mut |row| {
        found = Some(read(row)?);
        Ok(false)
    })?;
    Ok(found)
}

// The generic functions above are compiled anew for each query, so the work is done below, in functions that are compiled once.

fn execute_on(conn: Connection<'_>, sql: Statement<'_>, values: &[&dyn ToValue]) -> Result<usize, StoreError> {
    match conn {
        Connection::Sqlite(conn) => {
            tracing::trace!(sql = sql.sqlite);
            execute_sqlite(conn, sql.sqlite, values)
        }
        #[cfg(feature = "postgres")]
        Connection::Postgres(connection) => connection.execute(sql.postgres, values),
    }
}

/// How a server sends the rows of a query; a file is read row by row in both cases.
#[derive(Debug, Clone, Copy)]
enum Fetch {
    /// All rows before the first one is seen.
    All,
    /// Some rows at a time, so that stopping early is cheap: `first` rows, and then more.
    Cursor {
        #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "a file is read row by row"))]
        first: usize,
    },
}

/// Passes the rows to `see`.
fn for_each_on(
    conn: Connection<'_>,
    sql: Statement<'_>,
    values: &[&dyn ToValue],
    fetch: Fetch,
    see: &mut SeeRow<'_>,
) -> Result<(), StoreError> {
    match (conn, fetch) {
        (Connection::Sqlite(conn), _) => {
            tracing::trace!(sql = sql.sqlite);
            for_each_sqlite(conn, sql.sqlite, values, see)
        }
        #[cfg(feature = "postgres")]
        (Connection::Postgres(connection), Fetch::All) => connection.each_of_all(sql.postgres, values, see),
        #[cfg(feature = "postgres")]
        (Connection::Postgres(connection), Fetch::Cursor { first }) => {
            connection.for_each(sql.postgres, values, first, see)
        }
    }
}

fn bind_sqlite(statement: &mut rusqlite::Statement<'_>, values: &[&dyn ToValue]) -> Result<(), StoreError> {
    for index in 1..=statement.parameter_count() {
        // SQLite numbers `$n` by appearance, so a parameter's name tells its value. An unused value is not bound.
        let place = statement.parameter_name(index).and_then(|name| name.strip_prefix('$')?.parse::<usize>().ok());
        if let Some(value) = place.and_then(|place| values.get(place.checked_sub(1)?)) {
            statement.raw_bind_parameter(index, value.to_value())?;
        }
    }
    Ok(())
}

fn execute_sqlite(conn: &rusqlite::Connection, sql: &str, values: &[&dyn ToValue]) -> Result<usize, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    bind_sqlite(&mut statement, values)?;
    Ok(statement.raw_execute()?)
}

fn for_each_sqlite(
    conn: &rusqlite::Connection,
    sql: &str,
    values: &[&dyn ToValue],
    see: &mut SeeRow<'_>,
) -> Result<(), StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    bind_sqlite(&mut statement, values)?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        if !see(&Row::Sqlite(row))? {
            break;
        }
    }
    Ok(())
}

/// The JSON text for the parameter of a statement: an array of texts for `json_texts!`, an array of tuples for `json_rows!`.
pub(super) fn json_of(value: &impl Serialize) -> Result<String, StoreError> {
    let unreadable = |error: serde_json::Error| StoreError::Unreadable { what: "JSON", value: error.to_string() };
    serde_json::to_string(value).map_err(unreadable)
}

/// Parses a stored word; `what` names the kind of value in the error.
pub(super) fn parse_value<T>(
    what: &'static str,
    text: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, StoreError> {
    parse(text).ok_or_else(|| StoreError::Unreadable { what, value: text.chars().take(64).collect() })
}

pub(super) fn parse_id<T, E>(
    what: &'static str,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, StoreError> {
    parse_value(what, text, |text| parse(text).ok())
}

pub(super) fn parse_optional_id<T, E>(
    what: &'static str,
    text: Option<String>,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, StoreError> {
    text.map(|text| parse_id(what, &text, parse)).transpose()
}
