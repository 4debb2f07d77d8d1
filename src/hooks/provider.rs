//! A provider: what is special about an agent's command line, as a value.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, io};

use serde_json::Value;

use super::payload::Payload;
use fairway_actions::agents::hook::{HookEvent, Reply};
use fairway_core::domain::usage::TranscriptSlice;
use fairway_core::env::Env;
use fairway_core::os::exit_reason::ExitReason;

/// The variable in which Claude Code names its entry point, and its value in a terminal.
const ENTRYPOINT_VAR: &str = "CLAUDE_CODE_ENTRYPOINT";
const TERMINAL_ENTRYPOINT: &str = "cli";

/// The time limit of a decision on a tool call.
const TOOL_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit of any other event.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// For what installs packages.
const LONG_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// The time limit of a session's end and of an interruption: one provider waits only 3 s.
const SHORT_TIMEOUT: Duration = Duration::from_millis(2_500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSpec {
    pub name: &'static str,
    /// The hook's time limit. The provider must wait longer. For a permission request, `[hooks] approval_wait` is added.
    pub timeout: Duration,
}

impl EventSpec {
    pub(super) const fn tool(name: &'static str) -> Self {
        Self { name, timeout: TOOL_TIMEOUT }
    }

    pub(super) const fn other(name: &'static str) -> Self {
        Self { name, timeout: DEFAULT_TIMEOUT }
    }

    pub(super) const fn long(name: &'static str) -> Self {
        Self { name, timeout: LONG_TIMEOUT }
    }

    pub(super) const fn short(name: &'static str) -> Self {
        Self { name, timeout: SHORT_TIMEOUT }
    }
}

/// The hook in the background that can start the agent's next turn.
pub struct WakeHook {
    /// The events at which the wake hook starts.
    pub(super) events: &'static [&'static str],
    /// The settings entry of the wake hook, with its time limit in seconds.
    pub(super) entry: fn(&Path, u64) -> Value,
}

/// The settings that turn hooks off. The provider merges them from several files.
pub struct HooksSwitch {
    /// The key for all hooks, with dots between its parts, and the value that turns them off. The first file that has it decides.
    pub(super) key: &'static str,
    pub(super) off: bool,
    /// The key of a list with the names of single hooks. Each file adds to it.
    pub(super) names: Option<&'static str>,
    /// The administrator's settings file, which comes before all others, and the one that comes after them.
    pub(super) managed_file: &'static str,
    pub(super) default_file: Option<&'static str>,
}

impl HooksSwitch {
    /// The value below a key with dots.
    fn at<'a>(value: &'a Value, key: &str) -> &'a Value {
        key.split('.').fold(value, |value, part| &value[part])
    }

    /// Whether these settings turn all hooks off; `None` when they say nothing about it.
    pub(super) fn is_off(&self, settings: &Value) -> Option<bool> {
        Some(Self::at(settings, self.key).as_bool()? == self.off)
    }

    /// Whether the list of these settings has the hook.
    pub(super) fn names_hook(&self, settings: &Value, hook: &str) -> bool {
        let list = self.names.and_then(|key| Self::at(settings, key).as_array());
        list.is_some_and(|names| names.iter().any(|name| name == hook))
    }

    /// Turns the hooks on in settings that come before all but those of the administrator.
    pub(super) fn turn_on(&self, settings: &mut Value) {
        *self.key.split('.').fold(settings, |value, part| &mut value[part]) = (!self.off).into();
    }
}

/// Fills in the models of the part of a transcript that was read from an offset on.
pub(super) type FillModels = fn(&mut TranscriptSlice, &Path, u64) -> io::Result<()>;

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct ProviderSpec {
    /// The provider's name on the command line and in a session.
    pub(super) label: &'static str,
    /// The events that are handled; `hook install` adds an entry for each.
    pub(super) events: &'static [EventSpec],
    /// The events by which a provider has a worktree made, and removed; installed when asked.
    pub(super) worktree_events: &'static [EventSpec],
    /// How many bytes of text the provider accepts at once. It would cut longer text or move it to a file.
    pub(super) max_output_bytes: usize,
    /// The file that the provider reads in place of AGENTS.md, and that can include AGENTS.md. `None` for a provider that reads
    /// AGENTS.md itself, or for which no such file was tried.
    pub(super) import_file: Option<&'static str>,
    pub(super) process_names: &'static [&'static str],
    /// The variable with the agent's pid in a hook's environment.
    pub(super) pid_variable: Option<&'static str>,
    /// The variable with the project's directory in a hook's environment.
    pub(super) project_dir_variable: Option<&'static str>,
    /// The name of the settings directory in a project and in the home directory.
    pub(super) settings_dir: &'static str,
    pub(super) settings_file: &'static str,
    /// The person's own settings file in a project, where the provider has one.
    pub(super) local_settings_file: Option<&'static str>,
    /// The variable with the user's settings directory, and whether it names the parent of that directory instead.
    pub(super) settings_dir_variable: (&'static str, bool),
    /// Whether Fairway's plugin for the provider brings hooks.
    pub(super) has_plugin: bool,
    /// Whether the provider takes settings as `KEY=VALUE` on its command line, has a sandbox that is configured in this way, and
    /// runs only hooks that a person has trusted.
    pub(super) reviews_hooks: bool,
    /// The neutral names of a tool, which guard rules use beside the provider's own name.
    pub(super) aliases: fn(&str) -> &'static [&'static str],
    /// Parses a payload, by the event's name and the caller's role. The error is a sentence that names a missing field.
    pub(super) parse: fn(&str, &Payload, Option<&str>) -> Result<HookEvent, String>,
    /// The reply to an event in the provider's form; `None` for no output.
    pub(super) reply: fn(&str, &Reply) -> Option<Value>,
    /// The settings entry by which a program handles an event, with its time limit in seconds.
    pub(super) hook_entry: fn(&Path, &str, u64) -> Value,
    pub(super) wake_hook: Option<WakeHook>,
    /// The settings that turn hooks off, where the provider merges them from several files.
    pub(super) hooks_switch: Option<HooksSwitch>,
    /// Checks that the provider loads these settings. The error is a predicate of the file.
    pub(super) check_settings: fn(&Value) -> Result<(), String>,
    /// Whether the provider's settings may have comments.
    pub(super) settings_have_comments: bool,
    pub(super) settings_have_byte_order_mark: bool,
    /// The steps that the user must take before the provider runs the hooks. The flag says whether the hooks are in a project's
    /// settings.
    pub(super) manual_steps: fn(bool) -> Vec<&'static str>,
    /// Whether the provider would have blocked the tool call, by the output of the hook and whether its entry fails closed. The
    /// error says why not.
    pub(super) would_block: fn(&HookOutput, bool) -> Result<(), String>,
    /// Whether the provider starts an entry with a list of arguments, without a shell.
    pub(super) entries_have_arguments: bool,
    /// The shell in which the provider starts a hook, given the user's shell.
    pub(super) shell: fn(Option<&str>) -> &str,
    /// The unit of timeouts in the provider's settings.
    pub(super) timeout_unit: Duration,
    /// The variables that the provider gives its hooks, by the working directory.
    pub(super) canary_env: fn(&Path) -> Vec<(&'static str, PathBuf)>,
    /// The fields that only this provider sends in a payload before a tool call.
    pub(super) canary_fields: fn(&Env) -> Value,
    /// Reads a line of a transcript. The text is the model that an earlier line named last; the function may change it.
    pub(super) parse_line: fn(&mut TranscriptSlice, &mut Option<String>, &[u8]),
    /// Fills in the models that were named before the part of the transcript that was read; `None` where each line names its
    /// model.
    pub(super) fill_missing_models: Option<FillModels>,
}

#[derive(Clone, Copy)]
pub struct Provider(&'static ProviderSpec);

impl Deref for Provider {
    type Target = ProviderSpec;

    fn deref(&self) -> &ProviderSpec {
        self.0
    }
}

impl PartialEq for Provider {
    fn eq(&self, other: &Self) -> bool {
        self.label == other.label
    }
}

impl Eq for Provider {}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label)
    }
}

impl Provider {
    pub(super) const fn new(spec: &'static ProviderSpec) -> Self {
        Self(spec)
    }

    pub const fn label(self) -> &'static str {
        self.0.label
    }

    pub const fn events(self) -> &'static [EventSpec] {
        self.0.events
    }

    /// Whether it asks hooks for the worktrees of its subagents, which can be those of lanes.
    pub const fn can_have_lanes(self) -> bool {
        !self.0.worktree_events.is_empty()
    }

    pub const fn import_file(self) -> Option<&'static str> {
        self.0.import_file
    }

    /// The hook's time limit for an event, without the wait for an answer to a permission request.
    pub fn timeout(self, event: &str) -> Duration {
        let known = self.events.iter().chain(self.worktree_events).find(|known| known.name == event);
        known.map_or(if is_tool_event(event) { TOOL_TIMEOUT } else { DEFAULT_TIMEOUT }, |known| known.timeout)
    }

    pub(super) fn tool_event(self) -> &'static str {
        self.events.iter().map(|known| known.name).find(|name| is_tool_event(name)).unwrap_or_default()
    }

    /// Whether the provider continues while a wake hook runs. Returns false when the provider says that it runs without a
    /// terminal: it would delay its first prompt and its end until the wake hook ends, so the wake hook must end at once.
    pub fn runs_in_background(self, env: &Env) -> bool {
        self.wake_hook.is_none() || env.var(ENTRYPOINT_VAR).is_none_or(|from| from == TERMINAL_ENTRYPOINT)
    }

    /// Whether a wake hook is sure to wait beside the agent: the provider has one, and says that it runs in a terminal.
    pub fn has_wake_hook(self, env: &Env) -> bool {
        self.wake_hook.is_some() && env.var(ENTRYPOINT_VAR) == Some(TERMINAL_ENTRYPOINT)
    }

    /// The neutral names of a tool, which guard rules use beside the provider's own name.
    pub fn neutral_names(self, tool: &str) -> Vec<String> {
        (self.aliases)(tool).iter().map(|name| (*name).to_owned()).collect()
    }
}

/// Whether an event asks if a tool may run. All providers' names count, so that an entry under the wrong provider cannot bypass
/// the guard.
pub fn is_tool_event(event: &str) -> bool {
    matches!(event, "PreToolUse" | "BeforeTool")
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOutput {
    pub end: ExitReason,
    pub stdout: String,
    pub stderr: String,
}

/// Describes how a hook has ended, if the end does not count as a denial.
pub(super) fn describe_end(end: ExitReason) -> String {
    match end {
        ExitReason::Code(code) => format!("exit code {code}"),
        ExitReason::Signal(signal) => format!("killed by signal {signal}"),
        ExitReason::TimedOut => "it exceeded its timeout".to_owned(),
    }
}
