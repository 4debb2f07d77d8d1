//! Finishes a task after its gates.

use std::cell::{Cell, RefCell};

use anyhow::Result;
use serde_json::json;

use super::handed_in::{self, HandedIn};
use super::transition::{self, Transition};
use crate::core::{ForceReason, lookup};
use crate::queue::gates;
use crate::queue::review::seen_commits;
use crate::{Answer, App};
use fairway_core::domain::blocker::JudgedWork;
use fairway_core::domain::rules::fencing::TaskWrite;
use fairway_core::domain::task::Task;
use fairway_core::domain::{EventKind, Refusal, TaskId};

/// Moves a task from `in_progress` or `review` to `done`, for its claimant, if all gates of `[gates.done]` pass at its commit: the
/// given one, the submitted one, or the one that is checked out. `force` overrides the claimant, not the gates. The answer names
/// the commit or worktree that was judged.
///
/// # Errors
/// `gate_blocked`, `no_worktree`, `lane_elsewhere`, and those of [`handed_in::find`].
pub fn done(app: &App, id: &TaskId, commit: Option<&str>, force: Option<&ForceReason>) -> Result<Answer> {
    let verb = Transition::new(EventKind::TaskDone, TaskWrite::Transition, "done").forced(force);
    let wanted = app.settings.done_gates();
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    let task = app.read(|tx| lookup::task(tx, id))?;
    let work = match commit.or(task.fixed_commit()) {
        Some(commit) => HandedIn::of(commit),
        None if task.done(app.env.now()).is_ok() => handed_in::find(app, id, &["done"])?,
        None => HandedIn::default(),
    };
    let commit = work.commit.as_deref();
    let seen = gates::collect_facts(app, id, wanted, commit, None, &["done", id.as_str()])?;
    let (judged, asks_git) = (RefCell::new(None::<Box<JudgedWork>>), Cell::new(false));
    let named = |_: &Task, mut answer: Answer| {
        answer = work.told(answer);
        let judged = judged.borrow_mut().take();
        if let Some(judged) = judged.as_ref().filter(|_| asks_git.get()) {
            answer.line = format!("{}; judged {}", answer.line, judged.summary());
        }
        answer.document["judged"] = json!(judged);
        Ok(answer)
    };
    let answer = transition::perform_and(
        app,
        id,
        &verb,
        |tx, task, now| {
            let done = task.done(now)?;
            let report = gates::evaluate(app, tx, task, wanted, &seen)?;
            judged.replace(report.judged.clone());
            asks_git.set(gates::needs_git(app, tx, task, wanted)?);
            if !report.is_ready() {
                return Err(Refusal::GateBlocked { report }.into());
            }
            HandedIn { commit: seen.given.clone(), ..work.clone() }.record(tx, task)?;
            Ok(done)
        },
        named,
    )?;
    seen_commits::forget_closed(app);
    Ok(answer)
}
