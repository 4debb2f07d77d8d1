//! The Agent Client Protocol (version 1), as its client speaks it: JSON-RPC frames, and a pure state machine of one session.
//! No IO: the loop that feeds it is `adapters::plumbing::structured`.

pub mod conversation_text;
pub mod effect;
pub mod event;
pub mod frame;
pub mod frame_reader;
pub mod outgoing;
pub mod session_setup;
pub mod state_machine;
pub mod tool_call;
pub mod turn_usage;

pub use effect::{Effect, Permission, Report};
pub use event::{Command, Event};
pub use frame::{Frame, RpcError};
pub use frame_reader::{FrameReader, Line};
pub use session_setup::{AgentInfo, GuardMode, Proof};
pub use state_machine::{CANCELLED, StateMachine, StateMachineConfig};
pub use tool_call::{PermissionChoice, PermissionOption, PermissionRequest, ToolCall};
