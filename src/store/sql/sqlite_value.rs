//! Values of SQLite.

use rusqlite::{
    ToSql,
    types::{ToSqlOutput, ValueRef},
};

use super::value::Value;
use crate::store::StoreError;

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(number),
            Self::Real(number) => ValueRef::Real(number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// The value of a row's column.
pub(super) fn value<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> Result<Value<'r>, StoreError> {
    let found = row.get_ref(column)?;
    Ok(match found {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(_) => Value::Text(found.as_str().map_err(rusqlite::Error::from)?),
        ValueRef::Blob(bytes) => Value::Bytes(bytes),
    })
}
