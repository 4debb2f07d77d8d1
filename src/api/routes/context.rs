//! `GET /context`, `POST /context`: reads the context of an agent, and pushes context to it.

use axum::extract::Request;
use axum::response::Response;
use serde::Deserialize;

use crate::api::body::{RequestBody, json_response, query};
use crate::api::error::ApiError;
use crate::api::prompt_delivery;
use crate::api::state::{self, app_as_session};
use fairway_actions::agents::runtime::context::{self, Mode, Section, SectionKind};
use fairway_actions::agents::runtime::session_of_run;
use fairway_actions::sessions::prompt;
use fairway_core::domain::RunId;

#[derive(Debug, Deserialize)]
struct Query {
    run_id: RunId,
    mode: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Body {
    run_id: RunId,
    mode: Option<String>,
    sections: Vec<SectionBody>,
}

#[derive(Debug, Deserialize)]
struct SectionBody {
    r#type: String,
    content: String,
}

fn parse_mode(mode: Option<&str>) -> Result<Mode, ApiError> {
    let Some(mode) = mode else { return Ok(Mode::Full) };
    Mode::parse(mode).ok_or_else(|| ApiError::usage("invalid mode: must be full, compact or resume"))
}

pub(in crate::api) async fn get(request: Request) -> Result<Response, ApiError> {
    let parameters: Query = query(&request)?;
    let mode = parse_mode(parameters.mode.as_deref())?;
    // Composing the context runs git.
    let view = state::run_blocking(move |app| {
        let session = app.read(|tx| session_of_run(tx, &parameters.run_id))?;
        let sections = context::compose(&app_as_session(app, &session, None), Some(&session), mode)?;
        Ok(context::view(&sections, mode))
    });
    Ok(json_response(&view.await?))
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, ApiError> {
    let request_body = RequestBody::read(request).await?;
    let body: Body = request_body.decode()?;
    let mode = parse_mode(body.mode.as_deref())?;
    let section = |raw: SectionBody| {
        let kind = SectionKind::parse(&raw.r#type).ok_or_else(|| {
            ApiError::usage("invalid section type: must be role, work, mail, checkpoint or directive")
        })?;
        Ok(Section { kind, content: raw.content })
    };
    let sections = body.sections.into_iter().map(section).collect::<Result<Vec<_>, ApiError>>()?;
    let request = request_body.idempotency_key()?;
    let session = state::read(|app| app.read(|tx| session_of_run(tx, &body.run_id)))?.id;
    let to = session.clone();
    let done = state::write(move |app| {
        let pushed = context::push(&app.with_actor(app.actor.clone(), request), &body.run_id, &sections, mode)?;
        Ok(prompt::as_delivered(app, &to, pushed.document))
    });
    let done = done.await?;
    prompt_delivery::start_for_session(session);
    Ok(json_response(&done))
}
