//! `GET /openapi.json`: all of this, described.

use axum::{
    http::header,
    response::{IntoResponse, Response},
};

/// The description.
const DOCUMENT: &str = include_str!("../openapi.json");

pub(in crate::api) async fn get() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT).into_response()
}
