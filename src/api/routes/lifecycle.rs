//! `POST /lifecycle`: a runtime reports a change of its state.

use axum::{extract::Request, response::Response};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    actions::agents::runtime::lifecycle::{self, LifecycleReport},
    api::{
        body::{RequestBody, json_response},
        error::ApiError,
        prompt_delivery,
        state::{self, app_as_run},
    },
    domain::{RunId, SessionId, lifecycle::LifecycleEvent},
    env::Timestamp,
    wire::timestamp::deserialize_timestamp,
};

#[derive(Debug, Deserialize)]
struct Body {
    event: String,
    run_id: RunId,
    session_id: Option<String>,
    #[serde(default, deserialize_with = "deserialize_timestamp")]
    timestamp: Option<Timestamp>,
    #[serde(default)]
    metadata: Value,
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, ApiError> {
    let request_body = RequestBody::read(request).await?;
    let body: Body = request_body.decode()?;
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
