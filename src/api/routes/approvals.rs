//! `GET /approvals`, `POST /approvals/{id}`: lists and answers permission requests.

use axum::extract::{Path, Request};
use axum::response::Response;
use serde::Deserialize;

use crate::api::body::{RequestBody, json_response, query};
use crate::api::error::ApiError;
use crate::api::state;
use fairway_actions::agents::approval;
use fairway_core::domain::approval::Decision;

#[derive(Debug, Deserialize)]
struct Query {
    #[serde(default)]
    all: bool,
}

#[derive(Debug, Deserialize)]
struct Body {
    decision: String,
    #[serde(default)]
    always: bool,
    reason: Option<String>,
}

pub(in crate::api) async fn get(request: Request) -> Result<Response, ApiError> {
    let parameters: Query = query(&request)?;
    state::read(|app| approval::list(app, parameters.all)).map(|list| json_response(&list))
}

pub(in crate::api) async fn post(Path(id): Path<String>, request: Request) -> Result<Response, ApiError> {
    let request_body = RequestBody::read(request).await?;
    let id: i64 = id.parse().map_err(|_| ApiError::usage("invalid approval id in the path: must be a whole number"))?;
    let Body { decision, always, reason } = request_body.decode()?;
    let decision =
        Decision::parse(&decision).ok_or_else(|| ApiError::usage("invalid decision: must be allow or deny"))?;
    let request = request_body.idempotency_key()?;
    let done = state::write(move |app| {
        approval::answer(&app.with_actor(app.actor.clone(), request), id, decision, always, reason.as_deref())
    });
    Ok(json_response(&done.await?.document))
}
