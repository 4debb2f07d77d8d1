//! The board as a document, from its facts.

use super::facts::Facts;
use super::{
    jobs, landing, lane_needs, need, questions, refused_host, session_needs, silent_hosts, task_needs, unfinished,
    unread_decisions,
};
use crate::App;
use fairway_core::domain::lane::{Lane, LaneStatus};
use fairway_core::domain::overlap::LaneOverlap;
use fairway_core::domain::session_facts::{HeldTask, SessionOverview};
use fairway_core::domain::task::TaskStatus;
use fairway_core::wire::{
    BoardCountsView, BoardDiffstatView, BoardLaneView, BoardOverlapView, BoardView, HeldTaskView, PullRequestView,
    SessionOverviewView,
};

/// The version of the document's format.
const VERSION: u32 = 1;

pub(super) fn compose(app: &App, facts: &Facts, hook_providers: &[&str]) -> BoardView {
    let mut needs_you: Vec<need::Need> = questions::pending_approvals(facts);
    needs_you.extend(questions::open_questions(app, facts));
    needs_you.extend(session_needs::broken_guards(app, facts, hook_providers));
    needs_you.extend(session_needs::missing_programs(facts));
    needs_you.extend(silent_hosts::silent_host_needs(app, facts));
    needs_you.extend(session_needs::lost_claimants(facts));
    needs_you.extend(unfinished::items(app, facts));
    needs_you.extend(unfinished::silent_turns(app, facts));
    needs_you.extend(unfinished::budgets(facts));
    needs_you.extend(unfinished::all_parked(facts));
    needs_you.extend(unread_decisions::items(facts));
    needs_you.extend(landing::items(facts));
    needs_you.extend(lane_needs::unshared_bases(facts));
    needs_you.extend(task_needs::submitted_tasks(facts));
    needs_you.extend(task_needs::refused_tasks(facts));
    needs_you.extend(task_needs::changed_issues(facts));
    needs_you.extend(task_needs::blocked_tasks(facts));
    needs_you.extend(lane_needs::conflicting_lanes(app, facts));
    needs_you.extend(lane_needs::lanes_with_later_files(facts));
    needs_you.extend(lane_needs::refused_take_backs(app, facts));
    needs_you.extend(refused_host::items(app, facts));
    needs_you.extend(task_needs::open_handoffs(facts));
    needs_you.extend(session_needs::undelivered_messages(facts));
    needs_you.extend(jobs::items(facts));
    let host_of = |id: &str| silent_hosts::host_of_session(facts, id);
    let needs_you = needs_you.into_iter().map(|need| need.typed_here(host_of)).collect();
    let mut board = BoardView {
        version: VERSION,
        at: facts.now.to_string(),
        seq: facts.seq,
        project: app.settings.project.name.clone(),
        needs_you: need::sorted(needs_you),
        counts: counts(facts),
        lanes: lanes(facts),
        sessions: facts
            .sessions
            .iter()
            .filter(|one| one.session.lane.is_none())
            .map(SessionOverviewView::from)
            .collect(),
        claims: facts
            .held
            .iter()
            .filter(|held| held.session.is_none() && !held.is_of_import())
            .map(HeldTaskView::from)
            .collect(),
        jobs: jobs::jobs(app, facts),
        landing: facts.landing.clone(),
        cost: facts.costs.all(),
        inbox: facts.inbox,
    };
    sort_lanes(&mut board);
    board
}

/// Lanes with a need come first, the most urgent at the top. The others stay in the order of their names.
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
        ready: facts.counts.all.ready - number(lane_needs::waiting_tasks(facts)),
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

/// Every lane, by name. A closed lane is shown only while it has a session or a claimed task.
pub(super) fn lanes(facts: &Facts) -> Vec<BoardLaneView> {
    let pull = |lane: &Lane| facts.pulls.iter().find(|pull| pull.lane == lane.name);
    let view = |lane: &Lane| {
        let is_here = |one: &&SessionOverview| one.session.lane.as_ref() == Some(&lane.name);
        let sessions: Vec<_> = facts.sessions.iter().filter(is_here).map(SessionOverviewView::from).collect();
        let is_in = |held: &&HeldTask| held.lane.as_ref() == Some(&lane.name);
        let tasks: Vec<_> = facts.held.iter().filter(is_in).map(HeldTaskView::from).collect();
        let is_shown = lane.status != LaneStatus::Closed || !sessions.is_empty() || !tasks.is_empty();
        let waiting = facts.waiting_checks.iter();
        is_shown.then(|| BoardLaneView {
            name: lane.name.to_string(),
            status: lane.status,
            role: lane.role.as_ref().map(ToString::to_string),
            branch: lane.branch.clone(),
            base: lane.base.clone(),
            stands_on: lane.parent(&facts.lanes).map(|parent| parent.name.to_string()),
            worktree: lane.worktree.clone(),
            host: lane.host.clone(),
            wip_limit: lane.wip_limit,
            provider: lane.provider.as_ref().map(ToString::to_string),
            tasks,
            sessions,
            work: work(facts, lane),
            setup: facts.setups.get(&lane.name).cloned(),
            waiting_checks: waiting.filter(|(of, _)| of == lane.name.as_str()).map(|(_, one)| one.clone()).collect(),
            pull_request: pull(lane).and_then(|pull| PullRequestView::of(pull, facts.now)),
            diffstat: diffstat(facts, lane),
            overlap: overlap(facts, lane),
            cost: facts.costs.of_lane(lane.name.as_str()),
        })
    };
    facts.lanes.iter().filter_map(view).collect()
}

fn work(facts: &Facts, lane: &Lane) -> Option<String> {
    facts.diffstats.iter().find(|one| one.lane == lane.name)?.work.as_ref()?.clause()
}

fn diffstat(facts: &Facts, lane: &Lane) -> Option<BoardDiffstatView> {
    let found = facts.diffstats.iter().find(|one| one.lane == lane.name && one.is_known)?;
    Some(BoardDiffstatView {
        files: found.files,
        added: found.added,
        deleted: found.deleted,
        taken_at: found.taken_at.to_string(),
    })
}

fn overlap(facts: &Facts, lane: &Lane) -> Vec<BoardOverlapView> {
    let mut found: Vec<_> = facts.overlaps.iter().filter(|one| one.involves(&lane.name)).collect();
    found.sort_by_key(|one| one.level.rank());
    let view = |one: &LaneOverlap| BoardOverlapView {
        lane: one.counterpart(&lane.name).map(ToString::to_string),
        level: one.level,
        files: one.files.iter().map(|file| file.path.clone()).collect(),
    };
    found.into_iter().map(view).collect()
}
