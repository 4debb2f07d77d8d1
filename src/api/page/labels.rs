//! The words and shapes of the page. Shapes tell states apart without colour.

use serde_json::Value;

use crate::wire::{HeldTaskView, SessionOverviewView};

/// The longest text inside a tool's input that is stored whole, in characters; `wire::tool_input` cuts longer ones.
const MAX_WHOLE_CHARS: usize = 2_000;
/// The most items or fields that are stored.
const MAX_WHOLE_ITEMS: usize = 64;

/// The style class of a shape.
pub(super) fn class_of(shape: char) -> &'static str {
    match shape {
        '✗' => "bad",
        '!' | '?' => "notice",
        '●' | '▶' => "good",
        _ => "quiet",
    }
}

/// The work of a session, in its own words.
pub(super) fn doing(one: &SessionOverviewView) -> Option<String> {
    let blocked = one.holds.iter().find_map(|held| held.blocked_reason.as_ref()).filter(|_| one.release.is_none());
    match (blocked, &one.doing, &one.session.task_id) {
        (Some(reason), ..) => Some(format!("blocked: {reason}")),
        (_, Some(doing), _) => Some(doing.text.clone()),
        (_, None, Some(task)) if one.holds.is_empty() => Some(format!("launched for {task}, which it has not claimed")),
        _ => None,
    }
}

/// The work on a claim without a session.
pub(super) fn claim_doing(held: &HeldTaskView) -> String {
    match &held.blocked_reason {
        Some(reason) => format!("blocked: {reason}"),
        None => held.title.clone(),
    }
}

/// Whether a part of a tool's input was too long to be stored: an answer would be about something that the person has not seen.
pub(super) fn is_cut(input: &Value) -> bool {
    match input {
        Value::String(text) => text == "…" || text.ends_with('…') && text.chars().count() > MAX_WHOLE_CHARS,
        Value::Array(items) => items.len() >= MAX_WHOLE_ITEMS || items.iter().any(is_cut),
        Value::Object(fields) => {
            fields.len() >= MAX_WHOLE_ITEMS || fields.iter().any(|(name, value)| name.ends_with('…') || is_cut(value))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::tool_input;

    #[test]
    fn cut_input_is_known() {
        let stored = |input: Value| {
            let input: Value = serde_json::from_str(&tool_input::for_log(&input, 8 * 1024)).unwrap();
            input
        };
        for whole in [json!({"command": "x".repeat(2_000)}), json!({"command": "wait…"}), json!({}), json!([1, 2])] {
            assert!(!is_cut(&stored(whole.clone())), "{whole}");
        }
        for cut in [
            json!({"command": "x".repeat(2_001)}),
            json!({"a": {"b": [format!("{};rm", "x".repeat(2_000))]}}),
            json!((0..65).collect::<Vec<_>>()),
            json!({"x".repeat(101): 1}),
            json!(vec!["y".repeat(1_900); 20]),
            (0..100).fold(json!(1), |inside, _| json!({ "a": inside })),
        ] {
            assert!(is_cut(&stored(cut.clone())), "{cut}");
        }
    }
}
