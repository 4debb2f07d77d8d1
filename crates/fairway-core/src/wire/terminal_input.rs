//! Input of a job's terminal as JSON: a text, or a list of objects with one member each.

use serde_json::{Map, Value, json};

use crate::domain::Refusal;
use crate::domain::excerpt::excerpt;
use crate::domain::job::TerminalSize;
use crate::domain::terminal_input::{MAX_TERMINAL_DIMENSION, TerminalInput};

/// Parses `keys`: a text is typed as it is; a list holds `{"text":…}`, `{"key":…}`, `{"paste":…}`, `{"hex":…}`, `{"eof":true}`
/// and `{"size":{"rows":…,"cols":…}}`.
///
/// # Errors
/// [`Refusal::Usage`], naming the place in the list.
pub fn parse_inputs(value: &Value) -> Result<Vec<TerminalInput>, Refusal> {
    match value {
        Value::String(text) => Ok(vec![TerminalInput::Text(text.clone())]),
        Value::Array(list) => list.iter().enumerate().map(|(place, one)| parse_input(place, one)).collect(),
        _ => Err(usage_error("keys: must be a text or a list".into())),
    }
}

/// Encodes inputs as the list that [`parse_inputs`] reads.
pub fn to_json(inputs: &[TerminalInput]) -> Value {
    let one = |input: &TerminalInput| match input {
        TerminalInput::Text(text) => json!({ "text": text }),
        TerminalInput::Key(name) => json!({ "key": name }),
        TerminalInput::Paste(text) => json!({ "paste": text }),
        TerminalInput::Hex(bytes) => {
            json!({ "hex": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() })
        }
        TerminalInput::Eof => json!({ "eof": true }),
        TerminalInput::Size(size) => json!({ "size": { "rows": size.rows, "cols": size.cols } }),
    };
    inputs.iter().map(one).collect()
}

fn usage_error(why: String) -> Refusal {
    Refusal::Usage { why }
}

fn parse_input(place: usize, value: &Value) -> Result<TerminalInput, Refusal> {
    let wrong = |why: &str| usage_error(format!("keys[{place}]: {why}"));
    let at = |refusal: Refusal| wrong(&refusal.to_string());
    let only_member = |members: &Map<String, Value>| {
        let mut members = members.iter().map(|(name, value)| (name.clone(), value.clone()));
        members.next().filter(|_| members.next().is_none())
    };
    let Some((name, value)) = value.as_object().and_then(only_member) else {
        return Err(wrong("must be an object with one of text, key, paste, hex, eof, size"));
    };
    let text = || value.as_str().ok_or_else(|| wrong(&format!("{name} must be a text")));
    match name.as_str() {
        "text" => Ok(TerminalInput::Text(text()?.to_owned())),
        "paste" => Ok(TerminalInput::Paste(text()?.to_owned())),
        "key" => TerminalInput::parse_key(text()?).map_err(at),
        "hex" => TerminalInput::parse_hex(text()?).map_err(at),
        "eof" if value == Value::Bool(true) => Ok(TerminalInput::Eof),
        "eof" => Err(wrong("eof must be true")),
        "size" => {
            let wanted =
                || wrong(&format!("size must be {{\"rows\":…,\"cols\":…}}, each from 1 to {MAX_TERMINAL_DIMENSION}"));
            let number = |name: &str| {
                let number = value.get(name).and_then(Value::as_u64).and_then(|number| u16::try_from(number).ok());
                number.filter(|number| (1..=MAX_TERMINAL_DIMENSION).contains(number)).ok_or_else(wanted)
            };
            let size = TerminalSize { rows: number("rows")?, cols: number("cols")? };
            match value.as_object() {
                Some(members) if members.len() == 2 => Ok(TerminalInput::Size(size)),
                _ => Err(wanted()),
            }
        }
        _ => Err(wrong(&format!("'{}' is none of text, key, paste, hex, eof, size", excerpt(&name)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_read_strictly_and_written_back() {
        let list = json!([
            {"text": "Enter"}, {"key": "Enter"}, {"paste": "a\nb"}, {"hex": "00ff"}, {"size": {"rows": 24, "cols": 80}},
            {"eof": true},
        ]);
        let read = parse_inputs(&list).unwrap();
        assert_eq!(read.len(), 6);
        assert_eq!(to_json(&read), list);
        assert_eq!(parse_inputs(&json!("C-c")).unwrap(), [TerminalInput::Text("C-c".into())]);
        for (wrong, says) in [
            (json!(1), "keys: must be"),
            (json!(null), "keys: must be"),
            (json!(["x"]), "keys[0]: must be an object"),
            (json!([{"text": "a"}, {"key": "Entr"}]), "keys[1]: 'Entr' is not a key"),
            (json!([{"text": "a", "key": "b"}]), "keys[0]: must be an object with one"),
            (json!([{}]), "keys[0]: must be"),
            (json!([{"keys": "a"}]), "'keys' is none of"),
            (json!([{"text": 1}]), "text must be a text"),
            (json!([{"hex": "1"}]), "is not hexadecimal"),
            (json!([{"eof": false}]), "eof must be true"),
            (json!([{"size": {"rows": 0, "cols": 1}}]), "size must be"),
            (json!([{"size": {"rows": 1, "cols": 1, "x": 1}}]), "size must be"),
            (json!([{"size": "24x80"}]), "size must be"),
        ] {
            let error = parse_inputs(&wrong).unwrap_err().to_string();
            assert!(error.contains(says), "{wrong}: {error}");
        }
    }
}
