//! Request bodies (JSON documents of at most 1 MiB, with a deadline), queries, and JSON responses.

use std::time::Duration;

use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use zeroize::{Zeroize, Zeroizing};

use super::error::ApiError;
use fairway_core::domain::text_limits::MAX_REQUEST_ID_BYTES;
use fairway_core::os::digest::hex;

pub(super) const MAX_BODY_BYTES: usize = 1 << 20;
/// How much more is read and discarded: a client that is still sending would not read the response.
const MAX_DISCARDED_BYTES: usize = 16 << 20;
/// How long reading a body may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct RequestBody {
    parts: Parts,
    bytes: Zeroizing<Vec<u8>>,
}

impl RequestBody {
    /// Reads the whole body. Fails when the body is too long, arrives too slowly or is incomplete.
    pub(super) async fn read(request: Request) -> Result<Self, ApiError> {
        let (parts, mut body) = request.into_parts();
        let mut surplus = 0;
        let read = timeout(BODY_TIMEOUT, async {
            let mut bytes = Zeroizing::new(Vec::new());
            while let Some(frame) = std::future::poll_fn(|cx| std::pin::Pin::new(&mut body).poll_frame(cx)).await {
                let Ok(frame) = frame else { return Err(ApiError::usage("the request body is incomplete")) };
                let Ok(data) = frame.into_data() else { continue };
                if surplus > 0 || bytes.len() + data.len() > MAX_BODY_BYTES {
                    surplus += data.len();
                    if surplus > MAX_DISCARDED_BYTES {
                        break;
                    }
                } else {
                    append_zeroizing(&mut bytes, &data);
                }
                // The body may hold a credential: zero the read buffer as well.
                if let Ok(mut data) = data.try_into_mut() {
                    data.zeroize();
                }
            }
            Ok(bytes)
        });
        let read = read.await.unwrap_or_else(|_| {
            Err(ApiError::request_timeout(format!("the request body took longer than {} s", BODY_TIMEOUT.as_secs())))
        });
        // A body that is too long gets that error even when it also timed out.
        let bytes =
            if surplus > 0 { Err(ApiError::body_too_large("the request body is longer than 1 MiB")) } else { read }?;
        Ok(Self { parts, bytes })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Decodes the body as JSON. Unknown fields are ignored.
    ///
    /// # Errors
    /// `invalid_value`. The message names the field and what it takes, but not the value, which may be a secret.
    pub(super) fn decode<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        let mut reader = serde_json::Deserializer::from_slice(&self.bytes);
        let decoded = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let field = error.path().to_string();
            (field, error.into_inner())
        });
        let decoded = decoded.and_then(|value| reader.end().map(|()| value).map_err(|error| (String::new(), error)));
        decoded.map_err(|(field, error)| {
            let message = error.to_string();
            let message = message.rsplit_once(" at line").map_or(message.as_str(), |(message, _)| message);
            if !error.is_data() {
                let (line, column) = (error.line(), error.column());
                return ApiError::usage(format!("invalid request body: invalid JSON at line {line}, column {column}"));
            }
            if message.starts_with("missing field") {
                return ApiError::usage(message);
            }
            // Serde's message has the value before this.
            let expected = message.rsplit_once(", expected ").map(|(_, expected)| format!(": must be {expected}"));
            let field = if field == "." { "request body" } else { &field };
            ApiError::usage(format!("invalid {field}{}", expected.unwrap_or_default()))
        })
    }

    /// The `Idempotency-Key` header with a fingerprint of path and body. Returns `None` without the header.
    pub(super) fn idempotency_key(&self) -> Result<Option<fairway_actions::IdempotencyKey>, ApiError> {
        let Some(id) = idempotency_header(&self.parts.headers)? else { return Ok(None) };
        let mut digest = Sha256::new();
        digest.update(self.parts.uri.path());
        digest.update([0]);
        digest.update(self.bytes());
        Ok(Some(fairway_actions::IdempotencyKey {
            id,
            fingerprint: fairway_actions::core::fingerprint::of_api(&hex(&digest.finalize())),
        }))
    }
}

/// Appends, and grows by copying into a new buffer: `Vec` would leave the old bytes in freed memory.
fn append_zeroizing(bytes: &mut Zeroizing<Vec<u8>>, data: &[u8]) {
    if bytes.capacity() - bytes.len() < data.len() {
        let mut larger = Zeroizing::new(Vec::with_capacity((bytes.len() + data.len()).max(2 * bytes.len())));
        larger.extend_from_slice(bytes);
        *bytes = larger;
    }
    bytes.extend_from_slice(data);
}

fn idempotency_header(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| (1..=MAX_REQUEST_ID_BYTES).contains(&text.len()));
    text.map(|text| Some(text.to_owned()))
        .ok_or_else(|| ApiError::usage("invalid Idempotency-Key header: must have 1 to 128 visible ASCII characters"))
}

pub(super) async fn read_json<T: DeserializeOwned>(request: Request) -> Result<T, ApiError> {
    RequestBody::read(request).await?.decode()
}

/// Decodes the query of the URL. Error: `invalid_value`, with the name of a missing field.
pub(super) fn query<T: DeserializeOwned>(request: &Request) -> Result<T, ApiError> {
    let decoded = axum::extract::Query::<T>::try_from_uri(request.uri());
    decoded.map(|query| query.0).map_err(|error| {
        let text = error.body_text();
        let reason = text.rsplit(": ").next().unwrap_or_default();
        ApiError::usage(if reason.starts_with("missing field") { reason } else { "invalid query" })
    })
}

/// A response with status 200 and a JSON document.
pub(super) fn json_response(document: &impl Serialize) -> Response {
    match serde_json::to_vec(document) {
        Ok(bytes) => (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], bytes).into_response(),
        Err(error) => ApiError::internal(error.to_string()).into_response(),
    }
}
