//! The JSON Schema of `.fairway.toml`, made from the table of keys: what a key takes is what its default or its sample is.

use serde_json::{Map, Value, json};

use super::keys::{KEYS, Key};

/// The schema.
#[must_use]
pub fn schema() -> Value {
    let mut root = section();
    for key in KEYS {
        insert(&mut root, &key.path.split('.').collect::<Vec<_>>(), key);
    }
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The configuration of Fairway, .fairway.toml",
    });
    if let (Some(fields), Value::Object(root)) = (schema.as_object_mut(), root) {
        fields.extend(root);
    }
    schema
}

/// A section without keys yet.
fn section() -> Value {
    json!({ "type": "object", "additionalProperties": false, "properties": {} })
}

fn insert(at: &mut Value, path: &[&str], key: &Key) {
    let Some((first, rest)) = path.split_first() else { return };
    if *first == "*" {
        // Names that the user chose.
        let chosen = entry(at, "additionalProperties", section);
        return insert(chosen, rest, key);
    }
    let (name, is_list) = first.strip_suffix("[]").map_or((*first, false), |name| (name, true));
    let properties = entry(at, "properties", || Value::Object(Map::new()));
    if rest.is_empty() {
        if let Some(properties) = properties.as_object_mut() {
            properties.insert(name.to_owned(), of_key(key));
        }
    } else if is_list {
        let list = entry(properties, name, || json!({ "type": "array", "items": section() }));
        insert(entry(list, "items", section), rest, key);
    } else {
        insert(entry(properties, name, section), rest, key);
    }
}

/// The member of an object, which is made when it is missing or says only that there is none.
fn entry<'a>(object: &'a mut Value, name: &str, make: impl FnOnce() -> Value) -> &'a mut Value {
    let member = &mut object[name];
    if !member.is_object() {
        *member = make();
    }
    member
}

/// A key: its purpose, its default, and the type of its value.
fn of_key(key: &Key) -> Value {
    let text = format!("value = {}", key.default.unwrap_or(key.sample));
    let value = toml::from_str::<toml::Table>(&text).ok().and_then(|mut table| table.remove("value"));
    let value = value.and_then(|value| serde_json::to_value(value).ok()).unwrap_or(Value::Null);
    let mut schema = of_value(&value);
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("description".to_owned(), json!(key.why));
        if key.default.is_some() {
            fields.insert("default".to_owned(), value);
        }
    }
    schema
}

fn of_value(value: &Value) -> Value {
    match value {
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::Number(number) if number.is_f64() => json!({ "type": "number" }),
        Value::Number(_) => json!({ "type": "integer" }),
        Value::String(_) => json!({ "type": "string" }),
        Value::Array(items) => {
            json!({ "type": "array", "items": items.first().map_or_else(|| json!({}), of_value) })
        }
        Value::Object(_) => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        Value::Null => json!({}),
    }
}
