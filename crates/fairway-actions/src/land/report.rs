//! The answer of `land`: its document and its lines.

use std::fmt::Write as _;

use crate::App;
use crate::core::errors;
use crate::queue::landing_unit::Unit;
use crate::queue::lane::checkout::{self, Presence};
use fairway_core::domain::commit_id;
use fairway_core::domain::lane::LaneStatus;
use fairway_core::wire::{LandOrderView, LandQueueView, LandingView, work_name};

use super::finish::Completed;

/// The view of a unit before its landing is tried.
pub(super) fn begin(app: &App, unit: &Unit) -> LandingView {
    LandingView {
        id: None,
        state: "failed",
        lane: unit.lane_name().map(ToString::to_string),
        tasks: unit.task_ids(),
        commit: unit.commit.clone(),
        base: unit.base.clone(),
        base_before: None,
        candidate: None,
        style: app.settings.land.style,
        checks: Vec::new(),
        batch: Vec::new(),
        pushed: None,
        pull_request: None,
        told: Vec::new(),
        removed_worktree: None,
        ended: Vec::new(),
        error: None,
        notes: without_worktree(app, unit).into_iter().collect(),
    }
}

/// The note that a lane's branch lands although its worktree is gone; `None` when the worktree exists.
fn without_worktree(app: &App, unit: &Unit) -> Option<String> {
    let lane = unit.lane.as_ref().filter(|lane| lane.status != LaneStatus::Closed)?;
    let (Presence::Missing(dir), Some(branch)) = (checkout::presence(app, lane), &lane.branch) else { return None };
    let commit = commit_id::short(&unit.commit);
    Some(format!("the worktree {} of the lane {} does not exist: {commit} of {branch} lands", dir.display(), lane.name))
}

pub(super) fn completed(app: &App, done: &Completed) -> LandingView {
    LandingView {
        id: Some(done.landing.id),
        state: "landed",
        base_before: Some(done.landing.base_before.clone()),
        candidate: done.landing.candidate.clone(),
        pushed: done.landing.push_to.clone(),
        style: done.landing.style,
        told: done.told.iter().map(super::lane_conflicts::Collision::view).collect(),
        notes: done.notes.clone(),
        ..begin(app, &done.unit)
    }
}

pub(super) fn place(unit: &Unit) -> LandOrderView {
    LandOrderView {
        lane: unit.lane_name().map(ToString::to_string),
        tasks: unit.task_ids(),
        commit: unit.commit.clone(),
        base: unit.base.clone(),
    }
}

/// The state that the answer shows for a unit that did not land, by the code of its error.
pub(super) fn state_of(error: &anyhow::Error) -> &'static str {
    match errors::classify(error).code {
        "land_conflict" | "land_check_failed" => "sent_back",
        "gate_blocked" | "unsaved_work" => "not_ready",
        "lane_elsewhere" => "skipped",
        _ => "failed",
    }
}

/// The note about the units that were not tried because the queue stopped; `None` without any.
pub(super) fn not_tried(units: &[Unit]) -> Option<String> {
    let names: Vec<String> = units.iter().map(Unit::label).collect();
    (!names.is_empty()).then(|| format!("not tried: {}", names.join(", ")))
}

pub(super) fn queue_lines(shown: &LandQueueView) -> String {
    let mut lines = Vec::new();
    if let Some(pause) = &shown.paused {
        let why = pause.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        lines.push(format!("paused by {} since {}{why}", pause.by, pause.since));
    }
    for now in &shown.now {
        let end = now.expected_end.as_ref().map(|end| format!(", expected end {end}")).unwrap_or_default();
        let what = work_name(now.lane.as_deref(), &now.tasks);
        lines.push(format!("{} {what} for {} since {}{end}", now.state, now.base, now.since));
    }
    for one in &shown.running {
        let last = one.output.last().map(|line| format!(": {line}")).unwrap_or_default();
        lines.push(format!("{} since {}{last}", one.what, one.since));
    }
    lines.push(if shown.order.is_empty() { "nothing waits to land".to_owned() } else { order_line(&shown.order) });
    lines.extend(shown.flaky.iter().map(|one| format!("flaky {} times: {}", one.count, one.command)));
    lines.join("\n")
}

pub(super) fn order_line(order: &[LandOrderView]) -> String {
    let names: Vec<String> = order.iter().map(|one| work_name(one.lane.as_deref(), &one.tasks)).collect();
    format!("order: {}", names.join(", "))
}

pub(super) fn lines(view: &LandingView) -> String {
    let what = work_name(view.lane.as_deref(), &view.tasks);
    let short = |commit: &Option<String>| commit.as_deref().map(commit_id::short).unwrap_or_default().to_owned();
    let with = if view.batch.is_empty() { String::new() } else { format!(" as part of {}", view.batch.join(", ")) };
    let checks = match view.checks.len() {
        0 => String::new(),
        1 => format!(", 1 check passed{with}"),
        count => format!(", {count} checks passed{with}"),
    };
    let pushed = view.pushed.as_ref().map(|upstream| format!(", pushed to {upstream}")).unwrap_or_default();
    let why = || {
        let failure = view.error.as_ref();
        let hint = failure.and_then(|failure| failure.hint.as_deref()).unwrap_or_default();
        let hints: String = hint.lines().map(|line| format!("\n  {line}")).collect();
        let message = failure.map_or("", |failure| failure.message.as_str());
        // The line begins with the name already.
        let of = view.tasks.first().map(|task| format!("{task} cannot land: ")).unwrap_or_default();
        format!(": {}{hints}", message.strip_prefix(&of).unwrap_or(message))
    };
    let mut text = match view.state {
        "landed" => format!("landed {what} in {} as {}{checks}{pushed}", view.base, short(&view.candidate)),
        "proposed" => {
            let pull = view.pull_request.as_ref();
            let (number, url) = pull.map(|pull| (pull.number, pull.url.as_str())).unwrap_or_default();
            format!("proposed {what} for {} as #{number}{checks}: {url}", view.base)
        }
        "unchanged" => format!("unchanged: {} has {what} already{pushed}", view.base),
        "would_land" => format!("would land {what} in {} ({})", view.base, view.style),
        "would_be_sent_back" => format!("would send back {what}{}", why()),
        "sent_back" => format!("sent back {what}{}", why()),
        "not_ready" => format!("not ready: {what}{}", why()),
        "skipped" => format!("skipped {what}{}", why()),
        _ => format!("failed: {what}{}", why()),
    };
    for told in &view.told {
        let files = told.files.join(", ").replace('\n', " ");
        let _ = write!(text, "\ntold lane {}: it conflicts in {files}; next: {}", told.lane, told.command);
    }
    for session in &view.ended {
        let _ = write!(text, "\nended {session}, whose work has landed");
    }
    if let Some(dir) = &view.removed_worktree {
        let _ = write!(text, "\nremoved {dir}");
    }
    text
}
