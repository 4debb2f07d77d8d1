//! `fairway exec list`

use anyhow::Result;

use super::format;
use crate::{
    actions::jobs::list::{self, ListOptions},
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
    /// Maximum number of jobs; 0 for all
    #[arg(long, value_name = "N", default_value = "50", value_parser = values::limit)]
    limit: u32,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let order =
            ListOptions { session: self.session, unfinished: self.unfinished, limit: Some(i64::from(self.limit)) };
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
