//! `fairway sandbox …`

mod apart;
mod check;
mod explain;
mod forward;
mod inside;
mod options;
mod probe;
mod run;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};

pub use inside::call_outside;

/// Run a program in a sandbox, prove what it keeps in
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {
    Run(run::Args),
    Check(check::Args),
    Explain(explain::Args),
    #[command(hide = true)]
    Apart(apart::Args),
    #[command(hide = true)]
    Forward(forward::Args),
    #[command(hide = true)]
    Probe(probe::Args),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Run(args) => args.run(ctx),
            Self::Check(args) => args.run(ctx),
            Self::Explain(args) => args.run(ctx),
            Self::Apart(args) => args.run(ctx),
            Self::Forward(args) => args.run(ctx),
            Self::Probe(args) => args.run(ctx),
        }
    }
}
