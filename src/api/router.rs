//! The table of routes.

use axum::{
    Router,
    extract::Request,
    routing::{get, post},
};

use super::{authorize_denial::AUTHORIZE_PATH, error::ApiError, routes};

/// All routes, and the errors for unknown routes and methods.
pub(super) fn router() -> Router {
    Router::new()
        .route("/ack", post(routes::ack::post))
        .route("/approvals", get(routes::approvals::get))
        .route("/approvals/{id}", post(routes::approvals::post))
        .route(AUTHORIZE_PATH, post(routes::authorize::post))
        .route("/context", get(routes::context::get).post(routes::context::post))
        .route("/events", get(routes::events::get))
        .route("/exec", post(routes::exec::post))
        .route("/health", get(routes::health::get).post(routes::health::post))
        .route("/identity", get(routes::identity::get).post(routes::identity::post))
        .route("/lifecycle", post(routes::lifecycle::post))
        .route("/openapi.json", get(routes::openapi::get))
        .route("/prompt", post(routes::prompt::post))
        .route("/stream", get(routes::stream::get))
        .route("/telemetry", post(routes::telemetry::post))
        .fallback(async |request: Request| ApiError::unknown_route(request.uri().path()))
        .method_not_allowed_fallback(async |request: Request| {
            ApiError::method_not_allowed(request.method().as_str(), request.uri().path())
        })
}
