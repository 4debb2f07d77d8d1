//! The effects of a provider's profile on one launch: the program with its arguments, the hooks that are added, and the
//! delivery of the first prompt.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::profile_args::{self, FIRST_SENTENCE};
use super::program;
use super::provider_hooks::{HookPlace, HookQuestion, HookSettings};
use super::request::LaunchRequest;
use crate::App;
use crate::core::errors;
use fairway_core::adapters::clean_env;
use fairway_core::config::{ProgramSettings, ProviderSettings};
use fairway_core::domain::Refusal;
use fairway_core::domain::id::Label;
use fairway_core::domain::rules::initial_prompt::Program;
use fairway_core::env::vars;
use fairway_core::os::digest::sha256_hex;
use fairway_core::os::{executable, packages};

/// How many digits of a settings file's digest its name has.
const DIGEST_DIGITS: usize = 16;

/// The hooks of a launch.
#[derive(Debug, Clone, Default)]
pub struct LaunchHooks {
    /// The settings file for the program, with its text.
    pub file: Option<(PathBuf, String)>,
    /// The question to the program whether it runs the hooks; `None` when it cannot be asked.
    pub question: Option<HookQuestion>,
    /// Whether it is already decided if the program runs hooks; the launch's notes then say so.
    pub are_judged: bool,
}

/// A program as its profile starts it.
#[derive(Debug)]
pub(crate) struct ProfiledProgram {
    pub program: Program,
    pub hooks: LaunchHooks,
    /// Whether the first prompt is queued as the session's first message.
    pub prompt_by_hook: bool,
}

/// The parts of a launch that its provider's profile needs.
pub(crate) struct ProfileInput<'a> {
    pub app: &'a App,
    pub request: &'a LaunchRequest,
    pub provider: &'a Label,
    /// The provider's settings, with the built-in profile.
    pub entry: &'a ProviderSettings,
    /// The program's settings, of role and provider.
    pub settings: &'a ProgramSettings,
    /// The environment that the configuration and the request set.
    pub env: &'a BTreeMap<String, String>,
    pub worktree: &'a Path,
    /// Whether the backend starts the program on this machine.
    pub is_local: bool,
    /// Whether it starts in a sandbox made by Fairway.
    pub is_sandboxed: bool,
}

/// The source of the hooks in a launch.
enum Hooks {
    /// Neither added by the launch nor installed.
    Off,
    /// Installed in the provider's own settings.
    Installed,
    /// Added by these arguments, with an optional settings file.
    Brought(Vec<String>, Option<(PathBuf, String)>),
}

/// Adds the arguments, hooks and prompt delivery of the provider's profile to the program. Another program than the provider's,
/// shell text that is more than plain arguments, and the program of a launch without profile stay as they are. Writes nothing and
/// starts nothing.
///
/// # Errors
/// `usage` when a conversation is to be resumed and cannot be.
pub(crate) fn apply(input: &ProfileInput<'_>, chosen: Program, notes: &mut Vec<String>) -> Result<ProfiledProgram> {
    let (request, profile) = (input.request, &input.entry.profile);
    let plain = |program| ProfiledProgram { program, hooks: LaunchHooks::default(), prompt_by_hook: false };
    let words = if is_providers_program(input, &chosen) { profile_args::words_of(&chosen) } else { None };
    let (Some(words), false) = (words, request.no_profile) else {
        if request.resume.is_some() {
            let why = "the conversation cannot be resumed: the command takes no arguments from a profile".to_owned();
            return Err(Refusal::Usage { why }.into());
        }
        return Ok(plain(chosen));
    };
    let environment = environment(input);
    let path = environment.get(&OsString::from(vars::PATH)).map(OsString::as_os_str);
    let found = words.first().and_then(|name| executable::find(name, path, input.worktree));
    notes.extend(found.as_deref().and_then(|found| unproven(input, found)));
    let hooks = hooks(input, &words, &environment, notes)?;
    let (hook_args, file) = match &hooks {
        Hooks::Brought(args, file) => (args.clone(), file.clone()),
        Hooks::Off | Hooks::Installed => (Vec::new(), None),
    };
    let runs_hooks = !matches!(hooks, Hooks::Off);
    let mut behind_name = hook_args.clone();
    let own_args = words.get(1..).unwrap_or_default().to_vec();
    behind_name.extend(own_sandbox_args(input, &words, &environment, notes)?);
    if let Some(conversation) = &request.resume {
        behind_name.extend(profile_args::resume(profile, input.provider, conversation)?);
    }
    // A way that the user has configured goes on as it is.
    let prompt_args =
        profile.facts.prompt_args.as_ref().filter(|_| request.prompt.is_some() && input.settings.prompt.is_none());
    // On this machine an agent without hooks reads it by `fairway prime`: typed, it would be lost in a question that comes first.
    let sentence = prompt_args
        .filter(|_| runs_hooks || input.is_local)
        .map(|args| profile_args::fill(args, "{prompt}", FIRST_SENTENCE));
    let prompt_by_hook = sentence.is_some();
    let program = if behind_name.is_empty() && sentence.is_none() {
        chosen
    } else {
        profile_args::with_args(words, behind_name, sentence.unwrap_or_default())
    };
    let question = found.filter(|_| runs_hooks && input.is_local).map(|program| HookQuestion {
        provider: input.provider.to_string(),
        program,
        args: hook_args,
        own_args,
        env: environment,
        worktree: input.worktree.to_owned(),
    });
    Ok(ProfiledProgram { program, hooks: LaunchHooks { file, question, are_judged: true }, prompt_by_hook })
}

/// Whether the program is the provider's: it has the provider's name, or it is the command that the provider's section
/// configures.
fn is_providers_program(input: &ProfileInput<'_>, chosen: &Program) -> bool {
    let name = match &chosen.argv {
        Some(argv) => program::name_of(&program::CommandSpec::Argv(argv.clone())),
        None => program::name_of(&program::CommandSpec::Shell(chosen.shell_text.clone())),
    };
    let configured = input.entry.program.command.as_deref();
    let is_configured = input.request.command.is_none() && configured == Some(chosen.shell_text.as_str());
    is_configured || name.as_deref() == Some(input.provider.as_str())
}

/// The complete environment of the program, without the session's own variables.
fn environment(input: &ProfileInput<'_>) -> BTreeMap<OsString, OsString> {
    let mut all = clean_env(&input.app.env);
    for (name, value) in input.env {
        if value.is_empty() {
            all.remove(&OsString::from(name));
        } else {
            all.insert(name.into(), value.into());
        }
    }
    all
}

/// A note when the program's version is not the one with which the profile was tested.
fn unproven(input: &ProfileInput<'_>, program: &Path) -> Option<String> {
    let proven = input.entry.profile.facts.proven_with.as_deref()?;
    let version = packages::recorded_version(program).filter(|version| version != proven)?;
    let provider = input.provider;
    Some(format!("{provider} {version} is unproven: its profile was tried with {proven}"))
}

fn hooks(
    input: &ProfileInput<'_>,
    words: &[String],
    environment: &BTreeMap<OsString, OsString>,
    notes: &mut Vec<String>,
) -> Result<Hooks> {
    let (app, provider, known) = (input.app, input.provider, input.request.hooks);
    let fairway = executable::current_executable().map_err(errors::internal)?;
    let wait = app.settings.hooks.approval_wait;
    let Some(settings) = known.settings(provider.as_str(), &fairway, &app.project.root, wait) else {
        return Ok(Hooks::Off);
    };
    let is_installed = known.are_installed(place(input, environment), &fairway);
    let off = |why: &str| {
        format!(
            "{why}: in this session {provider} has no guard, and reports no activity; to install them: fairway hook install \
             {provider} --user"
        )
    };
    let mut without = |why: String| {
        let hooks = if is_installed { Hooks::Installed } else { Hooks::Off };
        notes.extend((!is_installed).then(|| off(&why)));
        Ok(hooks)
    };
    let Some(args) = &input.entry.profile.facts.hook_args else {
        return without(format!("the hooks of {provider} are not installed, and a launch cannot bring them"));
    };
    if is_installed && !known.run_beside_installed(&settings) {
        return Ok(Hooks::Installed);
    }
    if !input.is_local {
        return without("the backend is a script of its own, so the launch brings no hooks".to_owned());
    }
    let (args, file) = match settings {
        HookSettings::Values(values) => (profile_args::fill_each(args, "{hooks}", &values), None),
        HookSettings::File(text) => {
            let digest = sha256_hex(text.as_bytes());
            let digest = digest.get(..DIGEST_DIGITS).unwrap_or(&digest);
            let path = app.project.launch_hooks_dir().join(format!("{provider}-{digest}.json"));
            let Some(shown) = path.to_str() else {
                return without("the project's path is not valid UTF-8, so the launch brings no hooks".to_owned());
            };
            (profile_args::fill(args, "{hooks}", shown), Some((path.clone(), text)))
        }
    };
    match profile_args::conflict(words, &args) {
        Some(word) => without(format!("the command has its own {word}, so the launch brings no hooks")),
        None => Ok(Hooks::Brought(args, file)),
    }
}

fn place<'a>(input: &'a ProfileInput<'_>, environment: &'a BTreeMap<OsString, OsString>) -> HookPlace<'a> {
    HookPlace {
        provider: input.provider.as_str(),
        env: environment,
        home: input.app.env.home.as_deref(),
        worktree: input.worktree,
    }
}

/// The arguments for the provider's own sandbox. Inside a sandbox of Fairway's, where it cannot start, they turn it off.
/// Otherwise they let it write the store and git's directories.
fn own_sandbox_args(
    input: &ProfileInput<'_>,
    words: &[String],
    environment: &BTreeMap<OsString, OsString>,
    notes: &mut Vec<String>,
) -> Result<Vec<String>> {
    if !input.is_sandboxed {
        return writable_args(input, words, environment, notes);
    }
    let Some(args) = input.entry.profile.facts.unsandboxed_args.clone() else { return Ok(Vec::new()) };
    if !args.is_empty() {
        notes.push(format!(
            "the own sandbox of {} is off: it cannot start in the sandbox of the session",
            input.provider
        ));
    }
    Ok(args)
}

/// The arguments that let the provider's own sandbox write the store and git's directories.
fn writable_args(
    input: &ProfileInput<'_>,
    words: &[String],
    environment: &BTreeMap<OsString, OsString>,
    notes: &mut Vec<String>,
) -> Result<Vec<String>> {
    let Some(args) = input.entry.profile.facts.writable_args.as_ref().filter(|_| input.is_local) else {
        return Ok(Vec::new());
    };
    let mut dirs = input.app.project.writable_dirs(input.worktree);
    let all_at_once = args.iter().any(|arg| arg.contains("{dirs}"));
    if all_at_once {
        // The argument replaces the user's own list.
        dirs.splice(0..0, input.request.hooks.own_writable_dirs(place(input, environment)));
    }
    let texts: Vec<&str> = dirs.iter().filter_map(|dir| dir.to_str()).collect();
    if texts.len() < dirs.len() {
        notes.push("a directory is not valid UTF-8: the provider's sandbox may refuse to write it".to_owned());
    }
    let list = serde_json::to_string(&texts).map_err(errors::internal)?;
    let all = profile_args::fill(args, "{dirs}", &list);
    let texts: Vec<String> = texts.into_iter().map(str::to_owned).collect();
    let args = if all == *args { profile_args::fill_each(args, "{dir}", &texts) } else { all };
    // An option that can be repeated is no conflict.
    let conflict = profile_args::conflict(words, &args).filter(|_| list_is_replaced(&args));
    Ok(match conflict {
        Some(word) => {
            notes.push(format!(
                "the command has its own {word}: the sandbox of {} may refuse to write the store",
                input.provider
            ));
            Vec::new()
        }
        None => {
            let protected = input.app.project.protected_git_files(input.worktree);
            let more = (!protected.is_empty() && all_at_once)
                .then(|| input.request.hooks.sandbox_args(place(input, environment), words, &dirs, &protected));
            args.into_iter().chain(more.flatten().unwrap_or_default()).collect()
        }
    })
}

/// Whether the arguments set a key to a list, which a second setting of the key would replace.
fn list_is_replaced(args: &[String]) -> bool {
    args.iter().any(|arg| arg.contains('='))
}
