//! The context of an agent at the start of a turn. Text of tasks, people and agents is quoted, so that it cannot pass for text
//! of Fairway, nor text of an agent for a person's.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::Result;

use super::claimant_over::{self, ClaimantOver};
use super::context_sections::{Mode, Section, SectionKind};
use super::decisions;
use crate::App;
use crate::core::{launch_event, lookup, other_host};
use crate::queue::gates;
use crate::queue::lane::work;
use crate::queue::review::comments;
use fairway_core::domain::actor::is_same_claimant;
use fairway_core::domain::handoff::{Handoff, HandoffStatus};
use fairway_core::domain::lane::Lane;
use fairway_core::domain::lane_work::LaneWork;
use fairway_core::domain::message::{Message, Priority, Recipient};
use fairway_core::domain::quote::{LEGEND, Mark, quote_up_to};
use fairway_core::domain::rules::gate::{Gate, GateReport};
use fairway_core::domain::rules::proxy_hosts;
use fairway_core::domain::sandbox::SandboxClass;
use fairway_core::domain::session::Session;
use fairway_core::domain::task::{Task, TaskState};
use fairway_core::domain::{LaneName, Role, SessionId, TaskId, age, plural, secrets};
use fairway_core::env::Timestamp;
use fairway_core::store::tasks::{self, ListScope};
use fairway_core::store::{ReadTx, checkpoints, handoffs, lanes, messages, sessions};
use fairway_core::wire::ReviewCommentView;

/// Maximum number of tasks, paths, checks or handoffs in a list.
const MAX_LISTED: usize = 8;
const MAX_COMMENTS: usize = 5;
/// Maximum length of a single quoted line.
const MAX_LINE_CHARS: usize = 300;

#[derive(Debug, Clone)]
pub struct Subject {
    /// The name under which the subject claims tasks.
    name: String,
    /// The session, if registered.
    session: Option<Session>,
    /// The session that the environment names, when the store does not know it.
    unregistered: Option<SessionId>,
    role: Option<Role>,
    lane: Option<LaneName>,
    /// The task that the caller asks about.
    task: Option<TaskId>,
    /// Whether the messages that wait for it come along with the context, so that the context need not repeat them.
    gets_mail: bool,
    /// What git says of its lane and of that of its task, as far as their worktrees are on this host.
    works: BTreeMap<LaneName, LaneWork>,
}

#[derive(Debug, Clone)]
pub struct AgentContext {
    pub sections: Vec<Section>,
    /// The tasks that the text names.
    pub tasks: Vec<TaskId>,
}

impl Subject {
    /// Makes the subject of a context from a session, or, without one, from the acting user.
    pub fn for_session(app: &App, session: Option<&Session>) -> Self {
        match session {
            Some(session) => Self {
                name: session.id.to_string(),
                unregistered: None,
                role: Some(session.role.clone()),
                lane: session.lane.clone(),
                task: None,
                gets_mail: true,
                works: BTreeMap::new(),
                session: Some(session.clone()),
            },
            None => Self {
                name: app.actor.name.clone(),
                session: None,
                unregistered: app.actor.session.clone(),
                role: app.actor.role.clone(),
                lane: app.actor.lane.clone(),
                task: None,
                gets_mail: false,
                works: BTreeMap::new(),
            },
        }
    }

    /// The lane of its session; `None` for a session that has ended.
    fn live_lane(&self) -> Option<&LaneName> {
        self.session.as_ref().filter(|session| !session.status.is_final()).and_then(|session| session.lane.as_ref())
    }

    /// The branch of the work in a lane: the one that is checked out, and without a worktree the recorded one.
    fn branch_of(&self, lane: &Lane) -> Option<String> {
        match self.works.get(&lane.name) {
            Some(work) if work.head.is_some() => work.on().map(str::to_owned),
            _ => lane.branch.clone(),
        }
    }

    fn has_claimed(&self, task: &Task) -> bool {
        task.state.claim().is_some_and(|claim| is_same_claimant(&claim.claimant, &self.name))
    }
}

/// Composes the context of the acting session or user, about `task` if given.
///
/// # Errors
/// `not_found` for an unknown task; store errors.
pub fn compose_for_actor(app: &App, task: Option<&TaskId>, mode: Mode) -> Result<AgentContext> {
    let session = app.read(|tx| {
        if let Some(task) = task {
            lookup::task(tx, task)?;
        }
        Ok(app.actor.session.as_ref().map(|id| sessions::find(tx, id)).transpose()?.flatten())
    })?;
    let subject = Subject { task: task.cloned(), gets_mail: false, ..Subject::for_session(app, session.as_ref()) };
    compose(app, &subject, mode)
}

fn lane_works(app: &App, subject: &Subject, focus: Option<&Task>) -> Result<BTreeMap<LaneName, LaneWork>> {
    let names = [subject.lane.as_ref(), focus.and_then(|task| task.fields.lane.as_ref())];
    let found = app.read(|tx| {
        let found = names.into_iter().flatten().map(|name| Ok(lanes::find(tx, name)?));
        found.collect::<Result<Vec<Option<Lane>>>>()
    })?;
    let here = found.into_iter().flatten().filter(|lane| lane.worktree.is_some());
    // The context leaves out what git cannot tell.
    Ok(here.filter_map(|lane| Some((lane.name.clone(), work::of_lane(app, &lane, &[]).ok()?))).collect())
}

pub fn compose(app: &App, subject: &Subject, mode: Mode) -> Result<AgentContext> {
    let now = app.env.now();
    let (focus, claimed) = app.read(|tx| focus_and_claimed(tx, subject, now))?;
    // Git runs outside of a transaction. An error of the gate check leaves out the gates, not the context.
    let required_gates = app.settings.done_gates();
    let report = focus.as_ref().filter(|task| subject.has_claimed(task)).and_then(|task| {
        let facts = gates::collect_facts(app, &task.id, required_gates, None, None, &[]).ok()?;
        app.read(|tx| gates::evaluate(app, tx, &lookup::task(tx, &task.id)?, required_gates, &facts)).ok()
    });
    let comments = match &focus {
        Some(task) => comments_text(&task.id, &comments::list(app, &task.id, false)?, mode),
        None => String::new(),
    };
    let works = lane_works(app, subject, focus.as_ref())?;
    let subject = &Subject { works, ..subject.clone() };
    app.read(|tx| {
        let over = focus.as_ref().map(|task| over_claimant(tx, subject, task, now)).transpose()?.flatten();
        let budget = Budget::of(mode);
        // For the author, and for who could go on with the work.
        let is_reader = |task: &&Task| subject.has_claimed(task) || task.state.claim().is_none() || over.is_some();
        let decided = match focus.as_ref().filter(is_reader) {
            Some(task) => {
                let mail = if subject.gets_mail { mail(tx, subject, now)? } else { Vec::new() };
                decisions::text(tx, task, &mail, budget.notes)? + &comments
            }
            None => String::new(),
        };
        let mut sections = vec![
            Section { kind: SectionKind::Role, content: role_section(app, tx, subject, budget.role)? },
            Section {
                kind: SectionKind::Work,
                content: {
                    let work =
                        work_section(tx, subject, focus.as_ref(), over.as_ref(), &claimed, report.as_ref(), mode)?;
                    let task = focus.as_ref().map(|task| task.id.to_string()).unwrap_or_default();
                    fit_budget(decided + &work, budget.work, &format!("fairway task show {task}"))
                },
            },
        ];
        sections.push(Section { kind: SectionKind::Mail, content: mail_section(tx, subject, now, budget.mail)? });
        if let Some(task) = &focus {
            sections.push(Section { kind: SectionKind::Checkpoint, content: checkpoint_section(tx, task, mode, now)? });
        }
        let content = directive_section(subject, focus.as_ref(), over.as_ref(), required_gates, mode);
        sections.push(Section { kind: SectionKind::Directive, content });
        sections.retain(|section| !section.content.is_empty());
        let tasks = focus.iter().chain(&claimed).map(|task| task.id.clone()).collect();
        Ok(AgentContext { sections, tasks })
    })
}

/// Maximum characters per section. With headings, a full text has at most 8,000 characters and a compact one 2,000.
struct Budget {
    role: usize,
    work: usize,
    body: usize,
    /// Of the notes of each decision.
    notes: usize,
    mail: usize,
    checkpoint: usize,
    directive: usize,
}

impl Budget {
    const fn of(mode: Mode) -> Self {
        match mode {
            Mode::Full => Self {
                role: 700,
                work: 4_000,
                body: 2_000,
                notes: 1_200,
                mail: 1_100,
                checkpoint: 1_000,
                directive: 1_000,
            },
            Mode::Resume => Self {
                role: 700,
                work: 3_000,
                body: 1_000,
                notes: 1_200,
                mail: 1_100,
                checkpoint: 2_000,
                directive: 1_000,
            },
            Mode::Compact => {
                Self { role: 250, work: 650, body: 0, notes: 200, mail: 300, checkpoint: 350, directive: 330 }
            }
        }
    }
}

/// `text` shortened to `max_chars`, with a note that names `full_command`, the command for the full text.
fn fit_budget(text: String, max_chars: usize, full_command: &str) -> String {
    if text.chars().count() <= max_chars {
        return text;
    }
    let note = format!("(shortened; full text: {full_command})\n");
    let room = max_chars.saturating_sub(note.chars().count());
    let mut kept: String = text.chars().take(room).collect();
    // Whole lines, so that no quote prefix is cut off.
    kept.truncate(kept.rfind('\n').map_or(0, |end| end + 1));
    kept + &note
}

fn quoted_line(text: &str, max_chars: usize, mark: Mark) -> String {
    quote_up_to(&text.replace(['\n', '\t'], " "), max_chars, mark)
}

/// The task that the subject works on or should work on, and its other claimed tasks.
fn focus_and_claimed(tx: &ReadTx<'_>, subject: &Subject, now: Timestamp) -> Result<(Option<Task>, Vec<Task>)> {
    let (mut claimed, mut of_others) = (Vec::new(), Vec::new());
    tasks::for_each(tx, ListScope::Claimed, |task| {
        if subject.has_claimed(&task) {
            claimed.push(task);
        } else if subject.live_lane().is_some() && task.state.claim().is_some_and(|claim| claim.session.is_some()) {
            of_others.push(task);
        }
        Ok(true)
    })?;
    claimed.sort_by_key(|task| (task.fields.priority, task.state.claim().map(|claim| claim.claimed_at)));
    let named = subject.task.as_ref().map(|id| tasks::find(tx, id)).transpose()?.flatten();
    let own = subject.session.as_ref().and_then(|session| session.task.as_ref());
    let own = own.map(|id| tasks::find(tx, id)).transpose()?.flatten();
    let is_open = |task: &Task| !task.state.status().is_closed();
    let mine = own.clone().filter(|task| claimed.iter().any(|other| other.id == task.id));
    let mut focus = named.or(mine).or_else(|| claimed.first().cloned()).or_else(|| own.filter(is_open));
    if focus.is_none() {
        // The work that a dead session of the lane has left comes first.
        of_others.sort_by_key(|task| (task.fields.priority, task.state.claim().map(|claim| claim.claimed_at)));
        for task in of_others {
            if over_claimant(tx, subject, &task, now)?.is_some_and(|over| over.is_of_same_lane) {
                focus = Some(task);
                break;
            }
        }
    }
    claimed.retain(|task| focus.as_ref().is_none_or(|focus| focus.id != task.id));
    Ok((focus, claimed))
}

fn over_claimant(tx: &ReadTx<'_>, subject: &Subject, task: &Task, now: Timestamp) -> Result<Option<ClaimantOver>> {
    claimant_over::find(tx, &subject.name, subject.live_lane(), task, now)
}

fn role_section(app: &App, tx: &ReadTx<'_>, subject: &Subject, max_chars: usize) -> Result<String> {
    let mut text = String::new();
    let role = subject.role.as_ref().map(|role| format!(", in the role {role}")).unwrap_or_default();
    match (&subject.session, &subject.unregistered) {
        (Some(session), _) => {
            let _ = writeln!(text, "You are the session {}{role}.", session.id);
            if session.status.is_final() {
                let _ = writeln!(text, "It is recorded as {}: a new launch is a new session.", session.status);
            } else if let Some(network) = launch_event::sandbox_network(tx, &session.id)? {
                let hosts = app.settings.sandbox_of(session.provider.as_ref()).hosts;
                let reach = proxy_hosts::reach(network, &hosts);
                let _ = writeln!(text, "You are in a sandbox: you can write to your lane only, and {reach}.");
            } else if session.sandbox == Some(SandboxClass::Command) {
                let _ = writeln!(text, "You are in a sandbox, which may have closed files and the network to you.");
            }
            if let Some(parking) = session.parking(app.env.now()).filter(|_| session.is_parked(app.env.now())) {
                let _ = writeln!(text, "You are {parking}.");
            }
        }
        (None, Some(id)) => {
            let _ = writeln!(text, "You are the session {id}{role}; it is not registered yet.");
        }
        (None, None) => {
            let _ = writeln!(text, "You are {}{role}; no session is registered.", subject.name);
        }
    }
    let lane = subject.lane.as_ref().map(|name| lanes::find(tx, name)).transpose()?.flatten();
    if let Some(lane) = &lane {
        let _ = writeln!(text, "Your lane is {}, which is {}.", lane.name, lane.status);
    }
    let session = subject.session.as_ref();
    let mut worktree = lane.as_ref().and_then(|lane| lane.worktree.as_ref());
    if let Some(lane) = lane.as_ref().filter(|lane| other_host::has_worktree(app, lane)) {
        let _ = writeln!(text, "The worktree of the lane is on the host {}.", other_host::of_lane(tx, lane)?.name);
        worktree = None;
    }
    let own = |field: fn(&Session) -> &Option<String>| session.and_then(|session| field(session).clone());
    let in_lane = lane.as_ref().filter(|_| own(|session| &session.worktree).is_none_or(|own| Some(&own) == worktree));
    let checked_out = in_lane.filter(|lane| subject.works.contains_key(&lane.name));
    let recorded = || own(|session| &session.branch).or_else(|| lane.as_ref()?.branch.clone());
    let locations = [
        ("worktree", own(|session| &session.worktree).or_else(|| worktree.cloned())),
        ("branch", checked_out.map_or_else(recorded, |lane| subject.branch_of(lane))),
    ];
    for (what, location) in locations {
        if let Some(location) = location {
            let _ = write!(text, "Your {what}:\n{}", quoted_line(&location, MAX_LINE_CHARS, Mark::Work));
        }
    }
    Ok(fit_budget(text, max_chars, "fairway session list"))
}

fn work_section(
    tx: &ReadTx<'_>,
    subject: &Subject,
    focus: Option<&Task>,
    over: Option<&ClaimantOver>,
    claimed: &[Task],
    report: Option<&GateReport>,
    mode: Mode,
) -> Result<String> {
    let budget = Budget::of(mode);
    let Some(task) = focus else {
        return Ok("You have no claimed task.\n".into());
    };
    let id = &task.id;
    let mut text = format!(
        "Task {id}, {}:\n{}",
        describe_task_state(task, subject, over),
        quoted_line(&task.fields.title, MAX_LINE_CHARS, Mark::of_task(&task.fields.body))
    );
    if let TaskState::Blocked(_, reason) = &task.state {
        let reason = quoted_line(reason, MAX_LINE_CHARS, Mark::Data);
        let _ = write!(text, "It is blocked, until fairway task unblock {id}:\n{reason}");
    }
    if subject.has_claimed(task) {
        text.push_str(&handed_over(tx, subject, task)?);
    }
    for waiting in lookup::not_ready_reasons(tx, task)?.iter().take(MAX_LISTED) {
        let _ = writeln!(text, "Not ready: {}.", waiting.message);
    }
    if let Some(report) = report.filter(|report| !report.is_ready()) {
        text.push_str("Before it can be closed as done:\n");
        for blocker in report.blockers().iter().take(MAX_LISTED) {
            let _ = writeln!(text, "- {}: {}", blocker.message, blocker.fix);
        }
    }
    let list = |text: &mut String, what: &str, items: &[String]| {
        if items.is_empty() || mode == Mode::Compact {
            return;
        }
        let more = items.len().saturating_sub(MAX_LISTED);
        let more = if more == 0 { String::new() } else { format!(" ({more} more)") };
        let _ = writeln!(text, "{what}{more}:");
        for item in items.iter().take(MAX_LISTED) {
            text.push_str(&quoted_line(item, MAX_LINE_CHARS, Mark::Work));
        }
    };
    list(&mut text, "Paths of the task", &task.fields.paths);
    let depends: Vec<String> = task.fields.depends_on.iter().map(ToString::to_string).collect();
    list(&mut text, "Depends on", &depends);
    let checks: Vec<String> =
        task.fields.checks.iter().map(|check| format!("{}: {}", check.name, check.command)).collect();
    list(&mut text, &format!("Checks (fairway evidence run {id} --check NAME)"), &checks);
    let domains: Vec<String> = task.fields.review_domains.iter().map(ToString::to_string).collect();
    list(&mut text, "Reviews by", &domains);
    if !task.fields.body.trim().is_empty() {
        if budget.body == 0 {
            let _ = writeln!(text, "Description: fairway task show {id}");
        } else {
            let mark = Mark::of_task(&task.fields.body);
            let whose = if mark == Mark::Data { ", in an issue that anyone may have written" } else { "" };
            let note = if task.fields.body.trim_end().chars().nth(budget.body).is_some() {
                format!(" (the beginning; full text: fairway task show {id})")
            } else {
                String::new()
            };
            let _ = write!(text, "Description{whose}{note}:\n{}", quote_up_to(&task.fields.body, budget.body, mark));
        }
    }
    if !claimed.is_empty() {
        let named: Vec<&str> = claimed.iter().take(MAX_LISTED).map(|task| task.id.as_str()).collect();
        let more = claimed.len().saturating_sub(MAX_LISTED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let _ = writeln!(text, "You have also claimed {}{more}: fairway task list --held", named.join(", "));
    }
    Ok(fit_budget(text, budget.work, &format!("fairway task show {id}")))
}

/// The open comments of reviewers, and how to answer them.
fn comments_text(id: &TaskId, open: &[ReviewCommentView], mode: Mode) -> String {
    let mut text = String::new();
    if open.is_empty() {
        return text;
    }
    let count = plural::count(open.len(), "open comment");
    let _ = writeln!(text, "{count}; to answer one, change its line and submit again: fairway review comments {id}");
    let shown = if mode == Mode::Compact { 0 } else { MAX_COMMENTS };
    for one in open.iter().take(shown) {
        let line = format!("{}:{} (comment {}): {}", one.path, one.line, one.id, secrets::mask(&one.text));
        text.push_str(&quoted_line(&line, MAX_LINE_CHARS, Mark::of_author(&one.reviewer)));
    }
    text
}

/// Who handed the task over to the subject, with which message, and in which lane its work is.
fn handed_over(tx: &ReadTx<'_>, subject: &Subject, task: &Task) -> Result<String> {
    let mut text = String::new();
    let is_mine = |handoff: &Handoff| {
        let by = handoff.answered_by.as_deref();
        handoff.status == HandoffStatus::Accepted && by.is_some_and(|by| is_same_claimant(by, &subject.name))
    };
    if let Some(handoff) = handoffs::of_task(tx, &task.id)?.into_iter().rfind(is_mine) {
        let mark = Mark::of_author(&handoff.from_actor);
        let _ = write!(
            text,
            "{} handed it over to you:\n{}",
            handoff.from_actor,
            quoted_line(&secrets::mask(&handoff.summary), MAX_LINE_CHARS, mark)
        );
        if let Some(payload) = &handoff.payload {
            text.push_str(&quote_up_to(&secrets::mask(payload), 2 * MAX_LINE_CHARS, mark));
        }
    }
    let lane = task.fields.lane.as_ref().filter(|lane| subject.lane.as_ref() != Some(lane));
    if let Some(lane) = lane.map(|name| lanes::find(tx, name)).transpose()?.flatten() {
        let _ = writeln!(text, "Its work is in the lane {}, not in yours:", lane.name);
        for place in [lane.worktree.clone(), subject.branch_of(&lane)].into_iter().flatten() {
            text.push_str(&quoted_line(&place, MAX_LINE_CHARS, Mark::Work));
        }
    }
    Ok(text)
}

fn describe_task_state(task: &Task, subject: &Subject, over: Option<&ClaimantOver>) -> String {
    let status = task.state.status();
    if let Some(over) = over {
        return format!("{status}, claimed by {}, {}", over.claimant, over.how);
    }
    match task.state.claim() {
        Some(claim) if is_same_claimant(&claim.claimant, &subject.name) => {
            let lease = claim.lease_until.map(|until| format!(", lease until {until}")).unwrap_or_default();
            format!("{status}, claimed by you, epoch {}{lease}", claim.epoch)
        }
        Some(claim) => format!("{status}, claimed by {}, not by you", claim.claimant),
        None if task.is_ready() => format!("{status}, not claimed (fairway claim {})", task.id),
        None => status.to_string(),
    }
}

/// The messages that wait for the subject, its lane or its role.
fn mail(tx: &ReadTx<'_>, subject: &Subject, now: Timestamp) -> Result<Vec<Message>> {
    let session = subject.session.as_ref().map(|session| &session.id).or(subject.unregistered.as_ref());
    let addresses = session
        .cloned()
        .map(Recipient::Session)
        .into_iter()
        .chain(subject.lane.clone().map(Recipient::Lane))
        .chain(subject.role.clone().map(Recipient::Role));
    let mut waiting = Vec::new();
    for address in addresses {
        waiting.extend(messages::open_for(tx, &address)?.into_iter().filter(|message| !message.is_expired(now)));
    }
    Ok(waiting)
}

/// Counts of undelivered messages, and open handoffs. The messages themselves come by their delivery channels.
fn mail_section(tx: &ReadTx<'_>, subject: &Subject, now: Timestamp, max_chars: usize) -> Result<String> {
    let mut waiting = mail(tx, subject, now)?;
    waiting.retain(|message| !message.is_offered(now));
    let mut text = String::new();
    if !waiting.is_empty() {
        let urgent = waiting.iter().filter(|message| message.priority != Priority::Normal).count();
        let urgent = if urgent == 0 { String::new() } else { format!(", {urgent} of them urgent") };
        let _ = writeln!(text, "your inbox has {}{urgent}: fairway inbox", plural::count(waiting.len(), "message"));
    }
    let open: Vec<_> = handoffs::all(tx, true)?
        .into_iter()
        .filter(|handoff| {
            handoff.to_role.as_ref().is_some_and(|role| subject.role.as_ref() == Some(role))
                || handoff.to_lane.as_ref().is_some_and(|lane| subject.lane.as_ref() == Some(lane))
        })
        .collect();
    for handoff in open.iter().take(MAX_LISTED) {
        let _ = write!(
            text,
            "{} is offered to you by {} (fairway handoff accept {}, or fairway handoff decline {} --reason \"...\"):\n{}",
            handoff.task,
            handoff.from_actor,
            handoff.id,
            handoff.id,
            quoted_line(&secrets::mask(&handoff.summary), MAX_LINE_CHARS, Mark::of_author(&handoff.from_actor))
        );
    }
    if open.len() > MAX_LISTED {
        let more = plural::count(open.len() - MAX_LISTED, "more handoff");
        let _ = writeln!(text, "{more}: fairway handoff list --open");
    }
    Ok(fit_budget(text, max_chars, "fairway inbox, fairway handoff list --open"))
}

/// The newest written checkpoints of a task, newest first.
fn checkpoint_section(tx: &ReadTx<'_>, task: &Task, mode: Mode, now: Timestamp) -> Result<String> {
    let limit = if mode == Mode::Compact { 1 } else { 3 };
    let max_chars = Budget::of(mode).checkpoint;
    let mut text = String::new();
    for (earlier, checkpoint) in checkpoints::written(tx, &task.id, limit)?.iter().enumerate() {
        let author = checkpoints::author(tx, checkpoint)?;
        let mark = author.as_deref().map_or(Mark::Data, Mark::of_author);
        let by = author.map(|author| format!(" by {author}")).unwrap_or_default();
        let ago = age::rough(now.since(checkpoint.created_at));
        let _ = writeln!(text, "{}: {}{by}, {ago} ago:", checkpoint.task, checkpoint.state);
        let room = if earlier == 0 { max_chars / 2 } else { max_chars / 8 };
        text.push_str(&quote_up_to(&secrets::mask(&checkpoint.summary), room, mark));
        if let Some(owner) = checkpoint.owner.as_ref().filter(|_| earlier == 0) {
            let _ = write!(text, "The next step is owned by:\n{}", quoted_line(owner, MAX_LINE_CHARS / 2, mark));
        }
    }
    Ok(fit_budget(text, max_chars, &format!("fairway checkpoint list {}", task.id)))
}

/// The next steps: with a claimed task, with a task that can be claimed, or without a task.
fn directive_section(
    subject: &Subject,
    focus: Option<&Task>,
    over: Option<&ClaimantOver>,
    required_gates: &[Gate],
    mode: Mode,
) -> String {
    let mut text = String::new();
    if mode == Mode::Resume {
        text.push_str("Your context was compacted: continue from the newest checkpoint; do not start over.\n");
    }
    match focus {
        Some(task) if subject.has_claimed(task) => write_steps(&mut text, &task.id, required_gates, mode),
        Some(task) if task.is_ready() => {
            let _ = writeln!(text, "fairway claim {}  claims it; then:", task.id);
            write_steps(&mut text, &task.id, required_gates, mode);
        }
        Some(task) if over.is_some() => {
            let is_person = subject.session.is_none() && subject.unregistered.is_none();
            let takeover = over.map(|over| over.takeover(&task.id, is_person)).unwrap_or_default();
            if mode == Mode::Compact {
                let _ = writeln!(text, "{takeover}");
            } else {
                let _ = writeln!(text, "{takeover}; then:");
                write_steps(&mut text, &task.id, required_gates, mode);
            }
        }
        _ => text.push_str(
            "fairway ready  lists the tasks that you can claim\nfairway claim  claims the next one that fits\n\
             fairway guide  tells how to work here\n",
        ),
    }
    // The meaning of the marks is never cut off.
    let room = Budget::of(mode).directive.saturating_sub(LEGEND.len() + 1);
    fit_budget(text, room, "fairway guide") + LEGEND + "\n"
}

fn write_steps(text: &mut String, id: &TaskId, required_gates: &[Gate], mode: Mode) {
    let _ = writeln!(text, "fairway checkpoint record {id} --state active --summary \"...\"  after each step");
    if mode != Mode::Compact {
        text.push_str("git commit  keeps your work; checks and gates judge commits\n");
        let _ = writeln!(text, "fairway evidence run {id} -- COMMAND  runs a test and keeps its result");
        text.push_str("fairway exec spawn -- COMMAND  starts a long command in the background\n");
        let _ = writeln!(text, "fairway task block {id} --reason \"...\"  if you cannot continue");
        let _ = writeln!(text, "fairway handoff create {id} --to ROLE --summary \"...\"  offers it to another role");
        let _ = writeln!(text, "fairway task submit {id}  submits it for review");
    }
    let gates: Vec<&str> = required_gates.iter().map(|gate| gate.as_str()).collect();
    let gates = if gates.is_empty() { String::new() } else { format!("; required gates: {}", gates.join(", ")) };
    let _ = writeln!(text, "fairway done {id}  closes it{gates}");
}
