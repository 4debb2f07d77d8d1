//! `fairway task list`

use anyhow::Result;

use super::table::table;
use crate::{
    actions::queue::task::list::{self, Filter},
    cli::{context::Context, exit::Exit, values},
    domain::{LaneName, Role, task::TaskStatus},
};

/// List open tasks by priority and age
///
/// Closed tasks are listed with --all or --status. --grep takes literal text, in upper or lower case.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only tasks of this status, or all; repeatable
    #[arg(long = "status", value_name = "STATUS", value_parser = statuses)]
    statuses: Vec<Statuses>,
    /// Closed tasks too, as --status all
    #[arg(long, conflicts_with = "statuses")]
    all: bool,
    /// Only tasks with TEXT in id, title, body or label
    #[arg(long, value_name = "TEXT")]
    grep: Option<String>,
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
    /// Maximum number of tasks; 0 for all
    #[arg(long, value_name = "N", value_parser = values::limit)]
    limit: Option<u32>,
}

/// One status, or every status.
#[derive(Debug, Clone)]
struct Statuses(Vec<TaskStatus>);

/// Reads a status or `all`.
fn statuses(text: &str) -> Result<Statuses, String> {
    if text == "all" {
        Ok(Statuses(TaskStatus::ALL.to_vec()))
    } else {
        values::status(text).map(|one| Statuses(vec![one]))
    }
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let filter = Filter {
            statuses: if self.all {
                TaskStatus::ALL.to_vec()
            } else {
                self.statuses.into_iter().flat_map(|Statuses(of)| of).collect()
            },
            role: self.role,
            lane: self.lane,
            label: self.label,
            text: self.grep,
            held: self.held,
            limit: self.limit.map(|limit| limit as usize),
        };
        let tasks = list::list(&ctx.app()?, &filter)?;
        ctx.show(
            &tasks,
            || tasks.iter().map(|task| task.id.clone()).collect(),
            || {
                if tasks.is_empty() {
                    "no tasks\n".into()
                } else {
                    table(&tasks).coloured(ctx.out.width, ctx.out.style)
                }
            },
        )
    }
}
