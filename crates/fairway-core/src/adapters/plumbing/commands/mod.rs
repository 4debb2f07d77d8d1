//! The commands that backend scripts call.

pub mod control_socket;
pub mod fifo_input;
pub mod inspect;
pub mod meta;
pub mod multiplexer_call;
pub mod multiplexer_server;
pub mod paths;
pub mod process_tree;
mod redacted;
pub mod script_terminal;
mod session_dir;
pub mod start;
mod stdin;
pub mod structured;
mod typed_text;

pub use redacted::redacted;
pub use session_dir::session_dir;
pub use session_dir::state_dir;
pub use stdin::read_limited;
use typed_text::{input_turn, questions};
