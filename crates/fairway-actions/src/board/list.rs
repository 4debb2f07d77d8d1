//! The list of the board: what needs a person, what is at work, what is ready and what is free. Every surface with a list has
//! this order and these words.

use anyhow::Result;

use crate::App;
use crate::queue::task::ready::{ReadyFor, ready_summaries};
use fairway_core::domain::lane::LaneStatus;
use fairway_core::domain::task::TaskSummary;
use fairway_core::wire::{
    BoardJobView, BoardLaneView, BoardOverlapView, BoardView, HeldTaskView, LandAtWorkView, NeedView,
    SessionOverviewView, status_words,
};

/// So many ready tasks are rows.
const MAX_READY: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListPart {
    Needs,
    Work,
    Ready,
    Free,
}

impl ListPart {
    pub const fn title(self) -> &'static str {
        match self {
            Self::Needs => "Needs you",
            Self::Work => "At work",
            Self::Ready => "Ready",
            Self::Free => "Free lanes",
        }
    }
}

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// The item at this place of `needs_you`.
    Need(usize),
    /// The landing at this place.
    Landing(usize),
    Session,
    Claim,
    Job,
    ReadyTask,
    /// The ready tasks that have no row.
    MoreTasks,
    Lane,
}

/// What a fact of a row tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactKind {
    Kind,
    /// The session, or the claimant.
    Who,
    Lane,
    Provider,
    Task,
    State,
    Notice,
    Doing,
    Role,
    Priority,
    Added,
    Deleted,
    /// The age alone.
    Age,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowFact {
    pub kind: FactKind,
    pub text: String,
    /// Since when.
    pub since: Option<String>,
}

/// A row: what it is about, in the person's words; then who, what and how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRow {
    /// The same while what it is about is on the board.
    pub key: String,
    pub part: ListPart,
    pub kind: RowKind,
    pub session: Option<String>,
    pub task: Option<String>,
    pub lane: Option<String>,
    pub job: Option<String>,
    pub shape: char,
    pub title: String,
    /// What stands at its right.
    pub corner: Vec<RowFact>,
    pub facts: Vec<RowFact>,
}

impl ListRow {
    fn new(key: String, (part, kind): (ListPart, RowKind), shape: char, title: String) -> Self {
        let (session, task, lane, job) = (None, None, None, None);
        Self { key, part, kind, session, task, lane, job, shape, title, corner: Vec::new(), facts: Vec::new() }
    }

    fn fact(mut self, kind: FactKind, text: impl Into<String>) -> Self {
        self.facts.push(RowFact { kind, text: text.into(), since: None });
        self
    }

    fn facts<T: Into<String>>(self, kind: FactKind, texts: impl IntoIterator<Item = T>) -> Self {
        texts.into_iter().fold(self, |row, text| row.fact(kind, text))
    }

    fn state(mut self, word: &str, since: Option<&str>) -> Self {
        self.facts.push(RowFact { kind: FactKind::State, text: word.to_owned(), since: since.map(str::to_owned) });
        self
    }

    fn aged(mut self, since: Option<&str>) -> Self {
        let age = |at: &str| RowFact { kind: FactKind::Age, text: String::new(), since: Some(at.to_owned()) };
        self.corner.extend(since.map(age));
        self
    }

    /// The names of what the row is about, as far as they stand in it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        [&self.session, &self.task, &self.lane].into_iter().flatten().map(String::as_str)
    }
}

/// The first tasks that can be claimed, for the rows of the board's list.
///
/// # Errors
/// Those of the store.
pub fn ready_tasks(app: &App, board: &BoardView) -> Result<Vec<TaskSummary>> {
    Ok(if board.counts.ready > 0 { ready_summaries(app, ReadyFor::Anyone, Some(MAX_READY))?.0 } else { Vec::new() })
}

/// The number beside the heading of a part. It may differ from the rows: not all ready tasks have one.
pub fn count(board: &BoardView, rows: &[ListRow], part: ListPart) -> usize {
    match part {
        ListPart::Ready => usize::try_from(board.counts.ready).unwrap_or_default(),
        _ => rows.iter().filter(|row| row.part == part).count(),
    }
}

/// The rows in their order. `ready`: the first tasks that can be claimed.
pub fn rows(board: &BoardView, ready: &[TaskSummary]) -> Vec<ListRow> {
    let mut rows: Vec<ListRow> = board.needs_you.iter().enumerate().map(|one| need_row(board, one)).collect();
    rows.extend(work(board));
    rows.extend(ready.iter().map(ready_row));
    let count = usize::try_from(board.counts.ready).unwrap_or_default();
    if count > ready.len() && !ready.is_empty() {
        let kind = (ListPart::Ready, RowKind::MoreTasks);
        rows.push(ListRow::new("ready".into(), kind, '·', format!("{} more", count - ready.len())));
    }
    rows.extend(board.lanes.iter().filter(|lane| is_free(lane)).map(free_row));
    rows
}

fn need_row(board: &BoardView, (at, need): (usize, &NeedView)) -> ListRow {
    let provider = board.session(need.session_id.as_deref()).and_then(|one| one.session.provider.as_ref());
    let who = need.session_id.as_ref().or(need.lane.as_ref());
    let told = who.map_or("", String::as_str);
    let mut row = ListRow::new(need.id.clone(), (ListPart::Needs, RowKind::Need(at)), need.shape(), need.line.clone())
        .fact(FactKind::Kind, need.kind.as_str().replace('_', " "))
        .facts(FactKind::Who, who)
        .facts(FactKind::Provider, provider.filter(|provider| !told.contains(provider.as_str())));
    (row.session, row.task, row.lane) = (need.session_id.clone(), need.task_id.clone(), need.lane.clone());
    if let Some(id) = &need.task_id {
        let title = board.held(id).map(|held| held.title.as_str()).unwrap_or_default();
        // The line or the session's name may tell it already.
        let id = Some(id.as_str())
            .filter(|id| !begins_with(told, id) && !need.line.split([' ', ':', ',']).any(|word| word == *id));
        let title = Some(title).filter(|title| !title.is_empty() && !need.line.contains(title));
        let words: Vec<&str> = id.into_iter().chain(title).collect();
        row = row.facts(FactKind::Task, (!words.is_empty()).then(|| words.join(" ")));
    }
    row.aged(need.since.as_deref())
}

/// Whether a name is `start`, or begins with it and a hyphen, as that of a session of `start` does.
fn begins_with(name: &str, start: &str) -> bool {
    name.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The landings, sessions, claims and jobs that no item above is about.
fn work(board: &BoardView) -> Vec<ListRow> {
    let needs = &board.needs_you;
    let is_above = |session: Option<&str>, tasks: &[HeldTaskView]| {
        needs.iter().any(|need| {
            let is_task = |held: &HeldTaskView| need.task_id.as_ref() == Some(&held.task_id);
            session.is_some() && need.session_id.as_deref() == session || tasks.iter().any(is_task)
        })
    };
    let is_below = |held: &&HeldTaskView| !is_above(None, std::slice::from_ref(*held));
    let mut rows: Vec<ListRow> = (0..board.landing.now.len()).filter_map(|at| landing(&board.landing, at)).collect();
    for lane in &board.lanes {
        let sessions = lane.sessions.iter().filter(|one| !is_above(Some(&one.session.id), &one.holds));
        rows.extend(sessions.enumerate().map(|(at, one)| session_row(one, Some((lane, at == 0)))));
        let is_shown = |held: &HeldTaskView| lane.sessions.iter().any(|one| one.shows(held));
        rows.extend(lane.tasks.iter().filter(|held| !is_shown(held)).filter(is_below).map(claim_row));
    }
    let loose = board.sessions.iter().filter(|one| !is_above(Some(&one.session.id), &one.holds));
    rows.extend(loose.map(|one| session_row(one, None)));
    // Those in a lane are shown there.
    rows.extend(board.claims.iter().filter(|held| held.lane.is_none()).filter(is_below).map(claim_row));
    rows.extend(board.jobs.active.iter().map(job_row));
    rows
}

/// A session's row. `lane`: its lane, and whether the row has what concerns the whole lane.
fn session_row(one: &SessionOverviewView, lane: Option<(&BoardLaneView, bool)>) -> ListRow {
    let state = one.shown_state();
    let id = &one.session.id;
    let tasks: Vec<String> = one.holds.iter().map(HeldTaskView::name).collect();
    let doing = one.work_line();
    let title = match (&doing, tasks.is_empty()) {
        (_, false) => tasks.join("; "),
        (Some(doing), true) => doing.to_string(),
        (None, true) => one.session.role.clone(),
    };
    let mut row = ListRow::new(format!("session:{id}"), (ListPart::Work, RowKind::Session), state.shape, title)
        .fact(FactKind::Who, one.shown_id());
    row.session = Some(id.clone());
    row.task = one.holds.first().map(|held| held.task_id.clone());
    row.lane.clone_from(&one.session.lane);
    if let Some((lane, _)) = lane.filter(|(lane, _)| !begins_with(id, &lane.name)) {
        row = row.fact(FactKind::Lane, &lane.name);
    }
    let provider = one.session.provider.as_ref().filter(|provider| !id.contains(provider.as_str()));
    row = row
        .facts(FactKind::Provider, provider)
        .state(state.word, state.since)
        .facts(FactKind::Notice, one.guard_mark());
    if let Some((lane, true)) = lane {
        row = lane_facts(row, lane);
    }
    row.facts(FactKind::Doing, doing.filter(|_| !tasks.is_empty())).facts(FactKind::Notice, one.context_left())
}

/// Adds the size of the lane's change, and what is unusual about the lane.
fn lane_facts(mut row: ListRow, lane: &BoardLaneView) -> ListRow {
    if let Some(size) = lane.diffstat.as_ref().filter(|diffstat| diffstat.files > 0) {
        let corner = |kind, text| RowFact { kind, text, since: None };
        row.corner.push(corner(FactKind::Added, format!("+{}", size.added)));
        if size.deleted > 0 {
            row.corner.push(corner(FactKind::Deleted, format!("−{}", size.deleted)));
        }
    }
    row.facts(FactKind::Notice, (lane.status != LaneStatus::Open).then_some(lane.status.as_str()))
        .facts(FactKind::Notice, lane.clauses())
        .facts(FactKind::Notice, lane.overlap.iter().map(BoardOverlapView::summary))
}

fn is_free(lane: &BoardLaneView) -> bool {
    lane.sessions.is_empty() && lane.tasks.is_empty()
}

fn free_row(lane: &BoardLaneView) -> ListRow {
    let kind = (ListPart::Free, RowKind::Lane);
    let mut row = ListRow::new(format!("lane:{}", lane.name), kind, '○', lane.name.clone());
    row.lane = Some(lane.name.clone());
    if lane.status == LaneStatus::Open {
        row = row.state("free", None);
    }
    lane_facts(row.facts(FactKind::Role, lane.role.as_deref()), lane)
}

fn claim_row(held: &HeldTaskView) -> ListRow {
    let kind = (ListPart::Work, RowKind::Claim);
    let mut row = ListRow::new(format!("claim:{}", held.task_id), kind, held.shape(), held.name())
        .fact(FactKind::Who, &held.claimant)
        .state(&status_words(held.status.as_str()), Some(&held.claimed_at))
        .facts(FactKind::Doing, held.blocked_words());
    (row.session, row.task, row.lane) = (held.session_id.clone(), Some(held.task_id.clone()), held.lane.clone());
    row
}

/// A landing at work: what lands, since when, and what runs for it.
fn landing(at_work: &LandAtWorkView, at: usize) -> Option<ListRow> {
    let one = at_work.now.get(at)?;
    let kind = (ListPart::Work, RowKind::Landing(at));
    let mut row = ListRow::new(format!("landing:{}", one.id), kind, '▶', format!("Landing {}", one.summary()))
        .state(one.state, None)
        .facts(FactKind::Doing, at_work.running_for(at).map(|running| running.what.as_str()));
    (row.task, row.lane) = (one.tasks.first().cloned(), one.lane.clone());
    Some(row.aged(Some(&one.since)))
}

fn job_row(job: &BoardJobView) -> ListRow {
    let kind = (ListPart::Work, RowKind::Job);
    let mut row = ListRow::new(format!("job:{}", job.run_id), kind, '▶', job.command.clone())
        .state(job.status.as_str(), None)
        .facts(FactKind::Doing, job.session_id.iter().chain(&job.last_line));
    (row.session, row.job) = (job.session_id.clone(), Some(job.run_id.clone()));
    row.aged(Some(&job.since))
}

fn ready_row(task: &TaskSummary) -> ListRow {
    let (id, kind) = (task.id.as_str(), (ListPart::Ready, RowKind::ReadyTask));
    let mut row = ListRow::new(format!("ready:{id}"), kind, '·', format!("{id} {}", task.title))
        .facts(FactKind::Role, task.role.iter().map(ToString::to_string))
        .facts(FactKind::Role, task.lane.iter().map(ToString::to_string));
    row.task = Some(id.to_owned());
    row.corner.push(RowFact { kind: FactKind::Priority, text: format!("P{}", task.priority), since: None });
    row
}
