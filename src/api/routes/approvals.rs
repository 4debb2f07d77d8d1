//! `GET /approvals`, `POST /approvals/{id}`: what agents ask for, and the answer.

use axum::{
    extract::{Path, Request},
    response::Response,
};
use serde::Deserialize;

use crate::{
    actions::boundary::approval,
    api::{
        body::{Asked, answer, query},
        error::Fault,
        state,
    },
    domain::approval::Decision,
};

#[derive(Debug, Deserialize)]
struct Wanted {
    #[serde(default)]
    all: bool,
}

#[derive(Debug, Deserialize)]
struct Body {
    decision: String,
    reason: Option<String>,
}

pub(in crate::api) async fn get(request: Request) -> Result<Response, Fault> {
    let wanted: Wanted = query(&request)?;
    state::look(|app| approval::list(app, wanted.all)).map(|list| answer(&list))
}

pub(in crate::api) async fn post(Path(id): Path<String>, request: Request) -> Result<Response, Fault> {
    let asked = Asked::read(request).await?;
    let id: i64 = id.parse().map_err(|_| Fault::usage("the number of an approval is a number"))?;
    let Body { decision, reason } = asked.decode()?;
    let decision = Decision::parse(&decision).ok_or_else(|| Fault::usage("the decision is allow or deny"))?;
    let request = asked.request()?;
    let done = state::change(move |app| {
        approval::answer(&app.with_actor(app.actor.clone(), request), id, decision, reason.as_deref())
    });
    Ok(answer(&done.await?.document))
}
