//! The list of the board as HTML. Each row is a link to what it opens.

use super::access::Access;
use super::board_part::{Item, Part};
use super::command_html::{form, hidden};
use super::form::address;
use super::html::Html;
use super::labels::{class_of, labelled, shape, time};
use super::open_html;
use super::page_command::PageCommand;
use fairway_actions::board::list::{self, FactKind, ListPart, ListRow, RowFact, RowKind};
use fairway_core::domain::task::TaskSummary;
use fairway_core::wire::tool_input::is_whole_in_summary;
use fairway_core::wire::{ApprovalView, BoardView};

/// `ready`: the first tasks that can be claimed. `agents`: the agents that were found, for a project in which there is nothing yet.
pub(super) fn parts(
    board: &BoardView,
    approvals: &[ApprovalView],
    ready: &[TaskSummary],
    agents: Option<&[String]>,
) -> Vec<Part> {
    let rows = list::rows(board, ready);
    let part = |name, part: ListPart, none| {
        let items = rows.iter().filter(|row| row.part == part).map(|row| item(board, row, approvals)).collect();
        Part { name, title: part.title(), none, count: list::count(board, &rows, part), items }
    };
    let plain = |name, title, items: Vec<Item>| Part { name, title, none: None, count: items.len(), items };
    vec![
        plain("counts", "Tasks", vec![counts(board)]),
        part("needs", ListPart::Needs, Some(board.calm_line())),
        part("work", ListPart::Work, Some("nothing is at work".to_owned())),
        part("ready", ListPart::Ready, Some("no task is ready".to_owned())),
        part("free", ListPart::Free, None),
        plain("welcome", "Begin", agents.map(open_html::welcome).into_iter().collect()),
        plain("open", "Open", open_html::things(board, approvals)),
    ]
}

/// For tests: the heading of each part, the number beside it and the HTML of each item, for a reader with full access.
pub fn page_parts(board: &BoardView, approvals: &[ApprovalView]) -> Vec<(&'static str, usize, Vec<String>)> {
    let items = |part: Part| part.items.into_iter().map(|item| item.full.into_string()).collect();
    parts(board, approvals, &[], None).into_iter().map(|part| (part.title, part.count, items(part))).collect()
}

/// The address of what a row opens.
fn opened(row: &ListRow) -> String {
    match (row.kind, &row.lane, &row.task) {
        (RowKind::Session | RowKind::Claim | RowKind::Lane, Some(lane), _) => address("lane", &[("name", lane)]),
        (RowKind::Claim | RowKind::ReadyTask, _, Some(task)) => address("tasks", &[("task", task)]) + "#task",
        (RowKind::MoreTasks, ..) => "tasks".to_owned(),
        _ => place(&row.key),
    }
}

/// The address of an open thing on the board.
pub(super) fn place(key: &str) -> String {
    let key: String = form_urlencoded::byte_serialize(key.as_bytes()).collect();
    format!("#{key}")
}

fn item(board: &BoardView, row: &ListRow, approvals: &[ApprovalView]) -> Item {
    let need = match row.kind {
        RowKind::Need(at) => board.needs_you.get(at),
        _ => None,
    };
    // On a phone the first one is settled in the list, if the row shows all that is asked.
    let settled = need.filter(|_| row.kind == RowKind::Need(0));
    let settled = settled
        .filter(|need| open_html::approval_of(need, approvals).is_some_and(|one| is_whole_in_summary(&one.input)));
    Item::draw(row.key.clone(), |html, access| {
        if need.is_some() {
            html.markup(" class=\"need\"");
        }
        draw(html, row);
        if let Some(need) = settled.filter(|_| access == Access::Full) {
            html.markup("<div class=\"commands\">");
            for next in need.commands.iter().take(2) {
                if let Some(command @ PageCommand::Approval(..)) = PageCommand::parse(&next.command) {
                    let fields = |html: &mut Html| hidden(html, "item", &need.id);
                    let about = need.session_id.as_deref().unwrap_or_default();
                    form(html, (&next.purpose, about), &next.command, &command, fields);
                }
            }
            html.markup("</div>");
        }
    })
}

fn draw(html: &mut Html, row: &ListRow) {
    html.markup("><a class=\"row\"").attribute("href", &opened(row));
    if let Some(lane) = row.lane.as_ref().filter(|_| !matches!(row.kind, RowKind::Landing(_))) {
        html.attribute("data-lane", lane);
    }
    html.markup(">");
    shape(html, row.shape, class_of(row.shape));
    html.markup("<span class=\"title\">").text(&row.title).markup("</span> <span class=\"side\">");
    row.corner.iter().for_each(|one| fact(html, row, one));
    html.markup("</span> <span class=\"more\">");
    row.facts.iter().for_each(|one| fact(html, row, one));
    match row.kind {
        RowKind::ReadyTask => labelled(html, "doing", "start an agent on it"),
        RowKind::MoreTasks => labelled(html, "doing", "see all tasks"),
        _ => {}
    }
    html.markup("</span></a>");
}

fn fact(html: &mut Html, row: &ListRow, fact: &RowFact) {
    let class = match fact.kind {
        FactKind::Age => return time(html, fact.since.as_deref()),
        FactKind::State => {
            html.markup("<span class=\"state ").markup(class_of(row.shape)).markup("\">").text(&fact.text);
            html.markup(" ");
            time(html, fact.since.as_deref());
            html.markup("</span> ");
            return;
        }
        FactKind::Kind => "kind",
        FactKind::Who => "id",
        FactKind::Lane => "lane",
        FactKind::Provider => "provider",
        FactKind::Task => "task",
        FactKind::Notice => "notice",
        FactKind::Doing => "doing",
        FactKind::Role => "role",
        FactKind::Priority => "priority",
        FactKind::Added => "plus",
        FactKind::Deleted => "minus",
    };
    labelled(html, class, &fact.text);
}

fn counts(board: &BoardView) -> Item {
    let counts = &board.counts;
    Item::draw("counts".into(), |html, _| {
        html.markup(" class=\"counts\">");
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
