//! The words and shapes of the page. Shapes tell states apart without colour.

use serde_json::Value;

use crate::wire::{HeldTaskView, SessionOverviewView};

/// The longest text inside a tool's input that is stored whole, in characters; `wire::tool_input` cuts longer ones.
const MAX_WHOLE_CHARS: usize = 2_000;
/// The most items or fields that are stored.
const MAX_WHOLE_ITEMS: usize = 64;

/// The shape and the style class of an item that needs a person.
pub(super) fn need_shape(kind: &str) -> (&'static str, &'static str) {
    match kind {
        "approval" | "guard" | "lease" | "prompt" => ("!", "notice"),
        "question" | "review" | "handoff" => ("?", "notice"),
        _ => ("✗", "bad"),
    }
}

/// The state of a session: its shape, style class and word, since when, and its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionState<'a> {
    pub(super) shape: &'static str,
    pub(super) class: &'static str,
    pub(super) word: &'a str,
    pub(super) since: Option<&'a str>,
    pub(super) source: &'a str,
}

/// The state of a session as `fairway status` shows it.
pub(super) fn session_state(one: &SessionOverviewView) -> SessionState<'_> {
    let bad = |word, since, source| SessionState { shape: "✗", class: "bad", word, since, source };
    let seen = Some(one.seen_at.as_str());
    match (one.shown_status, one.shown_activity) {
        ("dead" | "failed" | "ended", _) => match one.session.ended_at.as_deref() {
            Some(at) => bad(one.shown_status, Some(at), "end"),
            None => bad(one.shown_status, seen, one.seen_by),
        },
        ("stale", _) => bad("stale", seen, one.seen_by),
        (word, None | Some("unknown")) => {
            SessionState { shape: "·", class: "quiet", word, since: seen, source: one.seen_by }
        }
        (_, Some(activity)) => {
            let (shape, class, word) = match activity {
                "requires_action" => ("?", "notice", "waits"),
                "idle" => ("○", "quiet", activity),
                _ => ("●", "good", activity),
            };
            let source = one.activity_source.as_deref().unwrap_or("session");
            SessionState { shape, class, word, since: one.activity_at.as_deref(), source }
        }
    }
}

/// What a session does, in its own words.
pub(super) fn doing(one: &SessionOverviewView) -> Option<String> {
    let blocked = one.holds.iter().find_map(|held| held.blocked_reason.as_ref());
    match (blocked, &one.doing, &one.session.task_id) {
        (Some(reason), ..) => Some(format!("blocked: {reason}")),
        (_, Some(doing), _) => Some(doing.text.clone()),
        (_, None, Some(task)) if one.holds.is_empty() => Some(format!("launched for {task}, which it has not claimed")),
        _ => None,
    }
}

/// What is done for a claim without a session.
pub(super) fn claim_doing(held: &HeldTaskView) -> String {
    match &held.blocked_reason {
        Some(reason) => format!("blocked: {reason}"),
        None => held.title.clone(),
    }
}

/// The last digits of a job's id, which every command on jobs takes.
pub(super) fn short_id(id: &str) -> &str {
    id.len().checked_sub(8).and_then(|from| id.get(from..)).unwrap_or(id)
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
