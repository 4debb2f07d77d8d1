//! `fairway lane show`

use std::fmt::Write;

use anyhow::Result;

use crate::{
    actions::queue::lane::list,
    cli::{context::Context, exit::Exit, session, task, values},
    domain::LaneName,
    env::Timestamp,
    render::{Table, escape_line},
    wire::LaneDetailView,
};

/// Show a lane's sessions, tasks, handoffs and messages
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Lane name
    #[arg(value_parser = values::lane)]
    name: LaneName,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let present = list::show(&ctx.app()?, &self.name)?;
        ctx.show(&present, || vec![present.lane.name.clone()], || words(&present, ctx.out.width, ctx.env.now()))
    }
}

fn words(present: &LaneDetailView, width: Option<usize>, now: Timestamp) -> String {
    let lane = &present.lane;
    let mut text = format!("{}  {}\n", lane.name, escape_line(lane.title.as_deref().unwrap_or_default()));
    text.truncate(text.trim_end().len());
    text.push('\n');
    let mut field = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            let _ = writeln!(text, "{name:<12}{}", escape_line(value));
        }
    };
    field("status", Some(lane.status));
    field("held", Some(&super::list::held(lane)));
    field("role", lane.role.as_deref());
    field("branch", lane.branch.as_deref());
    field("base", lane.base.as_deref());
    field("worktree", lane.worktree.as_deref());
    field("provider", lane.provider.as_deref());
    field("backend", lane.backend.as_deref());
    field("created", Some(&lane.created_at));
    field("messages", Some(&present.messages.to_string()).filter(|_| present.messages > 0).map(String::as_str));
    let sessions = session::list::table(&present.sessions, now);
    let mut checkpoints = Table::new(&["task", "state", "checkpoint"]);
    for checkpoint in &present.checkpoints {
        checkpoints.row([checkpoint.task_id.as_str(), checkpoint.state, &checkpoint.summary]);
    }
    let mut handoffs = Table::new(&["handoff", "task", "from", "summary"]);
    for handoff in &present.handoffs {
        let from = handoff.from_role.as_deref().unwrap_or("-");
        handoffs.row([handoff.id.to_string().as_str(), &handoff.task_id, from, &handoff.summary]);
    }
    for table in [sessions, task::table::table(&present.tasks), checkpoints, handoffs] {
        if !table.is_empty() {
            let _ = write!(text, "\n{}", table.render(width));
        }
    }
    let ways_on = task::table::ways_on(&present.tasks, now);
    if !ways_on.is_empty() {
        let _ = write!(text, "\n{ways_on}");
    }
    text
}
