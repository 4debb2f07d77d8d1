//! `fairway init`

use anyhow::Result;

use super::{context::Context, exit::Exit};
use crate::actions::project;

/// Make a Fairway project here: configuration, store, and the contract for agents
///
/// Safe to repeat: what is there stays as it is.
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let answer = project::init::init(&ctx.env, ctx.globals.root.as_deref())?;
        ctx.answer(&answer)
    }
}
