//! A companion process for an agent that has neither hooks nor an API. It types the session's queued messages into the
//! terminal while the agent is idle, reads the provider's transcript for activity and usage, and ends with the session.
//! It sleeps until the store or the transcript changes, the agent's process exits, or a newer sidecar supersedes it.

mod agent_process;
mod main_loop;
mod options;
mod transcript;

pub use main_loop::run;
pub use options::{ReadTranscript, SidecarOptions};
