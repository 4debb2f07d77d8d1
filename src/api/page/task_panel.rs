//! The open task: what is known of it, and the forms that change it.

use super::command_html::{form, hidden, open_form, select, written};
use super::form::address;
use super::html::Html;
use super::labels::time;
use super::page_command::PageCommand;
use super::page_layout::PageFrame;
use super::task_filter::{Choices, TasksQuery};
use fairway_core::domain::status::TaskStatus;
use fairway_core::domain::task::{DEFAULT_PRIORITY, LOWEST_PRIORITY};
use fairway_core::wire::{TaskDetailView, TaskView, status_words, task_commands};

/// The fields of a task as texts, as its form shows them.
#[derive(Debug)]
pub(super) struct Texts {
    title: String,
    body: String,
    role: String,
    lane: String,
    priority: u8,
    labels: String,
    depends_on: String,
}

impl Default for Texts {
    /// The texts of a new task.
    fn default() -> Self {
        let [title, body, role, lane, labels, depends_on] = [const { String::new() }; 6];
        Self { title, body, role, lane, priority: DEFAULT_PRIORITY, labels, depends_on }
    }
}

impl From<&TaskView> for Texts {
    fn from(task: &TaskView) -> Self {
        Self {
            title: task.title.clone(),
            body: task.body.clone(),
            role: task.role.clone().unwrap_or_default(),
            lane: task.lane.clone().unwrap_or_default(),
            priority: task.priority,
            labels: task.labels.join(", "),
            depends_on: task.depends_on.join(", "),
        }
    }
}

pub(super) fn draw(html: &mut Html, frame: &PageFrame, query: &TasksQuery, detail: &TaskDetailView, choices: &Choices) {
    let task = &detail.task;
    html.markup("<section id=\"task\" aria-labelledby=\"task-title\"><h2 id=\"task-title\" class=\"plain\">");
    html.markup("<span class=\"id\">").text(&task.id).markup("</span> ").text(&task.title).markup("</h2>");
    html.markup("<p class=\"way\"><a").attribute("href", &query.address("")).markup(">close</a>");
    if let Some(lane) = &task.lane {
        html.markup(" <a").attribute("href", &address("lane", &[("name", lane)])).markup(">its lane</a>");
    }
    if matches!(task.status, TaskStatus::InProgress | TaskStatus::Blocked | TaskStatus::Review) {
        html.markup(" <a").attribute("href", &address("review", &[("task", &task.id)])).markup(">its review</a>");
    }
    html.markup("</p>");
    facts(html, task);
    if !task.body.is_empty() {
        html.markup("<pre tabindex=\"0\">").lines(&task.body).markup("</pre>");
    }
    if frame.can_act() {
        commands(html, query, task, choices);
    } else {
        for next in task_commands(&task.id, task.status.as_str(), task.claim.is_some()) {
            written(html, &next.purpose, &next.command);
        }
    }
    html.markup("<details><summary>history</summary><ol class=\"timeline\" role=\"list\">");
    for entry in detail.timeline.iter().rev() {
        html.markup("<li>");
        time(html, Some(&entry.at));
        html.markup(" ")
            .text(&entry.message)
            .markup(" <span class=\"faint\">")
            .text(&entry.actor)
            .markup("</span></li>");
    }
    html.markup("</ol></details></section>");
}

fn facts(html: &mut Html, task: &TaskView) {
    html.markup("<dl class=\"facts\">");
    let mut fact = |name: &'static str, value: &str| {
        if !value.is_empty() {
            html.markup("<div><dt>").markup(name).markup("</dt><dd>").text(value).markup("</dd></div>");
        }
    };
    fact("state", &status_words(task.status.as_str()));
    fact("priority", &task.priority.to_string());
    fact("role", task.role.as_deref().unwrap_or_default());
    fact("lane", task.lane.as_deref().unwrap_or_default());
    fact("labels", &task.labels.join(", "));
    fact("claimed by", task.claim.as_ref().map(|claim| claim.claimant.as_str()).unwrap_or_default());
    fact("blocked", task.blocked_reason.as_deref().unwrap_or_default());
    let waiting: Vec<&str> = task.waiting_on.iter().map(|waiting| waiting.message.as_str()).collect();
    fact("waits", &waiting.join("; "));
    fact("branch", task.branch.as_deref().unwrap_or_default());
    let checks: Vec<String> = task.checks.iter().map(|check| format!("{}: {}", check.name, check.command)).collect();
    fact("checks", &checks.join("; "));
    html.markup("</dl>");
}

fn commands(html: &mut Html, query: &TasksQuery, task: &TaskView, choices: &Choices) {
    let back = query.address(&task.id);
    let epoch = task.claim.as_ref().map(|claim| claim.epoch.to_string());
    let about = |html: &mut Html| {
        hidden(html, "back", &back);
        // What was drawn may concern another claim by now.
        if let Some(epoch) = &epoch {
            hidden(html, "epoch", epoch);
        }
    };
    html.markup("<div class=\"commands\">");
    let start = format!("fairway start {}", task.id);
    if let Some(command) = PageCommand::parse(&start).filter(|_| task.status == TaskStatus::Todo && task.ready) {
        html.markup("<details name=\"act\"><summary>start an agent…</summary>");
        open_form(html, ("start the agent", ""), &start, &command, |html| {
            hidden(html, "back", &back);
            select(html, ("Agent", "provider"), &choices.providers, "", "as configured");
        });
        html.markup("</details>");
    }
    for next in task_commands(&task.id, task.status.as_str(), task.claim.is_some()) {
        if let Some(command) = PageCommand::parse(&next.command) {
            form(html, (&next.purpose, &task.id), &next.command, &command, about);
        }
    }
    let edit = format!("fairway task edit {}", task.id);
    if let Some(command) = PageCommand::parse(&edit) {
        html.markup("<details name=\"act\"><summary>edit…</summary>");
        open_form(html, ("save", ""), &edit, &command, |html| {
            hidden(html, "back", &back);
            fields(html, &Texts::from(task), choices);
        });
        html.markup("</details>");
    }
    html.markup("</div>");
}

/// Draws the fields of the form that adds or edits a task. Hidden fields keep the original texts, so that the server can tell
/// which fields were changed.
pub(super) fn fields(html: &mut Html, texts: &Texts, choices: &Choices) {
    html.markup("<div class=\"fields\"><label class=\"wide\">Title <input name=\"title\" required");
    html.attribute("value", &texts.title).markup("></label><label class=\"wide\">Description <textarea name=\"body\" ");
    html.markup("rows=\"4\">\n").lines(&texts.body).markup("</textarea></label>");
    html.markup("<textarea name=\"was_body\" hidden>\n").lines(&texts.body).markup("</textarea>");
    select(html, ("Role", "role"), &choices.roles, &texts.role, "any");
    select(html, ("Lane", "lane"), &choices.lanes, &texts.lane, "none");
    let priority = texts.priority.to_string();
    html.markup("<label>Priority <select name=\"priority\">");
    for number in (0..=LOWEST_PRIORITY).map(|number| number.to_string()) {
        html.markup("<option").attribute("value", &number);
        html.markup(if number == priority { " selected>" } else { ">" }).text(&number).markup("</option>");
    }
    html.markup("</select></label>");
    for (label, name, text) in [("Labels", "labels", &texts.labels), ("Depends on", "depends_on", &texts.depends_on)] {
        html.markup("<label>").markup(label).markup(" <input").attribute("name", name).attribute("value", text);
        html.markup("></label>");
    }
    html.markup("</div>");
    for (name, text) in [
        ("was_title", &texts.title),
        ("was_role", &texts.role),
        ("was_lane", &texts.lane),
        ("was_priority", &priority),
        ("was_labels", &texts.labels),
        ("was_depends_on", &texts.depends_on),
    ] {
        hidden(html, name, text);
    }
}
