//! `POST /lifecycle`: a runtime tells what it does.

use axum::{extract::Request, response::Response};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    actions::boundary::runtime::lifecycle::{self, LifecycleReport},
    api::{
        body::{Asked, answer, moment},
        error::Fault,
        prompt_delivery,
        state::{self, as_run},
    },
    domain::{SessionId, lifecycle::LifecycleEvent},
    env::Timestamp,
};

#[derive(Debug, Deserialize)]
struct Body {
    event: String,
    run_id: String,
    session_id: Option<String>,
    #[serde(default, deserialize_with = "moment")]
    timestamp: Option<Timestamp>,
    #[serde(default)]
    metadata: Value,
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, Fault> {
    let asked = Asked::read(request).await?;
    let body: Body = asked.decode()?;
    let event = LifecycleEvent::parse(&body.event)
        .ok_or_else(|| Fault::usage("the event is started, ready, busy, idle, stopping or stopped"))?;
    let id = body.session_id.as_deref().map(SessionId::parse).transpose().map_err(anyhow::Error::from)?;
    let report =
        LifecycleReport { event, run_id: body.run_id, session_id: id, at: body.timestamp, metadata: body.metadata };
    let run = report.run_id.clone();
    let request = asked.request()?;
    let done = state::change(move |app| lifecycle::report(&as_run(app, &report.run_id, request)?, &report)).await?;
    if matches!(event, LifecycleEvent::Ready | LifecycleEvent::Idle | LifecycleEvent::Started) {
        prompt_delivery::to_run(&run);
    }
    Ok(answer(&done.document))
}
