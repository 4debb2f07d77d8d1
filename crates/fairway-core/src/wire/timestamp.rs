//! Points in time in a request body.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::integer::whole_number;
use crate::env::Timestamp;

/// Reads an optional time: null, an RFC 3339 text, or milliseconds since 1970-01-01 UTC.
///
/// # Errors
/// When the value is of another type, or its text is not a time.
pub fn deserialize_timestamp<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let timestamp = match Value::deserialize(deserializer)? {
        Value::Null => return Ok(None),
        Value::String(text) => Timestamp::parse(&text),
        other => whole_number(&other).map(Timestamp::from_millis),
    };
    timestamp.map(Some).ok_or_else(|| D::Error::custom("invalid time"))
}
