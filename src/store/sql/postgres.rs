//! The statement helpers on PostgreSQL. A statement is one exchange with the server: its text goes with the types of its
//! parameters, and no statement is prepared before.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    time::Duration,
};

use refinery::Runner;
use tokio_postgres::{Client, Error, Row as ServerRow, SimpleQueryMessage, SimpleQueryRow};

use super::{
    postgres_client::PostgresClient,
    postgres_error::{migration_error, store_error},
    postgres_value::{bind, typed},
    row::Row,
    value::ToValue,
};
use crate::store::StoreError;

/// The most rows that a cursor fetches at once.
const MAX_FETCH: usize = 256;
/// How many times as many it fetches the next time.
const FETCH_GROWTH: usize = 4;
const INDEX_HINT: &str = " INDEXED BY ";
/// How long a statement may take: the server ends it before, unless it is out of reach.
const STATEMENT_LIMIT: Duration = Duration::from_secs(35);
/// How long all migrations may take together.
const MIGRATION_LIMIT: Duration = Duration::from_secs(600);

/// A connection to a server. Each statement borrows the client for itself, so that a statement may run between two rows of
/// another.
#[derive(Debug)]
pub(in crate::store) struct PostgresConnection {
    client: RefCell<PostgresClient>,
    /// The address in errors, without a password.
    address: String,
    cursors: Cell<u64>,
}

impl PostgresConnection {
    pub(in crate::store) fn new(client: PostgresClient, address: String) -> Self {
        Self { client: RefCell::new(client), address, cursors: Cell::new(0) }
    }

    /// Goes on with another client, after this one's connection broke.
    pub(in crate::store) fn replace_client(&self, client: PostgresClient) {
        *self.client.borrow_mut() = client;
    }

    /// Whether the connection is of no more use.
    pub(in crate::store) fn is_broken(&self) -> bool {
        self.client.borrow().is_broken()
    }

    /// Runs statements without parameters, in one exchange; returns the rows of all.
    pub(in crate::store) fn batch(&self, statements: &str) -> Result<Vec<SimpleQueryRow>, StoreError> {
        self.batch_within(STATEMENT_LIMIT, statements)
    }

    /// As [`PostgresConnection::batch`], with a limit of its own.
    pub(in crate::store) fn batch_within(
        &self,
        limit: Duration,
        statements: &str,
    ) -> Result<Vec<SimpleQueryRow>, StoreError> {
        let messages = self.call(limit, async |client| client.simple_query(statements).await)?;
        let row = |message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        };
        Ok(messages.into_iter().filter_map(row).collect())
    }

    /// Runs the migrations that are missing.
    pub(in crate::store) fn migrate(&self, runner: &Runner) -> Result<(), StoreError> {
        let ran = self.client.borrow_mut().run(MIGRATION_LIMIT, async |client| runner.run_async(client).await);
        match ran.map_err(|error| store_error(error, &self.address))? {
            Ok(_) => Ok(()),
            // Its own text names no reason.
            Err(error) => Err(migration_error(&error, &self.address)),
        }
    }

    fn call<T: Send>(
        &self,
        limit: Duration,
        work: impl AsyncFnOnce(&mut Client) -> Result<T, Error> + Send,
    ) -> Result<T, StoreError> {
        self.client.borrow_mut().call(limit, work).map_err(|error| store_error(error, &self.address))
    }

    pub(super) fn execute(&self, sql: &str, values: &[&dyn ToValue]) -> Result<usize, StoreError> {
        let bound = bind(values);
        let (sql, values) = (without_index_hints(sql), typed(&bound));
        let changed = self.call(STATEMENT_LIMIT, async |client| client.execute_typed(&sql, &values).await)?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    fn query(&self, sql: &str, values: &[&dyn ToValue]) -> Result<Vec<ServerRow>, StoreError> {
        let bound = bind(values);
        let (sql, values) = (without_index_hints(sql), typed(&bound));
        self.call(STATEMENT_LIMIT, async |client| client.query_typed(&sql, &values).await)
    }

    /// Passes each row to `see`, until `see` returns `false`. All rows are read at once.
    pub(super) fn each_of_all(
        &self,
        sql: &str,
        values: &[&dyn ToValue],
        see: &mut dyn FnMut(&Row<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        for row in &self.query(sql, values)? {
            if !see(&Row::Postgres(row))? {
                break;
            }
        }
        Ok(())
    }

    /// Reads through a cursor, `first` rows and then more at a time, so that stopping early is cheap. The end of the transaction
    /// closes it.
    pub(super) fn for_each(
        &self,
        sql: &str,
        values: &[&dyn ToValue],
        first: usize,
        see: &mut dyn FnMut(&Row<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let number = self.cursors.get() + 1;
        self.cursors.set(number);
        let declare = format!("DECLARE cursor_{number} NO SCROLL CURSOR FOR {}", without_index_hints(sql));
        let fetch = |count: usize| format!("FETCH {count} FROM cursor_{number}");
        let mut count = first.clamp(1, MAX_FETCH);
        let first_rows = fetch(count);
        let bound = bind(values);
        let values = typed(&bound);
        // Both are sent at once.
        let mut rows = self.call(STATEMENT_LIMIT, async |client| {
            let (declared, rows) =
                tokio::join!(client.execute_typed(&declare, &values), client.query_typed(&first_rows, &[]));
            declared.and(rows)
        })?;
        loop {
            for row in &rows {
                if !see(&Row::Postgres(row))? {
                    return Ok(());
                }
            }
            if rows.len() < count {
                return Ok(());
            }
            count = (count * FETCH_GROWTH).min(MAX_FETCH);
            rows = self.query(&fetch(count), &[])?;
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
