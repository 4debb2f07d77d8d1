//! The input of a tool call.

use serde_json::Value;

use crate::domain::Refusal;

/// Parses the input of a tool call, a JSON object.
pub(super) fn object(text: &str) -> Result<Value, Refusal> {
    let wrong = |why: String| Refusal::invalid("input", why);
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(wrong("is not a JSON object".to_owned())),
        Err(error) => Err(wrong(format!("is not valid JSON: {error}"))),
    }
}
