//! Decides whether a tool call may be made. Errors never allow a call: input that cannot be read, trusted, parsed, judged in
//! time or recorded is denied with the reason.

mod authorize;
mod call;
mod decide;
pub mod log;
mod path_resolver;
mod push;
mod rules;
mod short_timeout;
mod tool_call_parser;

pub use self::{
    authorize::{authorize, authorize_if_configured, authorize_permission, authorize_run, record},
    call::{EntryPoint, GuardDecision, ToolCall},
    decide::{decide, decide_with_rules, evaluate},
    push::authorize_forced_push,
    rules::LoadedRules,
};
