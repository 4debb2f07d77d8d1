//! The table of routes, and their handlers.

use axum::Router;
use axum::extract::Request;
use axum::routing::{get, post};

use super::error::{AUTHORIZE_PATH, ApiError};

pub(super) mod approvals;
pub(super) mod authorize;
pub(super) mod context;
pub(super) mod events;
pub(super) mod exec;
pub(super) mod health;
pub(super) mod identity;
pub(super) mod openapi;
pub(super) mod prompt;
pub(super) mod runtime_reports;
pub(super) mod stream;

/// All routes of the worker API, and the errors for unknown routes and methods.
pub(super) fn router() -> Router {
    Router::new()
        .route("/ack", post(stream::acknowledge))
        .route("/approvals", get(approvals::get))
        .route("/approvals/{id}", post(approvals::post))
        .route(AUTHORIZE_PATH, post(authorize::post))
        .route("/context", get(context::get).post(context::post))
        .route("/events", get(events::get))
        .route("/exec", post(exec::post))
        .route("/health", get(health::get).post(health::post))
        .route("/identity", get(identity::get).post(identity::post))
        .route("/lifecycle", post(runtime_reports::lifecycle))
        .route("/openapi.json", get(openapi::get))
        .route("/prompt", post(prompt::post))
        .route("/stream", get(stream::get))
        .route("/telemetry", post(runtime_reports::telemetry))
        .fallback(async |request: Request| ApiError::unknown_route(request.uri().path()))
        .method_not_allowed_fallback(async |request: Request| {
            ApiError::method_not_allowed(request.method().as_str(), request.uri().path())
        })
}
