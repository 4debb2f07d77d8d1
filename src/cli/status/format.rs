//! The board as text. Shapes tell states apart without colour; ids are never cut.

use std::fmt::Write as _;

use crate::cli::age::age;
use crate::cli::session::list;
use fairway_core::domain::lane::LaneStatus;
use fairway_core::domain::need::NeedKind;
use fairway_core::domain::plural;
use fairway_core::domain::status::JobStatus;
use fairway_core::env::Timestamp;
use fairway_core::render::{Meaning, Style, Table, escape_line};
use fairway_core::wire::{
    BoardJobView, BoardLaneView, BoardOverlapView, BoardView, CommandView, HeldTaskView, LandAtWorkView,
    SessionOverviewView, short_job_id,
};

/// The rows of a section that are shown without `--all`.
const MAX_ROWS: usize = 15;
/// Room for the line of an item, in characters; with less it gets a line of its own.
const MIN_LINE_WIDTH: usize = 24;
const INDENT: &str = "    ";
/// Between two commands of an item.
const SEPARATOR: &str = "  ·  ";

struct Printer {
    now: Timestamp,
    style: Style,
    width: Option<usize>,
    most: usize,
    text: String,
}

/// Formats the board. Unless `all`, each list shows at most `MAX_ROWS` rows.
pub(super) fn text(board: &BoardView, now: Timestamp, style: Style, width: Option<usize>, all: bool) -> String {
    let most = if all { usize::MAX } else { MAX_ROWS };
    let mut printer = Printer { now, style, width, most, text: String::new() };
    printer.needs(board);
    printer.inbox(board.inbox.unwrap_or_default());
    printer.counts(board);
    printer.landing(&board.landing);
    printer.lanes(&board.lanes);
    printer.changes(&board.lanes);
    printer.sessions(&board.sessions);
    printer.claims(&board.claims);
    let jobs = &board.jobs;
    printer.jobs("JOBS", jobs.active_count, &jobs.active);
    printer.jobs("FAILED JOBS", jobs.failed.len(), &jobs.failed);
    printer.text
}

impl Printer {
    fn heading(&mut self, title: &str, count: usize) {
        let gap = if self.text.is_empty() { "" } else { "\n" };
        let _ = writeln!(self.text, "{gap}{}", self.style.paint(Meaning::Strong, &format!("{title} ({count})")));
    }

    fn more(&mut self, count: usize) {
        if count > self.most {
            let line = format!("… and {} more: fairway status --all", count - self.most);
            let _ = writeln!(self.text, "{}", self.style.paint(Meaning::Faint, &line));
        }
    }

    /// Escapes a text, and cuts it to the rest of a line of which `used` columns are taken.
    fn cut(&self, text: &str, used: usize) -> String {
        let text = escape_line(text);
        match self.width.map(|width| width.saturating_sub(used).max(8)) {
            Some(room) if text.chars().count() > room => text.chars().take(room - 1).chain(['…']).collect(),
            _ => text,
        }
    }

    fn needs(&mut self, board: &BoardView) {
        let needs = board.needs_you.as_slice();
        if needs.is_empty() {
            let _ = writeln!(self.text, "{}", self.style.paint(Meaning::Good, &escape_line(&board.calm_line())));
            return;
        }
        self.heading("NEEDS YOU", needs.len());
        for need in needs.iter().take(self.most) {
            let (shape, meaning) = (need.shape(), meaning_of(need.shape()));
            let about: Vec<&str> = match need.kind {
                // Its line names the tasks.
                NeedKind::Dead | NeedKind::Stale | NeedKind::Orphan | NeedKind::Landing | NeedKind::Job => {
                    need.session_id.iter().map(String::as_str).collect()
                }
                _ => [&need.session_id, &need.task_id].into_iter().flatten().map(String::as_str).collect(),
            };
            let since = need.since.as_deref().map(|at| age(at, self.now)).unwrap_or_default();
            let begin = format!("{shape} {:<9}", need.kind);
            let about = escape_line(&format!("{:<14} {since:>6}", about.join(" ")));
            let used = begin.chars().count() + about.chars().count() + 3;
            let painted = self.style.paint(meaning, &begin);
            // Long ids push the text to a line of its own.
            let is_narrow = self.width.is_some_and(|width| used + MIN_LINE_WIDTH > width);
            if is_narrow {
                let line = self.cut(&need.line, INDENT.len());
                let _ = writeln!(self.text, "{painted} {about}\n{INDENT}{line}");
            } else {
                let line = self.cut(&need.line, used);
                let _ = writeln!(self.text, "{painted} {about}  {line}");
            }
            if self.most == usize::MAX {
                let evidence = self.cut(&format!("evidence: {}", need.evidence), INDENT.len());
                let _ = writeln!(self.text, "{INDENT}{}", self.style.paint(Meaning::Faint, &evidence));
                for next in &need.commands {
                    self.command(&next.purpose, &next.command);
                }
            } else {
                self.commands(&need.commands);
            }
        }
        self.more(needs.len());
    }

    /// Adds as many commands as fit in one line, at least the first one. `--all` shows each in a line of its own.
    fn commands(&mut self, commands: &[CommandView]) {
        let Some((first, others)) = commands.split_first() else { return };
        let text = |next: &CommandView| format!("{}: {}", escape_line(&next.purpose), escape_line(&next.command));
        let mut used = INDENT.len() + text(first).chars().count();
        let fits = |next: &&CommandView| {
            used += SEPARATOR.chars().count() + text(next).chars().count();
            self.width.is_none_or(|width| used <= width)
        };
        let others: Vec<&CommandView> = others.iter().take_while(fits).collect();
        if others.is_empty() {
            return self.command(&first.purpose, &first.command);
        }
        let paint = |next: &CommandView| {
            let purpose = self.style.paint(Meaning::Faint, &format!("{}: ", escape_line(&next.purpose)));
            format!("{purpose}{}", escape_line(&next.command))
        };
        let line: Vec<String> = std::iter::once(first).chain(others).map(paint).collect();
        let _ = writeln!(self.text, "{INDENT}{}", line.join(SEPARATOR));
    }

    fn inbox(&mut self, count: usize) {
        if count > 0 {
            let line = self.style.paint(Meaning::Notice, &format!("{} for you", plural::count(count, "message")));
            let _ = writeln!(self.text, "\n{line}: fairway inbox");
        }
    }

    /// Adds a command, uncut. Leaves out its purpose when there is no room for both.
    fn command(&mut self, purpose: &str, command: &str) {
        let (purpose, command) = (escape_line(&format!("{purpose}: ")), escape_line(command));
        let used = INDENT.len() + purpose.chars().count() + command.chars().count();
        let fits = self.width.is_none_or(|width| used <= width);
        let purpose = if fits { self.style.paint(Meaning::Faint, &purpose) } else { String::new() };
        let _ = writeln!(self.text, "{INDENT}{purpose}{command}");
    }

    fn counts(&mut self, board: &BoardView) {
        let counts = &board.counts;
        let progress = format!("{} in progress", counts.in_progress);
        let mut parts = vec![format!("{} ready", counts.ready), progress, format!("{} done", counts.done)];
        for (count, word) in [(counts.review, "in review"), (counts.blocked, "blocked")] {
            if count > 0 {
                parts.insert(parts.len() - 1, format!("{count} {word}"));
            }
        }
        let unknown = board.cost.turns_without_cost;
        let unknown = if unknown > 0 { format!(", {} unknown", plural::count(unknown, "turn")) } else { String::new() };
        parts.extend(board.cost.short().map(|cost| format!("{cost} today{unknown}")));
        let _ = writeln!(self.text, "\n{}", parts.join(" · "));
    }

    fn landing(&mut self, landing: &LandAtWorkView) {
        if landing.now.is_empty() {
            return;
        }
        self.heading("LANDING", landing.now.len());
        for one in &landing.now {
            let what = format!("{}  {} {}", one.summary(), one.state, age(&one.since, self.now));
            let what = self.cut(&what, 2);
            let _ = writeln!(self.text, "{} {what}", self.style.paint(Meaning::Good, "▶"));
        }
        for one in &landing.running {
            let last = one.output.last().map(|line| format!(": {line}")).unwrap_or_default();
            let text = self.cut(&format!("{} {}{last}", one.what, age(&one.since, self.now)), INDENT.len());
            let _ = writeln!(self.text, "{INDENT}{text}");
        }
    }

    fn lanes(&mut self, lanes: &[BoardLaneView]) {
        if lanes.is_empty() {
            return;
        }
        self.heading("LANES", lanes.len());
        let mut table = board_table(&["lane", "task", "session", "provider", "activity", "doing"]);
        for lane in lanes.iter().take(self.most) {
            let mut is_free = true;
            for one in &lane.sessions {
                is_free = false;
                self.session_row(&mut table, Some(&lane.name), one);
            }
            let is_shown = |held: &&HeldTaskView| lane.sessions.iter().any(|one| one.shows(held));
            for held in lane.tasks.iter().filter(|held| !is_shown(held)) {
                is_free = false;
                self.claim_row(&mut table, Some(&lane.name), held);
            }
            if is_free {
                let state = if lane.status == LaneStatus::Open { "free" } else { lane.status.as_str() };
                table.row([&format!("○ {}", lane.name), "-", "-", "-", state, "-"]);
            }
        }
        self.text.push_str(&table.render(self.width));
        self.more(lanes.len());
        for (lane, clause) in lanes.iter().flat_map(|lane| lane.clauses().map(move |clause| (lane, clause))) {
            let line = self.cut(&format!("lane {} {clause}", lane.name), 0);
            let _ = writeln!(self.text, "{line}");
        }
    }

    /// Adds a table with the size of each lane's change and its overlaps, as they were when they were last determined. Adds
    /// nothing when no lane has a change.
    fn changes(&mut self, lanes: &[BoardLaneView]) {
        let has_change = |lane: &&BoardLaneView| lane.diffstat.as_ref().is_some_and(|one| one.files > 0);
        let changed: Vec<&BoardLaneView> = lanes.iter().filter(has_change).collect();
        if changed.is_empty() {
            return;
        }
        self.heading("CHANGES", changed.len());
        let mut table = Table::new(&["lane", "files", "lines", "seen", "overlap"]).with_whole(&["lane"]);
        for lane in changed.iter().take(self.most) {
            let Some(size) = &lane.diffstat else { continue };
            let word = |one: &BoardOverlapView| format!("{} {}", one.level, one.lane.as_deref().unwrap_or("base"));
            let overlap: Vec<String> = lane.overlap.iter().map(word).collect();
            let overlap = if overlap.is_empty() { "-".to_owned() } else { overlap.join(", ") };
            let lines = format!("+{} -{}", size.added, size.deleted);
            table.row([&lane.name, &size.files.to_string(), &lines, &age(&size.taken_at, self.now), &overlap]);
        }
        self.text.push_str(&table.render(self.width));
        self.more(changed.len());
    }

    fn sessions(&mut self, sessions: &[SessionOverviewView]) {
        if sessions.is_empty() {
            return;
        }
        self.heading("SESSIONS WITHOUT A LANE", sessions.len());
        let mut table = board_table(&["session", "task", "provider", "activity", "doing"]);
        for one in sessions.iter().take(self.most) {
            self.session_row(&mut table, None, one);
        }
        self.text.push_str(&table.render(self.width));
        self.more(sessions.len());
    }

    fn claims(&mut self, claims: &[HeldTaskView]) {
        // Those in a lane are shown there.
        let claims: Vec<&HeldTaskView> = claims.iter().filter(|held| held.lane.is_none()).collect();
        if claims.is_empty() {
            return;
        }
        self.heading("CLAIMS WITHOUT A SESSION", claims.len());
        let mut table = board_table(&["claimant", "task", "activity", "doing"]);
        for held in claims.iter().take(self.most) {
            self.claim_row(&mut table, None, held);
        }
        self.text.push_str(&table.render(self.width));
        self.more(claims.len());
    }

    fn session_row(&self, table: &mut Table, lane: Option<&str>, one: &SessionOverviewView) {
        let session = &one.session;
        let (shape, activity) = activity(one, self.now);
        let provider = session.provider.as_deref().unwrap_or("-");
        let blocked = one.holds.iter().find_map(|held| held.blocked_reason.as_ref()).filter(|_| one.release.is_none());
        let doing = match blocked {
            Some(reason) => format!("blocked: {reason}"),
            None => list::doing(one),
        };
        let tasks = list::holds(one);
        match lane {
            Some(lane) => {
                table.row([&format!("{shape} {lane}"), &tasks, &one.shown_id(), provider, &activity, &doing]);
            }
            None => table.row([&format!("{shape} {}", one.shown_id()), &tasks, provider, &activity, &doing]),
        }
    }

    fn claim_row(&self, table: &mut Table, lane: Option<&str>, held: &HeldTaskView) {
        let since = format!("{} {}", held.status, age(&held.claimed_at, self.now));
        let doing = match &held.blocked_reason {
            Some(reason) => format!("blocked: {reason}"),
            None => held.title.clone(),
        };
        let shape = held.shape();
        match lane {
            Some(lane) => table.row([&format!("{shape} {lane}"), &held.task_id, &held.claimant, "-", &since, &doing]),
            None => table.row([&format!("{shape} {}", held.claimant), &held.task_id, &since, &doing]),
        }
    }

    fn jobs(&mut self, title: &str, count: usize, jobs: &[BoardJobView]) {
        if jobs.is_empty() {
            return;
        }
        self.heading(title, count);
        let mut table = board_table(&["job", "session", "state", "command", "output"]);
        for job in jobs.iter().take(self.most) {
            let shape = if matches!(job.status, JobStatus::Running | JobStatus::Starting) { "▶" } else { "✗" };
            let code = job.exit_code.map(|code| format!(" {code}")).unwrap_or_default();
            let state = format!("{}{code} {}", job.status, age(&job.since, self.now));
            let id = format!("{shape} {}", short_job_id(&job.run_id));
            let dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
            table.row([id, dash(&job.session_id), state, job.command.clone(), dash(&job.last_line)]);
        }
        self.text.push_str(&table.render(self.width));
    }
}

fn board_table(headings: &[&str]) -> Table {
    Table::new(headings)
        .with_whole(&["task", "session", "claimant"])
        .with_optional(&["provider"])
        .with_expendable(&["activity"])
}

/// The symbol of a session's state, and the state as text with its age, its source and marks such as `not guarded`.
pub(in crate::cli) fn activity(one: &SessionOverviewView, now: Timestamp) -> (char, String) {
    let state = one.shown_state();
    let since = state.since.map(|at| age(at, now)).unwrap_or_default();
    let marks = one.guard_mark().map(str::to_owned).into_iter().chain(one.sandbox_mark());
    let marks: String = marks.map(|mark| format!(", {mark}")).collect();
    (state.shape, format!("{} {since} ({}){marks}", state.word, state.source))
}

/// The meaning of a state's symbol, which decides its colour.
pub(in crate::cli) fn meaning_of(shape: char) -> Meaning {
    match shape {
        '✗' => Meaning::Bad,
        '!' | '?' => Meaning::Notice,
        '●' | '▶' => Meaning::Good,
        _ => Meaning::Faint,
    }
}
