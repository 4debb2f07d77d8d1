//! What can be done about the selected row, each with its key: what settles its item, then what its session, its task and its
//! lane allow.

use super::action::Action;
use super::rows::Subject;
use super::template::Template;
use crate::api::keyed_command;
use fairway_core::domain::need::NeedKind;
use fairway_core::domain::status::TaskStatus;
use fairway_core::wire::{BoardView, CommandView, task_commands};

const DIRECT: &str = "\nadApcLvsRrbfeo";
/// The keys of commands whose own key is taken.
const SPARE: &str = "56789";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offer {
    pub key: char,
    pub label: String,
    pub does: KeyCommand,
}

impl Offer {
    pub(super) fn is_direct(&self) -> bool {
        DIRECT.contains(self.key)
    }

    pub(super) fn key_name(&self) -> String {
        if self.key == '\n' { "Enter".to_owned() } else { self.key.to_string() }
    }
}

/// What a key asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyCommand {
    Attach {
        session: String,
    },
    View(Action),
    /// Follow the output of a command.
    Follow(Action),
    /// Run a command after the person has filled its gaps, or has confirmed the question. `asked` is the whole question that a
    /// text answers.
    Run {
        template: Template,
        question: Option<String>,
        asked: Option<String>,
        /// The task whose change can be taken back.
        undo: Option<String>,
    },
    /// Answer an approval, after its whole command was shown.
    Answer {
        id: i64,
        action: Action,
    },
    /// Show the review card of a task, which has the keys of a verdict.
    Card {
        task: String,
    },
    Edit {
        lane: String,
    },
}

/// Returns what can be done about the selected row, most useful first. Each key is in it once.
pub(super) fn offers(subject: &Subject<'_>, board: &BoardView) -> Vec<Offer> {
    let mut found = Offers(Vec::new());
    let session = subject.session.filter(|_| subject.job.is_none());
    for next in subject.need.iter().flat_map(|need| &need.commands) {
        // Only an expired lease lets a person take over.
        let is_offered = !next.command.starts_with("fairway claim ")
            || subject.need.is_some_and(|need| need.kind == NeedKind::Lease);
        if is_offered {
            found.command(next, subject);
        }
    }
    if let Some(session) = session {
        found.of_session(session, subject, board);
    }
    if let Some(job) = subject.job {
        found.add('\n', "follow its output", KeyCommand::Follow(Action::new(&["exec", "log", job, "--follow"])));
        if subject.need.is_none() {
            found.words("end it", format!("fairway exec kill {job}"), subject);
        }
    }
    let held = subject.task.filter(|_| subject.job.is_none()).and_then(|task| board.held(task));
    if let Some(held) = held.filter(|held| held.status == TaskStatus::Review) {
        found.of_review(&held.task_id, subject);
    }
    match (held, subject.task) {
        (Some(held), _) => found.of_task(&held.task_id, held.status.as_str(), subject),
        (None, Some(task)) if subject.is_ready => {
            found.words("start an agent on it", format!("fairway start {task}"), subject);
            found.of_task(task, "todo", subject);
        }
        _ => {}
    }
    if let Some(lane) =
        subject.lane.filter(|lane| board.lanes.iter().any(|one| one.name == *lane && one.worktree.is_some()))
    {
        found.add('o', "open the lane in your editor", KeyCommand::Edit { lane: lane.to_owned() });
    }
    if let Some(action) = explained(subject) {
        found.add('e', "explain", KeyCommand::View(action.clone()));
        found.add('\n', "explain", KeyCommand::View(action));
    }
    found.0
}

/// The commands of a review card, each with its key.
pub(super) fn card_offers(commands: &[CommandView], task: &str) -> Vec<Offer> {
    let mut found = Offers(Vec::new());
    let subject = Subject { task: Some(task), ..Subject::default() };
    for next in commands {
        found.command(next, &subject);
    }
    found.0
}

struct Offers(Vec<Offer>);

impl Offers {
    fn has(&self, key: char) -> bool {
        self.0.iter().any(|offer| offer.key == key)
    }

    fn add(&mut self, key: char, label: &str, does: KeyCommand) {
        if !self.has(key) {
            self.0.push(Offer { key, label: label.to_owned(), does });
        }
    }

    fn words(&mut self, purpose: &str, command: String, subject: &Subject<'_>) {
        self.command(&CommandView { purpose: purpose.to_owned(), command }, subject);
    }

    fn of_task(&mut self, task: &str, status: &str, subject: &Subject<'_>) {
        for next in task_commands(task, status, status != "todo") {
            self.command(&next, subject);
        }
        self.words("change its title", format!("fairway task edit {task} --title TITLE"), subject);
        self.words("change its priority", format!("fairway task edit {task} --priority PRIORITY"), subject);
        if status == "in_progress" {
            let command = format!("fairway handoff create {task} --to-role ROLE --summary TEXT");
            self.words("hand it over to a role", command, subject);
        }
    }

    /// Adds a command of the board, if it can be run from here.
    fn command(&mut self, next: &CommandView, subject: &Subject<'_>) {
        let Some(template) = Template::parse(&next.command) else { return };
        let words = template.given();
        let known = keyed_command(&next.command);
        let Some(key) = known.as_ref().and_then(|known| known.key).or_else(|| own_key(&words)) else { return };
        let does = match words.as_slice() {
            ["approvals", "answer", id, ..] => match id.parse() {
                Ok(id) => KeyCommand::Answer { id, action: template.action() },
                Err(_) => return,
            },
            ["session", "attach", id] => KeyCommand::Attach { session: (*id).to_owned() },
            ["review", "next", "--task", task] => KeyCommand::Card { task: (*task).to_owned() },
            // An approval names the commit that was seen: the card has it.
            ["review", "record", task, "--verdict", "approve", ..] if !words.contains(&"--commit") => {
                KeyCommand::Card { task: (*task).to_owned() }
            }
            ["explain" | "lane" | "session", "task" | "session" | "diff" | "show", ..] => {
                KeyCommand::View(template.action())
            }
            _ => {
                let asked = subject.need.filter(|_| words.first() == Some(&"answer")).map(|need| need.line.clone());
                let question = known.and_then(|known| known.question).or_else(|| own_question(&words));
                let is_undoable = known.is_some_and(|known| known.is_undoable) || words.contains(&"--priority");
                let undo = subject.task.filter(|_| is_undoable).map(str::to_owned);
                KeyCommand::Run { question: question.map(str::to_owned), asked, undo, template }
            }
        };
        let is_there = self.0.iter().any(|offer| offer.does == does);
        // Several domains have an approval each.
        let key = if self.has(key) { SPARE.chars().find(|key| !self.has(*key)) } else { Some(key) };
        if let Some(key) = key.filter(|_| !is_there) {
            self.add(key, &next.purpose, does);
        }
    }

    fn of_session(&mut self, session: &str, subject: &Subject<'_>, board: &BoardView) {
        let known = board.session(Some(session));
        let is_here = known.is_none_or(|one| one.session.backend.is_some() && one.other_host.is_none());
        let is_over = known.is_some_and(|one| matches!(one.shown_status, "dead" | "failed" | "ended"));
        // A dialog in its window takes no prompt.
        let asks = subject.need.is_some_and(|need| need.kind == NeedKind::Question);
        if is_over {
            if known.is_some_and(|one| one.can_relaunch) {
                self.own(('R', "relaunch it"), format!("fairway session relaunch {session}"), subject);
            }
            return;
        }
        if is_here {
            let label = known.and_then(|one| way_back(one.session.backend.as_deref()?));
            let label = label.map_or_else(|| "attach".to_owned(), |keys| format!("attach; {keys} comes back"));
            self.add('\n', &label, KeyCommand::Attach { session: session.to_owned() });
        }
        if !asks {
            self.own(('p', "prompt it"), format!("fairway prompt {session} TEXT"), subject);
        }
        if is_here {
            self.own(('s', "stop it"), format!("fairway session stop {session}"), subject);
        }
    }

    /// Adds a command unless its key is taken: the item's own command is nearer.
    fn own(&mut self, (key, purpose): (char, &str), command: String, subject: &Subject<'_>) {
        if !self.has(key) {
            self.words(purpose, command, subject);
        }
    }

    fn of_review(&mut self, task: &str, subject: &Subject<'_>) {
        let card = || KeyCommand::Card { task: task.to_owned() };
        self.add('v', "read the card", card());
        self.add('a', "read the card, then approve", card());
        self.own(
            ('c', "ask for changes"),
            format!("fairway review record {task} --verdict changes --notes TEXT"),
            subject,
        );
        self.own(('L', "land it"), format!("fairway land {task}"), subject);
        self.own(('D', "see it later"), format!("fairway review next --defer {task}"), subject);
    }
}

/// The keys with which one leaves a multiplexer.
fn way_back(backend: &str) -> Option<&'static str> {
    match backend {
        "tmux" => Some("Ctrl-b d"),
        "screen" => Some("Ctrl-a d"),
        "zellij" => Some("Ctrl-g, Ctrl-o, d"),
        _ => None,
    }
}

/// The key of a command that has none on the page. Returns `None` for a command that is not run from here.
fn own_key(words: &[&str]) -> Option<char> {
    Some(match words {
        ["session", "attach", _] => '\n',
        ["exec", "kill", _] => 's',
        ["exec", "rm", _] => 'X',
        ["review", "next", "--task", _] => 'v',
        ["review", "next", "--defer", _] => 'D',
        ["review", "comment", ..] => 'm',
        ["review", "resolve", _] => 'M',
        ["handoff", "accept", _] => 'a',
        ["handoff", "decline", ..] => 'd',
        ["handoff", "create", ..] => 'h',
        ["task", "block", ..] => 'b',
        ["task", "cancel", ..] => 'x',
        ["task", "reopen", ..] => 'O',
        ["task", "add", ..] => 'n',
        ["task", "submit", ..] => 'w',
        ["task", "edit", _, "--priority", ..] => 'P',
        ["task", "edit", _, "--title", ..] => 't',
        ["start", _, ..] => 'S',
        ["claim", _] => 'C',
        ["outbox", "withdraw", _] => 'W',
        ["session", "continue", _] => 'i',
        ["send", _, "--queued"] => 'T',
        ["session", "interrupt", _] => 'I',
        ["session", "park", ..] | ["session", "unpark", _] => 'z',
        ["session", "reconcile"] => 'Z',
        ["explain", ..] => 'e',
        ["lane", "diff", _] => 'y',
        ["session", "show", _] => 'Y',
        _ => return None,
    })
}

/// The question about a command that the page does not run.
fn own_question(words: &[&str]) -> Option<&'static str> {
    (words.starts_with(&["exec", "kill"])).then_some("The job and all its processes are ended.")
}

/// The command that explains the row. A dead or silent session is explained; a task's own trouble is in the task.
fn explained(subject: &Subject<'_>) -> Option<Action> {
    const OF_TASK: &[NeedKind] = &[
        NeedKind::Unfinished,
        NeedKind::Gate,
        NeedKind::Review,
        NeedKind::Blocked,
        NeedKind::Lease,
        NeedKind::Handoff,
    ];
    let session = subject.session.filter(|_| subject.job.is_none());
    let is_about_task = subject.need.is_some_and(|need| OF_TASK.contains(&need.kind));
    match (subject.task, session, subject.lane) {
        (Some(task), session, _) if session.is_none() || is_about_task => Some(Action::new(&["explain", "task", task])),
        (_, Some(session), _) => Some(Action::new(&["explain", "session", session])),
        (_, None, Some(lane)) => Some(Action::new(&["lane", "show", lane])),
        _ => None,
    }
}
