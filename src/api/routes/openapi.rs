//! `GET /openapi.json`: the OpenAPI description of this API.

use axum::http::header;
use axum::response::{IntoResponse, Response};

/// The OpenAPI document.
const DOCUMENT: &str = include_str!("../../../docs/reference/openapi.json");

pub(in crate::api) async fn get() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT).into_response()
}
