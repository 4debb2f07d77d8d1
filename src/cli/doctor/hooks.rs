//! `fairway doctor hooks`

use std::path::PathBuf;

use anyhow::Result;

use super::findings::print;
use crate::{
    actions::{App, queue::lane},
    cli::{context::Context, exit::Exit, values},
    config::{self, ConfigError},
    domain::lane::LaneStatus,
    hooks::{
        Provider,
        doctor::{self, DoctorContext, LaneWorktree},
        install::DEFAULT_APPROVAL_WAIT,
    },
    wire::LaneView,
};

/// Test that installed hooks block a denied call
///
/// Runs each hook as its provider would, with a call that must be denied. Reports hooks that the provider skips, does
/// not load or misreads, missing programs, and lanes in whose worktree the hooks are off. Exits 0 when every installed
/// hook blocks, in every lane.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this provider; it must have hooks
    #[arg(value_name = "PROVIDER", value_parser = values::hook_providers())]
    provider: Option<Provider>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        // The person's own settings can be looked at outside any project.
        let app = match ctx.app() {
            Ok(app) => Some(app),
            Err(error) if matches!(error.downcast_ref(), Some(ConfigError::NoProject { missing: None, .. })) => None,
            Err(error) => return Err(error),
        };
        let place = doctor_context(ctx, app.as_ref())?;
        print(ctx, &doctor::doctor(&place, self.provider)?)
    }
}

/// The facts of the project for the check of hooks; outside a project it checks the user's own settings.
pub fn doctor_context<'a>(ctx: &'a Context, app: Option<&'a App>) -> Result<DoctorContext<'a>> {
    let proven = |provider: &Provider| {
        let of_app = app.map(|app| app.settings.provider(provider.label()).profile);
        let profile = of_app.or_else(|| config::built_in_profiles().remove(provider.label()))?;
        Some((provider.label(), profile.proven_with?))
    };
    let lanes = app.map_or_else(|| Ok(Vec::new()), |app| lane::list::list(app, false))?;
    let is_open = |lane: &LaneView| lane.status != LaneStatus::Closed.as_str() && lane.other_host.is_none();
    let open = lanes.into_iter().filter(is_open);
    let lanes = open
        .filter_map(|lane| Some(LaneWorktree { lane: lane.name.clone(), directory: PathBuf::from(lane.worktree?) }));
    Ok(DoctorContext {
        env: &ctx.env,
        root: app.map(|app| app.project.root.as_path()),
        approval_wait: app.map_or(DEFAULT_APPROVAL_WAIT, |app| app.settings.hooks.approval_wait),
        proven_versions: Provider::ALL.iter().filter_map(proven).collect(),
        lanes: lanes.collect(),
    })
}
