//! `fairway doctor`

use anyhow::Result;

use super::{context::Context, exit::Exit};
use crate::actions::{
    core::inside_session,
    upkeep::{backup, doctor},
};

pub(super) mod agents;
mod findings;
pub(super) mod hooks;

/// Check the store and state directory for problems
///
/// Exits 0 without findings and 1 with findings. --fix repairs what follows from other data: counts of open
/// dependencies, the history of claims, file modes, abandoned drafts.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Repair findings where possible
    #[arg(long)]
    fix: bool,
    /// Go on with a store whose last records are gone
    ///
    /// Ids of tasks are not given out again, and every earlier epoch becomes invalid.
    #[arg(long, conflicts_with = "fix")]
    accept: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// Other checks.
#[derive(Debug, clap::Subcommand)]
enum Verb {
    Agents(agents::Args),
    Hooks(hooks::Args),
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self.verb {
            Some(Verb::Agents(args)) => args.run(ctx),
            Some(Verb::Hooks(args)) => args.run(ctx),
            None => {
                let app = ctx.app()?;
                if self.accept {
                    // The store is damaged, and answers no question about sessions.
                    inside_session::refuse_without_project(&ctx.env, "doctor --accept")?;
                }
                let accepted = if self.accept { backup::accept_loss(&app)? } else { Vec::new() };
                let found = doctor::doctor(&app, self.fix)?;
                findings::print(ctx, &[accepted, found].concat())
            }
        }
    }
}
