//! The guard decides from rules which tool calls of an agent are allowed. A call that it cannot analyse is unresolved and
//! denied: text that only the shell can expand, text that does not parse, a path that is not known in advance.

mod evaluate;
mod matching;
mod rules;
mod same_commands;
mod shell;
mod text_size;
mod tool_names;
mod write_targets;

pub use evaluate::{Evaluation, PathLocation, Paths, RuleTrace, ShellInput, ToolCallFacts, evaluate};
pub use rules::{Action, DefaultAction, Effect, RoleEntry, Rule, Rules};
pub use text_size::needs_large_stack;
