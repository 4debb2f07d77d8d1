//! The input of a tool call, as it may be kept and shown: masked and shortened.

use serde_json::{Map, Value};

use crate::domain::secrets;

/// The longest text inside, in characters.
const MAX_TEXT_CHARS: usize = 2_000;
/// How many items of a list or fields of an object are kept.
const MAX_ITEMS: usize = 64;
/// The depth to which nested values are kept.
const MAX_DEPTH: usize = 12;
/// The longest summary of a call, in characters.
const MAX_LINE_CHARS: usize = 100;

/// The fields that say most about a call, the most telling first.
const SUMMARY_FIELDS: &[&str] =
    &["command", "cmd", "script", "file_path", "absolute_path", "path", "notebook_path", "url", "query", "pattern"];

/// Encodes the input as JSON of at most `most` bytes. Masks everything that looks like a secret, and shortens long texts. If
/// the JSON is still too long, it becomes one shortened text.
pub fn for_log(input: &Value, most: usize) -> String {
    let shown = redact(input, 0);
    let text = shown.to_string();
    if text.len() <= most {
        return text;
    }
    // JSON may write one character as six.
    let mut chars = most / 2;
    loop {
        let cut = Value::String(truncate(&text, chars)).to_string();
        if cut.len() <= most || chars == 0 {
            return cut;
        }
        chars /= 2;
    }
}

/// Summarises the input of a tool call on one short line without control characters: its most informative field, such as a
/// command, else the whole input. Masks secrets.
pub fn summary(input: &Value) -> String {
    let shown = redact(input, 0);
    let telling = SUMMARY_FIELDS.iter().find_map(|name| shown.get(*name));
    let text = match telling.unwrap_or(&shown) {
        Value::String(text) => text.clone(),
        Value::Object(fields) if fields.is_empty() => String::new(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let words: Vec<&str> = text.split(|character: char| character.is_whitespace() || character.is_control()).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    truncate(&words.join(" "), MAX_LINE_CHARS)
}

/// Whether a part of a tool's input is missing from what is stored, because it was too long. A person who reads the stored
/// input then does not see everything that an answer would allow. May also be true of an input that just reaches the limit.
pub fn is_cut(input: &Value) -> bool {
    match input {
        Value::String(text) => text == "…" || text.ends_with('…') && text.chars().count() > MAX_TEXT_CHARS,
        Value::Array(items) => items.len() >= MAX_ITEMS || items.iter().any(is_cut),
        Value::Object(fields) => {
            fields.len() >= MAX_ITEMS || fields.iter().any(|(name, value)| name.ends_with('…') || is_cut(value))
        }
        _ => false,
    }
}

/// The command of a stored call. Returns `None` when a part of it was shortened or masked.
pub fn exact_command(stored: &str) -> Option<String> {
    let input: Value = serde_json::from_str(stored).ok()?;
    let command = ["command", "cmd"].iter().find_map(|name| input.get(*name)?.as_str())?;
    (!is_cut(&input) && !command.contains(secrets::MASK)).then(|| command.to_owned())
}

/// Whether [`summary`] shows the whole call: nothing is shortened, masked or joined, and no other field changes what the call
/// does.
pub fn is_whole_in_summary(input: &Value) -> bool {
    /// Fields that change nothing of what a call does.
    const TELLING_NOTHING: &[&str] = &["description", "timeout"];
    let Some(fields) = input.as_object() else { return false };
    let mut telling = fields.iter().filter(|(name, _)| !TELLING_NOTHING.contains(&name.as_str()));
    match (telling.next(), telling.next()) {
        (None, _) => fields.is_empty(),
        (Some((name, Value::String(text))), None) => {
            let is_masked = text.contains(secrets::MASK);
            SUMMARY_FIELDS.contains(&name.as_str()) && !text.is_empty() && !is_masked && summary(input) == *text
        }
        _ => false,
    }
}

fn redact(input: &Value, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return Value::String("…".into());
    }
    match input {
        Value::String(text) => Value::String(truncate(&secrets::mask(text), MAX_TEXT_CHARS)),
        Value::Array(items) => items.iter().take(MAX_ITEMS).map(|item| redact(item, depth + 1)).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .take(MAX_ITEMS)
                .map(|(name, value)| (truncate(name, MAX_LINE_CHARS), redact_field(name, value, depth)))
                .collect::<Map<_, _>>(),
        ),
        plain => plain.clone(),
    }
}

fn redact_field(name: &str, value: &Value, depth: usize) -> Value {
    match value {
        Value::String(text) => Value::String(truncate(&secrets::mask_value(name, text), MAX_TEXT_CHARS)),
        // A key may be a number, and a list of keys is one of secrets.
        value if secrets::is_secret_name(name) && !value.is_null() && !value.is_boolean() => {
            Value::String(secrets::MASK.into())
        }
        value => redact(value, depth + 1),
    }
}

fn truncate(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_masked_wherever_they_stand() {
        let input = json!({"command": "API_KEY=abc123 ./x", "env": {"GITHUB_TOKEN": "plain", "n": [1, "sk-abcdefghijklmnop"]},
            "password": 1234, "deep": [{"secret": ["a"]}], "keyboard": "de"});
        let kept = for_log(&input, 4096);
        for gone in ["abc123", "plain", "sk-abc", "1234", "[\"a\"]"] {
            assert!(!kept.contains(gone), "{gone}: {kept}");
        }
        assert!(kept.contains("\"keyboard\":\"de\""), "{kept}");
    }

    #[test]
    fn logged_input_is_json_of_limited_length() {
        for input in [
            json!("x".repeat(100_000)),
            json!({"a": vec!["\u{1}".repeat(3000); 200]}),
            json!(vec![json!({"k": "v"}); 1000]),
            (0..100).fold(json!(1), |inside, _| json!({ "a": inside })),
        ] {
            for most in [200, 2048] {
                let kept = for_log(&input, most);
                assert!(kept.len() <= most, "{} of {most}", kept.len());
                serde_json::from_str::<Value>(&kept).unwrap();
            }
        }
    }

    #[test]
    fn line_tells_what_the_call_is_about() {
        assert_eq!(summary(&json!({"description": "x", "command": "cargo\n\ttest \u{1b}[31m"})), "cargo test [31m");
        assert_eq!(summary(&json!({"command": ["git", "push"]})), "[\"git\",\"push\"]");
        assert_eq!(summary(&json!({"file_path": "/a"})), "/a");
        assert_eq!(summary(&json!({})), "");
        assert_eq!(summary(&json!({"x": 1})), "{\"x\":1}");
        assert_eq!(summary(&json!("y".repeat(500))).chars().count(), MAX_LINE_CHARS + 1);
    }

    #[test]
    fn cut_input_is_known() {
        let stored = |input: Value| {
            let input: Value = serde_json::from_str(&for_log(&input, 8 * 1024)).unwrap();
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

    #[test]
    fn command_is_exact_only_if_it_is_stored_whole() {
        let stored = |input: Value| exact_command(&for_log(&input, 8 * 1024));
        assert_eq!(stored(json!({"command": "ls\nrm x", "description": "y"})).as_deref(), Some("ls\nrm x"));
        assert_eq!(stored(json!({"cmd": "ls"})).as_deref(), Some("ls"));
        for other in [
            json!({"command": "x".repeat(2_001)}),
            json!({"command": "API_KEY=abc123 ./x"}),
            json!({"command": ["ls"]}),
            json!({"file_path": "/a"}),
            json!("ls"),
        ] {
            assert_eq!(stored(other.clone()), None, "{other}");
        }
    }

    #[test]
    fn summary_tells_a_whole_call_only_if_nothing_is_left_out() {
        for whole in
            [json!({"command": "npm publish"}), json!({"command": "ls", "description": "x", "timeout": 5}), json!({})]
        {
            assert!(is_whole_in_summary(&whole), "{whole}");
        }
        for part in [
            json!({"command": "ls\nrm -rf /"}),
            json!({"command": "ls  /"}),
            json!({"command": "x".repeat(101)}),
            json!({"command": "API_KEY=abc123 ./x"}),
            json!({"command": secrets::mask("API_KEY=abc123 ./x")}),
            json!({"command": "ls \u{1b}[31m"}),
            json!({"command": "ls", "dangerouslyDisableSandbox": true}),
            json!({"command": ["sh", "-c", "ls"]}),
            json!({"file_path": "/a", "content": "x"}),
            json!({"description": "x"}),
            json!({"text": "x"}),
            json!("ls"),
        ] {
            assert!(!is_whole_in_summary(&part), "{part}");
        }
    }
}
