//! The vendors whose hooks are known, and which of their events are answered.

use std::time::Duration;

use crate::env::Env;

/// The variable in which Claude Code says from where it was started, and what it says in a terminal.
const ENTRYPOINT_VAR: &str = "CLAUDE_CODE_ENTRYPOINT";
const TERMINAL_ENTRYPOINT: &str = "cli";

/// A vendor's command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provider {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
}

/// An event that is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSpec {
    /// The vendor's name of it.
    pub name: &'static str,
    /// How long our hook takes at most; the vendor must wait longer. A permission request waits `[hooks] approval_wait` on
    /// top of it.
    pub timeout: Duration,
}

/// How long a decision on a tool call takes at most.
const TOOL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long anything else takes at most.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the end of a session may take: the shortest time that a vendor gives it is three seconds.
const SESSION_END_TIMEOUT: Duration = Duration::from_millis(2_500);

const fn tool(name: &'static str) -> EventSpec {
    EventSpec { name, timeout: TOOL_TIMEOUT }
}

const fn other(name: &'static str) -> EventSpec {
    EventSpec { name, timeout: DEFAULT_TIMEOUT }
}

const fn session_end(name: &'static str) -> EventSpec {
    EventSpec { name, timeout: SESSION_END_TIMEOUT }
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
    session_end("SessionEnd"),
];

const CODEX_EVENTS: &[EventSpec] = &[
    other("SessionStart"),
    other("UserPromptSubmit"),
    tool("PreToolUse"),
    other("PermissionRequest"),
    other("PostToolUse"),
    other("Stop"),
    other("SubagentStop"),
    session_end("SessionEnd"),
];

const GEMINI_EVENTS: &[EventSpec] = &[
    other("SessionStart"),
    other("BeforeAgent"),
    tool("BeforeTool"),
    other("AfterTool"),
    other("Notification"),
    other("AfterAgent"),
    session_end("SessionEnd"),
];

impl Provider {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Claude, Self::Codex, Self::Gemini];

    /// Its name, as it stands on the command line and as a session's provider.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// The vendor of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.label() == name)
    }

    /// The events that are answered; `hook install` enters each of them.
    #[must_use]
    pub const fn events(self) -> &'static [EventSpec] {
        match self {
            Self::Claude => CLAUDE_EVENTS,
            Self::Codex => CODEX_EVENTS,
            Self::Gemini => GEMINI_EVENTS,
        }
    }

    /// How long our hook takes at most for an event of this name.
    #[must_use]
    pub fn timeout(self, event: &str) -> Duration {
        let known = self.events().iter().find(|known| known.name == event);
        known.map_or(if is_tool_event(event) { TOOL_TIMEOUT } else { DEFAULT_TIMEOUT }, |known| known.timeout)
    }

    /// Whether a hook of its that ends late can wake it.
    #[must_use]
    pub const fn supports_wake(self) -> bool {
        matches!(self, Self::Claude)
    }

    /// How many bytes of text it takes at once: more would be cut, or put where nobody looks.
    #[must_use]
    pub const fn max_output_bytes(self) -> usize {
        match self {
            Self::Claude | Self::Gemini => 8_000,
            // It cuts at some 2,500 tokens.
            Self::Codex => 6_000,
        }
    }

    /// The names under which its process is known.
    #[must_use]
    pub const fn process_names(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["claude", "node"],
            Self::Codex => &["codex"],
            Self::Gemini => &["gemini", "node"],
        }
    }

    /// The variable in which it tells its hooks its pid.
    #[must_use]
    pub const fn pid_variable(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some("CLAUDE_PID"),
            Self::Codex | Self::Gemini => None,
        }
    }

    /// Whether it goes on while a hook waits beside it. Without a terminal it holds its first prompt and its end until that
    /// hook is over: nobody waits there.
    #[must_use]
    pub fn runs_in_background(self, env: &Env) -> bool {
        !self.supports_wake() || env.var(ENTRYPOINT_VAR).is_none_or(|from| from == TERMINAL_ENTRYPOINT)
    }

    /// Whether a hook waits beside it, because it is in a terminal.
    #[must_use]
    pub fn has_wake_hook(self, env: &Env) -> bool {
        self.supports_wake() && env.var(ENTRYPOINT_VAR) == Some(TERMINAL_ENTRYPOINT)
    }

    /// The variable in which it tells its hooks the directory whose settings it read.
    #[must_use]
    pub const fn project_dir_variable(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some("CLAUDE_PROJECT_DIR"),
            Self::Gemini => Some("GEMINI_PROJECT_DIR"),
            Self::Codex => None,
        }
    }

    /// The neutral names of a tool, beside its own: rules speak of them.
    #[must_use]
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

/// Whether an event of this name asks whether a tool may run; of every vendor's, so that one entered under the wrong vendor
/// is no way round.
#[must_use]
pub fn is_tool_event(event: &str) -> bool {
    matches!(event, "PreToolUse" | "BeforeTool")
}
