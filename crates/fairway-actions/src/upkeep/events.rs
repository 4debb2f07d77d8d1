//! Reading the event log.

use std::ops::ControlFlow;

use anyhow::Result;

use crate::App;
use crate::core::errors;
use crate::core::server_outage::ServerOutage;
pub use fairway_core::store::events::EventFilter;
use fairway_core::store::{ReadTx, StoreError, events};
use fairway_core::wire::EventView;

const BATCH_SIZE: usize = 1_000;

#[derive(Debug, Clone, Default)]
pub struct EventQuery {
    pub filter: EventFilter,
    /// Only events above this sequence number.
    pub after: i64,
    /// How many of the newest matching events come first; later events are followed all the same.
    pub tail: Option<usize>,
    /// Whether to wait for new events.
    pub follow: bool,
}

/// Passes the matching events to `visit` in order, in batches, until `visit` breaks or there are no more. With `follow` it
/// waits for new events instead of ending. An outage of the store's server does not end that wait: `warn` gets a message, and
/// no event is missed.
///
/// # Errors
/// `store_rewound` when the server's store has fewer events; errors of `visit` and the store.
pub fn each(
    app: &App,
    query: &EventQuery,
    warn: &mut dyn FnMut(&str),
    mut visit: impl FnMut(Vec<EventView>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let waiter = if query.follow { Some(app.waiter("events")?) } else { None };
    let mut seen = match query.tail {
        Some(count) => app.read(|tx| Ok(events::tail_start(tx, &query.filter, query.after, count)?))?,
        None => query.after,
    };
    let mut outage = ServerOutage::new(warn);
    loop {
        let look = || {
            app.read(|tx| {
                let mut batch = Vec::new();
                let newest = events::for_each_matching(tx, &query.filter, seen, |event| {
                    batch.push(view(event));
                    Ok(batch.len() < BATCH_SIZE)
                })?;
                if newest == seen && app.settings.store.is_on_server() {
                    check_not_rewound(tx, seen)?;
                }
                Ok((batch, newest))
            })
        };
        let (batch, newest) = match &waiter {
            Some(waiter) => outage.outlast(waiter, None, look)?,
            None => look()?,
        };
        seen = newest;
        let is_last = batch.len() < BATCH_SIZE;
        if !batch.is_empty() && visit(batch)?.is_break() {
            return Ok(());
        }
        match &waiter {
            _ if !is_last => {}
            Some(waiter) => {
                waiter.wait(None).map_err(errors::internal)?;
            }
            None => return Ok(()),
        }
    }
}

/// Refuses a number above the newest event: its reader would miss the next events, which get these numbers again. This happens
/// only with a store on a server; a restored file continues above its old numbers.
fn check_not_rewound(tx: &ReadTx<'_>, seen: i64) -> Result<(), StoreError> {
    let newest = events::last_seq(tx)?;
    if newest < seen { Err(StoreError::Rewound { seen, newest }) } else { Ok(()) }
}

fn view(event: events::LoggedEvent) -> EventView {
    EventView {
        seq: event.seq,
        at: event.at.to_string(),
        kind: event.kind,
        task_id: event.task,
        session_id: event.session,
        run_id: event.run_id,
        lane: event.lane,
        actor: event.actor,
        data: event.data,
    }
}
