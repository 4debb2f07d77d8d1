//! Reading the event log.

use std::ops::ControlFlow;

use anyhow::Result;

use crate::actions::{App, core::errors};
use crate::{store::events, wire::EventView};

/// Hands over every event above `since`, and with `follow` those that come, until `see` breaks.
///
/// # Errors
/// As the store fails, or `see`.
pub fn each(
    app: &App,
    since: i64,
    follow: bool,
    mut see: impl FnMut(EventView) -> Result<ControlFlow<()>>,
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
        let whole = batch.len() < 1_000;
        for event in batch {
            seen = event.seq;
            if see(view(event))?.is_break() {
                return Ok(());
            }
        }
        match &waiter {
            _ if !whole => {}
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
