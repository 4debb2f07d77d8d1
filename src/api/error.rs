//! What goes wrong, as a status and the error document.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::Value;

use super::authorize_denial::{AUTHORIZE_PATH, add_denial};
use crate::{
    actions::core::errors,
    wire::{ErrorDocument, Failure, FailureKind},
};

/// A failure with the status that fits.
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

    /// With what may help.
    fn with_hint(mut self, hint: &str) -> Self {
        self.failure.hint = Some(hint.to_owned());
        self
    }

    /// Words or values that cannot be meant.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_value", FailureKind::Usage, message)
    }

    /// More than anybody may say.
    pub(super) fn body_too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "invalid_value", FailureKind::Usage, message)
    }

    /// Slower than anybody may be.
    pub(super) fn request_timeout(message: impl Into<String>) -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "invalid_value", FailureKind::Usage, message)
    }

    /// Somebody who may not ask.
    pub(super) fn unauthorized(status: StatusCode, message: impl Into<String>) -> Self {
        Self::new(status, "not_admitted", FailureKind::Refused, message)
    }

    /// Too much at once.
    pub(super) fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "server_busy", FailureKind::Busy, message).with_hint("try again")
    }

    /// An error of our own making.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "failure", FailureKind::Failure, message)
    }

    /// No such route.
    pub(super) fn unknown_route(path: &str) -> Self {
        let why = format!("there is no route '{path}'");
        Self::new(StatusCode::NOT_FOUND, "not_found", FailureKind::NotFound, why)
            .with_hint("GET /openapi.json has them all")
    }

    /// A route that wants to be asked otherwise.
    pub(super) fn method_not_allowed(method: &str, path: &str) -> Self {
        let why = format!("the route '{path}' takes no {method}");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "usage", FailureKind::Usage, why)
    }

    /// The document; a route that decides says in it that nothing is allowed.
    pub(super) fn response_for(&self, path: &str) -> Response {
        (self.status, Json(self.document_for(path))).into_response()
    }

    /// The error document for a path.
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
    /// The status alone: [`Fault::document`] is written where the route is known.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
