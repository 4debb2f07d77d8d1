//! `fairway store restored`

use anyhow::Result;

use super::confirm;
use crate::{
    actions::{core::inside_session, upkeep::store},
    cli::{context::Context, exit::Exit},
};

/// Go on after other tools put the store back
///
/// Call it after a dump was loaded, or after a failover to a replica that lagged. Every epoch that was given out before becomes
/// invalid, and event numbers continue after a gap, so that none is reused. `fairway restore` does this by itself. At a
/// terminal, a person is asked. Refused inside a session.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        inside_session::refuse(&app, "store restored")?;
        confirm::require(ctx, self.yes, "Make every claim's epoch invalid?")?;
        ctx.answer(&store::restored(&app)?)
    }
}
