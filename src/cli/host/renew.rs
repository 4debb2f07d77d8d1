//! `fairway host renew`

use anyhow::Result;

use super::confirm;
use crate::{
    actions::{core::inside_session, upkeep::hosts},
    cli::{context::Context, exit::Exit},
};

/// Give this machine an id of its own
///
/// For a machine that was copied with its disk or image: it has the id of the original, and a store on a server takes writes from
/// one of the two only (host_cloned). Run it on the copy: the original can write again afterwards. The new id is random, and is used
/// instead of the machine's (/etc/machine-id) from now on, for every project of this user on this machine. Sessions, jobs and lanes
/// that are recorded under the old id belong to the other machine then. At a terminal, a person is asked. Refused inside a session.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        inside_session::refuse(&app, "host renew")?;
        confirm::require(
            ctx,
            self.yes,
            "Give this machine a new id? Records under the old id then belong to the other machine.",
        )?;
        ctx.answer(&hosts::renew(&app)?)
    }
}
