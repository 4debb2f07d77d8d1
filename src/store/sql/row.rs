//! Rows, the same for every engine.

#[cfg(feature = "postgres")]
use super::postgres_value;
use super::{
    sqlite_value,
    value::{FromValue, Value},
};
use crate::store::StoreError;

/// A row of a result.
#[derive(Debug)]
pub enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    /// Of a server.
    #[cfg(feature = "postgres")]
    Postgres(&'a tokio_postgres::Row),
}

impl Row<'_> {
    /// The value of a column.
    ///
    /// # Errors
    /// When the value is none of this type.
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

    /// The value of a column, of whatever type it is.
    pub fn value(&self, column: usize) -> Result<Value<'_>, StoreError> {
        match self {
            Self::Sqlite(row) => sqlite_value::value(row, column),
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => postgres_value::value(row, column),
        }
    }

    /// The name of a column; `None` behind the last one.
    pub fn column_name(&self, column: usize) -> Option<&str> {
        match self {
            Self::Sqlite(row) => row.as_ref().column_name(column).ok(),
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => row.columns().get(column).map(tokio_postgres::Column::name),
        }
    }
}
