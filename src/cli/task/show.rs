//! `fairway task show`

use std::fmt::Write;

use anyhow::Result;

use super::table;
use crate::{
    actions::queue::task::list,
    cli::{age::age, context::Context, exit::Exit, values},
    domain::TaskId,
    env::Timestamp,
    render::{escape_controls, escape_line},
    wire::TaskView,
};

/// Show a task's fields
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    id: TaskId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let task = list::show(&ctx.app()?, &self.id)?;
        ctx.show(&task, || vec![task.id.clone()], || words(&task, ctx.env.now()))
    }
}

fn words(task: &TaskView, now: Timestamp) -> String {
    let mut text = format!("{}  {}\n", task.id, escape_line(&task.title));
    let mut field = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{name:<12}{}", escape_line(value));
        }
    };
    field("status", task.status);
    if let Some(claim) = &task.claim {
        let claimant = table::claimant(task).unwrap_or_default();
        field("held by", &format!("{claimant} since {}, epoch {}", claim.claimed_at, claim.epoch));
        field("lease", claim.lease_until.as_deref().unwrap_or_default());
    }
    if let Some((claimant, trouble)) = task.claimant.as_ref().and_then(|one| Some((one, one.trouble()?))) {
        let seen = age(&claimant.seen_at, now);
        field("claimant", &format!("{} {trouble}, last seen {seen} ago", claimant.session_id));
        for next in &claimant.commands {
            field("next", &format!("{}: {}", next.purpose, next.command));
        }
    }
    field("blocked", task.blocked_reason.as_deref().unwrap_or_default());
    field("ready", if task.ready { "yes" } else { "no" });
    for waiting in &task.waiting_on {
        field("waits for", &waiting.message);
    }
    field("priority", &task.priority.to_string());
    field("role", task.role.as_deref().unwrap_or_default());
    field("lane", task.lane.as_deref().unwrap_or_default());
    field("parent", task.parent.as_deref().unwrap_or_default());
    field("labels", &task.labels.join(", "));
    field("paths", &task.paths.join(", "));
    field("depends on", &task.depends_on.join(", "));
    for check in &task.checks {
        field("check", &format!("{}: {}", check.name, check.command));
    }
    field("reviews by", &task.review_domains.join(", "));
    field("branch", task.branch.as_deref().unwrap_or_default());
    field("commit", task.commit.as_deref().unwrap_or_default());
    field("created", &task.created_at);
    field("updated", &task.updated_at);
    field("closed", task.closed_at.as_deref().unwrap_or_default());
    if !task.body.is_empty() {
        let _ = write!(text, "\n{}\n", escape_controls(task.body.trim_end()));
    }
    text
}
