//! A session's directory in the state directory: the files of its start, the state of its processes, and its end.

mod cleanup;
mod create;
mod dir;
mod forget_start;
mod state;

pub(super) use cleanup::env_tag;
pub use create::StartFiles;
pub use dir::{INPUT_FIFO, SessionDir, TRANSCRIPT_FILE};
pub(super) use dir::{VALUES_DIR, escape_name};
pub use state::StartState;
