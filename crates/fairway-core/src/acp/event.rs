//! The inputs of a structured session's state machine.

use crate::acp::frame::Frame;
use crate::acp::tool_call::PermissionChoice;

/// A request of another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A text for the agent, now or after the turn.
    Prompt(String),
    /// The end of the turn.
    Cancel,
    /// Pause the session as soon as the agent is idle and no prompt waits, so that its conversation can continue in another
    /// process.
    Pause,
}

/// An input of the machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The agent's process was started.
    Started,
    /// A line of the agent.
    Line(Result<Frame, &'static str>),
    /// A request of another process, by its number.
    Request(u64, Command),
    /// The process of this request is gone.
    RequestGone(u64),
    /// A text to put before the next prompt.
    Context(String),
    /// A prompt that came with the reply to a report: of the end of a turn, or of the session's start.
    Continue(String),
    /// The decision about a question of the agent.
    Decided { question: u64, choice: PermissionChoice },
    /// The agent was seen to run what the guard denies, as the text says.
    Refuted(String),
    /// The agent has closed its output, or has ended.
    AgentGone,
    /// Time has passed.
    Tick,
}
