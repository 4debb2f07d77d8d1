//! The board as HTML: parts, each a list of items with a key that is the same while the item lasts.

use serde_json::Value;

use super::{
    access::Access,
    command_html::{form, hidden, written},
    form::address,
    html::Html,
    labels::{claim_doing, class_of, doing, time},
    page_command::PageCommand,
};
use crate::{
    actions::agents::approval::ALWAYS_FIELD,
    wire::{
        ApprovalView, BoardJobView, BoardLaneView, BoardView, HeldTaskView, LandAtWorkView, NeedView,
        SessionOverviewView, short_job_id, tool_input::is_cut,
    },
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// Its key, unique in its part.
    pub(super) key: String,
    /// The item for a reader with full access.
    pub(super) full: Html,
    pub(super) read_only: Html,
}

impl Item {
    /// Draws an item for both kinds of readers.
    fn draw(key: String, mut inside: impl FnMut(&mut Html, Access)) -> Self {
        let mut draw = |access| {
            let mut html = Html::default();
            html.markup("<li").attribute("data-key", &key);
            inside(&mut html, access);
            html.markup("</li>");
            html
        };
        let (full, read_only) = (draw(Access::Full), draw(Access::ReadOnly));
        Self { key, full, read_only }
    }

    pub(super) fn html(&self, access: Access) -> &Html {
        if access == Access::Full { &self.full } else { &self.read_only }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// Also the id of its element.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// The sentence for an empty part. Without one, an empty part is hidden.
    pub(super) none: Option<String>,
    /// The number beside the heading. It may differ from the items: a lane with two sessions has two.
    pub(super) count: usize,
    pub(super) items: Vec<Item>,
}

pub(super) fn parts(board: &BoardView, approvals: &[ApprovalView]) -> Vec<Part> {
    let part = |name, title, none, items: Vec<Item>| Part { name, title, none, count: items.len(), items };
    // Those in a lane are shown there.
    let claims = board.claims.iter().filter(|held| held.lane.is_none());
    vec![
        part(
            "needs",
            "Needs you",
            Some(board.calm_line()),
            board.needs_you.iter().map(|need| need_item(need, approvals)).collect(),
        ),
        part("counts", "Tasks", None, vec![counts(board)]),
        part(
            "landing",
            "Landing",
            None,
            (0..board.landing.now.len()).filter_map(|at| landing(&board.landing, at)).collect(),
        ),
        Part {
            count: board.lanes.len(),
            ..part("lanes", "Lanes", Some("no lanes".to_owned()), board.lanes.iter().flat_map(lane_rows).collect())
        },
        part(
            "sessions",
            "Sessions without a lane",
            None,
            board
                .sessions
                .iter()
                .map(|one| Item::draw(one.session.id.clone(), |html, access| session(html.markup(">"), one, access)))
                .collect(),
        ),
        part(
            "claims",
            "Claims without a session",
            None,
            claims.map(|held| Item::draw(held.task_id.clone(), |html, _| claim(html.markup(">"), held))).collect(),
        ),
        part("jobs", "Jobs", None, board.jobs.active.iter().map(job).collect()),
        part("failed", "Failed jobs", None, board.jobs.failed.iter().map(job).collect()),
    ]
}

/// For tests: the heading of each part, the number beside it and the HTML of each item, for a reader with full access.
pub fn page_parts(board: &BoardView, approvals: &[ApprovalView]) -> Vec<(&'static str, usize, Vec<String>)> {
    let items = |part: Part| part.items.into_iter().map(|item| item.full.into_string()).collect();
    parts(board, approvals).into_iter().map(|part| (part.title, part.count, items(part))).collect()
}

pub(super) fn shape(html: &mut Html, shape: char, class: &'static str) {
    html.markup("<span class=\"shape ")
        .markup(class)
        .markup("\" aria-hidden=\"true\">")
        .text(shape.encode_utf8(&mut [0; 4]))
        .markup("</span> ");
}

pub(super) fn labelled(html: &mut Html, class: &'static str, text: &str) {
    html.markup("<span class=\"").markup(class).markup("\">").text(text).markup("</span> ");
}

fn need_item(need: &NeedView, approvals: &[ApprovalView]) -> Item {
    Item::draw(need.id.clone(), |html, access| {
        let (mark, class) = (need.shape(), class_of(need.shape()));
        html.markup(" class=\"need ").markup(class).markup("\"><p class=\"head\">");
        shape(html, mark, class);
        html.markup("<strong class=\"kind\">").text(need.kind).markup("</strong> ");
        for id in [&need.session_id, &need.task_id, &need.lane].into_iter().flatten() {
            labelled(html, "id", id);
        }
        time(html, need.since.as_deref());
        html.markup("</p><p class=\"line\">").text(&need.line).markup("</p>");
        let approval =
            approvals.iter().find(|one| need.kind == "approval" && need.id == format!("approval:{}", one.id));
        if let Some(approval) = approval {
            tool_input(html, &approval.input);
        }
        html.markup("<p class=\"evidence\">evidence: ").text(&need.evidence).markup("</p>");
        if let Some(task) = need.task_id.as_ref().filter(|_| matches!(need.kind, "review" | "gate" | "landing")) {
            html.markup("<p class=\"way\"><a class=\"button\"")
                .attribute("href", &address("/review", &[("task", task)]));
            html.markup(">review ").text(task).markup("</a></p>");
        }
        let subject: Vec<&str> =
            [&need.session_id, &need.task_id].into_iter().flatten().map(String::as_str).take(1).collect();
        let subject = subject.concat();
        html.markup("<div class=\"commands\">");
        for next in &need.commands {
            let is_seen = approval.is_some_and(|approval| !is_cut(&approval.input));
            let command = PageCommand::parse(&next.command).filter(|command| match command {
                PageCommand::Approval(_, decision) => is_seen || *decision == crate::domain::approval::Decision::Deny,
                PageCommand::AllowAlways(_) => is_seen,
                // Only an expired lease lets a person take over.
                PageCommand::Claim(_) => need.kind == "lease",
                // A verdict belongs to a commit that was looked at: the page of reviews shows it.
                PageCommand::Task(_) | PageCommand::Review(_) => false,
                _ => true,
            });
            match command.filter(|_| access == Access::Full) {
                Some(command) => {
                    let rule = approval.and_then(|approval| approval.input.get(ALWAYS_FIELD));
                    let fields = |html: &mut Html| about(html, need, &command, rule);
                    form(html, (&next.purpose, &subject), &next.command, &command, fields);
                }
                None => written(html, &next.purpose, &next.command),
            }
        }
        html.markup("</div>");
    })
}

/// Draws what the form of `command` has above its text field: the hidden id of the item and, for an answer, the question that
/// is answered, or, for a permission that lasts, the rule that the agent will keep.
fn about(html: &mut Html, need: &NeedView, command: &PageCommand, rule: Option<&Value>) {
    hidden(html, "item", &need.id);
    let asked = match command {
        PageCommand::Answer(_) => Some(need.line.as_str()),
        PageCommand::AllowAlways(_) => rule.and_then(Value::as_str),
        _ => None,
    };
    if let Some(asked) = asked {
        html.markup("<p class=\"asked\">").text(asked).markup("</p>");
    }
}

/// Draws the whole stored input of a tool call, field by field. Adds a warning when a part of the input was too long to be
/// stored.
pub(super) fn tool_input(html: &mut Html, input: &Value) {
    html.markup("<dl class=\"input\">");
    let mut field = |name: &str, value: &Value| {
        html.markup("<dt>").text(name).markup("</dt><dd><pre tabindex=\"0\">");
        match value {
            Value::String(text) => html.lines(text),
            other => html.lines(&serde_json::to_string_pretty(other).unwrap_or_default()),
        };
        html.markup("</pre></dd>");
    };
    match input {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| field(name, value)),
        other => field("input", other),
    }
    html.markup("</dl>");
    if is_cut(input) {
        html.markup("<p class=\"warning\">The call is longer than what is stored of it. Look at it in the agent's own window.</p>");
    }
}

fn counts(board: &BoardView) -> Item {
    let counts = &board.counts;
    Item::draw("counts".into(), |html, _| {
        html.markup(" class=\"counts\">");
        if !board.needs_you.is_empty() {
            html.markup("<a class=\"count\" href=\"#needs\"><b>").text(&board.needs_you.len().to_string());
            html.markup("</b> need you</a> ");
        }
        for (count, word, is_always) in [
            (counts.ready, "ready", true),
            (counts.in_progress, "in progress", true),
            (counts.review, "in review", false),
            (counts.blocked, "blocked", false),
            (counts.done, "done", true),
            (counts.sessions, "sessions", false),
            (board.inbox.and_then(|count| i64::try_from(count).ok()).unwrap_or_default(), "messages for you", false),
        ] {
            if is_always || count > 0 {
                html.markup("<span class=\"count\"><b>").text(&count.to_string()).markup("</b> ").markup(word);
                html.markup("</span> ");
            }
        }
        if let Some(cost) = board.cost.short() {
            html.markup("<span class=\"count\"><b>").text(&cost).markup("</b> today</span>");
        }
    })
}

/// A row for each session or claim of a lane, and one for a free lane. The first row has what concerns the whole lane.
fn lane_rows(lane: &BoardLaneView) -> Vec<Item> {
    let is_shown = |held: &HeldTaskView| {
        lane.sessions.iter().any(|one| one.holds.iter().any(|other| other.task_id == held.task_id))
    };
    let claims: Vec<&HeldTaskView> = lane.tasks.iter().filter(|held| !is_shown(held)).collect();
    let mut rows = Vec::new();
    for one in &lane.sessions {
        rows.push(lane_row(lane, rows.is_empty(), format!("session:{}", one.session.id), |html, access| {
            html.markup("<div class=\"session\">");
            session(html, one, access);
            html.markup("</div>");
        }));
    }
    for held in claims {
        rows.push(lane_row(lane, rows.is_empty(), format!("claim:{}", held.task_id), |html, _| {
            html.markup("<div class=\"session\">");
            claim(html, held);
            html.markup("</div>");
        }));
    }
    if rows.is_empty() {
        rows.push(lane_row(lane, true, format!("lane:{}", lane.name), |html, _| {
            if lane.status == "open" {
                html.markup("<span class=\"state quiet\"><span aria-hidden=\"true\">○</span> free</span>");
            }
        }));
    }
    rows
}

fn lane_row(lane: &BoardLaneView, is_first: bool, key: String, mut inside: impl FnMut(&mut Html, Access)) -> Item {
    Item::draw(key, |html, access| {
        html.markup(if is_first { " class=\"first\"><a" } else { "><a" })
            .attribute("href", &address("/lane", &[("name", &lane.name)]))
            .attribute("data-lane", &lane.name);
        if is_first {
            html.markup("><h3>").text(&lane.name).markup("</h3></a> ");
            lane_facts(html, lane);
        } else {
            html.markup("><span class=\"again\">").text(&lane.name).markup("</span></a> ");
        }
        inside(html, access);
    })
}

fn lane_facts(html: &mut Html, lane: &BoardLaneView) {
    if lane.status != "open" {
        labelled(html, "state notice", lane.status);
    }
    if let Some(work) = &lane.work {
        labelled(html, "state notice", work);
    }
    if let Some(diffstat) = lane.diffstat.as_ref().filter(|diffstat| diffstat.files > 0) {
        labelled(html, "diffstat", &diffstat.summary());
    }
    for overlap in &lane.overlap {
        labelled(html, "overlap notice", &overlap.summary());
    }
    if let Some(cost) = lane.cost.short() {
        labelled(html, "cost", &cost);
    }
}

/// Draws a session with its state and its work. Unless the session is dead, failed or ended, a reader with full access also
/// gets buttons for its commands.
pub(super) fn session(html: &mut Html, one: &SessionOverviewView, access: Access) {
    let state = one.shown_state();
    let class = class_of(state.shape);
    html.markup("<p class=\"head\">");
    shape(html, state.shape, class);
    labelled(html, "id", &one.session.id);
    if let Some(host) = &one.other_host {
        labelled(html, "host", host);
    }
    if let Some(provider) = &one.session.provider {
        labelled(html, "provider", provider);
    }
    html.markup("<span class=\"state ").markup(class).markup("\">").text(state.word).markup(" ");
    time(html, state.since);
    html.markup(" (").text(state.source).markup(")</span>");
    if let (Some(mark), Some(why)) = (one.guard_mark(), &one.unguarded) {
        html.markup(" <span class=\"state notice\"").attribute("title", why).markup(">").text(mark).markup("</span>");
    }
    if let Some(mark) = one.sandbox_mark() {
        html.markup(" <span class=\"state quiet\">").text(&mark).markup("</span>");
    }
    html.markup("</p>");
    for held in &one.holds {
        html.markup("<p class=\"task\">");
        labelled(html, "id", &held.task_id);
        html.text(&held.title).markup("</p>");
    }
    if let Some(doing) = doing(one) {
        html.markup("<p class=\"doing\">").text(&doing).markup("</p>");
    }
    if let Some(release) = &one.release {
        written(html, "release it?", release);
    }
    let is_over = matches!(one.shown_status, "dead" | "failed" | "ended");
    if access == Access::Full && !is_over {
        html.markup("<div class=\"commands\">");
        let id = &one.session.id;
        let mut commands = vec![("prompt", format!("fairway prompt {id} TEXT"))];
        if one.session.backend.is_some() && one.other_host.is_none() {
            commands.push(("stop", format!("fairway session stop {id}")));
        }
        for (purpose, words) in commands {
            if let Some(command) = PageCommand::parse(&words) {
                form(html, (purpose, id), &words, &command, |_| ());
            }
        }
        html.markup("</div>");
    }
}

fn claim(html: &mut Html, held: &HeldTaskView) {
    html.markup("<p class=\"head\">");
    shape(html, held.shape(), class_of(held.shape()));
    labelled(html, "id", &held.claimant);
    labelled(html, "id", &held.task_id);
    html.markup("<span class=\"state\">").text(held.status).markup(" ");
    time(html, Some(&held.claimed_at));
    html.markup("</span></p><p class=\"doing\">").text(&claim_doing(held)).markup("</p>");
}

/// Draws a landing at work: what lands, since when, and what runs for it, with the newest lines of the output.
fn landing(at_work: &LandAtWorkView, place: usize) -> Option<Item> {
    let one = at_work.now.get(place)?;
    Some(Item::draw(format!("landing:{}", one.id), |html, _| {
        html.markup("><p class=\"head\">");
        shape(html, '▶', "good");
        labelled(html, "id", &one.summary());
        html.markup("<span class=\"state good\">").text(one.state).markup(" ");
        time(html, Some(&one.since));
        html.markup("</span></p>");
        let Some(running) = at_work.running_for(place) else { return };
        html.markup("<p class=\"line\"><code>").text(&running.what).markup("</code> ");
        time(html, Some(&running.since));
        html.markup("</p>");
        if !running.output.is_empty() {
            html.markup("<pre tabindex=\"0\">").lines(&running.output.join("\n")).markup("</pre>");
        }
    }))
}

fn job(job: &BoardJobView) -> Item {
    Item::draw(job.run_id.clone(), |html, _| {
        let is_active = matches!(job.status, "running" | "starting");
        let (mark, class) = if is_active { ('▶', "good") } else { ('✗', "bad") };
        html.markup("><p class=\"head\">");
        shape(html, mark, class);
        labelled(html, "id", short_job_id(&job.run_id));
        if let Some(session) = &job.session_id {
            labelled(html, "id", session);
        }
        html.markup("<span class=\"state ").markup(class).markup("\">").text(job.status).markup(" ");
        if let Some(code) = job.exit_code {
            html.text(&code.to_string()).markup(" ");
        }
        time(html, Some(&job.since));
        html.markup("</span></p><p class=\"line\"><code>").text(&job.command).markup("</code></p>");
        if let Some(line) = &job.last_line {
            html.markup("<p class=\"doing\">").text(line).markup("</p>");
        }
    })
}
