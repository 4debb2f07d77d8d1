//! A store that its engine's own tools put back to an earlier state, by a dump or a replica that lagged.

use super::{
    Store, StoreError, WriteTx,
    epochs::{EPOCH_JUMP, highest_epoch, renew_claims},
    sql::{self, Statement},
};
use crate::{
    domain::{Event, EventKind},
    env::Timestamp,
};

/// The increase of the number of the newest event: numbers that were given out after the dump do not come again.
const EVENT_JUMP: i64 = 1_000_000;

const KEEP_EVENT_COUNTER: Statement<'_> = Statement {
    sqlite: "INSERT INTO sqlite_sequence (name, seq) SELECT 'events', 0 \
         WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'events')",
    postgres: "SELECT 1",
};
const RAISE_EVENT_NUMBER: Statement<'_> = Statement {
    sqlite: "UPDATE sqlite_sequence SET seq = seq + $1 WHERE name = 'events'",
    postgres: "SELECT set_config('fairway.numbers', (numbers || jsonb_build_object('events', \
         coalesce((numbers ->> 'events')::bigint, 0) + $1))::text, true) \
         FROM (SELECT current_setting('fairway.numbers')::jsonb AS numbers) AS counted",
};

/// The numbers after a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leap {
    /// The new epoch of every task.
    pub epoch: i64,
    /// The number of the event that says so.
    pub event: i64,
}

/// Lifts every epoch and the number of the newest event by a leap, so that what was given out since the dump is not valid and does
/// not come again. Claims stay, under the new epoch.
pub fn leap(store: &Store, now: Timestamp, actor: &str) -> Result<Leap, StoreError> {
    store.write(now, actor, |tx: &WriteTx<'_>| {
        let epoch = highest_epoch(tx.conn())? + EPOCH_JUMP;
        sql::execute(tx.conn(), KEEP_EVENT_COUNTER, &[])?;
        sql::execute(tx.conn(), RAISE_EVENT_NUMBER, &[&EVENT_JUMP])?;
        renew_claims(tx, epoch)?;
        let event = Event::new(EventKind::StoreRestored)
            .with("from", "a dump or a replica")
            .with("kept", None::<String>)
            .with("epoch", epoch);
        Ok(Leap { epoch, event: tx.record(&event)? })
    })
}
