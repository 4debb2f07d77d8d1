//! A hook event and its caller.

use std::path::PathBuf;

use crate::{
    actions::boundary::guard::ToolCall,
    domain::{id::Label, usage::ToolUse},
    os::process::ProcessKey,
};

/// Where activities come from that a hook reports.
pub(super) const SOURCE: &str = "hook";

/// Who calls.
#[derive(Debug, Clone)]
pub struct HookCaller {
    /// The provider.
    pub provider: Label,
    /// The other providers whose hooks are known: one of their sessions cannot be this caller's.
    pub other_providers: Vec<&'static str>,
    /// The provider's own id for the session.
    pub external_session_id: String,
    /// The provider's own record of the session.
    pub transcript: Option<String>,
    /// The directory that it works in.
    pub cwd: Option<PathBuf>,
    /// Its process, when that is known for certain.
    pub agent_process: Option<ProcessKey>,
    /// Whether a helper inside the session is at work, and not the session itself.
    pub is_subagent: bool,
    /// A hook waits beside it while it is idle, and brings what waits for it then.
    pub has_wake_hook: bool,
    /// How many bytes of text the provider takes at once.
    pub max_output_bytes: usize,
}

/// How a session begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartKind {
    /// Anew.
    Fresh,
    /// As another conversation of the same program: an emptied one, a branch of it.
    Switched,
    /// Where an earlier one left off.
    Resumed,
    /// With a summary in place of its context.
    Compacted,
}

/// What a provider's program tells.
#[derive(Debug, Clone)]
pub enum HookEvent {
    /// A session begins.
    SessionStart(StartKind),
    /// A prompt was submitted.
    TurnStart,
    /// A tool is about to run.
    BeforeTool(ToolCall),
    /// A tool has run.
    AfterTool(ToolUse),
    /// A person is to be asked whether a tool may run.
    PermissionRequest(ToolCall),
    /// The turn is over.
    TurnEnd,
    /// The turn broke off, and why.
    TurnFailed(String),
    /// A person was told that the session waits for them: for what, in words.
    Waiting(String),
    /// A person was told that a tool may run only when they say so there.
    WaitingForTool(ToolCall, String),
    /// A person was told that the session has nothing to do.
    Idle,
    /// A helper inside the session is done; its own record.
    SubagentEnd(Option<PathBuf>),
    /// The session is over, or its program goes on with another conversation.
    SessionEnd {
        /// In the provider's words.
        reason: String,
        /// Whether the program goes on.
        continues: bool,
    },
    /// Anything else.
    Other,
}
