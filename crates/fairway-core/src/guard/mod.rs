//! The guard decides from rules which tool calls of an agent are allowed. A call that it cannot analyse is unresolved and
//! denied: text that only the shell can expand, text that does not parse, a path that is not known in advance.

mod budget;
mod evaluate;
mod matching;
mod own_program_lookup;
mod own_tools;
mod own_verbs;
mod rules;
mod same_commands;
mod shell;
mod text_size;
mod tool_names;
mod write_targets;

pub use budget::MAX_STEPS;
pub use evaluate::{Evaluation, OWN_VERB_REASON, PathLocation, Paths, RuleTrace, ShellInput, ToolCallFacts, evaluate};
pub use own_program_lookup::finds_own_program;
pub use own_tools::{OWN_TOOLS, aliases as own_tool_aliases, own_tool};
pub use own_verbs::{AUTHORIZE_PUSH, OWN_VERBS, OwnVerb, is_sandbox_verb, own_verb_programs};
pub use rules::{Action, DefaultAction, Effect, PushKind, RoleEntry, Rule, Rules};
pub use shell::git_commands;
pub use tool_names::{is_shell_tool, may_write};
