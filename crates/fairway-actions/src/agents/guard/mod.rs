//! Decides whether a tool call may be made. Errors never allow a call: input that cannot be read, trusted, parsed, judged in
//! time or recorded is denied with the reason.

mod authorize;
mod call;
mod decide;
mod own_program;
mod path_resolver;
mod push;
mod tool_call_parser;

pub use self::authorize::{authorize, authorize_if_configured, authorize_permission, authorize_run, log, record};
pub use self::call::{EntryPoint, GuardDecision, ToolCall};
pub use self::decide::{LoadedRules, decide, decide_with_rules, evaluate};
pub use self::own_program::is_own_verb;
pub use self::push::{authorize_push, refuse_denied_push};
pub use self::tool_call_parser::written_files;
