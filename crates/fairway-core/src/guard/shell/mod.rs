//! Shell text, split into every simple command that it may run: in lists, pipes, substitutions, functions, wrappers and
//! other shells. What cannot be determined is noted as unresolved.

mod analysis;
mod analyzed_texts;
mod ansi_quote;
pub(super) mod arg;
mod argument_runners;
mod ast_walk;
mod brace_list;
mod char_reader;
mod command_table;
mod conventions;
pub(super) mod git;
pub mod git_commands;
mod inline_code;
mod languages;
mod listing;
mod nested_shell;
mod plain_commands;
mod program_lists;
mod sed;
mod text_checks;
mod variables;
mod word_builder;
mod word_parser;
mod working_dir;
mod wrappers;
pub(super) mod writers;
mod written_files;
pub(super) mod written_words;

use analysis::Stdin;
pub(super) use analysis::{FoundCommand, ShellAnalysis, Write};
pub(super) use inline_code::is_interpreter;
pub(super) use plain_commands::plain_commands;
pub(super) use text_checks::has_unsupported_chars;
pub(super) use working_dir::Place;
pub(super) use wrappers::runs_others;
