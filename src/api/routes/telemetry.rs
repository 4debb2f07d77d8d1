//! `POST /telemetry`: what turns used.

use axum::{extract::Request, response::Response};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    actions::sessions::report::telemetry,
    api::{
        body::{Asked, answer},
        error::Fault,
        state::{self, as_run},
    },
    wire,
};

#[derive(Debug, Deserialize)]
struct Body {
    run_id: String,
    events: Value,
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, Fault> {
    let body: Body = Asked::read(request).await?.decode()?;
    let turns = wire::telemetry::turns(&body.events).map_err(anyhow::Error::from)?;
    let done =
        state::change(move |app| telemetry::report(&as_run(app, &body.run_id, None)?, &body.run_id, &turns)).await?;
    Ok(answer(&done.document))
}
