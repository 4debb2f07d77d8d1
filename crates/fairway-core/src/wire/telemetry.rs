//! A report of turns, as a runtime writes it.

use serde_json::Value;

use super::integer::whole_number;
use crate::domain::Refusal;
use crate::domain::excerpt::excerpt;
use crate::domain::usage::{MAX_REPORTED_ITEMS, ToolUse, Turn, Usage};
use crate::env::Timestamp;

/// Reads the `events` of a report. Ignores unknown fields; refuses an invalid number and names its field.
///
/// # Errors
/// [`Refusal::Invalid`], naming the field and its place.
pub fn parse_turns(events: &Value) -> Result<Vec<Turn>, Refusal> {
    let Value::Array(events) = events else { return Err(Refusal::invalid("events", "must be a list")) };
    if events.len() > MAX_REPORTED_ITEMS {
        let why = format!("holds {} turns; at most {MAX_REPORTED_ITEMS} go into one report", events.len());
        return Err(Refusal::invalid("events", why));
    }
    events.iter().enumerate().map(|(place, event)| parse_turn(place, event)).collect()
}

fn parse_turn(place: usize, event: &Value) -> Result<Turn, Refusal> {
    if !event.is_object() {
        return Err(Refusal::invalid("events", format!("must hold objects, unlike events[{place}]")));
    }
    if event["type"].as_str() != Some("turn_complete") {
        return Err(invalid("type", place, "must be turn_complete"));
    }
    let at = match &event["timestamp"] {
        Value::String(text) => Timestamp::parse(text),
        other => whole_number(other).map(Timestamp::from_millis),
    };
    let usage = &event["usage"];
    if !usage.is_null() && !usage.is_object() {
        return Err(invalid("usage", place, "must be an object"));
    }
    let tools = match &event["tools_called"] {
        Value::Null => Vec::new(),
        Value::Array(tools) => tools.iter().map(|tool| parse_tool_use(place, tool)).collect::<Result<_, _>>()?,
        _ => return Err(invalid("tools_called", place, "must be a list")),
    };
    let turn = Turn {
        at: at.ok_or_else(|| invalid("timestamp", place, "must be RFC 3339 or milliseconds since 1970"))?,
        key: text("key", place, &event["key"])?,
        // A turn counts even without numbers.
        usage: Some(Usage {
            model: text("model", place, &usage["model"])?,
            input_tokens: count("input_tokens", place, &usage["input_tokens"])?.unwrap_or(0),
            output_tokens: count("output_tokens", place, &usage["output_tokens"])?.unwrap_or(0),
            cache_read_tokens: count("cache_read_tokens", place, &usage["cache_read_tokens"])?.unwrap_or(0),
            cache_creation_tokens: count("cache_creation_tokens", place, &usage["cache_creation_tokens"])?.unwrap_or(0),
            cost_usd: match &usage["cost_usd"] {
                Value::Null => None,
                Value::Number(cost) => cost.as_f64(),
                _ => return Err(invalid("cost_usd", place, "must be a number")),
            },
        }),
        tools,
    };
    turn.check(place)?;
    Ok(turn)
}

fn parse_tool_use(place: usize, tool: &Value) -> Result<ToolUse, Refusal> {
    if !tool.is_object() {
        return Err(invalid("tools_called", place, "must hold objects"));
    }
    let success = match &tool["success"] {
        Value::Null => None,
        Value::Bool(success) => Some(*success),
        _ => return Err(invalid("success", place, "must be true or false")),
    };
    Ok(ToolUse {
        key: text("key", place, &tool["key"])?,
        name: text("name", place, &tool["name"])?.ok_or_else(|| invalid("name", place, "is missing in a call"))?,
        success,
        duration_ms: count("duration_ms", place, &tool["duration_ms"])?,
    })
}

fn text(what: &'static str, place: usize, value: &Value) -> Result<Option<String>, Refusal> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        _ => Err(invalid(what, place, "must be a text")),
    }
}

/// A number of something.
fn count(what: &'static str, place: usize, value: &Value) -> Result<Option<u64>, Refusal> {
    if value.is_null() {
        return Ok(None);
    }
    match whole_number(value).and_then(|number| u64::try_from(number).ok()) {
        Some(number) => Ok(Some(number)),
        None => Err(invalid(what, place, &format!("is {}, not a whole number from 0", excerpt(&value.to_string())))),
    }
}

fn invalid(what: &'static str, place: usize, why: &str) -> Refusal {
    Refusal::invalid(what, format!("of events[{place}] {why}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn full_and_minimal_reports_are_read() {
        let read = parse_turns(&json!([
            {"type": "turn_complete", "timestamp": "1970-01-01T00:00:01Z", "key": "m1", "odd": [],
             "usage": {"input_tokens": 1, "output_tokens": 2.0, "cache_read_tokens": 3, "cache_creation_tokens": 4,
                       "model": "m", "cost_usd": 0.5},
             "tools_called": [{"name": "Bash", "success": false, "duration_ms": 7}, {"name": "Read", "key": "t1"}]},
            {"type": "turn_complete", "timestamp": 5},
        ]))
        .unwrap();
        let usage = Usage {
            model: Some("m".into()),
            input_tokens: 1,
            output_tokens: 2,
            cache_read_tokens: 3,
            cache_creation_tokens: 4,
            cost_usd: Some(0.5),
        };
        let tool = |key: Option<&str>, name: &str, success, duration_ms| ToolUse {
            key: key.map(str::to_owned),
            name: name.into(),
            success,
            duration_ms,
        };
        let tools = vec![tool(None, "Bash", Some(false), Some(7)), tool(Some("t1"), "Read", None, None)];
        let first = Turn { at: Timestamp::from_millis(1_000), key: Some("m1".into()), usage: Some(usage), tools };
        let least = Turn { at: Timestamp::from_millis(5), key: None, usage: Some(Usage::default()), tools: Vec::new() };
        assert_eq!(read, [first, least]);
    }

    #[test]
    fn invalid_report_names_its_field() {
        let with = |part: Value| {
            let mut event = json!({"type": "turn_complete", "timestamp": 1});
            for (name, value) in part.as_object().unwrap() {
                event[name] = value.clone();
            }
            json!([{"type": "turn_complete", "timestamp": 1}, event])
        };
        for (events, says) in [
            (json!({}), "events must be a list"),
            (json!([1]), "events must hold objects"),
            (with(json!({"type": "turn"})), "type of events[1] must be"),
            (with(json!({"timestamp": null})), "timestamp of events[1] must be"),
            (with(json!({"timestamp": "soon"})), "timestamp of events[1] must be"),
            (with(json!({"timestamp": -1})), "timestamp of events[1] is not between"),
            (with(json!({"usage": 1})), "usage of events[1] must be"),
            (with(json!({"usage": {"input_tokens": -1}})), "input_tokens of events[1] is -1"),
            (with(json!({"usage": {"output_tokens": 1.5}})), "output_tokens of events[1] is 1.5"),
            (with(json!({"usage": {"cache_read_tokens": 1e18}})), "cache_read_tokens of events[1] is"),
            (with(json!({"usage": {"cache_creation_tokens": u64::MAX}})), "cache_creation_tokens of events[1] is"),
            (with(json!({"usage": {"cost_usd": -0.1}})), "cost_usd of events[1] is -0.1"),
            (with(json!({"usage": {"cost_usd": "1"}})), "cost_usd of events[1] must be"),
            (with(json!({"usage": {"model": 1}})), "model of events[1] must be"),
            (with(json!({"tools_called": {}})), "tools_called of events[1] must be"),
            (with(json!({"tools_called": ["x"]})), "tools_called of events[1] must hold"),
            (with(json!({"tools_called": [{}]})), "name of events[1] is missing"),
            (with(json!({"tools_called": [{"name": "x", "success": 1}]})), "success of events[1] must be"),
            (with(json!({"tools_called": [{"name": "x", "duration_ms": -5}]})), "duration_ms of events[1] is -5"),
        ] {
            let error = parse_turns(&events).unwrap_err();
            assert_eq!(error.code(), "invalid_value");
            assert!(error.to_string().starts_with(says), "{events}: {error}");
        }
    }
}
