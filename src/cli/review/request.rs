//! `fairway review request`

use anyhow::Result;

use crate::{
    actions::queue::review,
    cli::{context::Context, exit::Exit, values},
    domain::{TaskId, id::Label},
};

/// Request a review in a domain
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// Domain; default: the only possible one, else general
    #[arg(long, value_parser = values::label)]
    domain: Option<Label>,
    /// Requested reviewer
    #[arg(long, value_name = "WHO")]
    reviewer: Option<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&review::request(&ctx.app()?, &self.task, self.domain.as_ref(), self.reviewer.as_deref())?)
    }
}
