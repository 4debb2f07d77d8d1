//! What is entered into a provider's settings.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Map, Value, json};

use crate::hooks::Provider;

/// How much longer than our own limit the vendor is told to wait.
const TIMEOUT_MARGIN: Duration = Duration::from_secs(5);
/// How long a permission request waits for an answer where no project says otherwise.
pub const DEFAULT_APPROVAL_WAIT: Duration = Duration::from_secs(50);
/// How long a waiting hook may wait, in seconds: a day.
const WAKE_HOOK_TIMEOUT_SECS: u64 = 24 * 60 * 60;
/// The events after which an idle session waits to be woken.
const WAKE_HOOK_EVENTS: &[&str] = &["SessionStart", "Stop"];
/// The longest time that one vendor gives the end of a session, in seconds.
const MAX_SESSION_END_SECS: u64 = 3;

/// What is entered under one event.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The event.
    pub event: &'static str,
    /// The hooks.
    pub hooks: Vec<Value>,
}

/// Everything that is entered for a provider. `program` is our binary; a permission request waits `approval_wait` for an answer.
#[must_use]
pub fn entries(provider: Provider, program: &Path, approval_wait: Duration) -> Vec<Entry> {
    let entry = |event: &crate::hooks::EventSpec| {
        let waits = if event.name == "PermissionRequest" { approval_wait } else { Duration::ZERO };
        let mut hooks = vec![hook_entry(provider, program, event.name, event.timeout + waits + TIMEOUT_MARGIN)];
        if provider == Provider::Claude && WAKE_HOOK_EVENTS.contains(&event.name) {
            hooks.push(wake_hook(program));
        }
        Entry { event: event.name, hooks }
    };
    provider.events().iter().map(entry).collect()
}

fn hook_entry(provider: Provider, program: &Path, event: &str, limit: Duration) -> Value {
    let seconds = limit.as_secs() + u64::from(limit.subsec_nanos() > 0);
    match provider {
        Provider::Claude => {
            let mut hook = claude_hook(program, event, seconds);
            if crate::hooks::is_tool_event(event)
                && let Some(fields) = hook.as_object_mut()
            {
                // A hook that fails is a no.
                fields.insert("onFailure".into(), json!("block"));
            }
            hook
        }
        Provider::Codex => {
            let seconds = if event == "SessionEnd" { MAX_SESSION_END_SECS } else { seconds };
            json!({ "type": "command", "command": shell_command(provider, program, event), "timeout": seconds })
        }
        Provider::Gemini => json!({
            "name": "fairway",
            "type": "command",
            "command": shell_command(provider, program, event),
            "timeout": seconds * 1000,
        }),
    }
}

/// Without a shell in between.
fn claude_hook(program: &Path, event: &str, seconds: u64) -> Value {
    json!({
        "type": "command",
        "command": program.to_string_lossy(),
        "args": ["hook", Provider::Claude.label(), event],
        "timeout": seconds,
    })
}

fn wake_hook(program: &Path) -> Value {
    let mut hook = claude_hook(program, "wait", WAKE_HOOK_TIMEOUT_SECS);
    if let Some(fields) = hook.as_object_mut() {
        fields.insert("asyncRewake".into(), json!(true));
    }
    hook
}

/// A line for a shell, whichever it is.
fn shell_command(provider: Provider, program: &Path, event: &str) -> String {
    let program = program.to_string_lossy();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+".contains(letter);
    let program =
        if program.chars().all(is_plain) { program.into_owned() } else { shell_words::quote(&program).into_owned() };
    format!("{program} hook {} {event}", provider.label())
}

/// The words of a hook's command, whichever way it is written.
#[must_use]
pub fn argv(hook: &Value) -> Option<Vec<String>> {
    let fields: &Map<String, Value> = hook.as_object()?;
    if fields.get("type").and_then(Value::as_str) != Some("command") {
        return None;
    }
    let command = fields.get("command").and_then(Value::as_str)?;
    match fields.get("args").and_then(Value::as_array) {
        Some(args) => {
            let args = args.iter().map(|arg| arg.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?;
            Some([command.to_owned()].into_iter().chain(args).collect())
        }
        None => shell_words::split(command).ok(),
    }
}

/// Our binary in a hook of ours: `fairway hook PROVIDER EVENT`, wherever it lies. `own` is the name of this very binary, which
/// may be another.
#[must_use]
pub fn own_program(hook: &Value, provider: Provider, own: Option<&str>) -> Option<PathBuf> {
    let words = argv(hook)?;
    let [program, verb, vendor, _event] = words.as_slice() else { return None };
    let path = Path::new(program);
    let name = path.file_name()?.to_str()?;
    (verb == "hook" && vendor == provider.label() && (name == "fairway" || Some(name) == own)).then(|| path.to_owned())
}
