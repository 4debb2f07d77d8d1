//! `POST /lifecycle`, `POST /telemetry`: a runtime reports a change of its state, and the usage of its turns.

use axum::extract::Request;
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;

use crate::api::body::{RequestBody, json_response};
use crate::api::error::ApiError;
use crate::api::prompt_delivery;
use crate::api::state::{self, app_as_run};
use fairway_actions::agents::runtime::lifecycle::{self, LifecycleReport};
use fairway_actions::sessions::report::telemetry;
use fairway_core::domain::lifecycle::LifecycleEvent;
use fairway_core::domain::{RunId, SessionId};
use fairway_core::env::Timestamp;
use fairway_core::wire;
use fairway_core::wire::timestamp::deserialize_timestamp;

#[derive(Debug, Deserialize)]
struct LifecycleBody {
    event: String,
    run_id: RunId,
    session_id: Option<String>,
    #[serde(default, deserialize_with = "deserialize_timestamp")]
    timestamp: Option<Timestamp>,
    #[serde(default)]
    metadata: Value,
}

pub(in crate::api) async fn lifecycle(request: Request) -> Result<Response, ApiError> {
    let request_body = RequestBody::read(request).await?;
    let body: LifecycleBody = request_body.decode()?;
    let event = LifecycleEvent::parse(&body.event)
        .ok_or_else(|| ApiError::usage("invalid event: must be started, ready, busy, idle, stopping or stopped"))?;
    let id = body.session_id.as_deref().map(SessionId::parse).transpose().map_err(anyhow::Error::from)?;
    let report =
        LifecycleReport { event, run_id: body.run_id, session_id: id, at: body.timestamp, metadata: body.metadata };
    let run = report.run_id.clone();
    let request = request_body.idempotency_key()?;
    let done = state::write(move |app| lifecycle::report(&app_as_run(app, &report.run_id, request)?, &report)).await?;
    if matches!(event, LifecycleEvent::Ready | LifecycleEvent::Idle | LifecycleEvent::Started) {
        prompt_delivery::start_for_run(&run);
    }
    Ok(json_response(&done.document))
}

#[derive(Debug, Deserialize)]
struct TelemetryBody {
    run_id: RunId,
    events: Value,
}

pub(in crate::api) async fn telemetry(request: Request) -> Result<Response, ApiError> {
    let body: TelemetryBody = RequestBody::read(request).await?.decode()?;
    let turns = wire::telemetry::parse_turns(&body.events).map_err(anyhow::Error::from)?;
    let done =
        state::write(move |app| telemetry::report(&app_as_run(app, &body.run_id, None)?, &body.run_id, &turns)).await?;
    Ok(json_response(&done.document))
}
