//! `fairway exec list`

use anyhow::Result;

use super::format;
use crate::{
    actions::jobs::list::{self, DEFAULT_LIMIT, ListOptions},
    cli::{context::Context, exit::Exit, values},
    domain::RoutingKey,
};

/// List jobs, newest first
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only jobs of this session
    #[arg(long = "of-session", aliases = ["session-filter", "for"], value_name = "SESSION", value_parser = values::routing_key)]
    session: Option<RoutingKey>,
    /// Only jobs that have not finished
    #[arg(long)]
    unfinished: bool,
    /// Maximum number of jobs
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT, value_parser = clap::value_parser!(i64).range(1..))]
    limit: i64,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let order = ListOptions { session: self.session, unfinished: self.unfinished, limit: Some(self.limit) };
        let runs = list::list(&ctx.app()?, &order)?;
        let table = || {
            if runs.is_empty() {
                "no jobs\n".into()
            } else {
                format::table(&runs, ctx.env.now()).coloured(ctx.out.width, ctx.out.style)
            }
        };
        ctx.show(&runs, || runs.iter().map(|run| run.run_id.clone()).collect(), table)
    }
}
