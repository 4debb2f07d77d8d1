//! `fairway hook …`

mod install;
mod target;
mod uninstall;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit, values};
use crate::hooks::{self, HookCall, Provider};

/// Answer a provider's hook: JSON on stdin and stdout
///
/// Called by the agent's CLI. A call that must not run is denied with its reason, and so is a call without a decision.
/// EVENT is the provider's own name; 'wait' is the hook that waits beside an idle agent for prompts.
#[derive(Debug, clap::Args)]
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
    Install(install::Args),
    Uninstall(uninstall::Args),
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
