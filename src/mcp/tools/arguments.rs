//! The arguments of a tool: their schema, and reading them.

use rmcp::schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::domain::Refusal;

/// The schema of a tool's arguments, as small as it can be.
pub(super) fn schema<T: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    shrink(&mut schema);
    match schema {
        Value::Object(mut fields) => {
            fields.shift_remove("description");
            fields
        }
        _ => Map::new(),
    }
}

/// Leaves out what a model does not need: names of types, formats, and `null` as a way to leave an argument out.
fn shrink(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    for name in ["title", "format", "default", "minimum"] {
        if !fields.get(name).is_some_and(Value::is_object) {
            fields.shift_remove(name);
        }
    }
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|one| one != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = fields.get_mut("enum") {
        values.retain(|one| !one.is_null());
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(shrink);
    }
    // A `null` among the values of a map is a value.
    if let Some(items) = fields.get_mut("items") {
        shrink(items);
    }
}

/// Reads the arguments of a call.
///
/// # Errors
/// `usage` with the argument that is unknown or has a wrong type.
pub(super) fn read<T: DeserializeOwned>(arguments: &Value) -> Result<T, Refusal> {
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { "the arguments".to_owned() } else { format!("the argument {path}") };
        let inner = plain(error.into_inner().to_string());
        let why: String = inner.chars().take(300).collect();
        Refusal::Usage { why: format!("{place}: {why}") }
    })
}

/// The reader's words for a type, in those of JSON.
fn plain(mut why: String) -> String {
    for (read, said) in [("u64", "a whole number from 0"), ("a sequence", "a list"), ("a map", "an object")] {
        if let Some(head) = why.strip_suffix(&format!(", expected {read}")) {
            why = format!("{head}, expected {said}");
        }
    }
    why
}

/// The name of a commit.
///
/// # Errors
/// `invalid_value`.
pub(super) fn commit(text: &str) -> Result<String, Refusal> {
    if (7..=64).contains(&text.len()) && text.chars().all(|digit| digit.is_ascii_hexdigit()) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(Refusal::invalid("commit", "is not a commit of 7 to 64 hexadecimal digits"))
    }
}
