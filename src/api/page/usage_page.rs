//! The page of costs, tokens and tasks: plots by day, each with its table, and tables by lane, model and task.

use std::time::Duration;

use anyhow::Result;

use super::form::Form;
use super::html::Html;
use super::page_layout::PageFrame;
use fairway_actions::App;
use fairway_actions::agents::usage;
use fairway_core::domain::age::rough;
use fairway_core::domain::usage::UsageBy;
use fairway_core::env::Timestamp;
use fairway_core::wire::{UsageRowView, UsageView};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const SPANS: &[u32] = &[7, 14, 30, 90];
/// The days that are shown unless the address names another number.
const USUAL_SPAN: u32 = 14;
/// The most rows of a table that is not by day.
const MAX_ROWS: usize = 20;

pub(super) fn page(app: &App, frame: &PageFrame, query: &Form) -> Result<String> {
    let wanted = query.get("days").parse().ok();
    let days = SPANS.iter().copied().find(|days| Some(*days) == wanted).unwrap_or(USUAL_SPAN);
    let since = app.env.now().start_of_day().minus(DAY * (days - 1));
    let by = |by| usage::usage(app, by, Some(since), &[]);
    let by_day = by(UsageBy::Day)?;
    let tables = [("By lane", by(UsageBy::Lane)?), ("By model", by(UsageBy::Model)?), ("By task", by(UsageBy::Task)?)];
    Ok(frame.document("usage", "", |html| {
        html.markup("<nav class=\"queue\" aria-label=\"span\"><ul role=\"list\">");
        for span in SPANS {
            let span = span.to_string();
            html.markup("<li><a").attribute("href", &format!("usage?days={span}"));
            html.markup(if span == days.to_string() { " aria-current=\"true\">" } else { ">" });
            html.text(&span).markup(" days</a></li>");
        }
        html.markup("</ul></nav>");
        by_day_section(html, &by_day, since, days);
        for (title, view) in &tables {
            table_section(html, title, view);
        }
    }))
}

fn by_day_section(html: &mut Html, view: &UsageView, since: Timestamp, days: u32) {
    let nothing = UsageRowView::default();
    let days: Vec<(String, &UsageRowView)> = (0..days)
        .map(|day| {
            let day: String = since.plus(DAY * day).to_string().chars().take(10).collect();
            let row = view.rows.iter().find(|row| row.key.as_deref() == Some(&day));
            (day, row.unwrap_or(&nothing))
        })
        .collect();
    let plot = |html: &mut Html, title: &str, value: fn(&UsageRowView) -> (f64, String)| {
        let bars: Vec<Bar> = days
            .iter()
            .map(|(day, row)| {
                let (value, text) = value(row);
                Bar { label: day.get(5..).unwrap_or(day).to_owned(), value, text }
            })
            .collect();
        html.markup("<figure><figcaption>").text(title).markup("</figcaption>");
        draw_bars(html, title, &bars);
        html.markup("</figure>");
    };
    html.markup("<section aria-label=\"by day\"><h2>By day</h2><div class=\"plots\">");
    plot(html, "cost by day, US dollars", |row| (row.cost_usd.unwrap_or_default(), cost(row)));
    plot(html, "tokens by day", |row| (approximate(row.tokens()), row.tokens().to_string()));
    plot(html, "tasks done by day", |row| {
        let done = row.tasks.as_ref().map_or(0, |tasks| tasks.done);
        (approximate(i64::try_from(done).unwrap_or(i64::MAX)), done.to_string())
    });
    html.markup("</div>");
    let headings = ["day", "cost", "tokens", "turns", "claimed", "done", "claim to done", "blocked", "in review"];
    table(
        html,
        &headings,
        days.iter().rev().filter(|(_, row)| happened(row)).map(|(day, row)| {
            let tasks = row.tasks.as_ref();
            let medians = tasks.and_then(|tasks| tasks.median_seconds);
            let count = |count: Option<usize>| count.unwrap_or_default().to_string();
            vec![
                day.clone(),
                cost(row),
                row.tokens().to_string(),
                row.turns.to_string(),
                count(tasks.map(|tasks| tasks.claimed)),
                count(tasks.map(|tasks| tasks.done)),
                span(medians.map(|medians| medians.claim_to_done)),
                span(medians.map(|medians| medians.blocked)),
                span(medians.map(|medians| medians.review)),
            ]
        }),
    );
    html.markup("</section>");
}

/// Whether anything was reported, claimed or done.
fn happened(row: &UsageRowView) -> bool {
    row.turns > 0 || row.tasks.as_ref().is_some_and(|tasks| tasks.claimed + tasks.done > 0)
}

fn table_section(html: &mut Html, title: &str, view: &UsageView) {
    html.markup("<section").attribute("aria-label", title).markup("><h2>").text(title).markup("</h2>");
    if view.rows.is_empty() {
        html.markup("<p class=\"none\">nothing was reported</p></section>");
        return;
    }
    table(
        html,
        &[view.by.as_str(), "cost", "tokens", "turns", "tool calls", "failed"],
        view.rows.iter().take(MAX_ROWS).map(|row| {
            vec![
                row.key.clone().unwrap_or_else(|| "–".to_owned()),
                cost(row),
                row.tokens().to_string(),
                row.turns.to_string(),
                row.tools.to_string(),
                row.tool_failures.to_string(),
            ]
        }),
    );
    if view.rows.len() > MAX_ROWS {
        let left = view.rows.len() - MAX_ROWS;
        html.markup("<p class=\"none\">").text(&format!("{left} more: fairway usage --by {}", view.by)).markup("</p>");
    }
    html.markup("</section>");
}

fn table(html: &mut Html, headings: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    html.markup(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"table\"><table class=\"numbers\"><thead><tr>",
    );
    for heading in headings {
        html.markup("<th scope=\"col\">").text(heading).markup("</th>");
    }
    html.markup("</tr></thead><tbody>");
    for row in rows {
        html.markup("<tr>");
        for (place, cell) in row.iter().enumerate() {
            if place == 0 {
                html.markup("<th scope=\"row\">").text(cell).markup("</th>");
            } else {
                html.markup("<td>").text(cell).markup("</td>");
            }
        }
        html.markup("</tr>");
    }
    html.markup("</tbody></table></div>");
}

/// The known cost, with a plus when some turns did not report theirs.
fn cost(row: &UsageRowView) -> String {
    match (row.cost_usd, row.turns_without_cost) {
        (None, 0) => "–".to_owned(),
        (None, _) => "unknown".to_owned(),
        (Some(cost), 0) => format!("${cost:.2}"),
        (Some(cost), _) => format!("${cost:.2} +"),
    }
}

/// A number of seconds in its two largest units.
fn span(seconds: Option<i64>) -> String {
    let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    seconds.map_or_else(|| "–".to_owned(), |seconds| rough(Duration::from_secs(seconds)))
}

#[expect(clippy::cast_precision_loss, reason = "the height of a bar")]
const fn approximate(number: i64) -> f64 {
    number as f64
}

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 120.0;
/// Room for the days below the bars and the largest number above them.
const MARGIN: f64 = 16.0;
/// The most labels below the bars.
const MAX_LABELS: usize = 8;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) value: f64,
    pub(super) text: String,
}

/// Draws a bar chart. The tallest bar fills the height, and its value is written above.
#[expect(clippy::cast_precision_loss, reason = "a number of bars is small")]
pub(super) fn draw_bars(html: &mut Html, title: &str, bars: &[Bar]) {
    let max = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let largest = bars.iter().find(|bar| bar.value >= max).filter(|_| max > 0.0);
    let slot = WIDTH / bars.len().max(1) as f64;
    let every = bars.len().div_ceil(MAX_LABELS).max(1);
    html.markup("<svg class=\"plot\" viewBox=\"0 0 480 152\" role=\"img\"").attribute("aria-label", title).markup(">");
    for (place, bar) in bars.iter().enumerate() {
        let height = if max > 0.0 { bar.value / max * HEIGHT } else { 0.0 };
        let x = slot * place as f64;
        let number = |number: f64| format!("{number:.1}");
        html.markup("<rect").attribute("x", &number(x + slot * 0.15)).attribute("y", &number(MARGIN + HEIGHT - height));
        html.attribute("width", &number(slot * 0.7)).attribute("height", &number(height)).markup("><title>");
        html.text(&format!("{}: {}", bar.label, bar.text)).markup("</title></rect>");
        if place % every == 0 {
            html.markup("<text").attribute("x", &number(x + slot / 2.0)).markup(" y=\"149\" text-anchor=\"middle\">");
            html.text(&bar.label).markup("</text>");
        }
    }
    html.markup("<line x1=\"0\" x2=\"480\" y1=\"136\" y2=\"136\"></line>");
    if let Some(largest) = largest {
        html.markup("<text x=\"0\" y=\"11\">")
            .text(&format!("most: {} on {}", largest.text, largest.label))
            .markup("</text>");
    }
    html.markup("</svg>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highest_bar_fills_the_plot_and_nothing_divides_by_zero() {
        let bar = |label: &str, value: f64| Bar { label: label.into(), value, text: format!("${value}") };
        let mut html = Html::default();
        draw_bars(&mut html, "cost", &[bar("1", 1.0), bar("2", 2.0)]);
        let html = html.into_string();
        assert!(html.contains("height=\"60.0\"") && html.contains("height=\"120.0\""), "{html}");
        assert!(html.contains("most: $2 on 2"), "{html}");
        for bars in [&[][..], &[bar("1", 0.0)]] {
            let mut html = Html::default();
            draw_bars(&mut html, "cost", bars);
            assert!(!html.as_str().contains("NaN") && !html.as_str().contains("inf"), "{html:?}");
        }
    }
}
