//! `fairway usage`

use anyhow::Result;

use super::{context::Context, exit::Exit, values};
use crate::{
    actions::boundary::usage,
    domain::{SessionId, usage::UsageBy},
    render::Table,
    wire::{UsageRowView, UsageView},
};

/// Report token usage and cost
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Group by session, lane, task, role, model or day
    #[arg(long, value_parser = values::usage_by, default_value = "session")]
    by: UsageBy,
    /// Only usage after a date, a time or a duration ago
    #[arg(long, value_name = "DATE|DURATION")]
    since: Option<String>,
    /// Only usage of this session; repeatable
    #[arg(long = "of-session", aliases = ["session-filter", "for"], value_name = "SESSION", value_parser = values::session)]
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
    let headings = [view.by, "turns", "input", "output", "cache read", "cache write", "cost", "tool calls", "failed"];
    let mut table = Table::new(&headings);
    for row in &view.rows {
        table.row(cells(row.key.as_deref().unwrap_or("-"), row));
    }
    if view.rows.len() > 1 {
        table.row(cells("total", &view.total));
    }
    Some(table)
}

fn cells(key: &str, row: &UsageRowView) -> [String; 9] {
    let cost = match (row.cost_usd, row.turns_without_cost) {
        (None, _) => "unknown".to_owned(),
        (Some(cost), 0) => format!("${cost:.4}"),
        (Some(cost), without) => format!("${cost:.4} + {without} turn(s) unknown"),
    };
    let number = |number: i64| number.to_string();
    [
        key.to_owned(),
        number(row.turns),
        number(row.input_tokens),
        number(row.output_tokens),
        number(row.cache_read_tokens),
        number(row.cache_creation_tokens),
        cost,
        number(row.tools),
        number(row.tool_failures),
    ]
}
