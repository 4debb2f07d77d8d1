//! `fairway usage`

use std::time::Duration;

use anyhow::Result;

use super::age::rough;
use super::context::Context;
use super::exit::Exit;
use super::values;
use fairway_actions::agents::usage;
use fairway_core::domain::usage::UsageBy;
use fairway_core::domain::{SessionId, plural};
use fairway_core::render::Table;
use fairway_core::wire::{TaskNumbersView, UsageRowView, UsageView};

/// Report token usage and cost, and tasks per day
///
/// With --by day also how many tasks were claimed and done, and the median time from claim to done. Days are UTC.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway usage --by lane --since 7d
fairway usage --by day --since 7d")]
pub struct Args {
    /// Group by session, lane, task, role, model or day
    #[arg(long, value_parser = values::usage_by, default_value = "session")]
    by: UsageBy,
    /// Only usage after a date, a time or a duration ago
    #[arg(long, value_name = "DATE|DURATION")]
    since: Option<String>,
    /// Only usage of this session; repeatable
    #[arg(long = "of-session", value_name = "SESSION", value_parser = values::session)]
    sessions: Vec<SessionId>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let since = self.since.as_deref().map(|text| values::since(text, ctx.env.now())).transpose()?;
        let view = usage::usage(&ctx.app()?, self.by, since, &self.sessions)?;
        let ids = || view.rows.iter().filter_map(|row| row.key.clone()).collect();
        ctx.show(&view, ids, || {
            table(&view).map_or_else(|| "nothing was reported\n".into(), |t| t.render(ctx.out.width))
        })
    }
}

fn table(view: &UsageView) -> Option<Table> {
    if view.rows.is_empty() {
        return None;
    }
    let headings =
        [view.by.as_str(), "turns", "input", "output", "cache read", "cache write", "cost", "tool calls", "failed"];
    let of_tasks: &[&str] = if view.total.tasks.is_some() { &["claimed", "done", "claim to done"] } else { &[] };
    let mut table = Table::new(&[&headings, of_tasks].concat());
    for row in &view.rows {
        table.row(cells(row.key.as_deref().unwrap_or("-"), row));
    }
    if view.rows.len() > 1 {
        table.row(cells("total", &view.total));
    }
    Some(table)
}

fn task_cells(tasks: &TaskNumbersView) -> [String; 3] {
    let median = tasks.median_seconds.as_ref().map(|times| times.claim_to_done);
    [tasks.claimed.to_string(), tasks.done.to_string(), span(median)]
}

/// A number of seconds in its two largest units.
fn span(seconds: Option<i64>) -> String {
    let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    seconds.map_or_else(|| "-".into(), |seconds| rough(Duration::from_secs(seconds)))
}

fn cells(key: &str, row: &UsageRowView) -> Vec<String> {
    let cost = match (row.cost_usd, row.turns_without_cost) {
        (None, _) => "unknown".to_owned(),
        (Some(cost), 0) => format!("${cost:.4}"),
        (Some(cost), without) => format!("${cost:.4} + {} unknown", plural::count(without, "turn")),
    };
    let number = |number: i64| number.to_string();
    let mut cells = vec![
        key.to_owned(),
        number(row.turns),
        number(row.input_tokens),
        number(row.output_tokens),
        number(row.cache_read_tokens),
        number(row.cache_creation_tokens),
        cost,
        number(row.tools),
        number(row.tool_failures),
    ];
    cells.extend(row.tasks.iter().flat_map(task_cells));
    cells
}
