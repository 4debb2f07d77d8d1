//! `fairway hook uninstall`

use anyhow::Result;

use super::target::{self, TargetArgs};
use crate::{
    cli::{context::Context, exit::Exit, values},
    hooks::{Provider, install},
    os::executable,
};

/// Remove Fairway's hooks from a provider's settings file
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
        target::refuse_inside(ctx, self.target.dry_run, "hook uninstall")?;
        let (place, dry_run) = (self.target.target(ctx)?, self.target.dry_run);
        let change = install::uninstall(self.provider, &place, &ctx.env, &executable::current_executable()?, dry_run)?;
        let done = if dry_run { "would remove the hooks of" } else { "removed the hooks of" };
        target::show(ctx, &target::answer(self.provider, &change, dry_run, done)?, &change, dry_run)
    }
}
