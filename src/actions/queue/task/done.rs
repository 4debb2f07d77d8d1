//! Finishes a task after its gates.

use std::cell::{Cell, RefCell};

use anyhow::Result;
use serde_json::json;

use super::transition::{self, Transition};
use crate::{
    actions::{
        Answer, App,
        core::ForceReason,
        queue::{gates, review::seen_commits},
    },
    domain::{EventKind, Refusal, TaskId, blocker::JudgedWork, rules::fencing::TaskWrite, task::Task},
    store::tasks,
};

/// Moves a task from `in_progress` or `review` to `done`, for its claimant, if all gates of `[gates.done]` pass. `force`
/// overrides the claimant, not the gates. The answer names the commit or worktree that was judged.
///
/// # Errors
/// `gate_blocked`, `no_worktree`, `lane_elsewhere`.
pub fn done(app: &App, id: &TaskId, commit: Option<&str>, force: Option<&ForceReason>) -> Result<Answer> {
    let verb = Transition::new(EventKind::TaskDone, TaskWrite::Transition, "done").forced(force);
    let wanted = app.settings.done_gates();
    let seen = gates::collect_facts(app, id, wanted, commit, None, &["done", id.as_str()])?;
    let (judged, asks_git) = (RefCell::new(None::<Box<JudgedWork>>), Cell::new(false));
    let named = |_: &Task, mut answer: Answer| {
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
            if seen.given.is_some() {
                tasks::set_work(tx, id, task.branch.as_deref(), seen.given.as_deref())?;
            }
            Ok(done)
        },
        named,
    )?;
    seen_commits::forget_closed(app);
    Ok(answer)
}
