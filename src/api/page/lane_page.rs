//! The page of one lane: its sessions with their screens, its changes, the evidence, the messages and the history of its tasks.

use anyhow::Result;

use super::form::{Form, address};
use super::html::Html;
use super::labels::{labelled, time};
use super::line_comments::LineComments;
use super::open_html::session;
use super::page_layout::PageFrame;
use super::patch_html::Patch;
use super::{activity_strip, review_facts};
use fairway_actions::core::errors;
use fairway_actions::jobs::list::ListOptions;
use fairway_actions::mail::outbox::{self, OutboxFilter};
use fairway_actions::queue::lane::diff::LanePatches;
use fairway_actions::queue::review::comments;
use fairway_actions::queue::{evidence, lane, task};
use fairway_actions::sessions::activity_history::{self, Stretch};
use fairway_actions::sessions::control::peek::{self, Peek};
use fairway_actions::{App, jobs};
use fairway_core::domain::evidence::Evidence;
use fairway_core::domain::lane::LaneStatus;
use fairway_core::domain::review::LinePlace;
use fairway_core::domain::status::TaskStatus;
use fairway_core::domain::{LaneName, SessionId, TaskId, ansi};
use fairway_core::wire::{
    JobView, LaneDetailView, OutboxView, ReviewCommentView, TimelineEntryView, short_job_id, status_words,
};

/// The last lines that are shown of a session without a terminal.
const SCREEN_LINES: u32 = 30;
/// The most screens that are shown, because reading each of them runs a program.
const MAX_SCREENS: usize = 4;
/// The newest messages to each session that are shown.
const MAX_MESSAGES: usize = 10;

/// The newest jobs of each session that are shown.
const MAX_JOBS: i64 = 10;

struct Contents {
    lane: LaneDetailView,
    /// The screen of each session, or why there is none.
    screens: Vec<(String, Result<Peek, String>)>,
    patches: Result<LanePatches, String>,
    /// The comments on the first task's lines.
    comments: Vec<ReviewCommentView>,
    evidence: Vec<Evidence>,
    messages: Vec<OutboxView>,
    jobs: Vec<JobView>,
    /// The activity of each session over time.
    activities: Vec<(String, Vec<Stretch>)>,
    /// The history of the claimed tasks, newest first.
    history: Vec<(String, TimelineEntryView)>,
}

/// The page of the lane that the address names. Errors: `not_found`, `invalid_value`.
pub(super) fn page(app: &App, frame: &PageFrame, query: &Form) -> Result<String> {
    let name = LaneName::parse(query.get("name"))?;
    let contents = read(app, &name)?;
    let at = LinePlace::parse(query.get("at"));
    Ok(frame.document(name.as_str(), "", |html| draw(html, frame, &contents, at)))
}

fn read(app: &App, name: &LaneName) -> Result<Contents> {
    let lane = lane::list::show(app, name)?;
    let message_of = |error: anyhow::Error| errors::classify(&error).message;
    let mut contents = Contents {
        patches: lane::diff::patches(app, name).map_err(message_of),
        comments: Vec::new(),
        screens: Vec::new(),
        evidence: Vec::new(),
        messages: Vec::new(),
        jobs: Vec::new(),
        activities: Vec::new(),
        history: Vec::new(),
        lane,
    };
    for one in &contents.lane.sessions {
        let id = SessionId::parse(&one.session.id)?;
        if contents.screens.len() < MAX_SCREENS && one.session.backend.is_some() {
            let screen = peek::screen_cells(app, &id, SCREEN_LINES).map_err(message_of);
            contents.screens.push((one.session.id.clone(), screen));
        }
        let filter = OutboxFilter { to: Some(id.clone()), all: true, limit: MAX_MESSAGES };
        contents.messages.extend(outbox::list(app, &filter)?);
        let jobs = ListOptions { session: Some(id.clone().into()), unfinished: false, limit: Some(MAX_JOBS) };
        contents.jobs.extend(jobs::list::list(app, &jobs)?);
        let stretches = activity_history::stretches(app, &id, app.env.now())?;
        contents.activities.push((one.session.id.clone(), stretches));
    }
    if let Some(first) = contents.lane.tasks.first() {
        contents.comments = comments::list(app, &TaskId::parse(&first.id)?, false)?;
    }
    for held in &contents.lane.tasks {
        let id = TaskId::parse(&held.id)?;
        contents.evidence.extend(evidence::list(app, &id)?);
        let entries = task::list::show(app, &id)?.timeline;
        contents.history.extend(entries.into_iter().map(|entry| (held.id.clone(), entry)));
    }
    contents.history.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.seq));
    Ok(contents)
}

fn draw(html: &mut Html, frame: &PageFrame, contents: &Contents, at: Option<LinePlace>) {
    let lane = &contents.lane.lane;
    html.markup("<p class=\"crumb\">");
    labelled(html, "id", &lane.name);
    for (class, fact) in
        [("lane", &lane.title), ("role", &lane.role), ("id", &lane.branch), ("provider", &lane.provider)]
    {
        if let Some(fact) = fact {
            labelled(html, class, fact);
        }
    }
    if lane.status != LaneStatus::Open {
        labelled(html, "notice", lane.status.as_str());
    }
    if let Some(work) = lane.git.iter().flatten().find_map(|git| git.work.as_ref()) {
        labelled(html, "notice", work);
    }
    html.markup("</p>");
    for held in &contents.lane.tasks {
        html.markup("<h2 class=\"plain\"><a").attribute("href", &address("tasks", &[("task", &held.id)]));
        html.markup(">").text(&held.id).markup(" ").text(&held.title).markup("</a></h2><p class=\"crumb\">");
        labelled(html, "state", &status_words(held.status.as_str()));
        if held.status == TaskStatus::Review {
            html.markup("<a").attribute("href", &address("review", &[("task", &held.id)])).markup(">review it</a>");
        }
        html.markup("</p>");
    }
    if contents.lane.tasks.is_empty() {
        html.markup("<h2 class=\"plain\">").text(&lane.name).markup("</h2>");
    }
    for one in &contents.lane.sessions {
        html.markup("<div class=\"session\">");
        session(html, one, frame.access);
        html.markup("</div>");
    }
    html.markup("<div class=\"tabs\">");
    let has_screen = !contents.screens.is_empty();
    tab(html, ("screen", "Screen"), contents.screens.len(), has_screen && at.is_none(), |html| {
        for (id, screen) in &contents.screens {
            if contents.screens.len() > 1 {
                html.markup("<p class=\"id\">").text(id).markup("</p>");
            }
            match screen {
                Ok(peek) if peek.text.trim().is_empty() => {
                    html.markup("<pre class=\"screen none\" tabindex=\"0\"").attribute("data-session", id).markup(">");
                    html.text(peek.note.as_deref().unwrap_or("nothing")).markup("</pre>");
                }
                Ok(peek) => {
                    // The page's script draws the colours.
                    let text = ansi::strip_escapes(&peek.text);
                    let class = if text == peek.text { "screen" } else { "screen cells" };
                    html.markup("<pre")
                        .attribute("class", class)
                        .markup(" tabindex=\"0\"")
                        .attribute("data-session", id)
                        .markup(">")
                        .lines(text.trim_end())
                        .markup("</pre>");
                }
                Err(why) => {
                    html.markup("<p class=\"none\">").text(why).markup("</p>");
                }
            }
        }
    });
    changes(html, frame, contents, (!has_screen || at.is_some(), at));
    tab(html, ("evidence", "Evidence"), contents.evidence.len(), false, |html| {
        html.markup("<ul role=\"list\" class=\"findings\">");
        contents.evidence.iter().rev().for_each(|one| review_facts::evidence_line(html, one));
        html.markup("</ul>");
    });
    tab(html, ("messages", "Messages"), contents.messages.len(), false, |html| {
        html.markup("<ol role=\"list\" class=\"timeline\">");
        for one in contents.messages.iter().rev() {
            let message = &one.message;
            html.markup("<li>");
            time(html, Some(&message.created_at));
            html.markup(" ");
            labelled(html, "id", message.to_session.as_deref().unwrap_or_default());
            labelled(html, "faint", message.status.as_str());
            html.text(&message.content).markup("</li>");
        }
        html.markup("</ol>");
    });
    tab(html, ("jobs", "Jobs"), contents.jobs.len(), false, |html| {
        html.markup("<ul role=\"list\" class=\"findings\">");
        for job in &contents.jobs {
            html.markup("<li>");
            labelled(html, "id", short_job_id(&job.run_id));
            labelled(html, "kind", job.status.as_str());
            if let Some(code) = job.exit_code.filter(|code| *code != 0) {
                html.text(&code.to_string()).markup(" ");
            }
            time(html, job.started_at.as_deref().or(Some(&job.queued_at)));
            html.markup(" <code>").text(&job.command).markup("</code></li>");
        }
        html.markup("</ul>");
    });
    let is_active = contents.activities.iter().any(|(_, stretches)| !stretches.is_empty());
    tab(html, ("history", "History"), contents.history.len() + usize::from(is_active), false, |html| {
        activity_strip::patterns(html);
        contents.activities.iter().for_each(|(id, stretches)| activity_strip::draw(html, id, stretches));
        html.markup("<ol role=\"list\" class=\"timeline\">");
        for (task, entry) in &contents.history {
            html.markup("<li>");
            time(html, Some(&entry.at));
            html.markup(" ");
            labelled(html, "id", task);
            html.text(&entry.message).markup(" ");
            labelled(html, "faint", &entry.actor);
            html.markup("</li>");
        }
        html.markup("</ol>");
    });
    html.markup("</div>");
}

/// Draws a tab with the number of things in it: a choice, its label, and what is shown while it is chosen.
fn tab(
    html: &mut Html,
    (id, title): (&'static str, &'static str),
    count: usize,
    is_chosen: bool,
    contents: impl FnOnce(&mut Html),
) {
    html.markup("<input type=\"radio\" name=\"tab\"").attribute("id", &format!("tab-{id}"));
    html.markup(if is_chosen { " checked><label" } else { "><label" }).attribute("for", &format!("tab-{id}"));
    html.markup(">").markup(title);
    if count > 0 {
        html.markup(" <span class=\"number\">").text(&count.to_string()).markup("</span>");
    }
    html.markup("</label><section").attribute("aria-label", title).markup(">");
    if count == 0 {
        html.markup("<p class=\"none\">none</p>");
    } else {
        contents(html);
    }
    html.markup("</section>");
}

/// Draws the changes. Those in a commit can be commented on, for the first claimed task. `at`: the line below which the form is
/// open.
fn changes(html: &mut Html, frame: &PageFrame, contents: &Contents, (is_chosen, at): (bool, Option<LinePlace>)) {
    let patches = match &contents.patches {
        Ok(patches) => patches,
        Err(why) => {
            return tab(html, ("changes", "Changes"), 1, is_chosen, |html| {
                html.markup("<p class=\"none\">").text(why).markup("</p>");
            });
        }
    };
    let (committed, uncommitted) = (Patch::parse(&patches.committed), Patch::parse(&patches.uncommitted));
    let task = contents.lane.tasks.first().filter(|_| frame.can_act());
    let words =
        task.map(|task| format!("fairway review comment {} FILE:LINE TEXT --commit {}", task.id, patches.commit));
    let back = address("lane", &[("name", &contents.lane.lane.name)]);
    let comments = LineComments::new(back, words, &contents.comments).open_at(at);
    tab(html, ("changes", "Changes"), committed.files() + uncommitted.files(), is_chosen, |html| {
        committed.draw(html, "changed", false, &comments);
        if uncommitted.files() > 0 {
            html.markup("<h2>In no commit yet</h2>");
            uncommitted.draw(html, "uncommitted", false, &LineComments::none());
        }
    });
}
