//! What happens to a structured session.

use crate::acp::{frame::Frame, tool_call::PermissionChoice};

/// A request of another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A text for the agent, now or after the turn.
    Prompt(String),
    /// The end of the turn.
    Cancel,
    /// A pause from the moment in which the agent is idle and nothing waits for it, so that its conversation can go on elsewhere.
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
    /// A text that goes before the next prompt.
    Context(String),
    /// A prompt that the report of a turn's end, or of the session's start, has brought.
    Continue(String),
    /// The decision about a question of the agent.
    Decided { question: u64, choice: PermissionChoice },
    /// The agent has closed its output, or has ended.
    AgentGone,
    /// Time has passed.
    Tick,
}
