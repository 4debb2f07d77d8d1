//! `fairway task list`

use anyhow::Result;

use super::table::table;
use crate::{
    actions::queue::task::list::{self, Filter},
    cli::{context::Context, exit::Exit, values},
    domain::{LaneName, Role, task::TaskStatus},
};

/// List tasks by priority and age; closed ones by --status
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only tasks of this status; repeatable
    #[arg(long = "status", value_name = "STATUS", value_parser = values::status)]
    statuses: Vec<TaskStatus>,
    /// Only tasks of this role
    #[arg(long, value_parser = values::role)]
    role: Option<Role>,
    /// Only tasks of this lane
    #[arg(long, value_parser = values::lane)]
    lane: Option<LaneName>,
    /// Only tasks with this label
    #[arg(long)]
    label: Option<String>,
    /// Only claimed tasks
    #[arg(long)]
    held: bool,
    /// Maximum number of tasks
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
            || if tasks.is_empty() { "no tasks\n".into() } else { table(&tasks).render(ctx.out.width) },
        )
    }
}
