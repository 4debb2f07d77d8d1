//! Receipts of notifications as rows, one for each item and sink. Few: a row goes with its item.

use std::collections::BTreeSet;

use super::sql::{self, Row};
use super::{ReadTx, StoreError, WriteTx};
use crate::domain::id::SinkName;
use crate::domain::notification::{Receipt, ReceiptState};
use crate::env::Timestamp;

const ALL: &str = "SELECT item, sink, state, attempts, at, retry_at, error FROM notifications ORDER BY item, sink";
const HOLD: &str = "INSERT INTO notifications (item, sink, state, at) VALUES ($1, $2, 'held', $3) \
     ON CONFLICT (item, sink) DO NOTHING";
const CLAIM: &str = "INSERT INTO notifications (item, sink, state, attempts, at, retry_at) \
     VALUES ($1, $2, 'claimed', 1, $3, $4) \
     ON CONFLICT (item, sink) DO UPDATE SET state = 'claimed', attempts = notifications.attempts + 1, at = $3, retry_at = $4 \
     WHERE notifications.state = 'held' OR (notifications.state IN ('claimed', 'retry') AND notifications.retry_at <= $3 \
     AND notifications.attempts < $5) RETURNING attempts";
const FINISH: &str = "UPDATE notifications SET state = $4, at = $5, retry_at = $6, error = $7 \
     WHERE item = $1 AND sink = $2 AND state = 'claimed' AND attempts = $3";
const DELETE: &str = "DELETE FROM notifications WHERE item = $1 AND sink = $2";

fn read(row: &Row<'_>) -> Result<Receipt, StoreError> {
    Ok(Receipt {
        item: row.get(0)?,
        sink: row.get(1)?,
        state: row.get(2)?,
        attempts: row.get(3)?,
        at: row.get(4)?,
        retry_at: row.get(5)?,
        error: row.get(6)?,
    })
}

/// All receipts, by item and sink.
pub fn all(tx: &ReadTx<'_>) -> Result<Vec<Receipt>, StoreError> {
    sql::rows(tx.conn(), ALL, &[], read)
}

/// Records that an item waits for the end of the sink's quiet window. An item that has a receipt for this sink is left as it is.
pub fn hold(tx: &WriteTx<'_>, item: &str, sink: &SinkName) -> Result<(), StoreError> {
    sql::execute(tx.conn(), HOLD, &[&item, sink, &tx.now()])?;
    Ok(())
}

/// Claims an item for one attempt to send it; until `lease` no other sender can claim it. Returns the number of the attempt.
/// Returns `None` when the item is not due any more, or was tried `max_attempts` times.
pub fn claim(
    tx: &WriteTx<'_>,
    item: &str,
    sink: &SinkName,
    lease: Timestamp,
    max_attempts: i64,
) -> Result<Option<i64>, StoreError> {
    let values: [&dyn sql::ToValue; 5] = [&item, sink, &tx.now(), &lease, &max_attempts];
    sql::first(tx.conn(), CLAIM, &values, |row| row.get(0))
}

/// Records the outcome of an attempt, unless another sender has claimed the item since.
pub fn finish(
    tx: &WriteTx<'_>,
    item: &str,
    sink: &SinkName,
    attempt: i64,
    state: ReceiptState,
    retry_at: Option<Timestamp>,
    error: Option<&str>,
) -> Result<(), StoreError> {
    let retry_at = retry_at.map(Timestamp::millis);
    let values: [&dyn sql::ToValue; 7] = [&item, sink, &attempt, &state, &tx.now(), &retry_at, &error];
    sql::execute(tx.conn(), FINISH, &values)?;
    Ok(())
}

/// Deletes the receipts of items that are not `present`.
pub fn delete_gone(tx: &WriteTx<'_>, present: &BTreeSet<String>) -> Result<(), StoreError> {
    for receipt in all(tx)?.iter().filter(|receipt| !present.contains(&receipt.item)) {
        sql::execute(tx.conn(), DELETE, &[&receipt.item, &receipt.sink])?;
    }
    Ok(())
}
