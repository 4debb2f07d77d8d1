//! `fairway hook install`

use anyhow::Result;

use super::target::TargetArgs;
use crate::{
    cli::{context::Context, exit::Exit, values},
    config::trust::{self, GuardTrust},
    domain::Refusal,
    hooks::{
        Provider,
        install::{self, DEFAULT_APPROVAL_WAIT, plugin},
    },
    os::executable,
};

/// Add Fairway's hooks to a provider's settings file
///
/// The rest of the file stays unchanged, byte for byte. A repeat changes nothing. --dry-run shows the difference.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Provider of the settings
    #[arg(value_name = "PROVIDER", value_parser = values::hook_providers())]
    provider: Provider,
    #[command(flatten)]
    target: TargetArgs,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        super::target::refuse_inside(ctx, self.target.dry_run, "hook install")?;
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
        let change =
            install::install(provider, &target, &ctx.env, &executable::current_executable()?, approval_wait, dry_run)?;
        let (done, undone) = ("installed the hooks of", "would install the hooks of");
        let mut answer = super::target::answer(provider, &change, dry_run, if dry_run { undone } else { done })?;
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
        super::target::show(ctx, &answer, &change, dry_run)
    }
}
