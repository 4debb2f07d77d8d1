//! The answers of the page.

use axum::{
    Json,
    body::Body,
    http::header,
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::document;
use crate::actions::Answer;

/// The type of a document.
pub(super) const HTML: &str = "text/html; charset=utf-8";

/// A file of this type.
pub(super) fn file(content_type: &'static str, text: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, content_type)], text.into()).into_response()
}

/// The answer to a command that was done.
pub(super) fn done(answer: &Answer, command: &str, back: &str, wants_json: bool) -> Response {
    if wants_json {
        Json(json!({ "command": command, "line": answer.line, "notes": answer.notes })).into_response()
    } else {
        file(HTML, document::result(answer, command, back))
    }
}
