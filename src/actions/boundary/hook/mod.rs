//! What follows when a provider's program tells of a moment of its own, whichever provider it is: the session is found,
//! its state written, and what there is to answer gathered. The door puts the answer into the provider's words.

mod permission;
mod provider_notification;
mod resolve_session;
mod session_start;
mod tool;
mod turn;
mod wake;

use std::{io, path::Path, path::PathBuf, time::Duration};

use anyhow::Result;

pub use crate::actions::sessions::prompt::confirm_delivered;
pub use tool::denial_message;
pub use wake::wait_for_prompts;

use super::guard::ToolCall;
use crate::actions::{App, sessions::prompt::DeliveryBatch};
use crate::{
    domain::{
        id::Label,
        session::Session,
        usage::{ToolUse, Turn},
    },
    os::process::ProcessKey,
};

/// Where activities come from that a hook reports.
const SOURCE: &str = "hook";

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

/// What to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// No opinion.
    Nothing,
    /// Something to know.
    Context(String),
    /// The tool may not run, and why.
    Deny(String),
    /// The tool may run, and why; nobody need be asked.
    Allow(String),
    /// Go on with this.
    Continue(String),
}

/// An answer, and what is to be noted once it was written out whole.
#[derive(Debug)]
pub struct HookOutcome {
    /// The answer.
    pub reply: Reply,
    delivered: Option<(Session, DeliveryBatch)>,
}

impl HookOutcome {
    const fn of(reply: Reply) -> Self {
        Self { reply, delivered: None }
    }

    fn delivering(session: Session, carried: DeliveryBatch, reply: impl FnOnce(String) -> Reply) -> Self {
        Self { reply: reply(carried.text.clone()), delivered: Some((session, carried)) }
    }
}

/// What was read of a provider's own record.
#[derive(Debug, Clone, Default)]
pub struct TranscriptUsage {
    /// The answers of the model.
    pub turns: Vec<Turn>,
    /// How far it was read, in bytes.
    pub offset: u64,
    /// How full the context is, 0 to 1, where the record says so.
    pub context: Option<f64>,
}

/// Reads a provider's own record from an offset on.
pub type TranscriptReader<'a> = &'a dyn Fn(&Path, u64) -> io::Result<TranscriptUsage>;

/// Takes in a moment. `wait` is how long an answer to a permission request is waited for.
///
/// # Errors
/// As the store fails; `not_found`, `session_mismatch` and the like when the session cannot be told. A door must take any
/// of them for a no when a tool is about to run.
pub fn handle(
    app: &App,
    caller: &HookCaller,
    moment: &HookEvent,
    records: TranscriptReader<'_>,
    wait: Duration,
) -> Result<HookOutcome> {
    match moment {
        HookEvent::SessionStart(start) => session_start::handle(app, caller, *start),
        HookEvent::TurnStart => turn::start(app, caller),
        HookEvent::BeforeTool(call) => tool::before(app, caller, call).map(HookOutcome::of),
        HookEvent::AfterTool(used) => tool::after(app, caller, used),
        HookEvent::PermissionRequest(call) => permission::answer_request(app, caller, call, wait).map(HookOutcome::of),
        HookEvent::TurnEnd => turn::end(app, caller, records),
        HookEvent::TurnFailed(why) => provider_notification::failed(app, caller, why),
        HookEvent::Waiting(what) => provider_notification::waiting(app, caller, what),
        HookEvent::WaitingForTool(call, what) => provider_notification::waiting_for_tool(app, caller, call, what),
        HookEvent::Idle => provider_notification::idle(app, caller),
        HookEvent::SubagentEnd(record) => turn::subagent_end(app, caller, record.as_deref(), records),
        HookEvent::SessionEnd { reason, continues: goes_on } => {
            turn::session_end(app, caller, reason, *goes_on, records)
        }
        HookEvent::Other => resolve_session::touch(app, caller, |_, _| Ok(())).map(|_| HookOutcome::of(Reply::Nothing)),
    }
}

/// Notes that an answer was written out whole.
///
/// # Errors
/// As the store fails: what was carried then comes again.
pub fn confirm_written(app: &App, outcome: &HookOutcome) -> Result<()> {
    match &outcome.delivered {
        Some((session, carried)) => confirm_delivered(app, session, carried),
        None => Ok(()),
    }
}
