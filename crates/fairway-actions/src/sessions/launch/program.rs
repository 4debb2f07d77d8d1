//! The program of a launch: its choice, the check that it exists, and the delivery of its first prompt.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use crate::App;
use fairway_core::config::{self, ProgramSettings};
use fairway_core::domain::id::Label;
use fairway_core::domain::rules::command_line::{LeadingWord, leading_word};
use fairway_core::domain::rules::initial_prompt::{self, Program, PromptDelivery};
use fairway_core::domain::{Refusal, text_limits};
use fairway_core::env::vars;
use fairway_core::os::executable;

/// The provider of a launch that names none: the user's shell.
pub use fairway_core::domain::session::SHELL_PROVIDER as SHELL;

/// The requested program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandSpec {
    /// Shell text.
    Shell(String),
    /// A program and its arguments; no shell reads them.
    Argv(Vec<String>),
}

/// A program and the delivery of its first prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedProgram {
    pub program: Program,
    /// The value of the prompt variable.
    pub prompt_var: Option<String>,
    /// Whether the program reads the prompt from the variable even when it is started by its argv.
    pub reads_prompt_var: bool,
    /// The text to type once the program is ready.
    pub typed_prompt: Option<String>,
}

/// The name of a requested program, without its directory. `None` for shell text whose program cannot be determined.
pub(crate) fn name_of(requested: &CommandSpec) -> Option<String> {
    let program = match requested {
        CommandSpec::Argv(argv) => argv.first()?.clone(),
        CommandSpec::Shell(text) => match leading_word(text) {
            LeadingWord::Program(name) => name,
            LeadingWord::Unresolved => return None,
        },
    };
    Path::new(&program).file_name()?.to_str().map(str::to_owned)
}

/// The program to launch: the requested one, else the configured one, else the user's shell for the provider `shell`, else the
/// program that has the provider's name.
pub(crate) fn choose(
    app: &App,
    requested: Option<&CommandSpec>,
    configured: Option<&str>,
    provider: &Label,
) -> Program {
    let exact = |argv: Vec<String>| Program { shell_text: shell_words::join(&argv), argv: Some(argv) };
    match (requested, configured) {
        (Some(CommandSpec::Argv(argv)), _) => exact(argv.clone()),
        (Some(CommandSpec::Shell(text)), _) => Program { shell_text: text.clone(), argv: None },
        (None, Some(text)) => Program { shell_text: text.to_owned(), argv: None },
        (None, None) if provider.as_str() == SHELL => {
            exact(vec![app.env.var(vars::SHELL).unwrap_or("/bin/sh").to_owned()])
        }
        (None, None) => exact(vec![provider.to_string()]),
    }
}

/// Removes the signs by which the provider's program shows that it is ready from the settings, when the launch names a command
/// that does not mention that program: these signs would never appear. The second value is a note for the user if they were
/// removed.
pub(crate) fn drop_inapplicable_readiness(
    settings: ProgramSettings,
    has_own_command: bool,
    chosen: &Program,
    provider: &Label,
) -> (ProgramSettings, Option<String>) {
    let configured = settings.command.clone().and_then(|text| name_of(&CommandSpec::Shell(text)));
    let names = settings.process_names.iter().flatten().chain(&configured).map(String::as_str);
    let is_meant = !has_own_command || names.chain([provider.as_str()]).any(|name| chosen.shell_text.contains(name));
    if is_meant || (settings.process_names.is_none() && settings.ready_prompt_prefix.is_none()) {
        return (settings, None);
    }
    let note = format!(
        "the command does not mention the program of the provider {provider}; will not wait for its signs of readiness \
         (--provider {provider} waits)"
    );
    (ProgramSettings { process_names: None, ready_prompt_prefix: None, ..settings }, Some(note))
}

/// Checks that the program exists. That is not possible for shell text whose program cannot be determined, and for a relative
/// path in a worktree that does not exist yet; a note says so.
///
/// # Errors
/// `not_found`, `invalid_value`.
pub(crate) fn check(
    app: &App,
    chosen: &Program,
    env: &BTreeMap<String, String>,
    worktree: &Path,
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    let Program { shell_text: text, argv } = chosen;
    let name = match (argv, leading_word(text)) {
        (Some(argv), _) => argv.first().cloned().unwrap_or_default(),
        (None, LeadingWord::Program(name)) => name,
        (None, LeadingWord::Unresolved) => {
            if text.trim().is_empty() || text.contains('\0') {
                return Err(Refusal::invalid("command", "must not be empty or contain a NUL byte"));
            }
            notes.push("the command is shell text; whether its program exists was not checked".to_owned());
            return Ok(());
        }
    };
    if argv.iter().flatten().any(|name| name.contains('\0')) {
        return Err(Refusal::invalid("command", "must not contain a NUL byte"));
    }
    let own = env.get(vars::PATH).map(OsString::from);
    let path = own.as_deref().or_else(|| app.env.var_os(vars::PATH).map(OsString::as_os_str));
    if name.contains('/') && !Path::new(&name).is_absolute() && !worktree.is_dir() {
        notes.push(format!("whether {name} exists was not checked: the worktree is not there yet"));
        return Ok(());
    }
    match executable::find(&name, path, worktree) {
        Some(_) => Ok(()),
        None => {
            let known = config::built_in_profiles().into_keys().chain(app.settings.providers.keys().cloned());
            let near: BTreeSet<String> =
                known.filter(|known| *known != name && strsim::damerau_levenshtein(known, &name) <= 2).collect();
            Err(Refusal::NotFound { noun: "program", id: name, near: near.into_iter().collect() })
        }
    }
}

/// Checks a first prompt and returns it.
///
/// # Errors
/// `invalid_value` for one that is blank, too long or contains control characters.
pub(crate) fn validate_prompt(prompt: &str) -> Result<String, Refusal> {
    if prompt.trim().is_empty() {
        return Err(Refusal::invalid("prompt", "must not be empty"));
    }
    text_limits::check_body("prompt", prompt)
}

/// Prepares the program to get the first prompt by `delivery`: as an argument, on its stdin, or typed after
/// the start. Without a prompt the program stays as it is.
///
/// # Errors
/// `invalid_value` when the prompt is too long for that delivery; `usage` when the command has no place for it.
pub(crate) fn with_prompt(
    program: Program,
    delivery: PromptDelivery,
    prompt: Option<String>,
) -> Result<PreparedProgram, Refusal> {
    let Some(text) = prompt else {
        return Ok(PreparedProgram { program, prompt_var: None, reads_prompt_var: false, typed_prompt: None });
    };
    match delivery {
        PromptDelivery::Nudge => {
            Ok(PreparedProgram { program, prompt_var: None, reads_prompt_var: false, typed_prompt: Some(text) })
        }
        PromptDelivery::Argument => {
            let program = initial_prompt::pass_as_argument(&program, &text)?;
            Ok(PreparedProgram { program, prompt_var: Some(text), reads_prompt_var: false, typed_prompt: None })
        }
        PromptDelivery::Stdin => {
            let program = initial_prompt::pass_on_stdin(&program, &text)?;
            Ok(PreparedProgram { program, prompt_var: Some(text), reads_prompt_var: true, typed_prompt: None })
        }
    }
}
