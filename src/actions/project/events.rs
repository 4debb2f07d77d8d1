//! Reading the event log.

use std::ops::ControlFlow;

use anyhow::Result;

use crate::actions::{App, core::errors};
use crate::{store::events, wire::EventView};

/// Calls `visit` with every event after sequence number `since`, and with `follow` with new ones, until `visit` breaks.
///
/// # Errors
/// As the store or `visit` fails.
pub fn each(
    app: &App,
    since: i64,
    follow: bool,
    mut visit: impl FnMut(EventView) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let waiter = if follow { Some(app.waiter("events")?) } else { None };
    let mut seen = since;
    loop {
        let batch = app.read(|tx| {
            let mut batch = Vec::new();
            events::for_each_since(tx, seen, |event| {
                batch.push(event);
                Ok(batch.len() < 1_000)
            })?;
            Ok(batch)
        })?;
        let is_last = batch.len() < 1_000;
        for event in batch {
            seen = event.seq;
            if visit(view(event))?.is_break() {
                return Ok(());
            }
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
