//! The page with all tasks: columns by state, and the open task with its forms.

use anyhow::Result;

use super::command_html::{hidden, open_form, select};
use super::html::Html;
use super::labels::{labelled, time};
use super::page_command::PageCommand;
use super::page_layout::PageFrame;
use super::task_filter::{Choices, TasksQuery};
use super::task_panel;
use fairway_actions::App;
use fairway_actions::queue::lane;
use fairway_actions::queue::task::list;
use fairway_core::domain::TaskId;
use fairway_core::domain::status::TaskStatus;
use fairway_core::domain::task::LOWEST_PRIORITY;
use fairway_core::wire::{ClaimantView, TaskDetailView, TaskView};

const MAX_CARDS: usize = 200;

/// Heading, and which tasks are in the column.
type Column = (&'static str, fn(&TaskView) -> bool);

const COLUMNS: &[Column] = &[
    ("ready", |task| task.status == TaskStatus::Todo && task.ready),
    ("waiting", |task| task.status == TaskStatus::Todo && !task.ready),
    ("in progress", |task| task.status == TaskStatus::InProgress),
    ("blocked", |task| task.status == TaskStatus::Blocked),
    ("in review", |task| task.status == TaskStatus::Review),
];

/// A column that is shown only on request.
const CLOSED: Column = ("closed", |task| matches!(task.status, TaskStatus::Done | TaskStatus::Cancelled));

/// The page with all tasks that the filter selects. Errors: `invalid_value` and `not_found` for values in the address.
pub(super) fn page(app: &App, frame: &PageFrame, query: &TasksQuery) -> Result<String> {
    let tasks = list::list(app, &query.filter()?)?;
    let choices = Choices::read(app, &lane::list::list(app, false)?);
    let open = query.form.written("task").map(TaskId::parse).transpose()?;
    let open = open.map(|id| list::show(app, &id)).transpose()?;
    Ok(draw(frame, query, &tasks, &choices, open.as_ref()))
}

fn draw(
    frame: &PageFrame,
    query: &TasksQuery,
    tasks: &[TaskView],
    choices: &Choices,
    open: Option<&TaskDetailView>,
) -> String {
    frame.document("tasks", query.form.get("q"), |html| {
        html.markup("<div class=\"tools\">");
        filter_form(html, query, choices);
        if frame.can_act() {
            add_form(html, query, choices);
        }
        html.markup("</div>");
        if let Some(task) = open {
            task_panel::draw(html, frame, query, task, choices);
        }
        html.markup("<div class=\"columns\">");
        let closed = [CLOSED];
        let all = COLUMNS.iter().chain(closed.iter().filter(|_| query.has_closed()));
        for (title, contains) in all {
            let cards: Vec<&TaskView> = tasks.iter().filter(|task| contains(task)).collect();
            column(html, query, title, &cards, choices);
        }
        html.markup("</div>");
    })
}

fn column(html: &mut Html, query: &TasksQuery, title: &'static str, cards: &[&TaskView], choices: &Choices) {
    html.markup("<section class=\"column\"").attribute("aria-label", title).markup("><h2>").markup(title);
    html.markup(" <span class=\"number\">").text(&cards.len().to_string()).markup("</span></h2>");
    let shown = cards.get(..MAX_CARDS).unwrap_or(cards);
    for group in Group::all(query.is_by_lane(), &choices.lanes) {
        let of_group: Vec<&TaskView> = shown.iter().copied().filter(|task| group.contains(task)).collect();
        html.markup(if of_group.is_empty() { "<div class=\"group empty\">" } else { "<div class=\"group\">" });
        html.markup("<h3>").text(&group.title()).markup("</h3><ul role=\"list\" class=\"cards\"");
        if let Some(change) = group.change() {
            html.attribute("data-drop", &change);
        }
        html.markup(">");
        for task in of_group {
            draw_card(html, task, &query.address(&task.id), !query.is_by_lane());
        }
        html.markup("</ul></div>");
    }
    if shown.len() < cards.len() {
        let left = cards.len() - shown.len();
        html.markup("<p class=\"none\">").text(&left.to_string()).markup(" more: filter them</p>");
    }
    if cards.is_empty() {
        html.markup("<p class=\"none\">none</p>");
    }
    html.markup("</section>");
}

fn filter_form(html: &mut Html, query: &TasksQuery, choices: &Choices) {
    html.markup(
        "<form class=\"filter\" action=\"tasks\" aria-label=\"filter\"><label>Text <input type=\"search\" name=\"q\"",
    );
    html.attribute("value", query.form.get("q")).markup("></label><details id=\"filter\"");
    let is_used = ["role", "lane", "label", "group", "closed"].iter().any(|name| !query.form.get(name).is_empty());
    html.markup(if is_used { " open>" } else { ">" }).markup("<summary>more</summary><div class=\"filter\">");
    select(html, ("Role", "role"), &choices.roles, query.form.get("role"), "any");
    select(html, ("Lane", "lane"), &choices.lanes, query.form.get("lane"), "any");
    html.markup("<label>Label <input name=\"label\" size=\"10\"").attribute("value", query.form.get("label"));
    html.markup("></label>");
    select(html, ("Group by", "group"), &["lane".to_owned()], query.form.get("group"), "priority");
    html.markup("<label class=\"check\"><input type=\"checkbox\" name=\"closed\" value=\"yes\"");
    html.markup(if query.has_closed() { " checked> closed too</label>" } else { "> closed too</label>" });
    html.markup("</div></details><button class=\"plain\">filter</button><a href=\"tasks\">show all</a></form>");
}

fn add_form(html: &mut Html, query: &TasksQuery, choices: &Choices) {
    let words = "fairway task add TITLE";
    let Some(command) = PageCommand::parse(words) else { return };
    html.markup("<details id=\"add\"><summary>+ task</summary>");
    open_form(html, ("add the task", ""), words, &command, |html| {
        hidden(html, "back", &query.address(""));
        task_panel::fields(html, &task_panel::Texts::default(), choices);
    });
    html.markup("</details>");
}

/// Cards that stand together in a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Group {
    Priority(u8),
    /// `None` for the tasks without a lane.
    Lane(Option<String>),
}

impl Group {
    /// All groups in the order in which they are shown. The tasks without a lane come after all lanes.
    pub(super) fn all(is_by_lane: bool, lanes: &[String]) -> Vec<Self> {
        if is_by_lane {
            lanes.iter().cloned().map(Some).chain([None]).map(Self::Lane).collect()
        } else {
            (0..=LOWEST_PRIORITY).map(Self::Priority).collect()
        }
    }

    pub(super) fn contains(&self, task: &TaskView) -> bool {
        match self {
            Self::Priority(priority) => task.priority == *priority,
            Self::Lane(lane) => task.lane == *lane,
        }
    }

    pub(super) fn title(&self) -> String {
        match self {
            Self::Priority(priority) => format!("priority {priority}"),
            Self::Lane(lane) => lane.clone().unwrap_or_else(|| "no lane".to_owned()),
        }
    }

    /// The arguments of `fairway task edit` that move a task into the group. Returns `None` for the group without a lane.
    pub(super) fn change(&self) -> Option<String> {
        match self {
            Self::Priority(priority) => Some(format!("--priority {priority}")),
            Self::Lane(lane) => lane.as_ref().map(|lane| format!("--lane {lane}")),
        }
    }
}

/// Draws a task's card as a link to the task. It shows the priority instead of the lane unless `shows_lane`.
pub(super) fn draw_card(html: &mut Html, task: &TaskView, address: &str, shows_lane: bool) {
    html.markup("<li class=\"card\"").attribute("id", &format!("card-{}", task.id)).attribute("data-task", &task.id);
    html.markup("><a").attribute("href", &format!("{address}#task")).markup("><span class=\"id\">").text(&task.id);
    html.markup("</span> <span class=\"title\">").text(&task.title).markup("</span></a><p class=\"facts\">");
    if shows_lane && let Some(lane) = &task.lane {
        labelled(html, "lane", lane);
    }
    if !shows_lane {
        labelled(html, "priority", &format!("P{}", task.priority));
    }
    if let Some(role) = &task.role {
        labelled(html, "role", role);
    }
    for label in &task.labels {
        labelled(html, "label", label);
    }
    if let Some(claim) = &task.claim {
        let mark = task.claimant.as_ref().and_then(ClaimantView::mark);
        let who = mark.map_or_else(|| claim.claimant.clone(), |mark| format!("{} ({mark})", claim.claimant));
        let class = match mark {
            None => "agent",
            Some("ended" | "stale") => "agent notice",
            Some(_) => "agent bad",
        };
        labelled(html, class, &who);
    }
    time(html, Some(task.claim.as_ref().map_or(&task.created_at, |claim| &claim.claimed_at)));
    html.markup("</p>");
    if let Some(reason) = &task.blocked_reason {
        html.markup("<p class=\"blocker notice\">✗ ").text(reason).markup("</p>");
    }
    for waiting in task.waiting_on.iter().take(3) {
        html.markup("<p class=\"blocker\">");
        if waiting.code == "dep_open" {
            html.markup("waits for ").text(waiting.id.as_str());
        } else {
            html.text(&waiting.message);
        }
        html.markup("</p>");
    }
    html.markup("</li>");
}
