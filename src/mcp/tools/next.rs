//! `next`: what to do now.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::json;

use super::tool::{Outcome, ToolCall, tool};
use crate::mcp::reply::Reply;
use fairway_actions::agents::decisions;
use fairway_actions::queue::lane;
use fairway_actions::queue::review::comments;
use fairway_actions::queue::task::claim::{ClaimRequest, LaneScope};
use fairway_actions::queue::task::ready::{self, ReadyFor};
use fairway_actions::queue::task::{claimed_task, list};
use fairway_actions::{App, sessions};
use fairway_core::config::PortRange;
use fairway_core::domain::TaskId;
use fairway_core::domain::lane::SetupState;
use fairway_core::domain::quote::{Mark, quote};
use fairway_core::env::vars;
use fairway_core::wire::{LaneSetupView, LaneView, TaskView};

/// The most tasks that are listed with the reason why they are not ready.
const MAX_WAITING: usize = 5;
/// The longest notes of a verdict, in characters.
const MAX_DECISION_CHARS: usize = 2_000;
/// The longest line that is quoted, in characters.
const MAX_LINE_CHARS: usize = 200;

tool! {
    name: "next",
    title: "What to do next",
    description: "Tell your claimed task, else the first task that is ready and why others are not. claim=true claims it: yours \
                  again, else that of your lane's dead session, else the next ready one.",
    effect: Adds,
    arguments: {
        /// Claim the task.
        claim: Option<bool>,
        /// With claim: this task, and no other.
        task: Option<String>,
    }
}

fn call(call: &ToolCall<'_>, asked: Arguments) -> Result<Outcome> {
    let named = asked.task.as_deref().map(TaskId::parse).transpose()?;
    if asked.claim.unwrap_or(false) {
        call.session(TOOL.name)?;
        return claim(call.app, named);
    }
    tell(call.app, named).map(Outcome::from)
}

/// Claims as `fairway claim` without flags does.
fn claim(app: &App, named: Option<TaskId>) -> Result<Outcome> {
    let id = match named {
        Some(id) => Some(id),
        None => app.env.var(vars::FAIRWAY_TASK_ID).map(TaskId::parse).transpose()?,
    };
    let request = ClaimRequest {
        id,
        any: false,
        role: app.actor.role.clone(),
        lane: app.actor.lane.clone(),
        any_role: false,
        lane_scope: LaneScope::Configured,
        lease: None,
        steal: None,
    };
    let answer = sessions::claim::claim(app, &request)?;
    let field = |name: &str| answer.document.get(name).and_then(serde_json::Value::as_str).unwrap_or_default();
    let task = answer.document.get("task").and_then(|task| task.get("id")).and_then(serde_json::Value::as_str);
    let id = task.unwrap_or_else(|| field("id")).to_owned();
    let mut reply = Reply::of_answer(answer);
    if let Ok(id) = TaskId::parse(&id) {
        // The words of the task stand behind marks, and not in a sentence of ours.
        let head = reply.text.lines().next().unwrap_or_default();
        let head = head.split_once(": ").map_or(head, |(head, _)| head).to_owned();
        let notes: String = reply.text.lines().skip(1).map(|note| format!("{note}\n")).collect();
        let decided = decisions::of_task(app, &id, MAX_DECISION_CHARS)?;
        let task = list::show(app, &id)?.task;
        let (_, lane) = lane_of(app, &task)?;
        reply.text = format!("{head}\n{}{lane}{decided}{notes}", about(&task));
    }
    Ok(reply.into())
}

fn tell(app: &App, named: Option<TaskId>) -> Result<Reply> {
    let claimed = match named {
        Some(id) => vec![id],
        None => claimed_task::all(app)?,
    };
    let mut tasks = Vec::new();
    for id in &claimed {
        tasks.push(list::show(app, id)?.task);
    }
    if let Some(first) = tasks.first() {
        let id = TaskId::parse(&first.id)?;
        let comments = comments::list(app, &id, false)?;
        let others: Vec<&str> = tasks.iter().skip(1).map(|task| task.id.as_str()).collect();
        let (lane, ready) = lane_of(app, first)?;
        let mut text = format!("{}, {}\n{}{ready}", first.id, first.status, about(first));
        text.push_str(&decisions::of_task(app, &id, MAX_DECISION_CHARS)?);
        for one in comments.iter().take(MAX_WAITING) {
            let line = format!("{}:{} (comment {}): {}", one.path, one.line, one.id, one.text);
            text.push_str(&quote(&one_line(&line), Mark::of_author(&one.reviewer)));
        }
        if !comments.is_empty() {
            text.push_str("to answer a reviewer's comment, change its line, commit, and submit again\n");
        }
        if !others.is_empty() {
            let _ = writeln!(text, "also claimed by you: {}", others.join(", "));
        }
        return Ok(Reply::new(text, json!({ "claimed": tasks, "lane": lane, "ready": null, "waiting": [] })));
    }
    let whom = ReadyFor::Caller { role: None, lane: None };
    let (ready, more) = ready::ready(app, whom, Some(1))?;
    let waiting = ready::blocked_tasks(app, whom)?;
    // One that open reviews hold back is among those that wait.
    let ready = ready.first().filter(|first| waiting.iter().all(|task| task.id != first.id));
    let mut text = match ready {
        Some(task) => {
            let more = if more { "; more tasks are ready" } else { "" };
            format!("you have claimed no task; {} is ready{more}\n{}next: next with claim=true\n", task.id, about(task))
        }
        None => "you have claimed no task, and none is ready for you\n".to_owned(),
    };
    for task in waiting.iter().take(MAX_WAITING) {
        let why: Vec<&str> = task.waiting_on.iter().map(|one| one.message.as_str()).collect();
        let _ = writeln!(text, "not ready: {}: {}", task.id, one_line(&why.join("; ")));
    }
    if waiting.len() > MAX_WAITING {
        let _ = writeln!(text, "not ready: {} more", waiting.len() - MAX_WAITING);
    }
    let reasons: Vec<_> = waiting.iter().map(|task| json!({ "id": task.id, "waiting_on": task.waiting_on })).collect();
    Ok(Reply::new(text, json!({ "claimed": [], "lane": null, "ready": ready, "waiting": reasons })))
}

/// The lane of a task, and what its tests need to know of that: that it is not set up, and its ports.
pub(super) fn lane_of(app: &App, task: &TaskView) -> Result<(Option<LaneView>, String)> {
    let Some(name) = &task.lane else { return Ok((None, String::new())) };
    let lane = lane::list::list(app, false)?.into_iter().find(|lane| lane.name == *name);
    let setup = lane.as_ref().and_then(|lane| lane.setup.as_ref()?.as_ref());
    let setup = setup.filter(|setup| setup.state != SetupState::Ready).map(LaneSetupView::clause);
    let port =
        lane.as_ref().and_then(|lane| lane.port?).map(|port| format!("has the ports {}", PortRange::block(port)));
    let text = setup.into_iter().chain(port).map(|clause| format!("the lane {name} {clause}\n")).collect();
    Ok((lane, text))
}

/// Describes a task to a model: the title and the first lines of the description, marked as quoted text, and the names of the
/// checks.
pub(super) fn about(task: &TaskView) -> String {
    let mark = Mark::of_task(&task.body);
    let mut text = quote(&one_line(&task.title), mark);
    for line in task.body.lines().filter(|line| !line.trim().is_empty()).take(3) {
        text.push_str(&quote(&one_line(line), mark));
    }
    if !task.checks.is_empty() {
        let names: Vec<&str> = task.checks.iter().map(|check| check.name.as_str()).collect();
        let _ = writeln!(text, "checks: {}", names.join(", "));
    }
    text
}

pub(super) fn one_line(text: &str) -> String {
    let mut chars = text.chars().map(|character| if character.is_whitespace() { ' ' } else { character });
    let mut line: String = chars.by_ref().take(MAX_LINE_CHARS).collect();
    if chars.next().is_some() {
        line.push('…');
    }
    line
}
