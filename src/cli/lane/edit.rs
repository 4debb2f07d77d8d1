//! `fairway lane edit`

use anyhow::Result;

use super::add::Said;
use crate::{
    actions::queue::lane::{LanePatch, edit},
    cli::{context::Context, exit::Exit, values},
    domain::{LaneName, Refusal},
};

/// Edit a lane; an empty text clears a field
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Lane name
    #[arg(value_parser = values::lane)]
    name: LaneName,
    #[command(flatten)]
    said: Said,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let fields = self.said.fields(ctx)?;
        if fields == LanePatch::default() {
            return Err(Refusal::Usage { why: "say what to change, such as --wip 2".into() }.into());
        }
        ctx.answer(&edit::edit(&ctx.app()?, &self.name, &fields)?)
    }
}
