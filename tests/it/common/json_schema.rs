//! Why a value is not as a JSON Schema says: the part of JSON Schema that Fairway's own schemas use, and stricter. A member that
//! the schema of an object does not name is wrong, unless the schema says what others may be; so is a time that the schema
//! does not call one.

use fairway_core::env::Timestamp;
use serde_json::Value;

/// The first thing that is wrong, with its place.
pub fn violation(schema: &Value, value: &Value) -> Option<String> {
    violation_with(&|reference| schema.pointer(reference.trim_start_matches('#')), schema, value)
}

/// The same for a schema that refers to others.
pub fn violation_with(resolve: Resolve<'_, '_>, schema: &Value, value: &Value) -> Option<String> {
    find(resolve, schema, value, "")
}

/// The schema that a `$ref` names.
pub type Resolve<'call, 'schema> = &'call dyn Fn(&str) -> Option<&'schema Value>;

fn find(resolve: Resolve<'_, '_>, schema: &Value, value: &Value, place: &str) -> Option<String> {
    let schema_fields = schema.as_object()?;
    let inside = |below: &Value, value: &Value, place: &str| find(resolve, below, value, place);
    for (keyword, rule) in schema_fields {
        let rules = || rule.as_array().into_iter().flatten();
        let wrong = match keyword.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" | "default" | "then" | "properties" => None,
            "$ref" => {
                let target = resolve(rule.as_str().unwrap());
                inside(target.unwrap_or_else(|| panic!("{rule} leads nowhere")), value, place)
            }
            "type" => {
                let is_one =
                    rule.as_str().into_iter().chain(rules().filter_map(Value::as_str)).any(|name| is(name, value));
                (!is_one).then(|| format!("{place}: no {rule}: {value}"))
            }
            "enum" => (!rules().any(|word| word == value)).then(|| format!("{place}: none of {rule}: {value}")),
            "const" => (rule != value).then(|| format!("{place}: not {rule}: {value}")),
            "format" => {
                assert_eq!(rule, "date-time", "{place}");
                let is_time = value.as_str().is_none_or(|text| Timestamp::parse(text).is_some());
                (!is_time).then(|| format!("{place}: no time: {value}"))
            }
            "pattern" => {
                let pattern = regex::Regex::new(rule.as_str().unwrap()).unwrap();
                let is_match = value.as_str().is_none_or(|text| pattern.is_match(text));
                (!is_match).then(|| format!("{place}: does not match {rule}: {value}"))
            }
            "minimum" | "exclusiveMinimum" | "maximum" => {
                value.as_f64().zip(rule.as_f64()).and_then(|(number, limit)| {
                    let is_wrong = match keyword.as_str() {
                        "minimum" => number < limit,
                        "exclusiveMinimum" => number <= limit,
                        _ => number > limit,
                    };
                    is_wrong.then(|| format!("{place}: {keyword} is {rule}: {value}"))
                })
            }
            "minItems" | "maxItems" => {
                let count = value.as_array().map_or(0, Vec::len) as u64;
                let limit = rule.as_u64().unwrap();
                let is_wrong = if keyword == "minItems" { count < limit } else { count > limit };
                is_wrong.then(|| format!("{place}: {keyword} is {limit}: {value}"))
            }
            "items" => value
                .as_array()
                .into_iter()
                .flatten()
                .enumerate()
                .find_map(|(number, item)| inside(rule, item, &format!("{place}[{number}]"))),
            "required" => {
                let missing = rules()
                    .find(|name| value.as_object().is_some_and(|fields| !fields.contains_key(name.as_str().unwrap())));
                missing.map(|name| format!("{place}: {name} is missing"))
            }
            "additionalProperties" => None,
            "anyOf" | "oneOf" => {
                let wrong: Vec<String> = rules().map_while(|option| inside(option, value, place)).collect();
                (wrong.len() == rules().count()).then(|| wrong.join(" and "))
            }
            "allOf" => rules().find_map(|part| inside(part, value, place)),
            "if" if inside(rule, value, place).is_none() => inside(&schema["then"], value, place),
            "if" => None,
            other => panic!("{place}: the keyword {other} is not known here"),
        };
        if wrong.is_some() {
            return wrong;
        }
    }
    let is_object = schema["type"].as_str() == Some("object");
    for (name, below) in value.as_object().into_iter().flatten() {
        let place = format!("{place}.{name}");
        let wrong = match (schema["properties"].get(name), schema.get("additionalProperties")) {
            (Some(rule), _) => inside(rule, below, &place),
            (None, Some(Value::Bool(false)) | None) if is_object => Some(format!("{place} is unknown")),
            (None, Some(rule)) => inside(rule, below, &place),
            (None, None) => None,
        };
        if wrong.is_some() {
            return wrong;
        }
    }
    let is_plain_text = schema.get("type").is_some() && schema.get("format").is_none() && schema.get("enum").is_none();
    let time = value.as_str().filter(|text| is_plain_text && text.ends_with('Z') && Timestamp::parse(text).is_some());
    time.map(|time| format!("{place}: {time} is a time, and the schema does not say so"))
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("unknown type {other}"),
    }
}
