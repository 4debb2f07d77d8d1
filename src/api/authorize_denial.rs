//! The path of `POST /authorize`, and the fields by which an error there denies the tool call.

use serde_json::Value;

/// The route that decides about tool calls.
pub(super) const AUTHORIZE_PATH: &str = "/authorize";

/// Adds the fields of a denial to an error document: a client that reads them without the status must not run the tool.
pub(super) fn add_denial(document: &mut Value, reason: &str) {
    let Some(fields) = document.as_object_mut() else { return };
    fields.insert("allowed".into(), false.into());
    fields.insert("granted".into(), false.into());
    fields.insert("opinion".into(), true.into());
    fields.insert("reason".into(), reason.into());
    fields.insert("rule".into(), Value::Null);
}
