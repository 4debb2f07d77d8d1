//! What rules look at, out of a tool's input: whatever stands under a telling name.

use serde_json::{Map, Value};

use super::call::ToolCall;
use crate::{
    domain::Role,
    guard::{Paths, ShellInput, ToolCallFacts},
};

/// Where shell text stands.
const SHELL_TEXT_KEYS: &[&str] = &["command", "cmd", "script", "chars", "commandline", "shellcommand"];
/// Where the words behind a command's name stand.
const ARGUMENT_KEYS: &[&str] = &["args", "argv", "arguments"];
/// Where paths stand.
const PATH_KEYS: &[&str] = &[
    "absolute_path",
    "dir",
    "dir_path",
    "directory",
    "file",
    "file_path",
    "filename",
    "filepath",
    "folder",
    "new_path",
    "notebook_path",
    "old_path",
    "path",
    "target",
    "target_file",
];
/// Where lists of paths stand.
const PATH_LIST_KEYS: &[&str] = &["file_paths", "files", "paths"];
/// How deep paths are looked for.
const MAX_DEPTH: usize = 6;
/// What a patch begins with.
const PATCH_START: &str = "*** Begin Patch";
/// What names a file in a patch.
const PATCH_FILE_HEADERS: &[&str] = &["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

/// The call as rules see it.
pub(super) fn parse(call: &ToolCall, role: &Role) -> ToolCallFacts {
    let names: Vec<String> = std::iter::once(&call.tool).chain(&call.aliases).cloned().collect();
    let is_patch = names.iter().any(|name| name.trim().eq_ignore_ascii_case("apply_patch"));
    let paths = if is_patch { patch_paths(&call.input) } else { paths(&call.input) };
    ToolCallFacts {
        names,
        role: role.clone(),
        shell_inputs: if is_patch { Vec::new() } else { shell_inputs(&call.input) },
        paths,
    }
}

fn shell_inputs(input: &Value) -> Vec<ShellInput> {
    let Value::Object(fields) = input else {
        return match input {
            Value::String(text) => vec![ShellInput::Text(text.clone())],
            _ => Vec::new(),
        };
    };
    let mut scripts: Vec<ShellInput> = shell_texts(fields).filter(|value| !value.is_null()).map(shell_input).collect();
    let more = ARGUMENT_KEYS.iter().filter_map(|name| fields.get(*name)).filter(|value| !value.is_null());
    for more in more.collect::<Vec<_>>() {
        scripts.push(with_arguments(fields, more));
    }
    scripts
}

/// What stands under a name for shell text, however it is spelt.
fn shell_texts(fields: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let plain = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
    fields.iter().filter(move |(name, _)| SHELL_TEXT_KEYS.contains(&plain(name).as_str())).map(|(_, value)| value)
}

fn shell_input(value: &Value) -> ShellInput {
    match value {
        Value::String(text) => ShellInput::Text(text.clone()),
        Value::Array(items) => string_list(items).map_or_else(unsupported, from_argv),
        _ => unsupported(),
    }
}

/// The words of a command; a text where its name should be is one that somebody else takes apart.
fn from_argv(words: Vec<String>) -> ShellInput {
    match words.first() {
        Some(first) if first.trim().contains(char::is_whitespace) => ShellInput::Text(words.join(" ")),
        _ => ShellInput::Argv(words),
    }
}

fn unsupported() -> ShellInput {
    ShellInput::Unsupported("what stands where the command should is no text".to_owned())
}

fn string_list(items: &[Value]) -> Option<Vec<String>> {
    items.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

/// A program's name and its words, told apart.
fn with_arguments(fields: &Map<String, Value>, more: &Value) -> ShellInput {
    let first = shell_texts(fields).find_map(Value::as_str);
    match (first, more) {
        (Some(first), Value::Array(items)) => string_list(items)
            .map_or_else(unsupported, |words| from_argv(std::iter::once(first.to_owned()).chain(words).collect())),
        (Some(first), Value::String(rest)) => ShellInput::Text(format!("{first} {rest}")),
        (None, Value::Array(items)) => string_list(items).map_or_else(unsupported, from_argv),
        _ => unsupported(),
    }
}

fn paths(input: &Value) -> Paths {
    let mut told = Vec::new();
    match collect_paths(input, 0, &mut told) {
        Ok(()) => Paths::Known(told),
        Err(why) => Paths::Unsupported(why),
    }
}

fn collect_paths(value: &Value, depth: usize, told: &mut Vec<String>) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err("the input is nested too deeply".to_owned());
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let is = |names: &[&str]| names.contains(&name.to_ascii_lowercase().as_str());
                match value {
                    Value::String(path) if is(PATH_KEYS) => told.push(path.clone()),
                    Value::Array(items) if is(PATH_LIST_KEYS) && items.iter().any(Value::is_string) => {
                        for item in items {
                            match item {
                                Value::String(path) => told.push(path.clone()),
                                other => collect_paths(other, depth + 1, told)?,
                            }
                        }
                    }
                    Value::Null => {}
                    Value::Object(_) | Value::Array(_) => collect_paths(value, depth + 1, told)?,
                    _ if is(PATH_KEYS) => return Err(format!("what stands under '{name}' is no path")),
                    _ => {}
                }
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(|item| collect_paths(item, depth + 1, told)),
        _ => Ok(()),
    }
}

/// The files that a patch names.
fn patch_paths(input: &Value) -> Paths {
    let mut texts = Vec::new();
    collect_strings(input, 0, &mut texts);
    let mut told = Vec::new();
    let mut begun = false;
    for line in texts.iter().flat_map(|text| text.lines()).map(str::trim) {
        begun |= line.starts_with(PATCH_START);
        if let Some(path) = PATCH_FILE_HEADERS.iter().find_map(|header| line.strip_prefix(header)) {
            told.push(path.trim().to_owned());
        } else if line.starts_with("*** ") && !["*** Begin Patch", "*** End Patch", "*** End of File"].contains(&line) {
            return Paths::Unsupported("the patch has a line that nobody knows".to_owned());
        }
    }
    if told.is_empty() || !begun {
        Paths::Unsupported("no file can be found in the patch".to_owned())
    } else {
        Paths::Known(told)
    }
}

fn collect_strings<'a>(value: &'a Value, depth: usize, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) if depth < MAX_DEPTH => {
            items.iter().for_each(|item| collect_strings(item, depth + 1, found))
        }
        Value::Object(fields) if depth < MAX_DEPTH => {
            fields.values().for_each(|item| collect_strings(item, depth + 1, found))
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shell_text_is_found_under_every_name_at_once() {
        assert_eq!(shell_inputs(&json!({"command": "ls"})), [ShellInput::Text("ls".into())]);
        assert_eq!(
            shell_inputs(&json!({"command": ["git", "push"]})),
            [ShellInput::Argv(vec!["git".into(), "push".into()])]
        );
        assert_eq!(shell_inputs(&json!({"command": "ls", "cmd": "git push -f"})).len(), 2);
        assert_eq!(shell_inputs(&json!({"command": "git", "args": ["push"]})).len(), 2);
        assert_eq!(shell_inputs(&json!({"command": "ls", "Command": "x", "command_line": "y"})).len(), 3);
        assert_eq!(shell_inputs(&json!({"command": ["git push", "-f"]})), [ShellInput::Text("git push -f".into())]);
        let apart = shell_inputs(&json!({"command": "git push", "args": ["-f"]}));
        assert!(apart.contains(&ShellInput::Text("git push -f".into())), "{apart:?}");
        assert!(matches!(shell_inputs(&json!({"command": {"a": 1}})).as_slice(), [ShellInput::Unsupported(_)]));
        assert_eq!(shell_inputs(&json!({"command": null})), []);
    }

    #[test]
    fn paths_are_found_wherever_they_stand_and_odd_ones_are_odd() {
        let told = |input| match paths(&input) {
            Paths::Known(told) => told,
            Paths::Unsupported(_) => vec!["?".to_owned()],
        };
        assert_eq!(told(json!({"file_path": "/a", "content": "path"})), ["/a"]);
        assert_eq!(told(json!({"edits": [{"file_path": "a"}, {"path": "b"}]})), ["a", "b"]);
        assert_eq!(told(json!({"paths": ["a", {"path": "b"}]})), ["a", "b"]);
        assert_eq!(told(json!({"file_path": 7})), ["?"]);
        assert_eq!(told(json!({"content": "x"})), [""; 0]);
    }

    #[test]
    fn a_patch_tells_its_files_or_is_odd() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: ../b.rs\n@@\n-x\n+y\n*** Add File: /c\n+z\n*** End Patch\n";
        assert_eq!(
            patch_paths(&json!({"input": patch})),
            Paths::Known(vec!["a.rs".into(), "../b.rs".into(), "/c".into()])
        );
        assert_eq!(patch_paths(&json!({"command": ["apply_patch", patch]})), patch_paths(&json!({"input": patch})));
        assert!(matches!(patch_paths(&json!({"input": "*** Begin Patch\n*** Rename: x\n"})), Paths::Unsupported(_)));
        assert!(matches!(patch_paths(&json!({})), Paths::Unsupported(_)));
    }
}
