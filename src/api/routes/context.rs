//! `GET /context`, `POST /context`: what an agent needs to know.

use axum::{extract::Request, response::Response};
use serde::Deserialize;

use crate::{
    actions::boundary::runtime::{
        context::{self, Mode, Section, SectionKind},
        session_of_run,
    },
    api::{
        body::{Asked, answer, query},
        error::Fault,
        prompt_delivery,
        state::{self, as_session},
    },
};

#[derive(Debug, Deserialize)]
struct Wanted {
    run_id: String,
    mode: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Body {
    run_id: String,
    mode: Option<String>,
    sections: Vec<RawSection>,
}

#[derive(Debug, Deserialize)]
struct RawSection {
    r#type: String,
    content: String,
}

fn mode(word: Option<&str>) -> Result<Mode, Fault> {
    let Some(word) = word else { return Ok(Mode::Full) };
    Mode::parse(word).ok_or_else(|| Fault::usage("the mode is full, compact or resume"))
}

pub(in crate::api) async fn get(request: Request) -> Result<Response, Fault> {
    let wanted: Wanted = query(&request)?;
    let mode = mode(wanted.mode.as_deref())?;
    // It asks git.
    let view = state::outside(move |app| {
        let session = app.read(|tx| session_of_run(tx, &wanted.run_id))?;
        let sections = context::compose(&as_session(app, &session, None), Some(&session), mode)?;
        Ok(context::view(&sections, mode))
    });
    Ok(answer(&view.await?))
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, Fault> {
    let asked = Asked::read(request).await?;
    let body: Body = asked.decode()?;
    let mode = mode(body.mode.as_deref())?;
    let section = |raw: RawSection| {
        let kind = SectionKind::parse(&raw.r#type)
            .ok_or_else(|| Fault::usage("the type of a section is role, work, mail, checkpoint or directive"))?;
        Ok(Section { kind, content: raw.content })
    };
    let sections = body.sections.into_iter().map(section).collect::<Result<Vec<_>, Fault>>()?;
    let request = asked.request()?;
    let run = body.run_id.clone();
    let done = state::change(move |app| {
        context::push(&app.with_actor(app.actor.clone(), request), &body.run_id, &sections, mode)
    });
    let done = done.await?;
    prompt_delivery::to_run(&run);
    Ok(answer(&done.document))
}
