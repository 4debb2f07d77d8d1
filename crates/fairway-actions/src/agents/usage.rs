//! Token usage and cost, summed; by day also the tasks.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anyhow::Result;

use crate::App;
use crate::core::lookup;
use fairway_core::domain::SessionId;
use fairway_core::domain::rules::task_times::{self, TaskNumbers};
use fairway_core::domain::usage::UsageBy;
use fairway_core::env::Timestamp;
use fairway_core::store::{event_facts, usage};
use fairway_core::wire::{UsageRowView, UsageView};

/// A day in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Sums the token usage and the cost of the turns since `since`, grouped by `by`. `sessions`, when not empty, limits this to
/// the turns of these sessions.
///
/// # Errors
/// `not_found` for an unknown session; store errors.
pub fn usage(app: &App, by: UsageBy, since: Option<Timestamp>, sessions: &[SessionId]) -> Result<UsageView> {
    let from = since.unwrap_or(Timestamp::from_millis(0));
    let (rows, days) = app.read(|tx| {
        let mut rows: BTreeMap<Option<String>, UsageRowView> = BTreeMap::new();
        for session in sessions {
            lookup::session(tx, session)?;
        }
        let mut filter: Vec<&SessionId> = sessions.iter().collect();
        filter.sort();
        filter.dedup();
        let each: Vec<Option<&SessionId>> =
            if filter.is_empty() { vec![None] } else { filter.into_iter().map(Some).collect() };
        for session in each {
            for sum in usage::turn_totals(tx, by, from, session)? {
                let row = UsageRowView {
                    key: sum.key.clone(),
                    turns: sum.turns,
                    input_tokens: sum.input_tokens,
                    output_tokens: sum.output_tokens,
                    cache_read_tokens: sum.cache_read_tokens,
                    cache_creation_tokens: sum.cache_creation_tokens,
                    cost_usd: sum.cost_usd,
                    turns_without_cost: sum.turns_without_cost,
                    ..UsageRowView::default()
                };
                rows.entry(sum.key).or_default().add(&row);
            }
            for sum in usage::tool_call_totals(tx, by, from, session)? {
                let row = UsageRowView { tools: sum.calls, tool_failures: sum.failures, ..UsageRowView::default() };
                rows.entry(sum.key).or_default().add(&row);
            }
        }
        let names: Vec<&str> = sessions.iter().map(SessionId::as_str).collect();
        let changes = if by == UsageBy::Day { event_facts::task_changes(tx, from, &names)? } else { Vec::new() };
        let days = task_times::by_day(changes);
        for day in days.keys() {
            rows.entry(Some(day.to_string())).or_default();
        }
        Ok((rows, days))
    })?;
    let mut total = UsageRowView::default();
    let mut rows: Vec<UsageRowView> = rows.into_iter().map(|(key, row)| UsageRowView { key, ..row }).collect();
    for row in &rows {
        total.add(row);
    }
    if by == UsageBy::Day {
        rows.sort_by_key(|row| day_number(row.key.as_deref()));
        for row in &mut rows {
            let day = day_number(row.key.as_deref());
            row.tasks = Some(days.get(&day).unwrap_or(&TaskNumbers::default()).into());
            row.key = Some(format_day(day));
        }
        let mut all = TaskNumbers::default();
        for one in days.values() {
            all.add(one);
        }
        total.tasks = Some((&all).into());
    } else {
        rows.sort_by_key(|row| (Reverse(row.tokens()), row.key.clone()));
    }
    Ok(UsageView { by, since: since.map(|at| at.to_string()), rows, total })
}

/// Days since 1970-01-01.
fn day_number(key: Option<&str>) -> i64 {
    key.and_then(|key| key.parse().ok()).unwrap_or_default()
}

/// The UTC date of a day number.
fn format_day(number: i64) -> String {
    let text = Timestamp::from_millis(number.saturating_mul(DAY_MS)).to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}
