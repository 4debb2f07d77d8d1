//! `GET /context`, `POST /context`: what an agent needs to know.

use axum::{extract::Request, response::Response};
use serde::Deserialize;

use crate::{
    actions::boundary::runtime::{
        context::{self, Mode, Section, SectionKind},
        session_of_run,
    },
    api::{
        body::{RequestBody, json_response, query},
        error::ApiError,
        prompt_delivery,
        state::{self, app_as_session},
    },
};

#[derive(Debug, Deserialize)]
struct Query {
    run_id: String,
    mode: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Body {
    run_id: String,
    mode: Option<String>,
    sections: Vec<SectionBody>,
}

#[derive(Debug, Deserialize)]
struct SectionBody {
    r#type: String,
    content: String,
}

fn parse_mode(word: Option<&str>) -> Result<Mode, ApiError> {
    let Some(word) = word else { return Ok(Mode::Full) };
    Mode::parse(word).ok_or_else(|| ApiError::usage("the mode is full, compact or resume"))
}

pub(in crate::api) async fn get(request: Request) -> Result<Response, ApiError> {
    let wanted: Query = query(&request)?;
    let mode = parse_mode(wanted.mode.as_deref())?;
    // It asks git.
    let view = state::run_blocking(move |app| {
        let session = app.read(|tx| session_of_run(tx, &wanted.run_id))?;
        let sections = context::compose(&app_as_session(app, &session, None), Some(&session), mode)?;
        Ok(context::view(&sections, mode))
    });
    Ok(json_response(&view.await?))
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, ApiError> {
    let asked = RequestBody::read(request).await?;
    let body: Body = asked.decode()?;
    let mode = parse_mode(body.mode.as_deref())?;
    let section = |raw: SectionBody| {
        let kind = SectionKind::parse(&raw.r#type)
            .ok_or_else(|| ApiError::usage("the type of a section is role, work, mail, checkpoint or directive"))?;
        Ok(Section { kind, content: raw.content })
    };
    let sections = body.sections.into_iter().map(section).collect::<Result<Vec<_>, ApiError>>()?;
    let request = asked.idempotency_key()?;
    let run = body.run_id.clone();
    let done = state::write(move |app| {
        context::push(&app.with_actor(app.actor.clone(), request), &body.run_id, &sections, mode)
    });
    let done = done.await?;
    prompt_delivery::start_for_run(&run);
    Ok(json_response(&done.document))
}
