//! A structured session: its supervisor speaks the Agent Client Protocol with the agent on the agent's stdio.

mod agent_link;
mod agent_session;
mod canary;
mod control;
mod frame_log;
mod sink;

pub use agent_session::run_agent;
pub use canary::{Canary, CanaryReport};
pub use control::send_request;
pub use sink::{Judgement, NoProject, SinkReply, StructuredSink};
