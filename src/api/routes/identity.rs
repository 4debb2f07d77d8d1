//! `POST /identity`, `GET /identity`: sets and shows a runtime's identity. Responses have all values masked.

use axum::extract::Request;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use crate::api::body::{RequestBody, json_response, query};
use crate::api::error::ApiError;
use crate::api::identity::Identity;
use crate::api::identity_refresh::store_identity;
use crate::api::state::{self, server_state};
use fairway_actions::App;
use fairway_actions::agents::runtime::session_of_run;
use fairway_actions::core::{errors, lookup};
use fairway_core::domain::session::Session;
use fairway_core::domain::{Refusal, RunId, SessionId};

#[derive(Debug, Deserialize)]
struct Query {
    run_id: RunId,
}

/// The field of an identity's body that names its session, beside those of [`Identity`].
#[derive(Deserialize)]
struct Owner {
    run_id: Option<RunId>,
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, ApiError> {
    let body = RequestBody::read(request).await?;
    // Decoded one by one, so that an error names its field.
    let (Owner { run_id }, identity) = (body.decode()?, body.decode::<Identity>()?);
    let session = state::read(|app| find_session(app, run_id.as_ref(), identity.session_id.as_deref()))?;
    let rotated = store_identity(&session, identity)?;
    let mut shown = redacted_identity(&session.run_id)?;
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("rotated".into(), json!(rotated));
    }
    Ok(json_response(&shown))
}

pub(in crate::api) async fn get(request: Request) -> Result<Response, ApiError> {
    let parameters: Query = query(&request)?;
    let session = state::read(|app| app.read(|tx| session_of_run(tx, &parameters.run_id)))?;
    redacted_identity(&session.run_id).map(|shown| json_response(&shown))
}

fn redacted_identity(run: &RunId) -> Result<serde_json::Value, ApiError> {
    let known = server_state()?.identities.borrow().get(run);
    let none = || errors::classify(&Refusal::not_found("identity of the run", run.as_str()).into()).into();
    known.map(|known| known.identity.redacted(run.as_str())).ok_or_else(none)
}

/// The session by its run id, by its session id, or by both if they match.
fn find_session(app: &App, run_id: Option<&RunId>, session_id: Option<&str>) -> anyhow::Result<Session> {
    app.read(|tx| {
        let Some(run_id) = run_id else {
            let id = session_id.ok_or_else(|| Refusal::Usage { why: "missing field `run_id`".into() })?;
            return lookup::session(tx, &SessionId::parse(id)?);
        };
        let session = session_of_run(tx, run_id)?;
        if session_id.is_some_and(|id| id != session.id.as_str()) {
            let why = format!("session run {} belongs to session {}", session.run_id, session.id);
            return Err(Refusal::SessionMismatch { why }.into());
        }
        Ok(session)
    })
}
