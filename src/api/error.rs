//! Errors of the API: an HTTP status and the error document. At `POST /authorize` an error is also a denial of the tool call.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use fairway_actions::core::errors;
use fairway_core::wire::{ErrorDocument, Failure, FailureKind};

#[derive(Debug, Clone)]
pub(super) struct ApiError {
    pub(super) status: StatusCode,
    pub(super) failure: Box<Failure>,
}

impl ApiError {
    fn new(status: StatusCode, code: &'static str, kind: FailureKind, message: impl Into<String>) -> Self {
        let retryable = kind == FailureKind::Busy;
        let failure = Failure { code, kind, message: message.into(), hint: None, retryable, details: Value::Null };
        Self { status, failure: Box::new(failure) }
    }

    pub(super) fn with_hint(mut self, hint: &str) -> Self {
        self.failure.hint = Some(hint.to_owned());
        self
    }

    /// The error for an invalid argument or value: status 400.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_value", FailureKind::Usage, message)
    }

    /// The error for a body above the limit: status 413.
    pub(super) fn body_too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "invalid_value", FailureKind::Usage, message)
    }

    /// The error for a body that took too long to arrive: status 408.
    pub(super) fn request_timeout(message: impl Into<String>) -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "invalid_value", FailureKind::Usage, message)
    }

    /// The error for a client that is not admitted: code `not_admitted`.
    pub(super) fn unauthorized(status: StatusCode, message: impl Into<String>) -> Self {
        Self::new(status, "not_admitted", FailureKind::Refused, message)
    }

    /// The error for a request whose head is refused before any route sees it: code `usage`.
    pub(super) fn refused_head(status: StatusCode, message: &str) -> Self {
        Self::new(status, "usage", FailureKind::Usage, message)
    }

    /// The error for a limit that is reached: status 503, and the client may try again.
    pub(super) fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "server_busy", FailureKind::Busy, message).with_hint("try again")
    }

    /// The error for a failure of the server itself: status 500.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "failure", FailureKind::Failure, message)
    }

    /// The error for an unknown route of the worker API: status 404.
    pub(super) fn unknown_route(path: &str) -> Self {
        let why = format!("unknown route '{path}'");
        Self::new(StatusCode::NOT_FOUND, "not_found", FailureKind::NotFound, why)
            .with_hint("list the routes: GET /openapi.json")
    }

    /// The error for an unknown path of the page: status 404.
    pub(super) fn unknown_page(path: &str) -> Self {
        let why = format!("the page has no '{path}'");
        Self::new(StatusCode::NOT_FOUND, "not_found", FailureKind::NotFound, why)
    }

    /// The error for a browser without a valid key or code for the page: status 401.
    pub(super) fn no_page_access() -> Self {
        let why = "this browser has no access to the page, or its address was used before";
        Self::unauthorized(StatusCode::UNAUTHORIZED, why).with_hint(
            "open the page: fairway serve --http --open; or pair this browser for longer: fairway device pair",
        )
    }

    /// The error for a known route with a method that it does not have: status 405.
    pub(super) fn method_not_allowed(method: &str, path: &str) -> Self {
        let why = format!("invalid method {method} for route '{path}'");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "usage", FailureKind::Usage, why)
    }

    /// The error as a response. On the route that decides about tool calls, the document also denies the call.
    pub(super) fn response_for(&self, path: &str) -> Response {
        (self.status, Json(self.document_for(path))).into_response()
    }

    /// The whole HTTP response as text, for a request that was not read. As the route of the request is unknown, the document
    /// also denies a tool call. The response closes the connection.
    pub(super) fn closing_response(&self) -> String {
        let body = self.document_for(AUTHORIZE_PATH).to_string();
        format!(
            "HTTP/1.1 {}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            self.status,
            body.len()
        )
    }

    pub(super) fn document_for(&self, path: &str) -> Value {
        let mut document = serde_json::to_value(ErrorDocument { error: &self.failure }).unwrap_or(Value::Null);
        if path == AUTHORIZE_PATH {
            add_denial(&mut document, &self.failure.message);
        }
        document
    }
}

impl From<anyhow::Error> for ApiError {
    fn from(error: anyhow::Error) -> Self {
        errors::classify(&error).into()
    }
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        let status = match failure.kind {
            // The token was valid once, and will not be again.
            FailureKind::Refused if matches!(failure.code, "token_used" | "token_expired") => StatusCode::GONE,
            FailureKind::Failure => StatusCode::INTERNAL_SERVER_ERROR,
            FailureKind::Usage => StatusCode::BAD_REQUEST,
            FailureKind::NotFound | FailureKind::Empty => StatusCode::NOT_FOUND,
            FailureKind::Conflict => StatusCode::CONFLICT,
            FailureKind::Refused | FailureKind::Untrusted => StatusCode::FORBIDDEN,
            FailureKind::External => StatusCode::BAD_GATEWAY,
            FailureKind::Busy => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self { status, failure: Box::new(failure) }
    }
}

impl IntoResponse for ApiError {
    /// Sends only the status. [`ApiError::response_for`] adds the document where the path is known.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// The route that decides about tool calls.
pub(super) const AUTHORIZE_PATH: &str = "/authorize";

/// Adds the fields of a denial to an error document: a client that ignores the status must not run the tool.
pub(super) fn add_denial(document: &mut Value, reason: &str) {
    let Some(fields) = document.as_object_mut() else { return };
    fields.insert("allowed".into(), false.into());
    fields.insert("granted".into(), false.into());
    fields.insert("opinion".into(), true.into());
    fields.insert("reason".into(), reason.into());
    fields.insert("rule".into(), Value::Null);
}
