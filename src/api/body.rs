//! Reading what somebody asks: a JSON document of at most 1 MiB, in a time that is limited.

use std::time::Duration;

use axum::{
    body::HttpBody,
    extract::Request,
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use zeroize::{Zeroize, Zeroizing};

use super::fault::Fault;
use crate::{actions, env::Timestamp};

/// The longest body, in bytes.
pub(super) const LONGEST: usize = 1 << 20;
/// How much more is read and thrown away, so that whoever sends it hears the answer.
const SURPLUS: usize = 16 << 20;
/// How long a body may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was asked, before it is understood.
pub(super) struct Asked {
    parts: Parts,
    bytes: Zeroizing<Vec<u8>>,
}

impl Asked {
    /// Reads all of a request.
    ///
    /// # Errors
    /// When it is too long, too slow, or breaks off.
    pub(super) async fn read(request: Request) -> Result<Self, Fault> {
        let (parts, mut body) = request.into_parts();
        let mut surplus = 0;
        let read = timeout(PATIENCE, async {
            let mut bytes = Zeroizing::new(Vec::new());
            while let Some(frame) = std::future::poll_fn(|cx| std::pin::Pin::new(&mut body).poll_frame(cx)).await {
                let Ok(frame) = frame else { return Err(Fault::usage("the body breaks off")) };
                let Ok(data) = frame.into_data() else { continue };
                if surplus > 0 || bytes.len() + data.len() > LONGEST {
                    surplus += data.len();
                    if surplus > SURPLUS {
                        break;
                    }
                } else {
                    append(&mut bytes, &data);
                }
                // It may be a credential: nothing of it stays where it was read to.
                if let Ok(mut data) = data.try_into_mut() {
                    data.zeroize();
                }
            }
            Ok(bytes)
        });
        let read = read.await.unwrap_or_else(|_| Err(Fault::slow("the body did not come in time")));
        // One that is too long is that, also when its end did not come.
        let bytes = if surplus > 0 { Err(Fault::too_long("the body is longer than 1 MiB")) } else { read }?;
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
    pub(super) fn decode<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        serde_json::from_slice(&self.bytes).map_err(|error| {
            let (said, place) = (error.to_string(), format!("line {}, column {}", error.line(), error.column()));
            if error.is_data() && said.starts_with("missing field") {
                return Fault::usage(said.split(" at line").next().unwrap_or_default());
            }
            let what = if error.is_data() { "a value of a wrong type" } else { "no JSON" };
            Fault::usage(format!("the body is not what this route takes: {what} at {place}"))
        })
    }

    /// What the `Idempotency-Key` stands for, when there is one.
    ///
    /// # Errors
    /// One that cannot be meant.
    pub(super) fn request(&self) -> Result<Option<actions::Request>, Fault> {
        let Some(id) = key(&self.parts.headers)? else { return Ok(None) };
        let mut digest = Sha256::new();
        digest.update(self.parts.uri.path());
        digest.update([0]);
        digest.update(self.bytes());
        let digest: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Some(actions::Request { id, words: actions::fingerprint::of_api(&digest) }))
    }
}

/// Grows by moving, so that nothing is left behind in memory that was given back.
fn append(bytes: &mut Zeroizing<Vec<u8>>, data: &[u8]) {
    if bytes.capacity() - bytes.len() < data.len() {
        let mut larger = Zeroizing::new(Vec::with_capacity((bytes.len() + data.len()).max(2 * bytes.len())));
        larger.extend_from_slice(bytes);
        *bytes = larger;
    }
    bytes.extend_from_slice(data);
}

fn key(headers: &HeaderMap) -> Result<Option<String>, Fault> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| (1..=128).contains(&text.len()));
    text.map(|text| Some(text.to_owned())).ok_or_else(|| Fault::usage("the Idempotency-Key is 1 to 128 characters"))
}

/// Reads a document.
///
/// # Errors
/// As [`Asked::read`] and [`Asked::decode`].
pub(super) async fn decoded<T: DeserializeOwned>(request: Request) -> Result<T, Fault> {
    Asked::read(request).await?.decode()
}

/// The fields behind the question mark.
///
/// # Errors
/// `usage`, naming a field that is missing.
pub(super) fn query<T: DeserializeOwned>(request: &Request) -> Result<T, Fault> {
    let asked = axum::extract::Query::<T>::try_from_uri(request.uri());
    asked.map(|query| query.0).map_err(|error| {
        let said = error.body_text();
        let said = said.rsplit(": ").next().unwrap_or_default();
        Fault::usage(if said.starts_with("missing field") { said } else { "the query cannot be read" })
    })
}

/// A document as the answer.
pub(super) fn answer(document: &impl Serialize) -> Response {
    match serde_json::to_vec(document) {
        Ok(bytes) => (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], bytes).into_response(),
        Err(error) => Fault::internal(error.to_string()).into_response(),
    }
}

/// A time: RFC 3339, or milliseconds since 1970.
pub(super) fn moment<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
    use serde::de::Error;
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::String(text) => Timestamp::parse(&text).map(Some).ok_or_else(|| D::Error::custom("no time")),
        Value::Number(number) => number
            .as_i64()
            .map(|millis| Some(Timestamp::from_millis(millis)))
            .ok_or_else(|| D::Error::custom("no time")),
        _ => Err(D::Error::custom("no time")),
    }
}
