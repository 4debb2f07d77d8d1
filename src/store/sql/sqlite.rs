//! The statement helpers on SQLite.

use rusqlite::{Connection, Statement};

use super::{row::Row, value::ToValue};
use crate::store::StoreError;

fn bind(statement: &mut Statement<'_>, values: &[&dyn ToValue]) -> Result<(), StoreError> {
    for index in 1..=statement.parameter_count() {
        // SQLite numbers `$n` by appearance, so a parameter's name tells its value. An unused value is not bound.
        let place = statement.parameter_name(index).and_then(|name| name.strip_prefix('$')?.parse::<usize>().ok());
        if let Some(value) = place.and_then(|place| values.get(place.checked_sub(1)?)) {
            statement.raw_bind_parameter(index, value.to_value())?;
        }
    }
    Ok(())
}

pub(super) fn execute(conn: &Connection, sql: &str, values: &[&dyn ToValue]) -> Result<usize, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    bind(&mut statement, values)?;
    Ok(statement.raw_execute()?)
}

pub(super) fn for_each(
    conn: &Connection,
    sql: &str,
    values: &[&dyn ToValue],
    see: &mut dyn FnMut(&Row<'_>) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    bind(&mut statement, values)?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        if !see(&Row::Sqlite(row))? {
            break;
        }
    }
    Ok(())
}
