//! `GET /events`: streams the event log, past and new events.

use std::ops::ControlFlow;
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use serde::Deserialize;
use tokio::time::timeout;

use crate::api::body::query;
use crate::api::error::ApiError;
use crate::api::sse::{self, EventSender};
use crate::api::state::{self, server_state};
use fairway_actions::upkeep::events::{self, EventQuery};
use fairway_core::wire::EventView;

/// How many events are read at a time.
const BATCH_SIZE: usize = 200;
/// The pause before a retry while the store's server is away.
const RETRY_DELAY: Duration = Duration::from_secs(1);

#[derive(Debug, Deserialize)]
struct Query {
    since: Option<i64>,
}

/// The header `Last-Event-ID` of a reader that reconnects. Returns `None` without the header. Error: `invalid_value` when it is
/// not a whole number.
pub(super) fn last_event_id(headers: &HeaderMap) -> Result<Option<i64>, ApiError> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.map(Some).ok_or_else(|| ApiError::usage("invalid Last-Event-ID header: must be a whole number"))
}

pub(in crate::api) async fn get(request: Request) -> Result<Response, ApiError> {
    let parameters: Query = query(&request)?;
    let since = last_event_id(request.headers())?.or(parameters.since).unwrap_or(0);
    // An unreadable store must be an error response, not a stream that ends at once.
    read_batch(since)?;
    if request.method() == Method::HEAD {
        return Ok(sse::head());
    }
    let (response, items) = sse::stream();
    tokio::spawn(follow(items, since));
    Ok(response)
}

fn read_batch(since: i64) -> Result<Vec<EventView>, ApiError> {
    state::read(|app| {
        let mut batch = Vec::new();
        events::each(app, &EventQuery { after: since, ..EventQuery::default() }, &mut |_| (), |events| {
            batch.extend(events.into_iter().take(BATCH_SIZE));
            Ok(ControlFlow::Break(()))
        })?;
        Ok(batch)
    })
}

async fn follow(items: EventSender, mut since: i64) {
    let Ok((mut changes, mut shutdown)) = server_state().map(|state| (state.changes.clone(), state.shutdown.clone()))
    else {
        return;
    };
    loop {
        changes.mark_unchanged();
        let batch = match read_batch(since) {
            Ok(batch) => batch,
            // The store's server is away for a while. The next round begins behind the last event that was sent.
            Err(error) if matches!(error.failure.code, "store_unreachable" | "store_busy") => {
                let again = timeout(RETRY_DELAY, items.wait_for_change(&mut changes, &mut shutdown)).await;
                if again == Ok(false) || !items.keep_alive().await {
                    return;
                }
                continue;
            }
            // The reader reconnects with the id of its last event.
            Err(_) => return,
        };
        let is_last = batch.len() < BATCH_SIZE;
        for event in batch {
            if !items.send(Some(event.seq), &event.kind, &event).await {
                return;
            }
            since = event.seq;
        }
        if !is_last {
            continue;
        }
        if !items.wait_for_change(&mut changes, &mut shutdown).await {
            return;
        }
    }
}
