//! What is open beside the list, as HTML: an item that needs a person with its commands, and what is in no lane.

use serde_json::Value;

use super::access::Access;
use super::board_part::Item;
use super::command_html::{form, hidden, open_form, select, written};
use super::form::address;
use super::html::Html;
use super::labels::{class_of, labelled, shape, time};
use super::page_command::PageCommand;
use fairway_actions::agents::approval::ALWAYS_FIELD;
use fairway_core::domain::approval::Decision;
use fairway_core::domain::need::NeedKind;
use fairway_core::wire::tool_input::is_cut;
use fairway_core::wire::{
    ApprovalView, BoardJobView, BoardView, HeldTaskView, LandAtWorkView, NeedView, SessionOverviewView, short_job_id,
};

/// What the rows of the list open, except for lanes and tasks, which have pages of their own.
pub(super) fn things(board: &BoardView, approvals: &[ApprovalView]) -> Vec<Item> {
    let mut things: Vec<Item> = board.needs_you.iter().map(|need| need_thing(board, need, approvals)).collect();
    things.extend((0..board.landing.now.len()).filter_map(|at| landing(&board.landing, at)));
    things.extend(board.sessions.iter().map(|one| {
        thing(format!("session:{}", one.session.id), |html, access| {
            let tasks: Vec<String> = one.holds.iter().map(HeldTaskView::name).collect();
            title(html, &if tasks.is_empty() { one.session.id.clone() } else { tasks.join("; ") });
            session(html, one, access);
        })
    }));
    things.extend(board.jobs.active.iter().map(job));
    things
}

/// The first screen of a project: what should be done, and by which of the agents that were found.
pub(super) fn welcome(agents: &[String]) -> Item {
    let words = if agents.is_empty() { "fairway task add TITLE" } else { "fairway start TITLE" };
    Item::draw("welcome".to_owned(), |html, access| {
        html.markup("><h3>What should be done?</h3>");
        let Some(command) = PageCommand::parse(words).filter(|_| access == Access::Full) else {
            return written(html, "begin", "fairway start 'TASK IN A SENTENCE'");
        };
        html.markup("<div class=\"ask\">");
        let purpose = if agents.is_empty() { "add the task" } else { "start" };
        open_form(html, (purpose, ""), words, &command, |html| {
            html.markup("<label>Task, in a sentence <input name=\"title\" required autocomplete=\"off\"></label>");
            if let Some(first) = agents.first() {
                select(html, ("Agent", "provider"), agents, first, "as configured");
            }
        });
        html.markup("<p class=\"evidence\">");
        match agents {
            [] => html.markup("No agent was found on this machine. Install one, then: <code>fairway setup</code>"),
            _ => html.markup("Found here: ").text(&agents.join(", ")).markup(
                ". The agent works in a lane of its own, with a branch and a worktree, and you review what it submits.",
            ),
        };
        html.markup("</p></div>");
    })
}

/// An item whose element can be the target of a link.
fn thing(key: String, mut inside: impl FnMut(&mut Html, Access)) -> Item {
    Item::draw(key.clone(), |html, access| {
        html.attribute("id", &key).markup(">");
        inside(html, access);
    })
}

fn title(html: &mut Html, text: &str) {
    html.markup("<h3>").text(text).markup("</h3>");
}

/// The permission request that an item is about.
pub(super) fn approval_of<'a>(need: &NeedView, approvals: &'a [ApprovalView]) -> Option<&'a ApprovalView> {
    approvals.iter().find(|one| need.kind == NeedKind::Approval && need.id == format!("approval:{}", one.id))
}

fn need_thing(board: &BoardView, need: &NeedView, approvals: &[ApprovalView]) -> Item {
    let task = need.task_id.as_ref().map(|id| board.held(id).map_or_else(|| id.clone(), HeldTaskView::name));
    let provider = board.session(need.session_id.as_deref()).and_then(|one| one.session.provider.as_ref());
    let approval = approval_of(need, approvals);
    let answers = need.commands.first().is_some_and(|next| next.command.starts_with("fairway answer "));
    thing(need.id.clone(), |html, access| {
        html.markup("<p class=\"crumb\">");
        labelled(html, "kind", &need.kind.as_str().replace('_', " "));
        for fact in need.lane.iter().chain(&need.session_id).chain(provider) {
            labelled(html, "id", fact);
        }
        time(html, need.since.as_deref());
        html.markup("</p>");
        let lead = need.task_id.as_ref().or(need.session_id.as_ref()).or(need.lane.as_ref());
        title(html, task.as_ref().or(lead).map_or("", String::as_str));
        html.markup("<div class=\"ask ").markup(class_of(need.shape())).markup("\">");
        match approval {
            Some(approval) => {
                html.markup("<p class=\"faint\">").text(&approval.provider).markup(" asks to use ");
                html.text(&approval.tool).markup("</p>");
                tool_input(html, &approval.input);
            }
            // The form of an answer has its question.
            None if answers && access == Access::Full => {}
            None => {
                html.markup("<p class=\"line\">").text(&need.line).markup("</p>");
            }
        }
        commands(html, need, approval, access);
        // Of a request the call is the evidence.
        if approval.is_none() {
            html.markup("<p class=\"evidence\">").text(&need.evidence).markup("</p>");
        }
        html.markup("</div>");
    })
}

fn commands(html: &mut Html, need: &NeedView, approval: Option<&ApprovalView>, access: Access) {
    html.markup("<div class=\"commands\">");
    if let Some(task) =
        need.task_id.as_ref().filter(|_| matches!(need.kind, NeedKind::Review | NeedKind::Gate | NeedKind::Landing))
    {
        html.markup("<a class=\"button\" aria-keyshortcuts=\"v\"")
            .attribute("href", &address("review", &[("task", task)]));
        html.markup(">review ").text(task).markup("</a>");
    }
    let subject = need.session_id.as_ref().or(need.task_id.as_ref()).map_or("", String::as_str);
    for next in &need.commands {
        let is_seen = approval.is_some_and(|approval| !is_cut(&approval.input));
        let command = PageCommand::parse(&next.command).filter(|command| match command {
            PageCommand::Approval(_, decision) => is_seen || *decision == Decision::Deny,
            PageCommand::AllowAlways(_) => is_seen,
            // Only an expired lease lets a person take over.
            PageCommand::Claim(_) => need.kind == NeedKind::Lease,
            // A verdict belongs to a commit that was looked at: the page of reviews shows it.
            PageCommand::Task(_) | PageCommand::Review(_) => false,
            _ => true,
        });
        let Some(command) = command.filter(|_| access == Access::Full) else {
            written(html, &next.purpose, &next.command);
            continue;
        };
        let rule = approval.and_then(|approval| approval.input.get(ALWAYS_FIELD));
        let fields = |html: &mut Html| asked(html, need, &command, rule);
        let draw = if matches!(command, PageCommand::Answer(_)) { open_form } else { form };
        draw(html, (&next.purpose, subject), &next.command, &command, fields);
    }
    html.markup("</div>");
}

/// Draws what the form of `command` has above its text field: the hidden id of the item and, for an answer, the question that
/// is answered, or, for a permission that lasts, the rule that the agent will keep.
fn asked(html: &mut Html, need: &NeedView, command: &PageCommand, rule: Option<&Value>) {
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
            Value::Array(texts) if texts.iter().all(Value::is_string) => {
                html.text(&texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "))
            }
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

/// Draws a session with its state and its work. Unless the session is dead, failed or ended, a reader with full access also
/// gets the field that prompts it, and the button that stops it.
pub(super) fn session(html: &mut Html, one: &SessionOverviewView, access: Access) {
    let state = one.shown_state();
    let class = class_of(state.shape);
    html.markup("<p class=\"crumb\">");
    shape(html, state.shape, class);
    labelled(html, "id", &one.session.id);
    for fact in one.other_host.iter().chain(&one.session.provider) {
        labelled(html, "provider", fact);
    }
    html.markup("<span class=\"state ").markup(class).markup("\">").text(state.word).markup(" ");
    time(html, state.since);
    html.markup("</span> ");
    labelled(html, "faint", state.source);
    if let (Some(mark), Some(why)) = (one.guard_mark(), &one.unguarded) {
        html.markup("<span class=\"notice\"").attribute("title", why).markup(">").text(mark).markup("</span> ");
    }
    if let Some(mark) = one.sandbox_mark() {
        labelled(html, "quiet", &mark);
    }
    html.markup("</p>");
    if let Some(doing) = one.work_line() {
        html.markup("<p class=\"doing\">").text(&doing).markup("</p>");
    }
    if let Some(release) = &one.release {
        written(html, "release it?", release);
    }
    let is_over = matches!(one.shown_status, "dead" | "failed" | "ended");
    if access == Access::Full && !is_over {
        let id = &one.session.id;
        html.markup("<div class=\"commands say\">");
        let prompt = format!("fairway prompt {id} TEXT");
        if let Some(command) = PageCommand::parse(&prompt) {
            open_form(html, ("send", &format!("to {id}")), &prompt, &command, |_| ());
        }
        let stop = format!("fairway session stop {id}");
        let can_stop = one.session.backend.is_some() && one.other_host.is_none();
        if let Some(command) = PageCommand::parse(&stop).filter(|_| can_stop) {
            form(html, ("stop", id), &stop, &command, |_| ());
        }
        html.markup("</div>");
    }
}

/// Draws a landing at work: what lands, since when, and what runs for it, with the newest lines of the output.
fn landing(at_work: &LandAtWorkView, place: usize) -> Option<Item> {
    let one = at_work.now.get(place)?;
    Some(thing(format!("landing:{}", one.id), |html, _| {
        html.markup("<p class=\"crumb\">");
        labelled(html, "state good", one.state);
        time(html, Some(&one.since));
        html.markup("</p>");
        title(html, &format!("Landing {}", one.summary()));
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
    thing(format!("job:{}", job.run_id), |html, _| {
        html.markup("<p class=\"crumb\">");
        labelled(html, "id", short_job_id(&job.run_id));
        labelled(html, "state good", job.status.as_str());
        if let Some(session) = &job.session_id {
            labelled(html, "id", session);
        }
        time(html, Some(&job.since));
        html.markup("</p><h3><code>").text(&job.command).markup("</code></h3>");
        if let Some(line) = &job.last_line {
            html.markup("<pre tabindex=\"0\">").text(line).markup("</pre>");
        }
    })
}
