//! `fairway review list`

use anyhow::Result;

use crate::{
    actions::queue::review::list,
    cli::{age::age, context::Context, exit::Exit, values},
    domain::{TaskId, plural},
    render::Table,
    wire::ReviewView,
};

/// List the reviews that wait for you, or those of a task
///
/// Without a task: the requested reviews that are not given, except those of tasks that you have claimed and those that name
/// another reviewer.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id: all its reviews, oldest first
    #[arg(value_parser = values::task)]
    task: Option<TaskId>,
    /// Every requested review, also those that wait for others
    #[arg(long, conflicts_with = "task")]
    all: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let Some(task) = &self.task else { return requested(ctx, list::requested(&app)?, self.all) };
        let found = list::of_task(&app, task)?;
        ctx.show(
            &found,
            || ids(&found),
            || {
                let mut table = Table::new(&["id", "domain", "status", "verdict", "commit", "reviewer", "age"]);
                for one in &found {
                    table.row([
                        one.id.to_string(),
                        one.domain.clone(),
                        one.status.to_owned(),
                        dash(one.verdict),
                        dash(one.commit.as_deref()),
                        dash(one.reviewer.as_deref()),
                        age(&one.created_at, ctx.env.now()),
                    ]);
                }
                if table.is_empty() { "no reviews\n".into() } else { table.coloured(ctx.out.width, ctx.out.style) }
            },
        )
    }
}

fn requested(ctx: &Context, requested: list::Requested, all: bool) -> Result<Exit> {
    let list::Requested { own: mut shown, others } = requested;
    let count = others.len();
    if all {
        shown.extend(others);
        shown.sort_by_key(|review| review.id);
    } else if count > 0 {
        let count = plural::count(count, "review");
        ctx.out.note(&format!("not shown: {count} requested of others: fairway review list --all"));
    }
    ctx.show(
        &shown,
        || ids(&shown),
        || {
            let mut table = Table::new(&["id", "task", "domain", "reviewer", "at"]);
            for one in &shown {
                table.row([
                    one.id.to_string(),
                    one.task_id.clone(),
                    one.domain.clone(),
                    dash(one.reviewer.as_deref()),
                    one.created_at.clone(),
                ]);
            }
            if table.is_empty() { "no reviews wait\n".into() } else { table.render(ctx.out.width) }
        },
    )
}

fn ids(reviews: &[ReviewView]) -> Vec<String> {
    reviews.iter().map(|one| one.id.to_string()).collect()
}

fn dash(text: Option<&str>) -> String {
    text.unwrap_or("-").chars().take(40).collect()
}
