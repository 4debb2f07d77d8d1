//! The Model Context Protocol on stdin and stdout: an agent's own commands as tools, for clients without a shell and for typed
//! arguments. Every call is one command: it opens the project, acts by the same use case as the command line, and keeps
//! nothing. Both eras of the protocol are answered: with `initialize`, and stateless.

mod calls;
mod json_rpc;
mod reply;
mod server;
mod stdio;
mod tools;
mod transport;

pub use calls::{Calls, OwnCommand};
pub use server::serve;
pub use tools::{NAMES as TOOL_NAMES, SERVER as SERVER_NAME};
