//! `fairway task rm`

use anyhow::Result;

use crate::{
    actions::queue::task::remove,
    cli::{context::Context, exit::Exit, values},
    domain::TaskId,
};

/// Remove tasks that were never claimed
///
/// All or none. A task with a claim, a record, a dependent or a part is not removed; cancel it instead. Its events stay,
/// and its id is not given out again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task ids
    #[arg(value_name = "ID", required = true, value_parser = values::task)]
    ids: Vec<TaskId>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&remove::remove(&ctx.app()?, &self.ids)?)
    }
}
