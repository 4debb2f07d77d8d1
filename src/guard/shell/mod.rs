//! Shell text, split into every simple command that it may run: in lists, pipes, substitutions, functions, wrappers and
//! other shells. What cannot be determined is noted as unresolved.

mod analysis;
pub(super) mod arg;
mod ast_walk;
mod command_table;
pub(super) mod git;
mod inline_code;
mod languages;
mod nested_shell;
mod plain_commands;
mod sed;
mod text_checks;
mod word_parser;
mod wrappers;

use analysis::Stdin;
pub(super) use analysis::{FoundCommand, ShellAnalysis};
pub(super) use plain_commands::plain_commands;
pub(super) use text_checks::has_unsupported_chars;
