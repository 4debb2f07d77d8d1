//! `POST /telemetry`: reports token usage per turn.

use axum::{extract::Request, response::Response};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    actions::sessions::report::telemetry,
    api::{
        body::{RequestBody, json_response},
        error::ApiError,
        state::{self, app_as_run},
    },
    domain::RunId,
    wire,
};

#[derive(Debug, Deserialize)]
struct Body {
    run_id: RunId,
    events: Value,
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, ApiError> {
    let body: Body = RequestBody::read(request).await?.decode()?;
    let turns = wire::telemetry::parse_turns(&body.events).map_err(anyhow::Error::from)?;
    let done =
        state::write(move |app| telemetry::report(&app_as_run(app, &body.run_id, None)?, &body.run_id, &turns)).await?;
    Ok(json_response(&done.document))
}
