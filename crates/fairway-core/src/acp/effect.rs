//! The outputs of a structured session's state machine: effects, and reports about the session.

use serde_json::Value;

use crate::acp::session_setup::{AgentInfo, GuardMode};
use crate::acp::tool_call::{PermissionRequest, ToolCall};
use crate::domain::usage::Usage;

/// What the agent knew of the decision when a tool of it ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// It has not asked.
    NotAsked,
    /// It has asked. The answer was yes, or there was none.
    Asked,
    Denied,
}

/// A fact about the session.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// The session is open and idle.
    Ready {
        agent: AgentInfo,
        /// The agent's own id of the conversation.
        conversation: String,
        guard: GuardMode,
        /// Whether an earlier conversation continues.
        is_resumed: bool,
    },
    TurnStarted,
    /// The running turn has taken a prompt.
    Steered,
    /// A tool has begun.
    ToolBegan,
    /// A tool has ended.
    ToolEnded {
        call: ToolCall,
        permission: Permission,
    },
    /// The agent describes a call otherwise than it did when it asked, and the question is answered.
    ToolChanged(ToolCall),
    /// The turn has ended.
    TurnEnded {
        /// `end_turn`, `cancelled` and others.
        stop_reason: String,
        /// The tokens, where the agent tells them.
        usage: Option<Usage>,
        /// The end of the agent's last message in the turn; empty without one.
        said: String,
    },
    /// The turn ended with an error.
    TurnFailed {
        why: String,
        /// The error of the answer; null without one.
        error: Value,
    },
    /// How full the context is, 0 to 1.
    ContextUsage(f64),
    /// The mode has changed.
    Guard(GuardMode),
}

/// An output of the machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Write a frame to the agent.
    Send(Value),
    /// Add a text to the conversation.
    Print(String),
    /// Report a fact.
    Report(Report),
    /// Have a question judged, and answer with [`Event::Decided`](super::event::Event::Decided).
    Ask { question: u64, request: PermissionRequest },
    /// A question needs no answer any more, for the reason `why`.
    Withdraw { question: u64, why: &'static str },
    /// Reply to a request of another process; the error is the reason for a refusal.
    Reply(u64, Result<(), String>),
    /// The session is open.
    Ready,
    /// End the agent: the session cannot go on.
    Fail(String),
}
