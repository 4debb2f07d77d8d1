//! The entries that `hook install` adds to a provider's settings.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::hooks::Provider;
use crate::hooks::launch_entry::BY_LAUNCH;

/// How much longer the provider waits than the time limit of the hook.
pub(super) const TIMEOUT_MARGIN: Duration = Duration::from_secs(5);
/// How long a permission request waits for an answer without a project's setting.
pub const DEFAULT_APPROVAL_WAIT: Duration = Duration::from_secs(50);
/// How long a permission request waits at most, while a person watches or no terminal is attached to the session.
pub const LONGEST_APPROVAL_WAIT: Duration = Duration::from_secs(600);
/// How long the wake hook may run, in seconds: one day.
const WAKE_HOOK_TIMEOUT_SECS: u64 = 24 * 60 * 60;

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub event: &'static str,
    pub hooks: Vec<Value>,
}

/// All hook entries for a provider, those of worktrees only with `worktrees`. `program` is the path of this binary. The time limit of
/// the hook for permission requests allows for `approval_wait`, and at least for the longest wait while a person watches.
pub fn entries(provider: Provider, program: &Path, approval_wait: Duration, worktrees: bool) -> Vec<Entry> {
    let entry = |event: &crate::hooks::EventSpec| {
        let waits =
            if event.name == "PermissionRequest" { approval_wait.max(LONGEST_APPROVAL_WAIT) } else { Duration::ZERO };
        let limit = event.timeout + waits + TIMEOUT_MARGIN;
        let seconds = limit.as_secs() + u64::from(limit.subsec_nanos() > 0);
        let mut hooks = vec![(provider.hook_entry)(program, event.name, seconds)];
        if let Some(wake) = provider.wake_hook.as_ref().filter(|wake| wake.events.contains(&event.name)) {
            hooks.push((wake.entry)(program, WAKE_HOOK_TIMEOUT_SECS));
        }
        Entry { event: event.name, hooks }
    };
    let of_worktrees = if worktrees { provider.worktree_events } else { &[] };
    provider.events().iter().chain(of_worktrees).map(entry).collect()
}

/// Like [`entries`], for the settings of a launch. A hook with a list of arguments gets one more, `--launch`, which
/// distinguishes it from the same hook in installed settings: both may run.
pub fn launch_entries(provider: Provider, program: &Path, approval_wait: Duration, worktrees: bool) -> Vec<Entry> {
    let mut all = entries(provider, program, approval_wait, worktrees);
    for hook in all.iter_mut().flat_map(|entry| &mut entry.hooks) {
        if let Some(args) = hook.get_mut("args").and_then(Value::as_array_mut) {
            args.push(BY_LAUNCH.into());
        }
    }
    all
}

/// The command line of a hook, quoted for any shell.
pub(in crate::hooks) fn shell_command(provider: Provider, program: &Path, event: &str) -> String {
    let program = program.to_string_lossy();
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-+".contains(character);
    let program =
        if program.chars().all(is_plain) { program.into_owned() } else { shell_words::quote(&program).into_owned() };
    format!("{program} hook {} {event}", provider.label())
}

/// The program and arguments of a hook, whether they are a list or shell text. Returns `None` for a hook that runs no
/// command, and for one whose command cannot be split into arguments.
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

/// The program of a hook of the form `fairway hook PROVIDER EVENT`, in any directory; `None` for another hook. `own` is this
/// binary's file name, which may differ from `fairway`.
pub fn own_program(hook: &Value, provider: Provider, own: Option<&str>) -> Option<PathBuf> {
    let argv = argv(hook)?;
    let [program, verb, name_of_provider, _event] = argv.as_slice() else { return None };
    let path = Path::new(program);
    let name = path.file_name()?.to_str()?;
    (verb == "hook" && name_of_provider == provider.label() && (name == "fairway" || Some(name) == own))
        .then(|| path.to_owned())
}
