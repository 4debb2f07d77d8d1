//! The JSON Schema of `.fairway.toml`, made from the table of keys: a key's type is that of its default or its sample, and its words
//! are those of its Rust type.

use serde_json::{Map, Value, json};

use super::keys::KEYS;
use super::section::{Form, Key};

/// The name of the schema's file in the state directory, which the first line of a new `.fairway.toml` names for editors.
pub const SCHEMA_FILE: &str = "config.schema.json";

pub fn schema() -> Value {
    let mut root = section();
    for key in &KEYS {
        insert(&mut root, &key.steps().collect::<Vec<_>>(), key);
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
    if rest.is_empty() && key.is_required {
        match &mut at["required"] {
            Value::Array(names) => names.push(json!(name)),
            none => *none = json!([name]),
        }
    }
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

/// The member of an object; it is created when it is missing or is no object.
fn entry<'a>(object: &'a mut Value, name: &str, make: impl FnOnce() -> Value) -> &'a mut Value {
    let member = &mut object[name];
    if !member.is_object() {
        *member = make();
    }
    member
}

/// A key: its purpose, its default, and the type of its value.
fn of_key(key: &Key) -> Value {
    let value = toml::from_str::<toml::Table>(&format!("value = {}", key.shown())).ok();
    let value = value.and_then(|mut table| serde_json::to_value(table.remove("value")?).ok()).unwrap_or(Value::Null);
    let mut schema = of_value(&value);
    match key.form {
        Form::Any => {}
        Form::Words(words) if value.is_array() => schema["items"] = json!({ "type": "string", "enum": words() }),
        Form::Words(words) => schema = json!({ "type": "string", "enum": words() }),
        Form::Span { none } => schema["pattern"] = json!(pattern(SPAN, none)),
        Form::Size { none } => schema["pattern"] = json!(pattern(SIZE, none)),
        Form::Number { least, most } => {
            for (bound, limit) in [("minimum", least), ("maximum", most)] {
                if let Some(limit) = limit {
                    schema[bound] = json!(limit);
                }
            }
        }
    }
    schema["description"] = json!(key.why);
    if key.default.is_some() {
        schema["default"] = value;
    }
    schema
}

/// The grammar of the crate humantime. The limits of a span are not part of it.
const SPAN: &str = concat!(
    r"0|\s*([0-9][0-9\s]*(\.[0-9]+\s*)?",
    "(nanos|nsec|ns|usec|us|µs|millis|msec|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h",
    "|days?|d|weeks?|wks?|w|months?|M|years?|yrs?|y)",
    r"\s*)+"
);
const SIZE: &str = r"\s*[0-9]+\s*([KMGT]iB|[KMGB])?";

/// The regular expression of a text of this grammar, or the word for none.
fn pattern(grammar: &str, none: Option<&str>) -> String {
    none.map_or_else(|| format!("^({grammar})$"), |none| format!("^({none}|{grammar})$"))
}

fn of_value(value: &Value) -> Value {
    match value {
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::Number(number) if number.is_f64() => json!({ "type": "number" }),
        Value::Number(_) => json!({ "type": "integer" }),
        Value::String(_) => json!({ "type": "string" }),
        Value::Array(items) => {
            let item = items.first().map_or_else(|| json!({ "type": "string" }), of_value);
            json!({ "type": "array", "items": item })
        }
        Value::Object(fields) => {
            let value = fields.values().next().map_or_else(|| json!({ "type": "string" }), of_value);
            json!({ "type": "object", "additionalProperties": value })
        }
        Value::Null => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use toml::{Table, Value as Toml};

    use super::*;
    use crate::config::Settings;

    /// A configuration in which one key has this value; the section of a list has what it must have, too.
    fn with(path: &str, value: Toml) -> String {
        fn put(table: &mut Table, steps: &[&str], value: Toml) {
            let (first, rest) = steps.split_first().unwrap();
            let name = first.trim_end_matches("[]").replace('*', "x");
            if rest.is_empty() {
                table.insert(name, value);
                return;
            }
            let mut below = Table::new();
            if name == "rules" {
                below = "name = 'n'\naction = 'deny'\ntools = ['Bash']".parse().unwrap();
            } else if name == "review_routes" {
                below = "domain = 'data'".parse().unwrap();
            }
            put(&mut below, rest, value);
            let below = Toml::Table(below);
            table.insert(name, if first.ends_with("[]") { Toml::Array(vec![below]) } else { below });
        }
        let mut table = Table::new();
        put(&mut table, &path.split('.').collect::<Vec<_>>(), value);
        toml::to_string(&table).unwrap()
    }

    #[test]
    fn words_and_bounds_of_every_key_are_those_of_its_reader() {
        let mut choices = 0;
        for key in &KEYS {
            let (schema, path) = (of_key(key), key.path());
            let (is_list, is_text) = (schema["type"] == "array", schema["type"] == "string");
            assert!(!is_list || schema["items"]["type"] == "string", "{path}: {schema}");
            if is_list || is_text {
                let word = Toml::from("no such word");
                let value = if is_list { Toml::Array(vec![word]) } else { word };
                let said = Settings::parse(&with(&path, value)).map_or_else(|(_, why)| why, |_| String::new());
                let known = said.split_once(" is none of ").map(|(_, known)| known.split(", ").collect::<Vec<_>>());
                let schema = if is_list { &schema["items"] } else { &schema };
                assert_eq!(schema.get("enum"), known.as_ref().map(|known| json!(known)).as_ref(), "{path}: {said}");
                choices += usize::from(known.is_some());
            } else if schema["type"] == "integer" {
                for number in [-1, 0, 1, 120_000, 120_001, 5_000_000] {
                    let is_inside = schema["minimum"].as_i64().is_none_or(|least| number >= least)
                        && schema["maximum"].as_i64().is_none_or(|most| number <= most);
                    let read = Settings::parse(&with(&path, Toml::from(number)));
                    assert_eq!(is_inside, read.is_ok(), "{path} = {number}: {read:?}");
                }
            }
        }
        assert!(choices >= 15, "{choices}");
    }

    /// Of these texts, a key takes exactly those that its pattern matches. A key without a pattern asks neither for a span of time
    /// nor for a size.
    #[test]
    fn patterns_match_what_their_readers_take() {
        const TEXTS: [&str; 27] = [
            "off", "none", "Off", "0", "10", "0s", "10m", "1h30m", "1h 30m", " 2 weeks ", "1.5h", "1 000ms", "3µs",
            "4M", "5K", "6B", "7KiB", "8 GiB", "9PiB", "10x", "m", "-1m", "+1m", "1.m", "1h,30m", "", "no such word",
        ];
        let mut patterns = 0;
        for key in KEYS.iter().filter(|key| of_key(key)["type"] == "string") {
            let (path, schema) = (key.path(), of_key(key));
            let why = |text: &str| Settings::parse(&with(&path, Toml::from(text))).err().map(|(_, why)| why);
            let Some(pattern) = schema["pattern"].as_str() else {
                let said = why("no such word").unwrap_or_default();
                assert!(!said.contains("is not a span") && !said.contains("is not a number of bytes"), "{path}");
                continue;
            };
            patterns += 1;
            let pattern = regex::Regex::new(pattern).unwrap();
            for text in TEXTS {
                let said = why(text);
                // Bounds are no matter of the pattern.
                let is_taken = said.as_ref().is_none_or(|why| why.starts_with("must be "));
                assert_eq!(pattern.is_match(text), is_taken, "{path} = {text:?}: {said:?}");
            }
        }
        assert_eq!(patterns, 11);
    }
}
