//! `fairway task list`

use anyhow::Result;

use super::table;
use crate::{
    actions::task::list::{self, Filter},
    cli::{context::Context, exit::Exit, values},
    domain::{LaneName, Role, task::Status},
};

/// List tasks, by priority and age; closed ones only when --status names them
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this status; may be repeated
    #[arg(long = "status", value_name = "STATUS", value_parser = values::status)]
    statuses: Vec<Status>,
    /// Only this role's
    #[arg(long, value_parser = values::role)]
    role: Option<Role>,
    /// Only this lane's
    #[arg(long, value_parser = values::lane)]
    lane: Option<LaneName>,
    /// Only those with this label
    #[arg(long)]
    label: Option<String>,
    /// Only those that somebody holds
    #[arg(long)]
    held: bool,
    /// At most so many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let filter = Filter {
            statuses: self.statuses,
            role: self.role,
            lane: self.lane,
            label: self.label,
            held: self.held,
            limit: self.limit,
        };
        let tasks = list::list(&ctx.app()?, &filter)?;
        ctx.show(
            &tasks,
            || tasks.iter().map(|task| task.id.clone()).collect(),
            || if tasks.is_empty() { "no tasks\n".into() } else { table(&tasks).show(ctx.out.width) },
        )
    }
}
