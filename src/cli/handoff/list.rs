//! `fairway handoff list`

use anyhow::Result;

use crate::{
    actions::queue::handoff::{self, Filter},
    cli::{age::rough, context::Context, exit::Exit, values},
    domain::{Role, TaskId},
    render::Table,
};

/// List handoffs, oldest first
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only handoffs to this role
    #[arg(long = "to-role", alias = "to", value_name = "ROLE", value_parser = values::role)]
    to: Option<Role>,
    /// Only handoffs of this task
    #[arg(long, value_name = "ID", value_parser = values::task)]
    task: Option<TaskId>,
    /// Only unanswered handoffs
    #[arg(long)]
    open: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let filter = Filter { to_role: self.to, task: self.task, open: self.open };
        let found = handoff::list(&ctx.app()?, &filter)?;
        ctx.show(
            &found,
            || found.iter().map(|one| one.id.to_string()).collect(),
            || {
                let mut table = Table::new(&["id", "task", "status", "from", "to", "age", "summary"]);
                for one in &found {
                    let role = one.to_role.as_ref().map(|role| format!("role {role}"));
                    let lane = one.to_lane.as_ref().map(|lane| format!("lane {lane}"));
                    table.row([
                        one.id.to_string(),
                        one.task.to_string(),
                        one.status.to_string(),
                        one.from_role.as_ref().map_or("-", Role::as_str).to_owned(),
                        role.or(lane).unwrap_or_default(),
                        rough(ctx.env.now().since(one.created_at)),
                        one.summary.clone(),
                    ]);
                }
                if table.is_empty() { "no handoffs\n".into() } else { table.coloured(ctx.out.width, ctx.out.style) }
            },
        )
    }
}
