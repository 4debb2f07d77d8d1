//! Extracts shell texts and paths from a tool's input by the names of its fields.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::call::ToolCall;
use super::own_program::own_programs;
use fairway_core::config::project::normalize;
use fairway_core::domain::Role;
use fairway_core::guard::{self, Paths, ShellInput, ToolCallFacts};

const SHELL_TEXT_KEYS: &[&str] = &["command", "cmd", "script", "chars", "commandline", "shellcommand"];
const ARGUMENT_KEYS: &[&str] = &["args", "argv", "arguments"];
const PATH_KEYS: &[&str] = &[
    "absolute_path", "dir", "dir_path", "directory", "file", "file_path", "filename", "filepath", "folder", "new_path",
    "notebook_path", "old_path", "path", "target", "target_file",
];
const PATH_LIST_KEYS: &[&str] = &["file_paths", "files", "paths"];
const MAX_DEPTH: usize = 6;
const PATCH_START: &str = "*** Begin Patch";
/// Patch lines that name a file.
const PATCH_FILE_HEADERS: &[&str] = &["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

pub(super) fn parse(call: &ToolCall, role: &Role) -> ToolCallFacts {
    let has_command =
        ["command", "argv"].iter().any(|name| call.input.get(*name).is_some_and(|value| !value.is_null()));
    let own = guard::own_tool_aliases(&call.tool, has_command);
    let names: Vec<String> = std::iter::once(&call.tool).chain(&call.aliases).cloned().chain(own).collect();
    let is_patch = names.iter().any(|name| name.trim().eq_ignore_ascii_case("apply_patch"));
    let paths = if is_patch { patch_paths(&call.input) } else { paths(&call.input) };
    ToolCallFacts {
        names,
        role: role.clone(),
        shell_inputs: if is_patch { Vec::new() } else { shell_inputs(&call.input) },
        paths,
        is_own_verb: call.runs_own_program && own_programs(call).is_some(),
    }
}

/// The files that a tool call writes according to its input, as absolute paths. Empty for a tool that runs shell text, and
/// when one of the files cannot be determined.
pub fn written_files(tool: &str, input: &Value, cwd: Option<&Path>) -> Vec<PathBuf> {
    let names = [tool.to_owned()];
    let is_patch = tool.trim().eq_ignore_ascii_case("apply_patch");
    if guard::is_shell_tool(&names) || (!is_patch && !shell_inputs(input).is_empty()) {
        return Vec::new();
    }
    let found = if is_patch { patch_paths(input) } else { paths(input) };
    let Paths::Known(found) = found else { return Vec::new() };
    let absolute = |path: &String| match (Path::new(path), cwd) {
        (path, _) if path.is_absolute() => Some(normalize(path)),
        (path, Some(cwd)) => Some(normalize(&cwd.join(path))),
        _ => None,
    };
    found.iter().map(absolute).collect::<Option<_>>().unwrap_or_default()
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

/// The values of all shell text fields, in any spelling of the name.
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

/// An argument vector. If its first item contains whitespace it is shell text: the tool will split it.
fn from_argv(argv: Vec<String>) -> ShellInput {
    match argv.first() {
        Some(first) if first.trim().contains(char::is_whitespace) => ShellInput::Text(argv.join(" ")),
        _ => ShellInput::Argv(argv),
    }
}

fn unsupported() -> ShellInput {
    ShellInput::Unsupported("the command is not a text".to_owned())
}

fn string_list(items: &[Value]) -> Option<Vec<String>> {
    items.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

/// A program and its arguments, given in separate fields.
fn with_arguments(fields: &Map<String, Value>, more: &Value) -> ShellInput {
    let first = shell_texts(fields).find_map(Value::as_str);
    match (first, more) {
        (Some(first), Value::Array(items)) => string_list(items)
            .map_or_else(unsupported, |args| from_argv(std::iter::once(first.to_owned()).chain(args).collect())),
        (Some(first), Value::String(rest)) => ShellInput::Text(format!("{first} {rest}")),
        (None, Value::Array(items)) => string_list(items).map_or_else(unsupported, from_argv),
        _ => unsupported(),
    }
}

fn paths(input: &Value) -> Paths {
    let mut found = Vec::new();
    match collect_paths(input, 0, &mut found) {
        Ok(()) => Paths::Known(found),
        Err(why) => Paths::Unsupported(why),
    }
}

fn collect_paths(value: &Value, depth: usize, found: &mut Vec<String>) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err("the input is nested too deeply".to_owned());
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let is = |names: &[&str]| names.contains(&name.to_ascii_lowercase().as_str());
                match value {
                    Value::String(path) if is(PATH_KEYS) => found.push(path.clone()),
                    Value::Array(items) if is(PATH_LIST_KEYS) && items.iter().any(Value::is_string) => {
                        for item in items {
                            match item {
                                Value::String(path) => found.push(path.clone()),
                                other => collect_paths(other, depth + 1, found)?,
                            }
                        }
                    }
                    Value::Null => {}
                    Value::Object(_) | Value::Array(_) => collect_paths(value, depth + 1, found)?,
                    _ if is(PATH_KEYS) => return Err(format!("the value of '{name}' is not a path")),
                    _ => {}
                }
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(|item| collect_paths(item, depth + 1, found)),
        _ => Ok(()),
    }
}

fn patch_paths(input: &Value) -> Paths {
    let mut texts = Vec::new();
    collect_strings(input, 0, &mut texts);
    let mut found = Vec::new();
    let mut has_start = false;
    for line in texts.iter().flat_map(|text| text.lines()).map(str::trim) {
        has_start |= line.starts_with(PATCH_START);
        if let Some(path) = PATCH_FILE_HEADERS.iter().find_map(|header| line.strip_prefix(header)) {
            found.push(path.trim().to_owned());
        } else if line.starts_with("*** ") && !["*** Begin Patch", "*** End Patch", "*** End of File"].contains(&line) {
            return Paths::Unsupported("the patch contains an unknown header line".to_owned());
        }
    }
    if found.is_empty() || !has_start {
        Paths::Unsupported("the patch names no file".to_owned())
    } else {
        Paths::Known(found)
    }
}

fn collect_strings<'a>(value: &'a Value, depth: usize, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) if depth < MAX_DEPTH => {
            for item in items {
                collect_strings(item, depth + 1, found);
            }
        }
        Value::Object(fields) if depth < MAX_DEPTH => {
            for item in fields.values() {
                collect_strings(item, depth + 1, found);
            }
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
        let found = |input| match paths(&input) {
            Paths::Known(found) => found,
            Paths::Unsupported(_) => vec!["?".to_owned()],
        };
        assert_eq!(found(json!({"file_path": "/a", "content": "path"})), ["/a"]);
        assert_eq!(found(json!({"edits": [{"file_path": "a"}, {"path": "b"}]})), ["a", "b"]);
        assert_eq!(found(json!({"paths": ["a", {"path": "b"}]})), ["a", "b"]);
        assert_eq!(found(json!({"file_path": 7})), ["?"]);
        assert_eq!(found(json!({"content": "x"})), [""; 0]);
    }

    #[test]
    fn written_files_are_those_of_editing_tools_and_absolute() {
        let files = |tool, input| written_files(tool, &input, Some(Path::new("/w/d")));
        assert_eq!(files("Edit", json!({"file_path": "/w/a"})), [Path::new("/w/a")]);
        assert_eq!(files("write_file", json!({"file_path": "../b", "content": "x"})), [Path::new("/w/b")]);
        let patch = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch\n";
        assert_eq!(files("apply_patch", json!({"command": patch})), [Path::new("/w/d/a"), Path::new("/w/d/b")]);
        for (tool, input) in [
            ("Bash", json!({"command": "touch a", "path": "/w/a"})),
            ("Edit", json!({"command": "touch a", "path": "/w/a"})),
            ("Edit", json!({"file_path": 7})),
            ("Edit", json!({})),
            ("apply_patch", json!({"command": "no patch"})),
        ] {
            assert!(files(tool, input.clone()).is_empty(), "{tool} {input}");
        }
        assert!(written_files("Edit", &json!({"file_path": "a"}), None).is_empty());
    }

    #[test]
    fn patch_tells_its_files_or_is_odd() {
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
