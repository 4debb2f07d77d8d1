//! `fairway ready`

use anyhow::Result;

use super::context::Context;
use super::exit::Exit;
use super::{task, values};
use fairway_actions::queue::task::ready::{self, ReadyFor};
use fairway_core::domain::{LaneName, Role};
use fairway_core::render::{Table, escape_line};

/// Default of `--limit`.
const USUAL: usize = 100;

/// List the tasks that can be claimed now, best first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway ready
fairway ready --why")]
pub struct Args {
    /// Only tasks that fit this role; default: that of the session
    #[arg(long, value_parser = values::role)]
    role: Option<Role>,
    /// Only tasks that fit this lane; default: that of the session
    #[arg(long, value_parser = values::lane)]
    lane: Option<LaneName>,
    /// List the open tasks that are not ready, with reasons
    #[arg(long)]
    why: bool,
    /// Maximum number of tasks; 0 for all [default: 100]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let whom = ReadyFor::Caller { role: self.role.as_ref(), lane: self.lane.as_ref() };
        let limit = match self.limit {
            None => Some(USUAL),
            Some(0) => None,
            limit => limit,
        };
        if self.why {
            let mut tasks = ready::blocked_tasks(&app, whom)?;
            tasks.truncate(self.limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX));
            return ctx.show(
                &tasks,
                || tasks.iter().map(|task| task.id.clone()).collect(),
                || {
                    let mut table = Table::new(&["id", "title", "why not"]);
                    for task in &tasks {
                        let why: Vec<&str> = task.waiting_on.iter().map(|one| one.message.as_str()).collect();
                        table.row([task.id.as_str(), &task.title, &why.join("; ")]);
                    }
                    if table.is_empty() {
                        return "every open task is ready\n".into();
                    }
                    let ways_on = task::table::ways_on(&tasks, ctx.env.now());
                    let gap = if ways_on.is_empty() { "" } else { "\n" };
                    format!("{}{gap}{ways_on}", table.coloured(ctx.out.width, ctx.out.style))
                },
            );
        }
        if let Some(refusal) = ready::held_back(&app, whom)? {
            ctx.out.note(&escape_line(&format!(
                "no fresh work is claimed: {refusal}; review what waits: fairway review next"
            )));
        }
        if ctx.out.json {
            let (tasks, has_more) = ready::ready(&app, whom, limit)?;
            note_more(ctx, has_more);
            ctx.out.document(&tasks)?;
            return Ok(0);
        }
        let (tasks, has_more) = ready::ready_summaries(&app, whom, limit)?;
        note_more(ctx, has_more);
        ctx.show_text(
            || tasks.iter().map(|task| task.id.to_string()).collect(),
            || {
                if tasks.is_empty() {
                    return "nothing is ready; to see why: fairway ready --why\n".into();
                }
                task::table::table(&tasks).coloured(ctx.out.width, ctx.out.style)
            },
        )
    }
}

fn note_more(ctx: &Context, has_more: bool) {
    if has_more {
        ctx.out.note("more tasks are ready; --limit 0 shows all");
    }
}
