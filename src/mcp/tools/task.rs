//! `task`: one task with its records.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::json;

use super::next::{about, lane_of, one_line};
use super::tool::{Outcome, ToolCall, tool};
use crate::mcp::reply::Reply;
use fairway_actions::queue::task::list;
use fairway_actions::queue::{checkpoint, evidence, handoff, review};
use fairway_core::domain::handoff::HandoffStatus;
use fairway_core::domain::plural;
use fairway_core::domain::quote::{Mark, quote};

/// The most records of a kind in the document.
const MAX_RECORDS: usize = 20;

tool! {
    name: "task",
    title: "Show a task",
    description: "Show one task: what it asks for, who has claimed it, what it waits for, and its checkpoints, evidence, \
                  handoffs and reviews.",
    effect: Reads,
    arguments: {
        /// Task id; default: your claimed task.
        task: Option<String>,
    }
}

fn call(call: &ToolCall<'_>, asked: Arguments) -> Result<Outcome> {
    let app = call.app;
    let id = call.task(asked.task.as_deref())?;
    let detail = list::show(app, &id)?;
    let mut checkpoints = checkpoint::list(app, &id, true)?;
    let mut records = evidence::list(app, &id)?;
    let filter = handoff::Filter { task: Some(id.clone()), ..handoff::Filter::default() };
    let handoffs = handoff::list(app, &filter)?;
    let reviews = review::list::of_task(app, &id)?;
    newest(&mut checkpoints);
    newest(&mut records);

    let task = &detail.task;
    let mut text = format!("{}, {}", task.id, task.status);
    if let Some(claim) = &task.claim {
        let _ = write!(text, ", claimed by {}, epoch {}", claim.claimant, claim.epoch);
    }
    let (lane, ready) = lane_of(app, task)?;
    let _ = write!(text, "\n{}{ready}", about(task));
    for waiting in task.waiting_on.iter().take(3) {
        let _ = writeln!(text, "waits for: {}", one_line(&waiting.message));
    }
    if let Some(checkpoint) = &detail.checkpoint {
        let author = detail.checkpoint_by.as_deref().unwrap_or("a program");
        let _ = writeln!(text, "newest checkpoint, {} by {author}:", checkpoint.state);
        text.push_str(&quote(&one_line(&checkpoint.summary), Mark::of_author(author)));
    }
    if let Some(record) = records.last() {
        let command = record.command.as_deref().unwrap_or(&record.kind);
        let _ = writeln!(text, "newest evidence: {} {}", record.result, one_line(command));
    }
    let open = handoffs.iter().filter(|handoff| handoff.status == HandoffStatus::Open).count();
    let _ = writeln!(
        text,
        "{}, {}, {}, {}",
        plural::count(checkpoints.len(), "checkpoint"),
        plural::count(records.len(), "evidence record"),
        plural::count(open, "open handoff"),
        plural::count(reviews.len(), "review")
    );
    let document = json!({
        "task": detail,
        "lane": lane,
        "checkpoints": checkpoints,
        "evidence": records,
        "handoffs": handoffs,
        "reviews": reviews,
    });
    Ok(Reply::new(text, document).into())
}

/// Keeps the newest records; the oldest comes first.
fn newest<T>(records: &mut Vec<T>) {
    records.drain(..records.len().saturating_sub(MAX_RECORDS));
}
