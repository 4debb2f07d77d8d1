//! The vendors whose hooks are known, and which of their events are answered.

use std::time::Duration;

use crate::env::Env;

/// The variable in which Claude Code says from where it was started, and what it says in a terminal.
const ENTRY: &str = "CLAUDE_CODE_ENTRYPOINT";
const TERMINAL: &str = "cli";

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
pub struct Event {
    /// The vendor's name of it.
    pub name: &'static str,
    /// How long our hook takes at most; the vendor must wait longer. A permission request waits `[hooks] approval_wait` on
    /// top of it.
    pub limit: Duration,
}

/// How long a decision on a tool call takes at most.
const TOOL: Duration = Duration::from_secs(5);
/// How long anything else takes at most.
const OTHER: Duration = Duration::from_secs(10);
/// How long the end of a session may take: the shortest time that a vendor gives it is three seconds.
const LAST: Duration = Duration::from_millis(2_500);

const fn tool(name: &'static str) -> Event {
    Event { name, limit: TOOL }
}

const fn other(name: &'static str) -> Event {
    Event { name, limit: OTHER }
}

const fn last(name: &'static str) -> Event {
    Event { name, limit: LAST }
}

const CLAUDE: &[Event] = &[
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
    last("SessionEnd"),
];

const CODEX: &[Event] = &[
    other("SessionStart"),
    other("UserPromptSubmit"),
    tool("PreToolUse"),
    other("PermissionRequest"),
    other("PostToolUse"),
    other("Stop"),
    other("SubagentStop"),
    last("SessionEnd"),
];

const GEMINI: &[Event] = &[
    other("SessionStart"),
    other("BeforeAgent"),
    tool("BeforeTool"),
    other("AfterTool"),
    other("Notification"),
    other("AfterAgent"),
    last("SessionEnd"),
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
    pub const fn events(self) -> &'static [Event] {
        match self {
            Self::Claude => CLAUDE,
            Self::Codex => CODEX,
            Self::Gemini => GEMINI,
        }
    }

    /// How long our hook takes at most for an event of this name.
    #[must_use]
    pub fn limit(self, event: &str) -> Duration {
        let known = self.events().iter().find(|known| known.name == event);
        known.map_or(if is_tool_moment(event) { TOOL } else { OTHER }, |known| known.limit)
    }

    /// Whether a hook of its that ends late can wake it.
    #[must_use]
    pub const fn wakes(self) -> bool {
        matches!(self, Self::Claude)
    }

    /// How many bytes of text it takes at once: more would be cut, or put where nobody looks.
    #[must_use]
    pub const fn room(self) -> usize {
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
    pub fn goes_on_beside(self, env: &Env) -> bool {
        !self.wakes() || env.var(ENTRY).is_none_or(|from| from == TERMINAL)
    }

    /// Whether a hook waits beside it, because it is in a terminal.
    #[must_use]
    pub fn is_waited_for(self, env: &Env) -> bool {
        self.wakes() && env.var(ENTRY) == Some(TERMINAL)
    }

    /// The variable in which it tells its hooks the folder whose settings it read.
    #[must_use]
    pub const fn folder_variable(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some("CLAUDE_PROJECT_DIR"),
            Self::Gemini => Some("GEMINI_PROJECT_DIR"),
            Self::Codex => None,
        }
    }

    /// The neutral names of a tool, beside its own: rules speak of them.
    #[must_use]
    pub fn also(self, tool: &str) -> Vec<String> {
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
pub fn is_tool_moment(event: &str) -> bool {
    matches!(event, "PreToolUse" | "BeforeTool")
}
