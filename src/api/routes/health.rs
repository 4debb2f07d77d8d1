//! `GET /health`, `POST /health`: how a runtime fares, and how this server does.

use axum::{extract::Request, response::Response};
use serde::Deserialize;
use serde_json::json;

use crate::{
    actions::boundary::runtime::health::{self, HealthReport},
    api::{
        body::{json_response, query, read_json},
        error::ApiError,
        prompt_delivery,
        state::{self, app_as_run, server_state},
    },
    domain::session::Activity,
};

#[derive(Debug, Deserialize)]
struct Query {
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

pub(in crate::api) async fn get(request: Request) -> Result<Response, ApiError> {
    let wanted: Query = query(&request)?;
    match wanted.run_id {
        Some(run) => state::read(|app| health::of_run(app, &run)).map(|view| json_response(&view)),
        None => server_health(),
    }
}

/// The server's own.
fn server_health() -> Result<Response, ApiError> {
    let house = server_state()?;
    let looked = house.read(|app| app.read(|_| Ok(app.env.now().since(house.started).as_secs())));
    let (status, uptime, error) = match looked {
        Ok(uptime) => ("healthy", Some(uptime), None),
        Err(fault) => ("unhealthy", None, Some(fault.failure.message)),
    };
    Ok(json_response(&json!({
        "status": status, "run_id": null, "uptime_seconds": uptime, "current_state": null, "last_activity": null,
        "context_usage": null, "error": error, "version": env!("CARGO_PKG_VERSION"), "pid": std::process::id(),
    })))
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, ApiError> {
    let asked: Body = read_json(request).await?;
    let activity = asked.current_state.as_deref().map(|word| {
        Activity::parse(word).ok_or_else(|| ApiError::usage("the current_state is none of a session's activities"))
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
    let done = state::write(move |app| health::heartbeat(&app_as_run(app, &report.run_id, None)?, &report)).await?;
    if may_be_free {
        prompt_delivery::start_for_run(&run);
    }
    Ok(json_response(&done.document))
}
