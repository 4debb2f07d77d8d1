//! `fairway hook …`

use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::values;
use crate::hooks::install::{self, Change, DEFAULT_APPROVAL_WAIT, Target, plugin};
use crate::hooks::{self, HookCall, Provider};
use fairway_actions::Answer;
use fairway_actions::core::inside_session;
use fairway_core::config::Project;
use fairway_core::config::trust::{self, GuardTrust};
use fairway_core::domain::Refusal;
use fairway_core::os::executable;
use fairway_core::render::escape_controls;
use fairway_core::wire::HookChangeView;

/// Answer a provider's hook: JSON on stdin and stdout
///
/// Called by the agent's CLI. A call that must not run is denied with its reason, and so is a call without a decision.
/// EVENT is the provider's own name; 'wait' is the hook that waits beside an idle agent for prompts.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway hook install {provider}")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    /// Provider of the hook
    #[arg(required = true, value_parser = values::hook_providers())]
    provider: Option<Provider>,
    /// Hook event
    #[arg(required = true)]
    event: Option<String>,
    /// The launch brought this hook
    #[arg(long, hide = true)]
    launch: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// The commands about hooks for people.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Verb {
    Install(InstallArgs),
    Uninstall(UninstallArgs),
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match (self.verb, self.provider, self.event) {
            (Some(Verb::Install(args)), ..) => args.run(ctx),
            (Some(Verb::Uninstall(args)), ..) => args.run(ctx),
            (None, Some(provider), Some(event)) => {
                let root = ctx.globals.root.as_deref();
                let call = HookCall { provider, event: &event, root, by_launch: self.launch };
                Ok(hooks::run_hook(&call, || ctx.env.as_ref().clone()))
            }
            // The parser requires both arguments, so a provider never comes here.
            (None, ..) => Ok(2),
        }
    }
}

/// Add Fairway's hooks to a provider's settings file
///
/// The rest of the file stays unchanged, byte for byte. A repeat changes nothing. --dry-run shows the difference.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway hook install {provider} --dry-run")]
pub struct InstallArgs {
    /// Provider of the settings
    #[arg(value_name = "PROVIDER", value_parser = values::hook_providers())]
    provider: Provider,
    #[command(flatten)]
    target: TargetArgs,
}

impl InstallArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        refuse_inside(ctx, self.target.dry_run, "hook install")?;
        let (provider, target) = (self.provider, self.target.target(ctx)?);
        // Outside any project the person's settings can be written all the same.
        let app = ctx.app();
        let approval_wait = app.as_ref().map_or(DEFAULT_APPROVAL_WAIT, |app| app.settings.hooks.approval_wait);
        let dry_run = self.target.dry_run;
        let directory = app.as_ref().map_or(&ctx.env.cwd, |app| &app.project.root);
        if let Some(found) = plugin::enabled(provider, &ctx.env, Some(directory)) {
            return Err(Refusal::PluginHasHooks {
                provider: provider.label(),
                file: found.file.display().to_string(),
                disable: plugin::disable_command(provider, &found),
                plugin: found.id,
            }
            .into());
        }
        let change = install::install(
            provider,
            &target,
            &ctx.env,
            &executable::current_executable()?,
            approval_wait,
            false,
            dry_run,
        )?;
        let (done, undone) = ("installed the hooks of", "would install the hooks of");
        let mut answer = answer(provider, &change, dry_run, if dry_run { undone } else { done })?;
        if let Some(why) = &change.not_loadable {
            answer = answer.note(format!("{} {why}: none of its hooks run", change.path.display()));
        }
        for left in install::manual_steps(provider, &target) {
            answer = answer.note(left);
        }
        if let Ok(app) = &app
            && let GuardTrust::Untrusted(why) = trust::guard_trust(&app.env, &app.project, &app.layers, &app.settings)
        {
            answer = answer.note(format!("{why}; every tool call is denied until it is trusted: fairway trust"));
        }
        show(ctx, &answer, &change, dry_run)
    }
}

/// Remove Fairway's hooks from a provider's settings file
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway hook uninstall {provider}")]
pub struct UninstallArgs {
    /// Provider of the settings
    #[arg(value_name = "PROVIDER", value_parser = values::hook_providers())]
    provider: Provider,
    #[command(flatten)]
    target: TargetArgs,
}

impl UninstallArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        refuse_inside(ctx, self.target.dry_run, "hook uninstall")?;
        let (place, dry_run) = (self.target.target(ctx)?, self.target.dry_run);
        let change = install::uninstall(self.provider, &place, &ctx.env, &executable::current_executable()?, dry_run)?;
        let done = if dry_run { "would remove the hooks of" } else { "removed the hooks of" };
        show(ctx, &answer(self.provider, &change, dry_run, done)?, &change, dry_run)
    }
}

/// The owner of the settings.
#[derive(Debug, clap::Args)]
#[group(multiple = false, id = "whose")]
struct Whose {
    /// Your settings, for every project
    #[arg(long)]
    user: bool,
    /// This project's settings (the default)
    #[arg(long)]
    project: bool,
    /// Your own settings file in this project
    #[arg(long)]
    local: bool,
    /// Settings file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// The owner of the settings, and whether to change them.
#[derive(Debug, clap::Args)]
pub struct TargetArgs {
    #[command(flatten)]
    whose: Whose,
    /// Show the difference and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl TargetArgs {
    /// Returns the settings file that the flags select.
    ///
    /// # Errors
    /// `no_project` when the flags select a project's file and the command runs outside a project.
    pub fn target(&self, ctx: &Context) -> Result<Target> {
        Ok(match &self.whose.file {
            Some(file) => Target::File(file.clone()),
            None if self.whose.user => Target::User,
            None => {
                let root = Project::discover(&ctx.env, ctx.globals.root.as_deref())?.root;
                if self.whose.local { Target::Local(root) } else { Target::Project(root) }
            }
        })
    }
}

/// Refuses to change settings inside a session. `dry_run` is allowed there, because it changes nothing.
///
/// # Errors
/// `inside_session`.
fn refuse_inside(ctx: &Context, dry_run: bool, command: &'static str) -> Result<()> {
    if dry_run {
        return Ok(());
    }
    // A person's settings can be changed outside of any project.
    match ctx.app_without_note(ctx.actor()?) {
        Ok(app) => inside_session::refuse(&app, command),
        Err(_) => inside_session::refuse_without_project(&ctx.env, command),
    }
}

/// Builds the answer of a command that has changed settings, or would change them with `dry_run`.
fn answer(provider: Provider, change: &Change, dry_run: bool, done: &str) -> Result<Answer> {
    let path = change.path.display();
    let line =
        if change.is_changed { format!("{done} {} in {path}", provider.label()) } else { format!("unchanged: {path}") };
    let view = HookChangeView {
        provider: provider.label(),
        file: path.to_string(),
        changed: change.is_changed,
        dry_run,
        diff: change.diff.clone(),
        loaded: change.not_loadable.is_none(),
    };
    Answer::new(&view, path, line)
}

/// Prints what was done. With `dry_run`, prints what would be done as a diff.
fn show(ctx: &Context, answer: &Answer, change: &Change, dry_run: bool) -> Result<Exit> {
    if !dry_run || ctx.out.json || ctx.out.quiet || !change.is_changed {
        return ctx.answer(answer);
    }
    for note in &answer.notes {
        ctx.out.note(&escape_controls(note));
    }
    ctx.out.text(&escape_controls(&change.diff))?;
    Ok(0)
}
