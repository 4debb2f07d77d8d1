//! The board as a document, from its facts.

use super::{
    approval, blocked, claimant, facts::Facts, guard, handoff, jobs, landing, lanes, need, overlap, program, prompt,
    question, refused, refused_host, runs_later, shared_base, silent_host, submitted,
};
use crate::{
    actions::App,
    domain::task::TaskStatus,
    wire::{BoardCountsView, BoardView, HeldTaskView, SessionOverviewView},
};

/// The version of the document's form.
const VERSION: u32 = 1;

/// The document of these facts.
pub(super) fn compose(app: &App, facts: &Facts, hook_providers: &[&str]) -> BoardView {
    let mut needs_you: Vec<need::Need> = approval::items(app, facts);
    needs_you.extend(question::items(app, facts));
    needs_you.extend(guard::items(app, facts, hook_providers));
    needs_you.extend(program::items(facts));
    needs_you.extend(silent_host::items(app, facts));
    needs_you.extend(claimant::items(facts));
    needs_you.extend(landing::items(facts));
    needs_you.extend(shared_base::items(facts));
    needs_you.extend(submitted::items(facts));
    needs_you.extend(refused::items(facts));
    needs_you.extend(blocked::items(facts));
    needs_you.extend(overlap::items(facts));
    needs_you.extend(runs_later::items(facts));
    needs_you.extend(refused_host::items(app, facts));
    needs_you.extend(handoff::items(facts));
    needs_you.extend(prompt::items(facts));
    needs_you.extend(jobs::items(facts));
    let host_of = |id: &str| silent_host::of_session(facts, id);
    let needs_you = needs_you.into_iter().map(|need| need.typed_here(host_of)).collect();
    let mut board = BoardView {
        version: VERSION,
        at: facts.now.to_string(),
        seq: facts.seq,
        project: app.settings.project.name.clone(),
        needs_you: need::sorted(needs_you),
        counts: counts(facts),
        lanes: lanes::lanes(facts),
        sessions: facts
            .sessions
            .iter()
            .filter(|one| one.session.lane.is_none())
            .map(SessionOverviewView::from)
            .collect(),
        claims: facts.held.iter().filter(|held| held.session.is_none()).map(HeldTaskView::from).collect(),
        jobs: jobs::jobs(app, facts),
        cost_usd: facts.costs.all(),
        inbox: facts.inbox,
    };
    sort_lanes(&mut board);
    board
}

/// What needs a person comes first, the most urgent at the top; the lanes at rest stay in the order of their names.
fn sort_lanes(board: &mut BoardView) {
    let mut lanes = std::mem::take(&mut board.lanes);
    lanes.sort_by_cached_key(|lane| board.first_need_of(lane).unwrap_or(usize::MAX));
    board.lanes = lanes;
}

fn counts(facts: &Facts) -> BoardCountsView {
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let with_status = |status| number(facts.held.iter().filter(|held| held.status == status).count());
    let dead = facts.sessions.iter().filter(|one| one.is_over()).count();
    BoardCountsView {
        ready: facts.counts.all.ready - number(shared_base::waiting(facts)),
        held: number(facts.held.len()),
        in_progress: with_status(TaskStatus::InProgress),
        blocked: with_status(TaskStatus::Blocked),
        review: with_status(TaskStatus::Review),
        open: facts.counts.all.open,
        done: facts.counts.all.done,
        sessions: number(facts.sessions.len() - dead),
        dead_sessions: number(dead),
    }
}
