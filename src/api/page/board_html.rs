//! The list of the board as HTML: what needs a person, what is at work, and what is ready. Each row is a link to what
//! it opens.

use super::{
    access::Access,
    board_part::{Item, Part},
    command_html::{form, hidden},
    form::address,
    html::Html,
    labels::{claim_doing, class_of, doing, labelled, shape, task_name, time, words_of},
    open_html::{self, about},
    page_command::PageCommand,
};
use crate::{
    domain::task::TaskSummary,
    wire::{
        ApprovalView, BoardDiffstatView, BoardJobView, BoardLaneView, BoardView, HeldTaskView, LandAtWorkView,
        NeedView, SessionOverviewView, tool_input::is_whole_in_summary,
    },
};

/// `ready`: the first tasks that can be claimed.
pub(super) fn parts(board: &BoardView, approvals: &[ApprovalView], ready: &[TaskSummary]) -> Vec<Part> {
    let part = |name, title, none, items: Vec<Item>| Part { name, title, none, count: items.len(), items };
    let needs = board.needs_you.iter().enumerate().map(|(at, need)| need_row(board, need, approvals, at == 0));
    let mut ready_rows: Vec<Item> = ready.iter().map(ready_row).collect();
    let count = usize::try_from(board.counts.ready).unwrap_or_default();
    if count > ready_rows.len() && !ready_rows.is_empty() {
        ready_rows.push(more_row(count - ready_rows.len()));
    }
    vec![
        part("counts", "Tasks", None, vec![counts(board)]),
        part("needs", "Needs you", Some(board.calm_line()), needs.collect()),
        part("work", "At work", Some("nothing is at work".to_owned()), work(board)),
        Part { count, ..part("ready", "Ready", Some("no task is ready".to_owned()), ready_rows) },
        part("free", "Free lanes", None, board.lanes.iter().filter(|lane| is_free(lane)).map(free_row).collect()),
        part("open", "Open", None, open_html::things(board, approvals)),
    ]
}

/// For tests: the heading of each part, the number beside it and the HTML of each item, for a reader with full access.
pub fn page_parts(board: &BoardView, approvals: &[ApprovalView]) -> Vec<(&'static str, usize, Vec<String>)> {
    let items = |part: Part| part.items.into_iter().map(|item| item.full.into_string()).collect();
    parts(board, approvals, &[]).into_iter().map(|part| (part.title, part.count, items(part))).collect()
}

/// What a row says: what it is about, what stands at its right, and who, what and how long.
struct Row<'a> {
    key: String,
    href: String,
    lane: Option<&'a str>,
    shape: char,
    title: String,
}

impl Row<'_> {
    fn draw(&self, html: &mut Html, side: impl FnOnce(&mut Html), more: impl FnOnce(&mut Html)) {
        html.markup("><a class=\"row\"").attribute("href", &self.href);
        if let Some(lane) = self.lane {
            html.attribute("data-lane", lane);
        }
        html.markup(">");
        shape(html, self.shape, class_of(self.shape));
        html.markup("<span class=\"title\">").text(&self.title).markup("</span> <span class=\"side\">");
        side(html);
        html.markup("</span> <span class=\"more\">");
        more(html);
        html.markup("</span></a>");
    }

    fn item(self, side: impl Fn(&mut Html), more: impl Fn(&mut Html)) -> Item {
        Item::draw(self.key.clone(), |html, _| self.draw(html, &side, &more))
    }
}

/// The address of an open thing on the board.
fn place(key: &str) -> String {
    let key: String = form_urlencoded::byte_serialize(key.as_bytes()).collect();
    format!("#{key}")
}

fn need_row(board: &BoardView, need: &NeedView, approvals: &[ApprovalView], is_first: bool) -> Item {
    let (task, provider) = about(board, need);
    let row = Row {
        key: need.id.clone(),
        href: place(&need.id),
        lane: need.lane.as_deref(),
        shape: need.shape(),
        title: need.line.clone(),
    };
    // On a phone the first one is settled in the list, if the row shows all that is asked.
    let approval = open_html::approval_of(need, approvals).filter(|one| is_first && is_whole_in_summary(&one.input));
    Item::draw(row.key.clone(), |html, access| {
        html.markup(" class=\"need\"");
        row.draw(
            html,
            |html| time(html, need.since.as_deref()),
            |html| {
                labelled(html, "kind", &need.kind.replace('_', " "));
                let who = need.session_id.as_ref().or(need.task_id.as_ref().filter(|_| task.is_none()));
                for fact in who.or(need.lane.as_ref()).into_iter().chain(&provider) {
                    labelled(html, "id", fact);
                }
                if let Some(task) = &task {
                    // The line may have the title already.
                    let (id, title) = task.split_once(' ').unwrap_or((task, ""));
                    labelled(html, "task", if need.line.contains(title) { id } else { task });
                }
            },
        );
        if access == Access::Full && approval.is_some() {
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

/// The landings, sessions, claims and jobs that no item above is about.
fn work(board: &BoardView) -> Vec<Item> {
    let needs = &board.needs_you;
    let is_above = |session: Option<&str>, tasks: &[HeldTaskView]| {
        needs.iter().any(|need| {
            let is_task = |held: &HeldTaskView| need.task_id.as_ref() == Some(&held.task_id);
            session.is_some() && need.session_id.as_deref() == session || tasks.iter().any(is_task)
        })
    };
    let mut rows: Vec<Item> = (0..board.landing.now.len()).filter_map(|at| landing(&board.landing, at)).collect();
    for lane in &board.lanes {
        let mut is_first = true;
        for one in &lane.sessions {
            if !is_above(Some(&one.session.id), &one.holds) {
                rows.push(session_row(one, Some((lane, is_first))));
                is_first = false;
            }
        }
        let is_shown = |held: &HeldTaskView| {
            let is_it = |other: &HeldTaskView| other.task_id == held.task_id;
            lane.sessions.iter().any(|one| one.holds.iter().any(is_it))
        };
        for held in lane.tasks.iter().filter(|held| !is_shown(held)) {
            if !is_above(None, std::slice::from_ref(held)) {
                rows.push(claim_row(held));
            }
        }
    }
    let loose = board.sessions.iter().filter(|one| !is_above(Some(&one.session.id), &one.holds));
    rows.extend(loose.map(|one| session_row(one, None)));
    // Those in a lane are shown there.
    let claims = board.claims.iter().filter(|held| held.lane.is_none());
    rows.extend(claims.filter(|held| !is_above(None, std::slice::from_ref(held))).map(claim_row));
    rows.extend(board.jobs.active.iter().map(job));
    rows
}

/// A session's row. `lane`: its lane, and whether the row has what concerns the whole lane.
fn session_row(one: &SessionOverviewView, lane: Option<(&BoardLaneView, bool)>) -> Item {
    let state = one.shown_state();
    let key = format!("session:{}", one.session.id);
    let tasks: Vec<String> = one.holds.iter().map(task_name).collect();
    let doing = doing(one);
    let row = Row {
        href: lane.map_or_else(|| place(&key), |(lane, _)| lane_address(&lane.name)),
        key,
        lane: lane.map(|(lane, _)| lane.name.as_str()),
        shape: state.shape,
        title: match (&doing, tasks.is_empty()) {
            (_, false) => tasks.join("; "),
            (Some(doing), true) => doing.clone(),
            (None, true) => one.session.role.clone(),
        },
    };
    let first = lane.filter(|(_, is_first)| *is_first).map(|(lane, _)| lane);
    let size = first.and_then(|lane| lane.diffstat.as_ref()).filter(|diffstat| diffstat.files > 0);
    row.item(
        |html| size.into_iter().for_each(|size| diffstat(html, size)),
        |html| {
            labelled(html, "id", &one.shown_id());
            // A lane of `start` and its session have one name.
            if let Some((lane, _)) = lane.filter(|(lane, _)| !one.session.id.starts_with(&lane.name)) {
                labelled(html, "lane", &lane.name);
            }
            if let Some(provider) = &one.session.provider {
                labelled(html, "provider", provider);
            }
            html.markup("<span class=\"state ")
                .markup(class_of(state.shape))
                .markup("\">")
                .text(state.word)
                .markup(" ");
            time(html, state.since);
            html.markup("</span> ");
            if let Some(mark) = one.guard_mark() {
                labelled(html, "notice", mark);
            }
            if let Some(lane) = first {
                lane_facts(html, lane);
            }
            if let Some(doing) = doing.as_ref().filter(|_| !tasks.is_empty()) {
                labelled(html, "doing", doing);
            }
        },
    )
}

fn lane_address(lane: &str) -> String {
    address("/lane", &[("name", lane)])
}

fn diffstat(html: &mut Html, size: &BoardDiffstatView) {
    labelled(html, "plus", &format!("+{}", size.added));
    if size.deleted > 0 {
        labelled(html, "minus", &format!("−{}", size.deleted));
    }
}

fn lane_facts(html: &mut Html, lane: &BoardLaneView) {
    for notice in (lane.status != "open").then(|| lane.status.to_owned()).into_iter().chain(lane.clauses()) {
        labelled(html, "notice", &notice);
    }
    for overlap in &lane.overlap {
        labelled(html, "notice", &overlap.summary());
    }
}

fn is_free(lane: &BoardLaneView) -> bool {
    lane.sessions.is_empty() && lane.tasks.is_empty()
}

fn free_row(lane: &BoardLaneView) -> Item {
    let row = Row {
        key: format!("lane:{}", lane.name),
        href: lane_address(&lane.name),
        lane: Some(&lane.name),
        shape: '○',
        title: lane.name.clone(),
    };
    let size = lane.diffstat.as_ref().filter(|diffstat| diffstat.files > 0);
    row.item(
        |html| size.into_iter().for_each(|size| diffstat(html, size)),
        |html| {
            if lane.status == "open" {
                labelled(html, "state quiet", "free");
            }
            if let Some(role) = &lane.role {
                labelled(html, "role", role);
            }
            lane_facts(html, lane);
        },
    )
}

fn claim_row(held: &HeldTaskView) -> Item {
    let key = format!("claim:{}", held.task_id);
    let row = Row {
        href: match &held.lane {
            Some(lane) => lane_address(lane),
            None => address("/tasks", &[("task", &held.task_id)]) + "#task",
        },
        key,
        lane: held.lane.as_deref(),
        shape: held.shape(),
        title: task_name(held),
    };
    row.item(
        |_| (),
        |html| {
            labelled(html, "id", &held.claimant);
            html.markup("<span class=\"state\">").text(&words_of(held.status)).markup(" ");
            time(html, Some(&held.claimed_at));
            html.markup("</span> ");
            if held.blocked_reason.is_some() {
                labelled(html, "doing", &claim_doing(held));
            }
        },
    )
}

/// A landing at work: what lands, since when, and what runs for it.
fn landing(at_work: &LandAtWorkView, at: usize) -> Option<Item> {
    let one = at_work.now.get(at)?;
    let key = format!("landing:{}", one.id);
    let row = Row { href: place(&key), key, lane: None, shape: '▶', title: format!("Landing {}", one.summary()) };
    Some(row.item(
        |html| time(html, Some(&one.since)),
        |html| {
            labelled(html, "state good", one.state);
            if let Some(running) = at_work.running_for(at) {
                labelled(html, "doing", &running.what);
            }
        },
    ))
}

fn job(job: &BoardJobView) -> Item {
    let key = format!("job:{}", job.run_id);
    let row = Row { href: place(&key), key, lane: None, shape: '▶', title: job.command.clone() };
    row.item(
        |html| time(html, Some(&job.since)),
        |html| {
            labelled(html, "state good", job.status);
            for fact in job.session_id.iter().chain(&job.last_line) {
                labelled(html, "doing", fact);
            }
        },
    )
}

fn ready_row(task: &TaskSummary) -> Item {
    let row = Row {
        key: format!("ready:{}", task.id),
        href: address("/tasks", &[("task", task.id.as_str())]) + "#task",
        lane: None,
        shape: '·',
        title: format!("{} {}", task.id, task.title),
    };
    row.item(
        |html| labelled(html, "priority", &format!("P{}", task.priority)),
        |html| {
            for fact in task.role.iter().map(ToString::to_string).chain(task.lane.iter().map(ToString::to_string)) {
                labelled(html, "role", &fact);
            }
            labelled(html, "doing", "start an agent on it");
        },
    )
}

fn more_row(count: usize) -> Item {
    let row =
        Row { key: "ready".into(), href: "/tasks".into(), lane: None, shape: '·', title: format!("{count} more") };
    row.item(|_| (), |html| labelled(html, "doing", "see all tasks"))
}
