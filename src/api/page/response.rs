//! The answers of the page. Their headers let the browser run and load only what the page brings, keep nothing, and show the
//! page in no other one.

use axum::Json;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::document::{self, Done};

pub(super) const HTML: &str = "text/html; charset=utf-8";

pub(super) fn file(content_type: &'static str, text: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, content_type)], text.into()).into_response()
}

/// The response to a command that was run: JSON with `wants_json`, else a page with a link to `back`.
pub(super) fn done(done: &Done, back: &str, wants_json: bool) -> Response {
    if wants_json {
        let Done { answer, command, undo } = done;
        let said = json!({ "command": command, "line": answer.line, "notes": answer.notes, "undo": undo });
        Json(said).into_response()
    } else {
        file(HTML, document::result(done, back))
    }
}

/// No inline script or style, nothing from elsewhere, no frame, forms only to the page.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
    // With `no-referrer` a browser would send `Origin: null` with the page's own forms.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

pub(super) fn protect(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
