//! `fairway task show`

use std::fmt::Write;

use anyhow::Result;

use super::table;
use crate::cli::age::{age, local, rough};
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::core::inside_session::{self, CallPlace};
use fairway_actions::queue::task::import_issues::{self, Replaced};
use fairway_actions::queue::task::list;
use fairway_core::domain::TaskId;
use fairway_core::domain::issue::CHANGED;
use fairway_core::domain::quote::{Mark, quote};
use fairway_core::env::Timestamp;
use fairway_core::render::{Table, escape_controls, escape_line};
use fairway_core::wire::{TaskDetailView, TaskView};

/// Show a task and its newest history
///
/// When the issue of the task was changed, a person who looks at it lets agents have the new text.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway task show T-4")]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    id: TaskId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let mut task = list::show(&app, &self.id)?;
        let is_person =
            || !ctx.out.json && app.actor.session.is_none() && inside_session::place(&app) == CallPlace::Outside;
        let mut replaced = None;
        if task.task.labels.iter().any(|label| label == CHANGED) && is_person() {
            // Where the store cannot be written, the old text is shown.
            replaced = import_issues::take_over(&app, &self.id).unwrap_or_default();
            task = list::show(&app, &self.id)?;
        }
        let ids = || vec![task.task.id.clone()];
        ctx.show(&task, ids, || {
            let mut text = details(&task, ctx.env.now(), ctx.out.width);
            if let Some(Replaced { title, body }) = &replaced {
                let old = quote(&format!("{title}\n\n{body}"), Mark::Data);
                let _ = write!(
                    text,
                    "\nThe issue was changed; agents get this text from now on. Until now they had:\n{old}"
                );
            }
            text
        })
    }
}

fn details(detail: &TaskDetailView, now: Timestamp, width: Option<usize>) -> String {
    let mut text = fields(&detail.task, detail, now);
    if !detail.task.body.is_empty() {
        let _ = write!(text, "\n{}\n", escape_controls(detail.task.body.trim_end()));
    }
    let mut timeline = Table::new(&["ago", "by", "event"]);
    for entry in &detail.timeline {
        timeline.row([age(&entry.at, now).as_str(), &entry.actor, &entry.message]);
    }
    if !timeline.is_empty() {
        let _ = write!(text, "\n{}", timeline.render(width));
    }
    if detail.has_earlier {
        let _ = writeln!(text, "earlier events: fairway events --of-task {}", detail.task.id);
    }
    text
}

fn fields(task: &TaskView, detail: &TaskDetailView, now: Timestamp) -> String {
    let mut text = format!("{}  {}\n", task.id, escape_line(&task.title));
    let mut field = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{name:<12}{}", escape_line(value));
        }
    };
    field("status", task.status.as_str());
    if let Some(claim) = &task.claim {
        let claimant = table::claimant(task).unwrap_or_default();
        field("held by", &format!("{claimant} since {}, epoch {}", local(&claim.claimed_at), claim.epoch));
        field("lease", &claim.lease_until.as_deref().map(local).unwrap_or_default());
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
    let dependents = detail.dependents.iter().map(|one| format!("{} ({})", one.id, one.status));
    field("needed by", &dependents.collect::<Vec<_>>().join(", "));
    for check in &task.checks {
        field("check", &format!("{}: {}", check.name, check.command));
    }
    field("reviews by", &task.review_domains.join(", "));
    field("branch", task.branch.as_deref().unwrap_or_default());
    field("commit", task.commit.as_deref().unwrap_or_default());
    field("landed as", detail.landed_commit.as_deref().unwrap_or_default());
    field("created", &local(&task.created_at));
    field("updated", &local(&task.updated_at));
    field("closed", &task.closed_at.as_deref().map(local).unwrap_or_default());
    if let Some(checkpoint) = &detail.checkpoint {
        let by = detail.checkpoint_by.as_ref().map(|author| format!("by {author}, ")).unwrap_or_default();
        let ago = rough(now.since(checkpoint.created_at));
        field("checkpoint", &format!("{} ({by}{ago} ago): {}", checkpoint.state, checkpoint.summary));
    }
    text
}
