//! The statement helpers on PostgreSQL. A statement is one exchange with the server: its text goes with the types of its
//! parameters, and no statement is prepared before.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    fmt,
};

use postgres::{Client, Row as ServerRow, SimpleQueryMessage, SimpleQueryRow};

use super::{
    postgres_value::{bind, typed},
    row::Row,
    value::ToValue,
};
use crate::store::StoreError;

/// The rows that a cursor fetches at once.
const FETCH: usize = 64;
const INDEX_HINT: &str = " INDEXED BY ";

/// A connection to a server. Each statement borrows the client for itself, so that a statement may run between two rows of
/// another.
pub(in crate::store) struct PostgresConnection {
    client: RefCell<Client>,
    cursors: Cell<u64>,
}

impl fmt::Debug for PostgresConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresConnection").finish_non_exhaustive()
    }
}

impl PostgresConnection {
    pub(in crate::store) fn new(client: Client) -> Self {
        Self { client: RefCell::new(client), cursors: Cell::new(0) }
    }

    /// Runs statements without parameters, in one exchange; returns the rows of all.
    pub(in crate::store) fn batch(&self, statements: &str) -> Result<Vec<SimpleQueryRow>, StoreError> {
        let messages = self.client.borrow_mut().simple_query(statements)?;
        let row = |message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        };
        Ok(messages.into_iter().filter_map(row).collect())
    }

    /// Runs `work` with the client, for what needs it itself.
    pub(in crate::store) fn with_client<T>(&self, work: impl FnOnce(&mut Client) -> T) -> T {
        work(&mut self.client.borrow_mut())
    }

    pub(super) fn execute(&self, sql: &str, values: &[&dyn ToValue]) -> Result<usize, StoreError> {
        let bound = bind(values);
        let changed = self.client.borrow_mut().execute_typed(&without_index_hints(sql), &typed(&bound))?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    fn query(&self, sql: &str, values: &[&dyn ToValue]) -> Result<Vec<ServerRow>, StoreError> {
        let bound = bind(values);
        Ok(self.client.borrow_mut().query_typed(&without_index_hints(sql), &typed(&bound))?)
    }

    pub(super) fn rows<T>(
        &self,
        sql: &str,
        values: &[&dyn ToValue],
        mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.query(sql, values)?.iter().map(|row| read(&Row::Postgres(row))).collect()
    }

    pub(super) fn first<T>(
        &self,
        sql: &str,
        values: &[&dyn ToValue],
        read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.query(sql, values)?.first().map(|row| read(&Row::Postgres(row))).transpose()
    }

    /// Reads through a cursor, so that stopping early is cheap. The end of the transaction closes it.
    pub(super) fn for_each(
        &self,
        sql: &str,
        values: &[&dyn ToValue],
        mut see: impl FnMut(&Row<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let number = self.cursors.get() + 1;
        self.cursors.set(number);
        self.execute(&format!("DECLARE cursor_{number} NO SCROLL CURSOR FOR {sql}"), values)?;
        let fetch = format!("FETCH {FETCH} FROM cursor_{number}");
        loop {
            let rows = self.query(&fetch, &[])?;
            for row in &rows {
                if !see(&Row::Postgres(row))? {
                    return Ok(());
                }
            }
            if rows.len() < FETCH {
                return Ok(());
            }
        }
    }
}

/// A statement without the names of indexes, which PostgreSQL chooses itself.
fn without_index_hints(sql: &str) -> Cow<'_, str> {
    let mut parts = sql.split(INDEX_HINT);
    let Some(first) = parts.next().filter(|first| first.len() < sql.len()) else { return Cow::Borrowed(sql) };
    let mut text = first.to_owned();
    for part in parts {
        // The name ends where the next word begins.
        text.push_str(part.find([' ', ')']).and_then(|end| part.get(end..)).unwrap_or_default());
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_hints_are_left_out_and_the_rest_stays() {
        let of = |sql| without_index_hints(sql).into_owned();
        assert_eq!(of("SELECT 1 FROM t WHERE a"), "SELECT 1 FROM t WHERE a");
        assert_eq!(of("SELECT 1 FROM t INDEXED BY t_a WHERE a"), "SELECT 1 FROM t WHERE a");
        assert_eq!(
            of("SELECT (SELECT 1 FROM t a INDEXED BY t_a) FROM t INDEXED BY t_b JOIN u INDEXED BY u_c ON 1"),
            "SELECT (SELECT 1 FROM t a) FROM t JOIN u ON 1"
        );
    }
}
