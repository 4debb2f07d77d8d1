//! A hook event, its caller and the reply.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::agents::guard::ToolCall;
use crate::sessions::prompt::DeliveryBatch;
use fairway_core::domain::id::Label;
use fairway_core::domain::session::{HOOK_SOURCE, PROTOCOL_SOURCE, Session};
use fairway_core::domain::usage::{ToolUse, Turn};
use fairway_core::os::process::ProcessKey;

#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct HookCaller {
    pub provider: Label,
    /// The other supported providers. A session of one of them is not the caller's.
    pub other_providers: Vec<&'static str>,
    /// The provider's id of the session.
    pub external_session_id: String,
    pub transcript: Option<String>,
    pub cwd: Option<PathBuf>,
    /// The agent's process, if it is identified with certainty.
    pub agent_process: Option<ProcessKey>,
    /// Whether the agent's process is identified, and no agent of the same provider in its session run has started it.
    pub is_first_agent: bool,
    pub is_subagent: bool,
    /// Whether a wake hook waits for prompts while the session is idle.
    pub has_wake_hook: bool,
    /// Maximum size of a reply in bytes.
    pub max_output_bytes: usize,
    /// Whether the caller is the supervisor of a structured session, and not a hook of an agent.
    pub is_supervisor: bool,
}

impl HookCaller {
    /// The source that is stored with an activity which this caller reports.
    pub(super) const fn source(&self) -> &'static str {
        if self.is_supervisor { PROTOCOL_SOURCE } else { HOOK_SOURCE }
    }

    /// Whether the caller is a hook of an agent that has a supervisor: prompts, questions, the context and usage are then left to
    /// the supervisor.
    pub(super) fn is_beside_supervisor(&self, session: &Session) -> bool {
        session.is_structured() && !self.is_supervisor
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartKind {
    Fresh,
    /// Another conversation in the same program: cleared or branched.
    Switched,
    Resumed,
    /// The context was compacted to a summary.
    Compacted,
}

#[derive(Debug, Clone)]
pub struct ToolEnd {
    pub used: ToolUse,
    /// The files that the input names as written, as absolute paths; empty when the input does not say.
    pub files: Vec<PathBuf>,
    /// Whether the agent's shell finds `fairway`; `None` when the event does not say.
    pub finds_program: Option<bool>,
}

#[derive(Debug, Clone)]
pub enum HookEvent {
    SessionStart(StartKind),
    TurnStart,
    BeforeTool(ToolCall),
    AfterTool(ToolEnd),
    PermissionRequest(ToolCall),
    /// The turn has ended, with this last message if the provider reports it.
    TurnEnd(Option<String>),
    /// The turn has ended because it was cancelled.
    TurnCancelled,
    Interrupted,
    /// The turn failed, with the reason.
    TurnFailed {
        why: String,
        /// The error as the protocol has it.
        error: Option<Value>,
    },
    /// The provider notified a person, with this text, that the session waits for them.
    Waiting(String),
    /// The provider asks a person, with this text, to allow a tool, and takes no answer from Fairway.
    WaitingForTool(ToolCall, String),
    /// The provider notified a person that the session is idle.
    Idle,
    /// A subagent, whose transcript has this path, has ended.
    SubagentEnd(Option<PathBuf>),
    /// The session has ended, or its program continues with another conversation.
    SessionEnd {
        reason: String,
        continues: bool,
    },
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// No output; the provider decides.
    Nothing,
    Context(String),
    /// The tool is denied, with the reason.
    Deny(String),
    /// The tool is allowed without asking a person, with the reason.
    Allow(String),
    /// The turn continues with this prompt.
    Continue(String),
}

/// A reply, and the prompts in it, which are confirmed after the reply is written.
#[derive(Debug)]
pub struct HookOutcome {
    pub reply: Reply,
    pub(super) delivered: Option<(Session, DeliveryBatch)>,
}

impl HookOutcome {
    pub(super) const fn of(reply: Reply) -> Self {
        Self { reply, delivered: None }
    }

    pub fn batch(&self) -> Option<&DeliveryBatch> {
        self.delivered.as_ref().map(|(_, batch)| batch)
    }

    pub(super) fn delivering(session: Session, batch: DeliveryBatch, reply: impl FnOnce(String) -> Reply) -> Self {
        Self { reply: reply(batch.text.clone()), delivered: Some((session, batch)) }
    }
}

#[derive(Debug, Clone, Default)]
pub struct TranscriptUsage {
    pub turns: Vec<Turn>,
    /// The offset up to which the transcript was read, in bytes.
    pub offset: u64,
    /// Context usage from 0 to 1, if the transcript has it.
    pub context: Option<f64>,
    /// Whether the agent's shell finds `fairway`; `None` when the transcript does not say.
    pub finds_program: Option<bool>,
}

/// Reads a transcript from an offset on.
pub type TranscriptReader<'a> = &'a dyn Fn(&Path, u64) -> io::Result<TranscriptUsage>;
