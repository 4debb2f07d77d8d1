//! Rows, the same for every engine.

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};

#[cfg(feature = "postgres")]
use super::postgres_value;
use super::value::{FromValue, Value};
use crate::store::StoreError;

/// A row of a result.
#[derive(Debug)]
pub enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    /// A row from a server.
    #[cfg(feature = "postgres")]
    Postgres(&'a tokio_postgres::Row),
}

impl Row<'_> {
    /// Reads the value of a column.
    ///
    /// # Errors
    /// When the value is not of this type, or there is no such column.
    pub fn get<T: FromValue>(&self, column: usize) -> Result<T, StoreError> {
        let value = self.value(column)?;
        T::from_value(value).ok_or_else(|| match (T::MEANING, value) {
            (Some(what), Value::Text(text)) => StoreError::Unreadable { what, value: text.chars().take(64).collect() },
            _ => StoreError::ColumnType {
                column: self.column_name(column).unwrap_or_default().to_owned(),
                value: format!("{value:?}").chars().take(64).collect(),
            },
        })
    }

    /// The value of a column, of any type.
    pub fn value(&self, column: usize) -> Result<Value<'_>, StoreError> {
        match self {
            Self::Sqlite(row) => sqlite_value(row, column),
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => postgres_value::value(row, column),
        }
    }

    /// The name of a column; `None` after the last one.
    pub fn column_name(&self, column: usize) -> Option<&str> {
        match self {
            Self::Sqlite(row) => row.as_ref().column_name(column).ok(),
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => row.columns().get(column).map(tokio_postgres::Column::name),
        }
    }
}

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

fn sqlite_value<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> Result<Value<'r>, StoreError> {
    let found = row.get_ref(column)?;
    Ok(match found {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(_) => Value::Text(found.as_str().map_err(rusqlite::Error::from)?),
        ValueRef::Blob(bytes) => Value::Bytes(bytes),
    })
}
