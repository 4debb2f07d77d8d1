//! Writes whose commit was not answered: a new connection is used to find out whether they are committed.

use std::time::Instant;

use super::StoreAddress;
use super::connect::{Connected, pause, reconnect};
use crate::store::StoreError;
use crate::store::sql::PostgresConnection;

/// A write whose commit was sent.
#[derive(Debug)]
pub(super) struct SentWrite<'a> {
    /// The number of its transaction on the server.
    pub transaction: &'a str,
    /// The run of the server that gave the number.
    pub server_run: &'a str,
    /// The number and the time of its newest event, if it recorded one.
    pub event: Option<(i64, i64)>,
}

/// Finds out whether a write was committed although its connection broke during the commit. Opens a new connection for that,
/// which replaces the broken one in `connection`. Returns `Ok` when the write was committed, with the text that identifies this
/// run of the server.
/// Fails with [`StoreError::NotWritten`] when it was not, and [`StoreError::OutcomeUnknown`] when that cannot be found out.
pub(super) fn settle(
    write: &SentWrite<'_>,
    connection: &PostgresConnection,
    address: &StoreAddress,
    why: &StoreError,
) -> Result<String, StoreError> {
    // By default long enough for the server to end a transaction that was left open.
    let deadline = Instant::now() + 2 * address.answer_limit();
    let unknown = |why: String| StoreError::OutcomeUnknown { address: address.to_string(), why, has_request_id: false };
    loop {
        let Connected { client, server_run } = reconnect(address, deadline).map_err(|error| unknown(short(&error)))?;
        connection.replace_client(client);
        let asked = ask(write, connection, address, &server_run);
        match asked {
            Ok(Outcome::Committed) => return Ok(server_run),
            Ok(Outcome::Aborted) => {
                return Err(StoreError::NotWritten { address: address.to_string(), why: short(why) });
            }
            Ok(Outcome::Untold(why)) => return Err(unknown(why.into())),
            Ok(Outcome::InProgress) if Instant::now() >= deadline => {
                return Err(unknown("the server has not ended it yet".into()));
            }
            Err(error) if !connection.is_broken() || Instant::now() >= deadline => {
                return Err(unknown(short(&error)));
            }
            Ok(Outcome::InProgress) | Err(_) => pause(),
        }
    }
}

/// The reason alone, for a text that names the address itself.
fn short(error: &StoreError) -> String {
    match error {
        StoreError::Unreachable { why, .. } => why.clone(),
        other => other.to_string(),
    }
}

enum Outcome {
    Committed,
    Aborted,
    InProgress,
    Untold(&'static str),
}

fn ask(
    write: &SentWrite<'_>,
    connection: &PostgresConnection,
    address: &StoreAddress,
    server_run: &str,
) -> Result<Outcome, StoreError> {
    // A server that crashed may have lost the number, and given it out again.
    let is_same_run = write.server_run == server_run;
    let transaction = write.transaction;
    let next = "SELECT pg_snapshot_xmax(pg_current_snapshot())";
    let next = first(&connection.batch(next)?).and_then(|number| number.parse::<u64>().ok());
    let is_given_out = next.zip(transaction.parse::<u64>().ok()).is_none_or(|(next, number)| number < next);
    if !is_given_out {
        return Ok(if is_same_run { Outcome::InProgress } else { Outcome::Aborted });
    }
    let status = connection.batch(&format!("SELECT pg_xact_status('{transaction}'::xid8)"))?;
    Ok(match first(&status) {
        Some("aborted") => Outcome::Aborted,
        Some("in progress") if is_same_run => Outcome::InProgress,
        // The number is another one's now.
        Some("in progress") => Outcome::Aborted,
        Some("committed") if is_same_run || is_recorded(write, connection, address)? => Outcome::Committed,
        Some("committed") => Outcome::Untold("the server was started again since"),
        _ => Outcome::Untold("the server does not remember it"),
    })
}

fn first(rows: &[tokio_postgres::SimpleQueryRow]) -> Option<&str> {
    rows.first()?.get(0)
}

/// Whether the event of a write is there, written by the transaction of its number and at its time. Another transaction of the
/// same number has another time: the server was started in between.
fn is_recorded(
    write: &SentWrite<'_>,
    connection: &PostgresConnection,
    address: &StoreAddress,
) -> Result<bool, StoreError> {
    let Some((event, at)) = write.event else { return Ok(false) };
    let (schema, transaction) = (&address.schema, write.transaction);
    let query = format!(
        "SELECT 1 FROM \"{schema}\".events WHERE seq = {event} AND at = {at} \
         AND xmin::text::bigint = {transaction}::bigint % 4294967296"
    );
    Ok(!connection.batch(&query)?.is_empty())
}
