//! Reading what somebody asks: a JSON document of at most 1 MiB, in a time that is limited.

use std::time::Duration;

use axum::{
    body::HttpBody,
    extract::Request,
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use zeroize::{Zeroize, Zeroizing};

use super::error::ApiError;
use crate::actions;

/// The longest body, in bytes.
pub(super) const MAX_BODY_BYTES: usize = 1 << 20;
/// How much more is read and thrown away, so that whoever sends it hears the answer.
const MAX_DISCARDED_BYTES: usize = 16 << 20;
/// How long a body may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// What was asked, before it is understood.
pub(super) struct RequestBody {
    parts: Parts,
    bytes: Zeroizing<Vec<u8>>,
}

impl RequestBody {
    /// Reads all of a request.
    ///
    /// # Errors
    /// When it is too long, too slow, or breaks off.
    pub(super) async fn read(request: Request) -> Result<Self, ApiError> {
        let (parts, mut body) = request.into_parts();
        let mut surplus = 0;
        let read = timeout(BODY_TIMEOUT, async {
            let mut bytes = Zeroizing::new(Vec::new());
            while let Some(frame) = std::future::poll_fn(|cx| std::pin::Pin::new(&mut body).poll_frame(cx)).await {
                let Ok(frame) = frame else { return Err(ApiError::usage("the body breaks off")) };
                let Ok(data) = frame.into_data() else { continue };
                if surplus > 0 || bytes.len() + data.len() > MAX_BODY_BYTES {
                    surplus += data.len();
                    if surplus > MAX_DISCARDED_BYTES {
                        break;
                    }
                } else {
                    append_zeroizing(&mut bytes, &data);
                }
                // It may be a credential: nothing of it stays where it was read to.
                if let Ok(mut data) = data.try_into_mut() {
                    data.zeroize();
                }
            }
            Ok(bytes)
        });
        let read = read.await.unwrap_or_else(|_| Err(ApiError::request_timeout("the body did not come in time")));
        // One that is too long is that, also when its end did not come.
        let bytes = if surplus > 0 { Err(ApiError::body_too_large("the body is longer than 1 MiB")) } else { read }?;
        Ok(Self { parts, bytes })
    }

    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What the document says. An unknown field is ignored.
    ///
    /// # Errors
    /// `usage`, naming a field that is missing; of a wrong one only its place, since it may be a secret.
    pub(super) fn decode<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        serde_json::from_slice(&self.bytes).map_err(|error| {
            let (said, place) = (error.to_string(), format!("line {}, column {}", error.line(), error.column()));
            if error.is_data() && said.starts_with("missing field") {
                return ApiError::usage(said.split(" at line").next().unwrap_or_default());
            }
            let what = if error.is_data() { "a value of a wrong type" } else { "no JSON" };
            ApiError::usage(format!("the body is not what this route takes: {what} at {place}"))
        })
    }

    /// What the `Idempotency-Key` stands for, when there is one.
    ///
    /// # Errors
    /// One that cannot be meant.
    pub(super) fn idempotency_key(&self) -> Result<Option<actions::IdempotencyKey>, ApiError> {
        let Some(id) = idempotency_header(&self.parts.headers)? else { return Ok(None) };
        let mut digest = Sha256::new();
        digest.update(self.parts.uri.path());
        digest.update([0]);
        digest.update(self.bytes());
        let digest: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Some(actions::IdempotencyKey { id, fingerprint: actions::core::fingerprint::of_api(&digest) }))
    }
}

/// Grows by moving, so that nothing is left behind in memory that was given back.
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
    let text = value.to_str().ok().filter(|text| (1..=128).contains(&text.len()));
    text.map(|text| Some(text.to_owned())).ok_or_else(|| ApiError::usage("the Idempotency-Key is 1 to 128 characters"))
}

/// Reads a document.
///
/// # Errors
/// As [`Asked::read`] and [`Asked::decode`].
pub(super) async fn read_json<T: DeserializeOwned>(request: Request) -> Result<T, ApiError> {
    RequestBody::read(request).await?.decode()
}

/// The fields behind the question mark.
///
/// # Errors
/// `usage`, naming a field that is missing.
pub(super) fn query<T: DeserializeOwned>(request: &Request) -> Result<T, ApiError> {
    let asked = axum::extract::Query::<T>::try_from_uri(request.uri());
    asked.map(|query| query.0).map_err(|error| {
        let said = error.body_text();
        let said = said.rsplit(": ").next().unwrap_or_default();
        ApiError::usage(if said.starts_with("missing field") { said } else { "the query cannot be read" })
    })
}

/// A document as the answer.
pub(super) fn json_response(document: &impl Serialize) -> Response {
    match serde_json::to_vec(document) {
        Ok(bytes) => (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], bytes).into_response(),
        Err(error) => ApiError::internal(error.to_string()).into_response(),
    }
}
