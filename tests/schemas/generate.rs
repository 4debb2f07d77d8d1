//! From a type to its schema, in the form that is published.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// A generator of schemas for documents that are written.
pub(super) fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_serialize().into_generator()
}

/// The schema of a type.
pub(super) fn schema_of<T: JsonSchema>() -> Value {
    to_published(generator().into_root_schema_for::<T>())
}

/// The schema in the published form: without Rust's formats of numbers and names of types, with the format of times.
pub(super) fn to_published(schema: Schema) -> Value {
    let mut schema = schema.to_value();
    polish(&mut schema);
    schema
}

/// One schema of all documents, each a definition by its name. Behind them stand the types that they share.
///
/// # Panics
///
/// Two types of one name are different.
pub(super) fn bundle<'a>(documents: impl Iterator<Item = (&'a str, &'a str, Value)>) -> Value {
    let mut definitions = Map::new();
    let mut types: BTreeMap<String, Value> = BTreeMap::new();
    for (name, title, mut schema) in documents {
        let fields = schema.as_object_mut().unwrap();
        for (name, definition) in fields.shift_remove("$defs").iter().filter_map(Value::as_object).flatten() {
            let known = types.entry(name.clone()).or_insert_with(|| definition.clone());
            assert_eq!(known, definition, "two types have the name {name}");
        }
        fields.shift_remove("$schema");
        fields.insert("title".into(), json!(title));
        definitions.insert(name.to_owned(), schema);
    }
    // A document that is one of the types is not written twice.
    for document in definitions.values_mut() {
        if let Some((name, _)) = types.iter().find(|(_, shared)| has_same_rules(document, shared)) {
            *document = json!({ "title": document["title"], "$ref": format!("#/$defs/{name}") });
        }
    }
    definitions.extend(types);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:fairway:json",
        "title": "The JSON documents of Fairway",
        "$defs": definitions,
    })
}

/// Whether two schemas differ in their titles and descriptions alone.
fn has_same_rules(one: &Value, other: &Value) -> bool {
    let rules = |schema: &Value| {
        let mut schema = schema.clone();
        for key in ["title", "description"] {
            schema.as_object_mut().unwrap().shift_remove(key);
        }
        schema
    };
    other.is_object() && rules(one) == rules(other)
}

fn polish(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(polish),
        Value::Object(fields) => {
            // `int64` and its like are no formats of JSON Schema; strict validators refuse them.
            if fields.get("format").is_some_and(|format| format.is_string() && format != "date-time") {
                fields.shift_remove("format");
            }
            if let Some(Value::String(reference)) = fields.get_mut("$ref") {
                *reference = public_name(reference).to_owned();
            }
            if let Some(Value::Object(definitions)) = fields.get_mut("$defs") {
                *definitions = std::mem::take(definitions)
                    .into_iter()
                    .map(|(name, definition)| (public_name(&name).to_owned(), definition))
                    .collect();
            }
            if let Some(Value::Object(properties)) = fields.get_mut("properties") {
                properties
                    .iter_mut()
                    .filter(|(name, _)| is_time(name))
                    .for_each(|(_, property)| add_time_format(property));
            }
            // Members of documents are named as the keywords of schemas are.
            for (key, below) in
                fields.iter_mut().filter(|(key, _)| !matches!(key.as_str(), "enum" | "const" | "required"))
            {
                match below {
                    Value::Object(named) if matches!(key.as_str(), "properties" | "$defs") => {
                        named.values_mut().for_each(polish);
                    }
                    below => polish(below),
                }
            }
        }
        _ => {}
    }
}

/// `#/$defs/TaskView` is published as `#/$defs/Task`.
fn public_name(name: &str) -> &str {
    name.strip_suffix("View").unwrap_or(name)
}

fn is_time(name: &str) -> bool {
    name == "at" || name.ends_with("_at") || name.ends_with("_until")
}

fn add_time_format(property: &mut Value) {
    let Some(fields) = property.as_object_mut() else { return };
    let is_text = match fields.get("type") {
        Some(Value::Array(types)) => types.contains(&json!("string")),
        Some(name) => name == "string",
        None => false,
    };
    if is_text {
        fields.insert("format".into(), json!("date-time"));
    }
}
