//! The supported providers and their hook events.

use std::time::Duration;

use crate::env::Env;

/// The variable in which Claude Code names its entry point, and its value in a terminal.
const ENTRYPOINT_VAR: &str = "CLAUDE_CODE_ENTRYPOINT";
const TERMINAL_ENTRYPOINT: &str = "cli";

/// An agent's CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provider {
    /// Claude Code.
    Claude,
    Codex,
    Gemini,
}

/// A hook event that is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSpec {
    /// The provider's name of the event.
    pub name: &'static str,
    /// The hook's time limit; the provider must wait longer. A permission request adds `[hooks] approval_wait`.
    pub timeout: Duration,
}

/// The time limit of a decision on a tool call.
const TOOL_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit of any other event.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit of a session's end and of an interruption: one provider waits only 3 s.
const SHORT_TIMEOUT: Duration = Duration::from_millis(2_500);

const fn tool(name: &'static str) -> EventSpec {
    EventSpec { name, timeout: TOOL_TIMEOUT }
}

const fn other(name: &'static str) -> EventSpec {
    EventSpec { name, timeout: DEFAULT_TIMEOUT }
}

const fn short(name: &'static str) -> EventSpec {
    EventSpec { name, timeout: SHORT_TIMEOUT }
}

const CLAUDE_EVENTS: &[EventSpec] = &[
    other("SessionStart"),
    other("UserPromptSubmit"),
    tool("PreToolUse"),
    other("PermissionRequest"),
    other("PostToolUse"),
    other("PostToolUseFailure"),
    other("Notification"),
    other("Stop"),
    other("StopFailure"),
    other("SubagentStop"),
    short("SessionEnd"),
];

const CODEX_EVENTS: &[EventSpec] = &[
    other("SessionStart"),
    other("UserPromptSubmit"),
    tool("PreToolUse"),
    other("PermissionRequest"),
    other("PostToolUse"),
    other("Stop"),
    other("SubagentStop"),
    short("Interrupt"),
    short("SessionEnd"),
];

const GEMINI_EVENTS: &[EventSpec] = &[
    other("SessionStart"),
    other("BeforeAgent"),
    tool("BeforeTool"),
    other("AfterTool"),
    other("Notification"),
    other("AfterAgent"),
    short("SessionEnd"),
];

impl Provider {
    /// All providers.
    pub const ALL: &'static [Self] = &[Self::Claude, Self::Codex, Self::Gemini];

    /// The name on the command line and in a session.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// The provider with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.label() == name)
    }

    /// The events that are handled; `hook install` adds an entry for each.
    pub const fn events(self) -> &'static [EventSpec] {
        match self {
            Self::Claude => CLAUDE_EVENTS,
            Self::Codex => CODEX_EVENTS,
            Self::Gemini => GEMINI_EVENTS,
        }
    }

    /// The hook's time limit for an event.
    pub fn timeout(self, event: &str) -> Duration {
        let known = self.events().iter().find(|known| known.name == event);
        known.map_or(if is_tool_event(event) { TOOL_TIMEOUT } else { DEFAULT_TIMEOUT }, |known| known.timeout)
    }

    /// Whether a background hook can start the agent's next turn.
    pub const fn supports_wake(self) -> bool {
        matches!(self, Self::Claude)
    }

    /// How many bytes of text it accepts at once. Longer text would be cut or moved to a file.
    pub const fn max_output_bytes(self) -> usize {
        match self {
            Self::Claude | Self::Gemini => 8_000,
            // It cuts at about 2,500 tokens.
            Self::Codex => 6_000,
        }
    }

    /// The file that it reads in place of AGENTS.md, and that can include AGENTS.md. `None` for a provider that reads AGENTS.md
    /// itself or has no such file that was tried.
    pub const fn import_file(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some("CLAUDE.md"),
            Self::Codex | Self::Gemini => None,
        }
    }

    /// The names of its process.
    pub const fn process_names(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["claude", "node"],
            Self::Codex => &["codex"],
            Self::Gemini => &["gemini", "node"],
        }
    }

    /// The variable with its pid in a hook's environment.
    pub const fn pid_variable(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some("CLAUDE_PID"),
            Self::Codex | Self::Gemini => None,
        }
    }

    /// Whether it continues while the wake hook runs. Without a terminal it delays its first prompt and its end until that hook
    /// ends, so the wake hook exits at once there.
    pub fn runs_in_background(self, env: &Env) -> bool {
        !self.supports_wake() || env.var(ENTRYPOINT_VAR).is_none_or(|from| from == TERMINAL_ENTRYPOINT)
    }

    /// Whether the wake hook runs: only in a terminal.
    pub fn has_wake_hook(self, env: &Env) -> bool {
        self.supports_wake() && env.var(ENTRYPOINT_VAR) == Some(TERMINAL_ENTRYPOINT)
    }

    /// The variable with the directory of its settings in a hook's environment.
    pub const fn project_dir_variable(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some("CLAUDE_PROJECT_DIR"),
            Self::Gemini => Some("GEMINI_PROJECT_DIR"),
            Self::Codex => None,
        }
    }

    /// The neutral names of a tool, which guard rules use beside the provider's own name.
    pub fn aliases(self, tool: &str) -> Vec<String> {
        let names: &[&str] = match (self, tool) {
            (Self::Gemini, "run_shell_command") => &["Bash"],
            (Self::Gemini, "write_file") => &["Write"],
            (Self::Gemini, "replace") => &["Edit"],
            (Self::Gemini, "read_file" | "read_many_files") => &["Read"],
            (Self::Gemini, "glob") => &["Glob"],
            (Self::Gemini, "search_file_content" | "grep_search") => &["Grep"],
            (Self::Gemini, "list_directory") => &["LS"],
            (Self::Gemini, "web_fetch") => &["WebFetch"],
            (Self::Gemini, "google_web_search") => &["WebSearch"],
            (Self::Codex, "apply_patch") => &["Write", "Edit"],
            (Self::Claude, "MultiEdit" | "NotebookEdit") => &["Edit"],
            _ => &[],
        };
        names.iter().map(|name| (*name).to_owned()).collect()
    }
}

/// Whether an event asks if a tool may run. All providers' names count, so that an entry under the wrong provider cannot bypass
/// the guard.
pub fn is_tool_event(event: &str) -> bool {
    matches!(event, "PreToolUse" | "BeforeTool")
}
