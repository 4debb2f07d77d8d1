//! The rows of the board, in the order in which they are shown.

use crate::{
    cli::{
        age::age,
        session::list,
        status::format::{activity, meaning_of},
    },
    env::Timestamp,
    render::Meaning,
    wire::{
        BoardDiffstatView, BoardJobView, BoardLaneView, BoardOverlapView, BoardView, HeldTaskView, LandRunningView,
        NeedView, SessionOverviewView, short_job_id,
    },
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Needs,
    Landing,
    Lanes,
    Sessions,
    Claims,
    Jobs,
    Failed,
}

impl Part {
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Needs => "NEEDS YOU",
            Self::Landing => "LANDING",
            Self::Lanes => "LANES",
            Self::Sessions => "SESSIONS WITHOUT A LANE",
            Self::Claims => "CLAIMS WITHOUT A SESSION",
            Self::Jobs => "JOBS",
            Self::Failed => "FAILED JOBS",
        }
    }
}

/// The position of a row's object in the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Need(usize),
    Landing(usize),
    LaneSession(usize, usize),
    LaneClaim(usize, usize),
    FreeLane(usize),
    Session(usize),
    Claim(usize),
    Job(usize),
    Failed(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// Does not change while the row's object is on the board.
    pub id: String,
    pub part: Part,
    place: Place,
}

#[derive(Debug, Clone)]
pub(super) struct RowText {
    pub shape: char,
    pub meaning: Meaning,
    /// One for each column of its part.
    pub cells: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Subject<'a> {
    pub need: Option<&'a NeedView>,
    pub session: Option<&'a str>,
    pub task: Option<&'a str>,
    pub lane: Option<&'a str>,
    pub job: Option<&'a str>,
    /// The number of an approval that can be answered from here.
    pub approval: Option<i64>,
    /// The command that a landing runs now.
    pub running: Option<&'a LandRunningView>,
}

pub(super) fn rows(board: &BoardView) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |part, id: String, place| rows.push(Row { id, part, place });
    for (at, need) in board.needs_you.iter().enumerate() {
        add(Part::Needs, need.id.clone(), Place::Need(at));
    }
    for (at, one) in board.landing.now.iter().enumerate() {
        add(Part::Landing, format!("landing:{}", one.id), Place::Landing(at));
    }
    for (at, lane) in board.lanes.iter().enumerate() {
        for (one, session) in lane.sessions.iter().enumerate() {
            add(Part::Lanes, format!("session:{}", session.session.id), Place::LaneSession(at, one));
        }
        let mut is_free = lane.sessions.is_empty();
        for (one, held) in lane.tasks.iter().enumerate() {
            if !lane.sessions.iter().any(|session| session.shows(held)) {
                is_free = false;
                add(Part::Lanes, format!("claim:{}", held.task_id), Place::LaneClaim(at, one));
            }
        }
        if is_free {
            add(Part::Lanes, format!("lane:{}", lane.name), Place::FreeLane(at));
        }
    }
    for (at, one) in board.sessions.iter().enumerate() {
        add(Part::Sessions, format!("session:{}", one.session.id), Place::Session(at));
    }
    for (at, held) in board.claims.iter().enumerate().filter(|(_, held)| held.lane.is_none()) {
        add(Part::Claims, format!("claim:{}", held.task_id), Place::Claim(at));
    }
    for (at, job) in board.jobs.active.iter().enumerate() {
        add(Part::Jobs, format!("job:{}", job.run_id), Place::Job(at));
    }
    for (at, job) in board.jobs.failed.iter().enumerate() {
        add(Part::Failed, format!("job:{}", job.run_id), Place::Failed(at));
    }
    rows
}

/// The number of objects in a part of the board. The board may show fewer of them.
pub(super) fn count(board: &BoardView, part: Part) -> usize {
    match part {
        Part::Needs => board.needs_you.len(),
        Part::Landing => board.landing.now.len(),
        Part::Lanes => board.lanes.len(),
        Part::Sessions => board.sessions.len(),
        Part::Claims => board.claims.iter().filter(|held| held.lane.is_none()).count(),
        Part::Jobs => board.jobs.active_count,
        Part::Failed => board.jobs.failed.len(),
    }
}

/// Where a lane's work is, the size of its change, then its first overlap.
fn change(lane: &BoardLaneView) -> String {
    let size = lane.diffstat.as_ref().map(BoardDiffstatView::summary);
    let overlap = lane.overlap.first().map(BoardOverlapView::summary);
    let parts: Vec<String> = lane.clauses().chain(size).chain(overlap).filter(|text| !text.is_empty()).collect();
    parts.join("  ")
}

impl Row {
    pub(super) fn text(&self, board: &BoardView, now: Timestamp) -> RowText {
        match self.place {
            Place::Need(at) => board.needs_you.get(at).map(|need| need_text(need, now)),
            Place::Landing(at) => board.landing.now.get(at).map(|one| {
                let running = board.landing.running_for(at);
                let state = format!("{} {}", one.state, age(&one.since, now));
                let what = running.map(|run| format!("{} {}", run.what, age(&run.since, now))).unwrap_or_default();
                let last = running.and_then(|run| run.output.last().cloned()).unwrap_or_default();
                RowText { shape: '▶', meaning: Meaning::Good, cells: vec![one.summary(), state, what, last] }
            }),
            Place::LaneSession(at, one) => board.lanes.get(at).and_then(|lane| {
                let mut row = session_text(lane.sessions.get(one)?, Some(&lane.name), now);
                // The facts about a lane are shown once, in its first row.
                let is_first = one == 0;
                row.cells.push(if is_first { change(lane) } else { String::new() });
                row.cells.push(lane.cost.short().filter(|_| is_first).unwrap_or_default());
                Some(row)
            }),
            Place::LaneClaim(at, one) => board.lanes.get(at).and_then(|lane| {
                let held = lane.tasks.get(one)?;
                let (activity, doing) = claim_words(held, now);
                let cells = [&lane.name, &held.task_id, &held.claimant, "-", &activity, &doing, "", ""];
                Some(claim_row(held, cells.map(str::to_owned).into()))
            }),
            Place::FreeLane(at) => board.lanes.get(at).map(|lane| {
                let state = if lane.status == "open" { "free" } else { lane.status };
                let cost = lane.cost.short().unwrap_or_default();
                let cells = [&lane.name, "-", "-", "-", state, "-", &change(lane), &cost];
                RowText { shape: '○', meaning: Meaning::Faint, cells: cells.map(str::to_owned).into() }
            }),
            Place::Session(at) => board.sessions.get(at).map(|one| session_text(one, None, now)),
            Place::Claim(at) => board.claims.get(at).map(|held| {
                let (activity, doing) = claim_words(held, now);
                let cells = [held.claimant.clone(), held.task_id.clone(), activity, doing];
                claim_row(held, cells.into())
            }),
            Place::Job(at) => board.jobs.active.get(at).map(|job| job_text(job, now)),
            Place::Failed(at) => board.jobs.failed.get(at).map(|job| job_text(job, now)),
        }
        .unwrap_or(RowText { shape: ' ', meaning: Meaning::Faint, cells: Vec::new() })
    }

    pub(super) fn subject<'a>(&self, board: &'a BoardView) -> Subject<'a> {
        let of_session = |one: &'a SessionOverviewView| Subject {
            session: Some(&one.session.id),
            task: one.holds.first().map(|held| held.task_id.as_str()),
            lane: one.session.lane.as_deref(),
            ..Subject::default()
        };
        let of_claim = |held: &'a HeldTaskView| Subject {
            session: held.session_id.as_deref(),
            task: Some(&held.task_id),
            lane: held.lane.as_deref(),
            ..Subject::default()
        };
        let of_job = |job: &'a BoardJobView| Subject {
            job: Some(&job.run_id),
            session: job.session_id.as_deref(),
            ..Subject::default()
        };
        let lane = |at: usize| board.lanes.get(at);
        match self.place {
            Place::Need(at) => board.needs_you.get(at).map(|need| Subject {
                need: Some(need),
                session: need.session_id.as_deref(),
                task: need.task_id.as_deref(),
                lane: need.lane.as_deref(),
                approval: approval_of(need),
                ..Subject::default()
            }),
            Place::Landing(at) => board.landing.now.get(at).map(|one| Subject {
                task: one.tasks.first().map(String::as_str),
                lane: one.lane.as_deref(),
                running: board.landing.running_for(at),
                ..Subject::default()
            }),
            Place::LaneSession(at, one) => lane(at).and_then(|lane| lane.sessions.get(one)).map(of_session),
            Place::LaneClaim(at, one) => lane(at).and_then(|lane| lane.tasks.get(one)).map(of_claim),
            Place::FreeLane(at) => lane(at).map(|lane| Subject { lane: Some(&lane.name), ..Subject::default() }),
            Place::Session(at) => board.sessions.get(at).map(of_session),
            Place::Claim(at) => board.claims.get(at).map(of_claim),
            Place::Job(at) => board.jobs.active.get(at).map(of_job),
            Place::Failed(at) => board.jobs.failed.get(at).map(of_job),
        }
        .unwrap_or_default()
    }

    /// Whether a cell of the row contains `word`, or the evidence of the item that needs a person. Ignores case; `word` must
    /// be in lower case.
    pub(super) fn contains(&self, board: &BoardView, now: Timestamp, word: &str) -> bool {
        let in_row = self.text(board, now).cells.iter().any(|cell| cell.to_lowercase().contains(word));
        in_row || self.subject(board).need.is_some_and(|need| need.evidence.to_lowercase().contains(word))
    }
}

/// The number of an item's permission request. Returns `None` when it cannot be answered from the board.
fn approval_of(need: &NeedView) -> Option<i64> {
    let id = need.id.strip_prefix("approval:")?.parse().ok()?;
    need.commands.iter().any(|next| next.command.starts_with("fairway approvals answer ")).then_some(id)
}

fn need_text(need: &NeedView, now: Timestamp) -> RowText {
    let (shape, meaning) = (need.shape(), meaning_of(need.shape()));
    let about = need.session_id.as_ref().or(need.task_id.as_ref()).or(need.lane.as_ref());
    let since = need.since.as_deref().map(|at| age(at, now)).unwrap_or_default();
    let cure = match need.kind {
        "approval" if approval_of(need).is_some() => "y allow  n deny".to_owned(),
        "approval" => "Enter look".to_owned(),
        "question" if need.takes_answer() => "p answer".to_owned(),
        "question" if need.session_id.is_some() => "Enter answer".to_owned(),
        "blocked" | "unfinished" if need.session_id.is_some() => "p tell it".to_owned(),
        "dead" | "stale" | "lease" => "r release".to_owned(),
        "review" if need.task_id.is_some() => "v review".to_owned(),
        "gate" | "handoff" if need.task_id.is_some() => "e explain".to_owned(),
        _ => need.commands.first().map(|next| next.command.clone()).unwrap_or_default(),
    };
    let about = about.cloned().unwrap_or_default();
    RowText { shape, meaning, cells: vec![need.kind.to_owned(), about, need.line.clone(), since, cure] }
}

fn session_text(one: &SessionOverviewView, lane: Option<&str>, now: Timestamp) -> RowText {
    let (shape, activity) = activity(one, now);
    let blocked = one.holds.iter().find_map(|held| held.blocked_reason.as_ref()).filter(|_| one.release.is_none());
    let doing = match blocked {
        Some(reason) => format!("blocked: {reason}"),
        None => list::doing(one),
    };
    let provider = one.session.provider.clone().unwrap_or_else(|| "-".to_owned());
    let tasks = list::holds(one);
    let cells = match lane {
        Some(lane) => vec![lane.to_owned(), tasks, one.shown_id(), provider, activity, doing],
        None => vec![one.shown_id(), tasks, provider, activity, doing],
    };
    RowText { shape, meaning: meaning_of(shape), cells }
}

fn claim_row(held: &HeldTaskView, cells: Vec<String>) -> RowText {
    let shape = held.shape();
    RowText { shape, meaning: meaning_of(shape), cells }
}

/// The state of a claim without a session, and what is known of its work.
fn claim_words(held: &HeldTaskView, now: Timestamp) -> (String, String) {
    let doing = match &held.blocked_reason {
        Some(reason) => format!("blocked: {reason}"),
        None => held.title.clone(),
    };
    (format!("{} {}", held.status, age(&held.claimed_at, now)), doing)
}

fn job_text(job: &BoardJobView, now: Timestamp) -> RowText {
    let (shape, meaning) = match job.status {
        "running" | "starting" => ('▶', Meaning::Good),
        _ => ('✗', Meaning::Bad),
    };
    let code = job.exit_code.map(|code| format!(" {code}")).unwrap_or_default();
    let dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
    let state = format!("{}{code} {}", job.status, age(&job.since, now));
    let cells =
        [short_job_id(&job.run_id).to_owned(), dash(&job.session_id), state, job.command.clone(), dash(&job.last_line)];
    RowText { shape, meaning, cells: cells.into() }
}
