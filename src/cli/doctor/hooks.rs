//! `fairway doctor hooks`

use anyhow::Result;

use super::shown;
use crate::{
    cli::{context::Context, exit::Exit, values},
    config::ConfigError,
    hooks::{
        Provider,
        doctor::{self, Place},
        install::APPROVAL_WAIT,
    },
};

/// Send a call that must be denied through every installed hook, and say whether its provider would have blocked it
///
/// Each hook is run as the provider would run it. Hooks that the provider skips, does not load or takes for a yes are found, and so
/// are programs that are not there any more. Exits 0 when every installed hook holds.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this provider's; one without hooks is then a finding
    #[arg(value_name = "PROVIDER", value_parser = values::hook_providers())]
    provider: Option<Provider>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        // The person's own settings can be looked at outside any project.
        let house = match ctx.app() {
            Ok(app) => Some(app),
            Err(error) if matches!(error.downcast_ref(), Some(ConfigError::NoProject { .. })) => None,
            Err(error) => return Err(error),
        };
        let place = Place {
            env: &ctx.env,
            root: house.as_ref().map(|app| app.project.root.as_path()),
            approval_wait: house.as_ref().map_or(APPROVAL_WAIT, |app| app.settings.boundary.approval_wait),
        };
        shown(ctx, &doctor::doctor(&place, self.provider)?)
    }
}
