//! The statement helpers on PostgreSQL. A statement is one exchange with the server: its text goes with the types of its
//! parameters, and no statement is prepared before.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::mem;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use refinery::Runner;
use tokio_postgres::{Client, Error, Row as ServerRow, SimpleQueryMessage, SimpleQueryRow};

use super::postgres_client::PostgresClient;
use super::postgres_error::{migration_error, store_error};
use super::postgres_value::{OwnedBound, bind, typed};
use super::row::Row;
use super::value::ToValue;
use crate::store::StoreError;

/// The most rows that a cursor fetches at once.
const MAX_FETCH: usize = 256;
/// The factor by which the number of fetched rows grows each time.
const FETCH_GROWTH: usize = 4;
/// How often a read is run to learn the statements that can be sent together.
const MAX_REHEARSALS: usize = 6;
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
    /// The answers of a read whose statements are sent together.
    together: RefCell<Option<Together>>,
}

impl PostgresConnection {
    pub(in crate::store) fn new(client: PostgresClient, address: String) -> Self {
        Self { client: RefCell::new(client), address, cursors: Cell::new(0), together: RefCell::default() }
    }

    /// Replaces the client after its connection broke.
    pub(in crate::store) fn replace_client(&self, client: PostgresClient) {
        *self.client.borrow_mut() = client;
    }

    pub(in crate::store) fn is_broken(&self) -> bool {
        self.client.borrow().is_broken()
    }

    /// Runs statements without parameters, in one exchange; returns the rows of all.
    pub(in crate::store) fn batch(&self, statements: &str) -> Result<Vec<SimpleQueryRow>, StoreError> {
        self.batch_within(STATEMENT_LIMIT, statements)
    }

    /// As [`PostgresConnection::batch`], with another time limit.
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

    /// Calls `run` until all of its statements are answered. After each call, the statements that had no answer yet are sent
    /// together. So only statements that depend on the rows of others need further exchanges with the server. In every call but
    /// the last, a statement without an answer returns no rows.
    pub(in crate::store) fn together<R>(&self, mut run: impl FnMut() -> R) -> Result<R, StoreError> {
        let _end = EndTogether(self);
        self.together.replace(Some(Together { rehearses: true, ..Together::default() }));
        for _ in 0..MAX_REHEARSALS {
            let done = run();
            let missed = self.together.borrow_mut().as_mut().map(|all| mem::take(&mut all.missed)).unwrap_or_default();
            if missed.is_empty() {
                return Ok(done);
            }
            self.send_together(missed)?;
        }
        if let Some(all) = self.together.borrow_mut().as_mut() {
            all.rehearses = false;
        }
        Ok(run())
    }

    fn send_together(&self, missed: Vec<Missed>) -> Result<(), StoreError> {
        tracing::trace!(sql = missed.first().map_or("", |one| &one.sql), together = missed.len());
        let answers = self.call(STATEMENT_LIMIT, async |client| {
            let client: &Client = client;
            let sent: Vec<Sent<'_>> = missed.iter().map(|one| Box::pin(one.send(client)) as Sent<'_>).collect();
            in_order(sent).await.into_iter().collect::<Result<Vec<_>, Error>>()
        })?;
        let mut together = self.together.borrow_mut();
        let Some(all) = together.as_mut() else { return Ok(()) };
        for (one, rows) in missed.into_iter().zip(answers) {
            let rest = one.cursor.filter(|cursor| rows.len() >= cursor.count);
            all.known.insert(one.key, Answer { rows: rows.into(), rest });
        }
        Ok(())
    }

    /// The answer of a statement that was sent with others; none where nothing is sent together.
    fn answer(&self, sql: &str, values: &[&dyn ToValue], first: Option<usize>) -> Option<Answer> {
        let mut together = self.together.borrow_mut();
        let all = together.as_mut()?;
        let shown: Vec<String> = values.iter().map(|value| format!("{:?}", value.to_value())).collect();
        let key = format!("{sql}\0{}\0{}", shown.join("\0"), first.is_some());
        if let Some(known) = all.known.get(&key) {
            return Some(known.clone());
        }
        if !all.rehearses {
            return None;
        }
        let cursor = first.map(|first| {
            let number = self.cursors.get() + 1;
            self.cursors.set(number);
            OpenCursor { name: format!("cursor_{number}"), count: first.clamp(1, MAX_FETCH) }
        });
        let sql = without_index_hints(sql).into_owned();
        let is_asked = all.missed.iter().any(|one| one.key == key);
        if !is_asked {
            all.missed.push(Missed {
                key,
                sql,
                values: values.iter().map(|one| OwnedBound::of(*one)).collect(),
                cursor,
            });
        }
        Some(Answer { rows: Rc::default(), rest: None })
    }

    /// Passes the rows of an answer to `see`, and those that its cursor still has.
    fn see_answer(
        &self,
        answer: &Answer,
        see: &mut dyn FnMut(&Row<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        for row in answer.rows.iter() {
            if !see(&Row::Postgres(row))? {
                return Ok(());
            }
        }
        let Some(cursor) = &answer.rest else { return Ok(()) };
        // What is read here is not kept: the next run begins with the cursor where it is.
        self.query(&format!("MOVE ABSOLUTE {} IN {}", answer.rows.len(), cursor.name), &[])?;
        self.see_rest(&cursor.name, cursor.count, see)
    }

    fn see_rest(
        &self,
        cursor: &str,
        mut count: usize,
        see: &mut dyn FnMut(&Row<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        loop {
            count = (count * FETCH_GROWTH).min(MAX_FETCH);
            let rows = self.query(&format!("FETCH {count} FROM {cursor}"), &[])?;
            for row in &rows {
                if !see(&Row::Postgres(row))? {
                    return Ok(());
                }
            }
            if rows.len() < count {
                return Ok(());
            }
        }
    }

    pub(super) fn execute(&self, sql: &str, values: &[&dyn ToValue]) -> Result<usize, StoreError> {
        tracing::trace!(sql);
        let bound = bind(values);
        let (sql, values) = (without_index_hints(sql), typed(&bound));
        let changed = self.call(STATEMENT_LIMIT, async |client| client.execute_typed(&sql, &values).await)?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    fn query(&self, sql: &str, values: &[&dyn ToValue]) -> Result<Vec<ServerRow>, StoreError> {
        tracing::trace!(sql);
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
        if let Some(answer) = self.answer(sql, values, None) {
            return self.see_answer(&answer, see);
        }
        for row in &self.query(sql, values)? {
            if !see(&Row::Postgres(row))? {
                break;
            }
        }
        Ok(())
    }

    /// Reads through a cursor: `first` rows, and then more at a time, so that stopping early is cheap. The end of the
    /// transaction closes the cursor.
    pub(super) fn for_each(
        &self,
        sql: &str,
        values: &[&dyn ToValue],
        first: usize,
        see: &mut dyn FnMut(&Row<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        if let Some(answer) = self.answer(sql, values, Some(first)) {
            return self.see_answer(&answer, see);
        }
        let number = self.cursors.get() + 1;
        self.cursors.set(number);
        let declare = format!("DECLARE cursor_{number} NO SCROLL CURSOR FOR {}", without_index_hints(sql));
        let count = first.clamp(1, MAX_FETCH);
        let first_rows = format!("FETCH {count} FROM cursor_{number}");
        tracing::trace!(sql);
        let bound = bind(values);
        let values = typed(&bound);
        // Both are sent at once.
        let rows = self.call(STATEMENT_LIMIT, async |client| {
            let (declared, rows) =
                tokio::join!(client.execute_typed(&declare, &values), client.query_typed(&first_rows, &[]));
            declared.and(rows)
        })?;
        for row in &rows {
            if !see(&Row::Postgres(row))? {
                return Ok(());
            }
        }
        if rows.len() < count { Ok(()) } else { self.see_rest(&format!("cursor_{number}"), count, see) }
    }
}

/// The answers of one read.
#[derive(Debug, Default)]
struct Together {
    known: HashMap<String, Answer>,
    /// The statements of this run that have no answer yet.
    missed: Vec<Missed>,
    rehearses: bool,
}

#[derive(Debug, Clone)]
struct Answer {
    rows: Rc<[ServerRow]>,
    /// The cursor that may have more.
    rest: Option<OpenCursor>,
}

#[derive(Debug, Clone)]
struct OpenCursor {
    name: String,
    /// How many rows were fetched last.
    count: usize,
}

/// A statement that is to be sent.
#[derive(Debug)]
struct Missed {
    key: String,
    sql: String,
    values: Vec<OwnedBound>,
    cursor: Option<OpenCursor>,
}

/// A statement that was sent, and its rows.
type Sent<'a> = Pin<Box<dyn Future<Output = Result<Vec<ServerRow>, Error>> + Send + 'a>>;

impl Missed {
    async fn send(&self, client: &Client) -> Result<Vec<ServerRow>, Error> {
        let bound: Vec<_> = self.values.iter().map(OwnedBound::bound).collect();
        let values = typed(&bound);
        let Some(cursor) = &self.cursor else { return client.query_typed(&self.sql, &values).await };
        // It may be read again from the first rows on.
        let declare = format!("DECLARE {} SCROLL CURSOR FOR {}", cursor.name, self.sql);
        let fetch = format!("FETCH {} FROM {}", cursor.count, cursor.name);
        let (declared, rows) = tokio::join!(client.execute_typed(&declare, &values), client.query_typed(&fetch, &[]));
        declared.and(rows)
    }
}

/// The results of calls that are sent one after the other, without a wait in between.
async fn in_order(mut calls: Vec<Sent<'_>>) -> Vec<Result<Vec<ServerRow>, Error>> {
    let mut done: Vec<Option<Result<Vec<ServerRow>, Error>>> = calls.iter().map(|_| None).collect();
    poll_fn(|cx| {
        let mut is_over = true;
        for (call, done) in calls.iter_mut().zip(&mut done) {
            if done.is_none() {
                match call.as_mut().poll(cx) {
                    Poll::Ready(result) => *done = Some(result),
                    Poll::Pending => is_over = false,
                }
            }
        }
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}

/// Ends a read whose statements are sent together.
struct EndTogether<'a>(&'a PostgresConnection);

impl Drop for EndTogether<'_> {
    fn drop(&mut self) {
        self.0.together.replace(None);
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
