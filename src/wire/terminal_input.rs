//! What is typed to a run, as JSON: a text, or a list of objects with one member each.

use serde_json::{Map, Value, json};

use crate::domain::{
    Refusal,
    job::TerminalSize,
    terminal_input::{Input, MOST_LINES},
};

/// Reads `keys`: a text is typed as it is; a list holds `{"text":…}`, `{"key":…}`, `{"paste":…}`, `{"hex":…}`,
/// `{"eof":true}` and `{"size":{"rows":…,"cols":…}}`.
///
/// # Errors
/// [`Refusal::Usage`] naming the place.
pub fn inputs(value: &Value) -> Result<Vec<Input>, Refusal> {
    match value {
        Value::String(text) => Ok(vec![Input::Text(text.clone())]),
        Value::Array(list) => list.iter().enumerate().map(|(place, one)| input(place, one)).collect(),
        _ => Err(usage("keys: must be a text or a list".into())),
    }
}

/// The same list back as JSON.
#[must_use]
pub fn to_json(inputs: &[Input]) -> Value {
    let one = |input: &Input| match input {
        Input::Text(text) => json!({ "text": text }),
        Input::Key(name) => json!({ "key": name }),
        Input::Paste(text) => json!({ "paste": text }),
        Input::Hex(bytes) => json!({ "hex": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() }),
        Input::Eof => json!({ "eof": true }),
        Input::Size(size) => json!({ "size": { "rows": size.rows, "cols": size.cols } }),
    };
    inputs.iter().map(one).collect()
}

fn usage(why: String) -> Refusal {
    Refusal::Usage { why }
}

fn input(place: usize, value: &Value) -> Result<Input, Refusal> {
    let wrong = |why: &str| usage(format!("keys[{place}]: {why}"));
    let at = |refusal: Refusal| wrong(&refusal.to_string());
    let only = |members: &Map<String, Value>| {
        let mut members = members.iter().map(|(name, value)| (name.clone(), value.clone()));
        members.next().filter(|_| members.next().is_none())
    };
    let Some((name, value)) = value.as_object().and_then(only) else {
        return Err(wrong("must be an object with one of text, key, paste, hex, eof, size"));
    };
    let text = || value.as_str().ok_or_else(|| wrong(&format!("{name} must be a text")));
    match name.as_str() {
        "text" => Ok(Input::Text(text()?.to_owned())),
        "paste" => Ok(Input::Paste(text()?.to_owned())),
        "key" => Input::key(text()?).map_err(at),
        "hex" => Input::hex(text()?).map_err(at),
        "eof" if value == Value::Bool(true) => Ok(Input::Eof),
        "eof" => Err(wrong("eof must be true")),
        "size" => {
            let wanted = || wrong(&format!("size must be {{\"rows\":…,\"cols\":…}}, each from 1 to {MOST_LINES}"));
            let number = |name: &str| {
                let number = value.get(name).and_then(Value::as_u64).and_then(|number| u16::try_from(number).ok());
                number.filter(|number| (1..=MOST_LINES).contains(number)).ok_or_else(wanted)
            };
            let size = TerminalSize { rows: number("rows")?, cols: number("cols")? };
            match value.as_object() {
                Some(members) if members.len() == 2 => Ok(Input::Size(size)),
                _ => Err(wanted()),
            }
        }
        // The name is somebody's text: its beginning is enough.
        _ => {
            let name: String = name.chars().take(64).flat_map(char::escape_debug).collect();
            Err(wrong(&format!("'{name}' is none of text, key, paste, hex, eof, size")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_strictly_and_written_back() {
        let list = json!([
            {"text": "Enter"}, {"key": "Enter"}, {"paste": "a\nb"}, {"hex": "00ff"}, {"size": {"rows": 24, "cols": 80}},
            {"eof": true},
        ]);
        let read = inputs(&list).unwrap();
        assert_eq!(read.len(), 6);
        assert_eq!(to_json(&read), list);
        assert_eq!(inputs(&json!("C-c")).unwrap(), [Input::Text("C-c".into())]);
        for (wrong, says) in [
            (json!(1), "keys: must be"),
            (json!(null), "keys: must be"),
            (json!(["x"]), "keys[0]: must be an object"),
            (json!([{"text": "a"}, {"key": "Entr"}]), "keys[1]: 'Entr' is no key"),
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
            let error = inputs(&wrong).unwrap_err().to_string();
            assert!(error.contains(says), "{wrong}: {error}");
        }
    }
}
