//! `GET /health`, `POST /health`: the health of a session run or of the server, and heartbeats.

use axum::extract::Request;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use crate::api::body::{json_response, query, read_json};
use crate::api::error::ApiError;
use crate::api::prompt_delivery;
use crate::api::state::{self, app_as_run, server_state};
use fairway_actions::agents::runtime::health::{self, HealthReport};
use fairway_core::domain::RunId;
use fairway_core::domain::session::Activity;

#[derive(Debug, Deserialize)]
struct Query {
    run_id: Option<RunId>,
}

#[derive(Debug, Deserialize)]
struct Body {
    run_id: RunId,
    #[serde(alias = "activity")]
    current_state: Option<String>,
    waiting_for: Option<String>,
    context_usage: Option<f64>,
    error: Option<String>,
}

pub(in crate::api) async fn get(request: Request) -> Result<Response, ApiError> {
    let parameters: Query = query(&request)?;
    match parameters.run_id {
        Some(run) => state::read(|app| health::of_run(app, &run)).map(|view| json_response(&view)),
        None => server_health(),
    }
}

/// The health of the server.
fn server_health() -> Result<Response, ApiError> {
    let state = server_state()?;
    let result = state.read(|app| app.read(|_| Ok(app.env.now().since(state.started).as_secs())));
    let (status, uptime, error) = match result {
        Ok(uptime) => ("healthy", Some(uptime), None),
        Err(error) => ("unhealthy", None, Some(error.failure.message)),
    };
    Ok(json_response(&json!({
        "status": status, "run_id": null, "uptime_seconds": uptime, "current_state": null, "last_activity": null,
        "context_usage": null, "error": error, "version": env!("CARGO_PKG_VERSION"), "pid": std::process::id(),
    })))
}

pub(in crate::api) async fn post(request: Request) -> Result<Response, ApiError> {
    let body: Body = read_json(request).await?;
    let activity = body.current_state.as_deref().map(|activity| {
        Activity::parse(activity).ok_or_else(|| ApiError::usage("invalid current_state: unknown activity"))
    });
    let report = HealthReport {
        run_id: body.run_id,
        activity: activity.transpose()?,
        waiting_for: body.waiting_for,
        context_usage: body.context_usage,
        error: body.error,
    };
    let run = report.run_id.clone();
    let may_be_free = matches!(report.activity, Some(Activity::Idle)) || report.context_usage.is_some();
    let done = state::write(move |app| health::heartbeat(&app_as_run(app, &report.run_id, None)?, &report)).await?;
    if may_be_free {
        prompt_delivery::start_for_run(&run);
    }
    Ok(json_response(&done.document))
}
