//! A tool call of the agent, and its question whether it may run.

use serde_json::{Map, Value, json};
use similar::TextDiff;

use crate::domain::approval::Offers;

/// The longest id of a call or an option, in bytes.
const MAX_ID_BYTES: usize = 512;
/// The most options of a question.
const MAX_OPTIONS: usize = 32;
/// The most paths of a call.
const MAX_PATHS: usize = 256;
/// The most changed files of a call whose changes are kept.
const MAX_CHANGES: usize = 32;
/// The longest text of a changed file that is kept, in bytes.
const MAX_CHANGE_BYTES: usize = 64 << 10;
/// The most output of a command that is kept, in bytes: its beginning.
const MAX_OUTPUT_BYTES: usize = 8 << 10;
/// The text that replaces a change that is too long to be kept.
const CUT: &str = "…";
/// The longest title, in characters.
const MAX_TITLE_CHARS: usize = 2_000;
/// Fields of an input with shell text.
const COMMAND_KEYS: &[&str] = &["command", "cmd", "script", "argv"];
/// The field of an input with several shell texts.
const COMMANDS_KEY: &str = "commands";

/// A tool call, as far as the agent has described it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The agent's id of the call.
    pub id: String,
    /// The tool's own name, where the agent tells it.
    name: Option<String>,
    /// The kind by the protocol: `read`, `edit`, `execute` and others.
    kind: Option<String>,
    title: Option<String>,
    status: Option<String>,
    input: Map<String, Value>,
    /// The input as the content states it, as JSON text.
    stated: Map<String, Value>,
    /// The files that it reads or changes.
    paths: Vec<String>,
    changes: Vec<FileChange>,
    /// The output of a command, where the agent reports it as that of a terminal.
    output: TerminalOutput,
}

/// The output of a command so far, or a piece of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct TerminalOutput {
    text: String,
    /// Whether `text` is all of it so far.
    is_whole: bool,
}

impl TerminalOutput {
    /// Reads the output from the fields `terminal_output` and `terminal_output_delta` of `_meta`, which are common but not in the
    /// protocol.
    fn from_json(document: &Value) -> Self {
        let text = |key: &str| document.pointer(&format!("/_meta/{key}/data")).and_then(Value::as_str);
        let is_whole = text("terminal_output").is_some();
        let text = text("terminal_output").or_else(|| text("terminal_output_delta")).unwrap_or_default();
        let end = text.floor_char_boundary(MAX_OUTPUT_BYTES);
        Self { text: text.get(..end).unwrap_or_default().to_owned(), is_whole }
    }

    fn merge(&mut self, news: &Self) {
        if news.is_whole {
            self.text.clear();
        }
        let end = news.text.floor_char_boundary(MAX_OUTPUT_BYTES.saturating_sub(self.text.len()));
        self.text.push_str(news.text.get(..end).unwrap_or_default());
    }
}

/// The change of one file by a call.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileChange {
    path: String,
    /// Empty for a new file.
    old: String,
    new: String,
}

impl FileChange {
    fn from_json(part: &Value) -> Option<Self> {
        let text = |key: &str| part.get(key).and_then(Value::as_str);
        let new = text("newText")?.to_owned();
        (text("type") == Some("diff")).then_some(Self {
            path: text("path")?.to_owned(),
            old: text("oldText").unwrap_or_default().to_owned(),
            new,
        })
    }

    /// The change as a unified diff; [`CUT`] for one that is too long.
    fn diff(&self) -> String {
        if self.old.len().max(self.new.len()) > MAX_CHANGE_BYTES {
            return CUT.to_owned();
        }
        TextDiff::from_lines(&self.old, &self.new).unified_diff().header(&self.path, &self.path).to_string()
    }
}

/// An answer that the agent offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionOption {
    pub id: String,
    /// `allow_once`, `allow_always`, `reject_once` or `reject_always`.
    pub kind: String,
    /// Its text for a person.
    pub name: String,
}

/// A question of the agent, whether a tool may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRequest {
    pub call: ToolCall,
    pub options: Vec<PermissionOption>,
    /// The calls that the question may be about, where there are several. Only a person can then say yes.
    pub pending: Vec<ToolCall>,
}

/// The decision about a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionChoice {
    Allow {
        /// Whether the agent should no longer ask about calls that it considers to be alike.
        always: bool,
    },
    Deny {
        /// The reason, if any.
        why: Option<String>,
        /// Whether the agent should no longer try calls that it considers to be alike.
        always: bool,
    },
}

impl PermissionChoice {
    /// Allowed, this once.
    pub const ALLOW: Self = Self::Allow { always: false };

    /// Denies only this call, for the reason `why`.
    pub const fn deny(why: Option<String>) -> Self {
        Self::Deny { why, always: false }
    }

    /// The offered option that fits this decision. When the agent does not offer it, the option with the same decision that holds
    /// once instead of always; for a denial also the reverse. `None` when it offers no such option.
    pub fn option<'a>(&self, options: &'a [PermissionOption]) -> Option<&'a PermissionOption> {
        let kinds: &[&str] = match self {
            Self::Allow { always: false } => &["allow_once"],
            Self::Allow { always: true } => &["allow_always", "allow_once"],
            Self::Deny { always: false, .. } => &["reject_once", "reject_always"],
            Self::Deny { always: true, .. } => &["reject_always", "reject_once"],
        };
        kinds.iter().find_map(|kind| options.iter().find(|option| option.kind == *kind))
    }
}

impl PermissionRequest {
    /// Reads the parameters of `session/request_permission`; `None` when the tool call has no valid id or no valid option is
    /// offered.
    pub fn from_json(params: &Value) -> Option<Self> {
        let call = ToolCall::from_json(params.get("toolCall")?)?;
        let option = |option: &Value| {
            let text = |key: &str| Some(option.get(key)?.as_str()?.to_owned());
            let id = text("optionId").filter(|id| id.len() <= MAX_ID_BYTES)?;
            Some(PermissionOption {
                id,
                kind: text("kind").unwrap_or_default(),
                name: text("name").unwrap_or_default(),
            })
        };
        let options: Vec<_> = params.get("options")?.as_array()?.iter().filter_map(option).take(MAX_OPTIONS).collect();
        (!options.is_empty()).then_some(Self { call, options, pending: Vec::new() })
    }

    /// Which answers that allow the agent offers.
    pub fn offers(&self) -> Offers {
        let has = |kind: &str| self.options.iter().any(|option| option.kind == kind);
        Offers { once: has("allow_once"), always: has("allow_always") }
    }

    /// The agent's label for the option that allows this call and later ones like it, or the option's id when the label is blank;
    /// `None` when no such option is offered.
    pub fn lasting_option(&self) -> Option<&str> {
        let lasting = self.options.iter().find(|option| option.kind == "allow_always")?;
        Some(if lasting.name.trim().is_empty() { &lasting.id } else { &lasting.name })
    }
}

impl ToolCall {
    /// A tool call of which only the id is known.
    pub fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: None,
            kind: None,
            title: None,
            status: None,
            input: Map::new(),
            stated: Map::new(),
            paths: Vec::new(),
            changes: Vec::new(),
            output: TerminalOutput::default(),
        }
    }

    /// Reads a tool call, or an update of one; `None` when it has no valid id.
    pub fn from_json(document: &Value) -> Option<Self> {
        let text = |key: &str| document.get(key)?.as_str().map(str::to_owned);
        let id = text("toolCallId").filter(|id| !id.is_empty() && id.len() <= MAX_ID_BYTES)?;
        let of_list = |list: &str, key: &str| -> Vec<String> {
            let items = document.get(list).and_then(Value::as_array);
            let paths = items.into_iter().flatten().filter_map(|item| item.get(key)?.as_str());
            paths.take(MAX_PATHS).map(str::to_owned).collect()
        };
        let mut paths = of_list("content", "path");
        paths.extend(of_list("locations", "path"));
        let parts = document.get("content").and_then(Value::as_array).into_iter().flatten();
        let stated = parts.clone().find_map(|part| stated_input(part.get("content")?));
        Some(Self {
            id,
            name: text("name").filter(|name| !name.trim().is_empty()),
            kind: text("kind"),
            title: text("title").map(|title| title.chars().take(MAX_TITLE_CHARS).collect()),
            status: text("status"),
            input: document.get("rawInput").and_then(Value::as_object).cloned().unwrap_or_default(),
            stated: stated.unwrap_or_default(),
            paths,
            changes: parts.filter_map(FileChange::from_json).take(MAX_CHANGES).collect(),
            output: TerminalOutput::from_json(document),
        })
    }

    /// Adds the fields of an update of this call. A field that the update lacks keeps its value.
    pub fn merge(&mut self, news: Self) {
        let Self { id: _, name, kind, title, status, input, stated, paths, changes, output } = news;
        self.output.merge(&output);
        self.name = name.or(self.name.take());
        self.kind = kind.or(self.kind.take());
        self.title = title.or(self.title.take());
        self.status = status.or(self.status.take());
        self.input.extend(input);
        // Later texts are what the tool prints.
        if self.stated.is_empty() {
            self.stated = stated;
        }
        // An update has all changes, or none.
        if !changes.is_empty() {
            self.changes = changes;
        }
        for path in paths {
            if !self.paths.contains(&path) && self.paths.len() < MAX_PATHS {
                self.paths.push(path);
            }
        }
    }

    /// The call with the input that the content states, when the agent has told no other.
    #[must_use]
    pub fn with_stated_input(&self) -> Self {
        let input = if self.input.is_empty() { self.stated.clone() } else { self.input.clone() };
        Self { input, ..self.clone() }
    }

    /// Whether nothing but an id and a title is known.
    pub fn is_bare(&self) -> bool {
        let has_input = !self.input.is_empty() || !self.stated.is_empty();
        self.tool() == "tool" && !has_input && self.paths.is_empty() && self.changes.is_empty()
    }

    /// A call that stands for several: it is not known which of them is meant.
    pub fn one_of(id: &str, calls: &[Self]) -> Self {
        let calls: Vec<String> = calls.iter().map(Self::describe).collect();
        Self { input: Map::from_iter([("calls".to_owned(), json!(calls))]), ..Self::new(id) }
    }

    /// The tool's name as the agent gives it, else the usual name for this kind of tool, such as `Bash` or `Edit`, or `tool` for
    /// an unknown kind.
    pub fn tool(&self) -> String {
        let of_kind = match self.kind.as_deref() {
            Some("execute") => "Bash",
            Some("edit" | "move") => "Edit",
            Some("delete") => "Write",
            Some("read") => "Read",
            Some("search") => "Grep",
            Some("fetch") => "WebFetch",
            _ => "tool",
        };
        self.name.clone().unwrap_or_else(|| of_kind.to_owned())
    }

    /// The usual name for this kind of tool, when it differs from the name that the agent gives; `None` when they are equal or
    /// the kind is unknown.
    pub fn alias(&self) -> Option<String> {
        let of_kind = Self { name: None, ..self.clone() }.tool();
        (of_kind != "tool" && of_kind != self.tool()).then_some(of_kind)
    }

    /// The call's input for guard rules and for people: the agent's own fields. Several commands become the lines of one. A shell
    /// call without a command gets its title as the command, and another call without a command gets the paths that it names.
    pub fn input(&self) -> Value {
        let mut input = self.input.clone();
        let is_shell = self.kind.as_deref() == Some("execute");
        let mut has_command = COMMAND_KEYS.iter().any(|key| input.get(*key).is_some_and(|value| !value.is_null()));
        if let (false, Some(lines)) = (has_command, self.command_lines()) {
            input.insert("command".to_owned(), json!(lines));
            has_command = true;
        }
        if is_shell && !has_command {
            // Some agents tell the command in the title alone.
            input.insert("command".to_owned(), json!(self.title.clone().unwrap_or_default()));
        }
        if !is_shell && !has_command && !self.paths.is_empty() && !input.contains_key("paths") {
            input.insert("paths".to_owned(), json!(self.paths));
        }
        Value::Object(input)
    }

    /// The commands of an input with several, as lines; `None` unless all of them are texts.
    fn command_lines(&self) -> Option<String> {
        let commands = self.input.get(COMMANDS_KEY)?.as_array().filter(|all| !all.is_empty())?;
        let texts: Option<Vec<&str>> = commands.iter().map(Value::as_str).collect();
        texts.map(|texts| texts.join("\n"))
    }

    /// What the guard and a person judge: the command, or the whole input of a call without one.
    pub fn subject(&self) -> Value {
        let input = self.input();
        let command = |key: &&str| Some(((*key).to_owned(), input.get(*key)?.clone()));
        let commands: Map<String, Value> = COMMAND_KEYS.iter().filter_map(command).collect();
        if commands.is_empty() { input } else { Value::Object(commands) }
    }

    /// The changes to files as unified diffs, without those whose new text is already in the input; only `…` when one of the
    /// diffs is too long. `None` when no changes are left.
    pub fn diff(&self) -> Option<String> {
        let is_in_input = |change: &FileChange| {
            let texts = self.input.values().filter_map(Value::as_str);
            texts.into_iter().any(|text| text.contains(&change.new) && !change.new.is_empty())
        };
        let told: Vec<String> =
            self.changes.iter().filter(|change| !is_in_input(change)).map(FileChange::diff).collect();
        // A part of a change says less than none.
        let is_cut = told.iter().any(|diff| diff == CUT);
        (!told.is_empty()).then(|| if is_cut { CUT.to_owned() } else { told.concat() })
    }

    /// The text of the call's result: from `update`, the update that has ended the call, else the call's terminal output so far.
    pub fn result(&self, update: &Value) -> String {
        let told = result_text(update).filter(|text| !text.is_empty());
        told.unwrap_or_else(|| self.output.text.clone())
    }

    /// Describes the call in one text: the tool's name, then its command or title.
    pub fn describe(&self) -> String {
        let input = if self.input.is_empty() { &self.stated } else { &self.input };
        let command = COMMAND_KEYS.iter().find_map(|key| Some(input.get(*key)?.as_str()?.to_owned()));
        let about = command.or_else(|| self.command_lines()).or_else(|| self.title.clone()).unwrap_or_default();
        let tool = self.tool();
        if about.is_empty() || about == tool { tool } else { format!("{tool}: {about}") }
    }

    /// Whether enough is known about the call to show it. The agent's first update of a call may have only the tool's name.
    pub fn is_described(&self) -> bool {
        let mut keys = COMMAND_KEYS.iter().chain([&COMMANDS_KEY]);
        let has_command = keys.any(|key| self.input.contains_key(*key));
        let has_input = has_command || (self.kind.as_deref() != Some("execute") && !self.input.is_empty());
        has_input || self.status.as_deref().is_some_and(|status| status != "pending")
    }

    pub fn has_ended(&self) -> bool {
        matches!(self.status.as_deref(), Some("completed" | "failed"))
    }

    pub fn has_failed(&self) -> bool {
        self.status.as_deref() == Some("failed")
    }

    /// Drops the input, paths, changes and output, which are needed only while the call runs.
    pub fn forget_input(&mut self) {
        self.input = Map::new();
        self.stated = Map::new();
        self.paths = Vec::new();
        self.changes = Vec::new();
        self.output = TerminalOutput::default();
    }
}

/// The text of a content block of the protocol, or a placeholder such as `[image]`; `None` for an unknown kind of block.
pub fn content_text(content: &Value) -> Option<String> {
    let text = |key: &str| content.get(key).and_then(Value::as_str);
    match text("type") {
        Some("text") => text("text").map(str::to_owned),
        Some("resource_link") => Some(format!("[{}]", text("uri").unwrap_or("link"))),
        Some(kind @ ("image" | "audio" | "resource")) => Some(format!("[{kind}]")),
        _ => None,
    }
}

/// The input of a call that a content block states as JSON text; `None` for any other block.
fn stated_input(content: &Value) -> Option<Map<String, Value>> {
    let text = content.get("text")?.as_str().filter(|text| text.len() <= MAX_CHANGE_BYTES)?;
    serde_json::from_str(text).ok()
}

/// The result of a tool call, by its update: the texts and changed files, else the raw output.
fn result_text(update: &Value) -> Option<String> {
    let parts = update.get("content").and_then(Value::as_array).into_iter().flatten().filter_map(|part| {
        match part.get("type")?.as_str()? {
            "content" => content_text(part.get("content")?),
            "diff" => Some(format!("changed {}", part.get("path")?.as_str()?)),
            _ => None,
        }
    });
    let text = parts.collect::<Vec<_>>().join("\n");
    if !text.is_empty() {
        return Some(text);
    }
    let raw = update.get("rawOutput")?;
    let inner = ["output", "stdout", "error"].iter().find_map(|key| raw.get(*key)?.as_str());
    raw.as_str().or(inner).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(document: &Value) -> ToolCall {
        ToolCall::from_json(document).unwrap()
    }

    #[test]
    fn calls_of_real_agents_give_tool_command_and_paths() {
        // As four real agents describe them.
        let first = json!({ "toolCallId": "toolu_01", "name": "Bash", "status": "pending", "kind": "execute",
            "rawInput": { "command": "touch x", "description": "d" }, "title": "touch x",
            "locations": [{ "path": "/w/x" }] });
        let second = json!({ "toolCallId": "call_1", "title": "touch x", "kind": "execute", "status": "pending",
            "rawInput": { "command": "touch x", "cwd": "/w" } });
        let third = json!({ "toolCallId": "run_1", "status": "pending", "title": "touch x", "kind": "execute",
            "content": [{ "type": "content", "content": { "type": "text", "text": "[cwd /w]" } }], "locations": [] });
        let fourth = json!({ "toolCallId": "toolu_01", "title": "touch x", "kind": "execute", "status": "pending",
            "locations": [], "rawInput": { "command": "touch x" } });
        for document in [first, second, third, fourth] {
            let call = call(&document);
            assert_eq!((call.tool().as_str(), &call.input()["command"]), ("Bash", &json!("touch x")), "{document}");
            assert_eq!((call.describe().as_str(), call.alias(), call.has_ended()), ("Bash: touch x", None, false));
            assert_eq!(call.input().get("paths"), None);
        }
        let edit = json!({ "toolCallId": "e", "kind": "edit", "title": "Writing to x", "locations": [{ "path": "/w/y" }],
            "content": [{ "type": "diff", "path": "/w/x", "oldText": null, "newText": "a" }] });
        let edit = call(&edit);
        assert_eq!((edit.tool().as_str(), edit.input()), ("Edit", json!({ "paths": ["/w/x", "/w/y"] })));
        assert_eq!(
            edit.diff().as_deref(),
            Some("--- /w/x\n+++ /w/x\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n")
        );
        let own = call(&json!({ "toolCallId": "e", "name": "exec_command", "kind": "execute" }));
        assert_eq!((own.tool().as_str(), own.alias().as_deref()), ("exec_command", Some("Bash")));
    }

    #[test]
    fn diff_is_told_unless_the_input_has_it_and_a_part_of_one_is_cut() {
        let change = |old: &str, new: &str| json!({ "type": "diff", "path": "/w/x", "oldText": old, "newText": new });
        let diff = |input: Value, parts: &[Value]| {
            call(&json!({ "toolCallId": "e", "kind": "edit", "rawInput": input, "content": parts })).diff()
        };
        let told = "--- /w/x\n+++ /w/x\n@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(diff(json!({ "file_path": "/w/x" }), &[change("a\n", "b\n")]).as_deref(), Some(told));
        assert_eq!(diff(json!({ "new_string": "b\n" }), &[change("a\n", "b\n")]), None);
        assert_eq!(
            diff(json!({ "new_string": "b" }), &[change("a\n", "")]).as_deref(),
            Some("--- /w/x\n+++ /w/x\n@@ -1 +0,0 @@\n-a\n")
        );
        let long = "x".repeat(MAX_CHANGE_BYTES + 1);
        assert_eq!(diff(json!({}), &[change("a\n", "b\n"), change("a\n", &long)]).as_deref(), Some("…"));
        assert_eq!(diff(json!({}), &[]), None);
    }

    #[test]
    fn update_adds_to_a_call_and_takes_nothing_away() {
        let mut call =
            call(&json!({ "toolCallId": "1", "kind": "execute", "title": "bash", "rawInput": { "cwd": "/w" } }));
        call.merge(self::call(&json!({ "toolCallId": "1", "status": "in_progress", "title": "ls",
            "rawInput": { "command": "ls" }, "locations": [{ "path": "/w" }] })));
        call.merge(self::call(&json!({ "toolCallId": "1", "status": "failed" })));
        assert_eq!(call.input(), json!({ "cwd": "/w", "command": "ls" }));
        assert_eq!((call.describe().as_str(), call.has_failed()), ("Bash: ls", true));
    }

    #[test]
    fn command_is_found_in_a_list_and_in_text_that_states_the_input() {
        let listed = call(
            &json!({ "toolCallId": "1", "kind": "execute", "title": "run", "rawInput": { "commands": ["cd x", "ls"] } }),
        );
        assert_eq!(
            (listed.input()["command"].clone(), listed.describe().as_str()),
            (json!("cd x\nls"), "Bash: cd x\nls")
        );
        let text = |text: &str| json!([{ "type": "content", "content": { "type": "text", "text": text } }]);
        let mut stated = call(&json!({ "toolCallId": "1", "kind": "execute", "title": "Bash", "content": text("") }));
        for said in ["{\"command\": \"ls", "{\"command\": \"ls\"}", "{\"command\": \"printed\"}"] {
            stated.merge(call(&json!({ "toolCallId": "1", "content": text(said) })));
        }
        assert_eq!(stated.input()["command"], "Bash", "it counts with a question alone");
        assert_eq!(stated.describe(), "Bash: ls", "people are told");
        stated = stated.with_stated_input();
        assert_eq!(stated.input()["command"], "ls");
        stated.merge(call(&json!({ "toolCallId": "1", "rawInput": { "command": "rm x" } })));
        assert_eq!(stated.with_stated_input().input()["command"], "rm x");
    }

    #[test]
    fn output_of_a_terminal_is_the_result_where_there_is_no_other() {
        let piece = |key: &str, text: &str| call(&json!({ "toolCallId": "1", "_meta": { key: { "data": text } } }));
        let mut one = call(&json!({ "toolCallId": "1" }));
        one.merge(piece("terminal_output_delta", "a\n"));
        one.merge(piece("terminal_output_delta", "b\n"));
        assert_eq!(one.result(&json!({})), "a\nb\n");
        assert_eq!(one.result(&json!({ "rawOutput": "whole" })), "whole");
        one.merge(piece("terminal_output", "c\n"));
        assert_eq!(one.result(&json!({})), "c\n");
        for _ in 0..3 {
            one.merge(piece("terminal_output_delta", &"ü".repeat(MAX_OUTPUT_BYTES)));
        }
        assert!((MAX_OUTPUT_BYTES - 1..=MAX_OUTPUT_BYTES).contains(&one.result(&json!({})).len()));
    }

    #[test]
    fn choice_takes_the_narrowest_option_of_its_kind() {
        let option = |id: &str, kind: &str| PermissionOption { id: id.into(), kind: kind.into(), name: String::new() };
        let all =
            [option("1", "allow_always"), option("2", "allow_once"), option("3", "reject_once"), option("4", "x")];
        let id =
            |choice: PermissionChoice, options: &[PermissionOption]| choice.option(options).map(|one| one.id.clone());
        assert_eq!(id(PermissionChoice::ALLOW, &all).as_deref(), Some("2"));
        assert_eq!(id(PermissionChoice::ALLOW, &all[..1]), None);
        assert_eq!(id(PermissionChoice::Allow { always: true }, &all).as_deref(), Some("1"));
        assert_eq!(id(PermissionChoice::Allow { always: true }, &all[1..]).as_deref(), Some("2"));
        assert_eq!(id(PermissionChoice::deny(None), &all).as_deref(), Some("3"));
        assert_eq!(id(PermissionChoice::Deny { why: None, always: true }, &all).as_deref(), Some("3"));
        assert_eq!(id(PermissionChoice::deny(None), &all[..2]), None);
        assert_eq!(id(PermissionChoice::Allow { always: true }, &all[2..]), None);
    }

    #[test]
    fn malformed_questions_are_none() {
        for params in [
            json!({}),
            json!({ "toolCall": {}, "options": [{ "optionId": "a" }] }),
            json!({ "toolCall": { "toolCallId": 7 }, "options": [{ "optionId": "a" }] }),
            json!({ "toolCall": { "toolCallId": "1" }, "options": [] }),
            json!({ "toolCall": { "toolCallId": "1" }, "options": [{ "kind": "allow_once" }] }),
            json!({ "toolCall": { "toolCallId": "x".repeat(600) }, "options": [{ "optionId": "a" }] }),
        ] {
            assert_eq!(PermissionRequest::from_json(&params), None, "{params}");
        }
    }
}
