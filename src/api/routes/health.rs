//! `GET /health`, `POST /health`: how a runtime fares, and how this server does.

use axum::{extract::Request, response::Response};
use serde::Deserialize;
use serde_json::json;

use crate::{
    actions::boundary::runtime::health::{self, HealthReport},
    api::{
        body::{answer, decoded, query},
        error::Fault,
        prompt_delivery,
        state::{self, as_run, here},
    },
    domain::session::Activity,
};

#[derive(Debug, Deserialize)]
struct Wanted {
    run_id: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Body {
    run_id: String,
    #[serde(alias = "activity")]
    current_state: Option<String>,
    waiting_for: Option<String>,
    context_usage: Option<f64>,
    error: Option<String>,
}

pub(in crate::api) async fn get(request: Request) -> Result<Response, Fault> {
    let wanted: Wanted = query(&request)?;
    match wanted.run_id {
        Some(run) => state::look(|app| health::of_run(app, &run)).map(|view| answer(&view)),
        None => own(),
    }
}

/// The server's own.
fn own() -> Result<Response, Fault> {
    let house = here()?;
    let looked = house.look(|app| app.read(|_| Ok(app.env.now().since(house.started).as_secs())));
    let (status, uptime, error) = match looked {
        Ok(uptime) => ("healthy", Some(uptime), None),
        Err(fault) => ("unhealthy", None, Some(fault.failure.message)),
    };
    Ok(answer(&json!({
        "status": status, "run_id": null, "uptime_seconds": uptime, "current_state": null, "last_activity": null,
        "context_usage": null, "error": error, "version": env!("CARGO_PKG_VERSION"), "pid": std::process::id(),
    })))
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, Fault> {
    let asked: Body = decoded(request).await?;
    let activity = asked.current_state.as_deref().map(|word| {
        Activity::parse(word).ok_or_else(|| Fault::usage("the current_state is none of a session's activities"))
    });
    let report = HealthReport {
        run_id: asked.run_id,
        activity: activity.transpose()?,
        waiting_for: asked.waiting_for,
        context_usage: asked.context_usage,
        error: asked.error,
    };
    let run = report.run_id.clone();
    let may_be_free = matches!(report.activity, Some(Activity::Idle)) || report.context_usage.is_some();
    let done = state::change(move |app| health::heartbeat(&as_run(app, &report.run_id, None)?, &report)).await?;
    if may_be_free {
        prompt_delivery::to_run(&run);
    }
    Ok(answer(&done.document))
}
