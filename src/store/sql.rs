//! Statements with numbered parameters that are bound by name, so that the SQL text is portable to other engines.

use rusqlite::{Connection, Row, Statement, ToSql};

use super::StoreError;

fn bind(statement: &mut Statement<'_>, values: &[&dyn ToSql]) -> Result<(), StoreError> {
    for index in 1..=statement.parameter_count() {
        // SQLite numbers `$n` by appearance, so a parameter's name tells its value. An unused value is not bound.
        let place = statement.parameter_name(index).and_then(|name| name.strip_prefix('$')?.parse::<usize>().ok());
        if let Some(value) = place.and_then(|place| values.get(place.checked_sub(1)?)) {
            statement.raw_bind_parameter(index, value)?;
        }
    }
    Ok(())
}

/// Runs a statement that returns no rows; returns the number of changed rows.
pub(super) fn execute(conn: &Connection, sql: &str, values: &[&dyn ToSql]) -> Result<usize, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    bind(&mut statement, values)?;
    Ok(statement.raw_execute()?)
}

/// Every row of a query, read by `read`.
pub(super) fn rows<T>(
    conn: &Connection,
    sql: &str,
    values: &[&dyn ToSql],
    mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut found = Vec::new();
    for_each(conn, sql, values, |row| {
        found.push(read(row)?);
        Ok(true)
    })?;
    Ok(found)
}

/// Passes the rows to `see`, in order, until `see` returns `false`.
pub(super) fn for_each(
    conn: &Connection,
    sql: &str,
    values: &[&dyn ToSql],
    mut see: impl FnMut(&Row<'_>) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    bind(&mut statement, values)?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        if !see(row)? {
            break;
        }
    }
    Ok(())
}

/// The first row of a query, if there is one.
pub(super) fn first<T>(
    conn: &Connection,
    sql: &str,
    values: &[&dyn ToSql],
    read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    bind(&mut statement, values)?;
    let mut rows = statement.raw_query();
    rows.next()?.map(read).transpose()
}

/// Parses a stored value of a closed set.
pub(super) fn parse_value<T>(
    what: &'static str,
    text: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, StoreError> {
    parse(text).ok_or_else(|| StoreError::Unreadable { what, value: text.chars().take(64).collect() })
}

/// Parses a stored id.
pub(super) fn parse_id<T, E>(
    what: &'static str,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, StoreError> {
    parse_value(what, text, |text| parse(text).ok())
}

/// Parses a stored id that may be null.
pub(super) fn parse_optional_id<T, E>(
    what: &'static str,
    text: Option<String>,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, StoreError> {
    text.map(|text| parse_id(what, &text, parse)).transpose()
}
