//! The command behind each key and each aspect of a row: argv as one types it.

use super::rows::Subject;
use crate::wire::{BoardView, HeldTaskView, NeedView};

/// The lines of a session's screen that are read beside the list.
const SCREEN_LINES: &str = "200";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Action {
    /// The arguments, without the program's name.
    pub argv: Vec<String>,
    /// The text on its stdin.
    pub stdin: Option<String>,
}

impl Action {
    pub(super) fn new(words: &[&str]) -> Self {
        Self { argv: words.iter().map(|word| (*word).to_owned()).collect(), stdin: None }
    }

    /// The command as a person would type it. A text for stdin replaces the `-` that stands for stdin.
    pub(super) fn typed(&self) -> String {
        let mut words = vec!["fairway".to_owned()];
        words.extend(self.argv.iter().map(|word| match &self.stdin {
            Some(text) if word == "-" => text.clone(),
            _ => word.clone(),
        }));
        shell_words::join(words)
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
    /// Show the screen of a session, as it changes.
    Peek {
        session: String,
        action: Action,
    },
    /// Run a command after the person has confirmed the question.
    Confirm {
        action: Action,
        question: String,
    },
    /// Run a command with a text that the person types. `asked` is the whole question that the text answers.
    Ask {
        title: String,
        asked: Option<String>,
        text_for: TextFor,
    },
    /// Answer an approval, after its whole command was shown.
    Answer {
        id: i64,
        allow: bool,
    },
    Edit {
        lane: String,
    },
    /// Start the next ready task, after it was confirmed.
    StartNext,
}

/// The command that a typed text completes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextFor {
    /// The answer to a question: an item of the board.
    Answer { item: String },
    /// A prompt to a session.
    Prompt { session: String },
    /// The reason to release a claim of someone else.
    Release { task: String },
    /// The changes that a review asks for.
    Changes { task: String },
}

impl TextFor {
    pub(super) fn action(&self, text: &str) -> Action {
        match self {
            // Such a text is in no argument list, where every process could read it.
            Self::Answer { item } => Action { stdin: Some(text.to_owned()), ..Action::new(&["answer", item, "-"]) },
            Self::Prompt { session } => {
                Action { stdin: Some(text.to_owned()), ..Action::new(&["prompt", session, "-"]) }
            }
            Self::Release { task } => Action::new(&["release", task, "--force", "--reason", text]),
            Self::Changes { task } => Action {
                stdin: Some(text.to_owned()),
                ..Action::new(&["review", "record", task, "--verdict", "changes", "--notes", "-"])
            },
        }
    }
}

/// Keys that are about the selected row, with their meaning.
pub(super) const ROW_KEYS: &[(char, &str)] = &[
    ('\n', "attach, and back"),
    ('l', "live output"),
    ('d', "what the lane changed"),
    ('o', "open the lane in your editor"),
    ('e', "explain"),
    ('v', "review: the card"),
    ('c', "review: ask for changes"),
    ('L', "land the task"),
    ('y', "allow"),
    ('n', "deny"),
    ('p', "prompt the agent"),
    ('s', "stop"),
    ('r', "release the claim"),
];

/// Returns the command that a key runs on the selected row. `person` is the name under which the reader of the board claims
/// tasks. The error says why the key does nothing.
pub(super) fn key_command(
    key: char,
    subject: &Subject<'_>,
    board: &BoardView,
    person: &str,
) -> Result<KeyCommand, &'static str> {
    let session = subject.session.filter(|_| subject.job.is_none());
    match key {
        '\n' => match (session, subject.job) {
            (Some(session), _) => Ok(KeyCommand::Attach { session: session.to_owned() }),
            (None, Some(job)) => Ok(KeyCommand::Follow(Action::new(&["exec", "log", job, "--follow"]))),
            (None, None) => key_command('e', subject, board, person),
        },
        'l' => match (session, subject.job) {
            (_, Some(job)) => Ok(KeyCommand::Follow(Action::new(&["exec", "log", job, "--follow"]))),
            (Some(session), None) => Ok(KeyCommand::Peek {
                session: session.to_owned(),
                action: Action::new(&["session", "peek", session, "--lines", "200"]),
            }),
            (None, None) => Err("no session and no job is here"),
        },
        'd' => match subject.lane {
            Some(lane) => Ok(KeyCommand::View(Action::new(&["lane", "diff", lane]))),
            None => Err("no lane is here"),
        },
        'o' => match subject.lane {
            Some(lane) if worktree(board, lane).is_some() => Ok(KeyCommand::Edit { lane: lane.to_owned() }),
            Some(_) => Err("the lane has no worktree"),
            None => Err("no lane is here"),
        },
        'v' | 'c' | 'L' => match subject.task.filter(|_| subject.job.is_none()) {
            Some(task) if held(board, task).is_some_and(|held| held.status == "review") => Ok(review(key, task)),
            Some(_) => Err("the task is not submitted"),
            None => Err("no task is here"),
        },
        'e' => match (subject.task, session, subject.lane) {
            // A dead or silent session is explained; a task's own trouble is in the task.
            (Some(task), session, _) if session.is_none() || is_about_task(subject) => {
                Ok(KeyCommand::View(Action::new(&["explain", "task", task])))
            }
            (_, Some(session), _) => Ok(KeyCommand::View(Action::new(&["explain", "session", session]))),
            (_, None, Some(lane)) => Ok(KeyCommand::View(Action::new(&["lane", "show", lane]))),
            _ => match subject.need.and_then(|need| need.commands.first()) {
                Some(_) => Err("the commands below settle it"),
                None => Err("there is nothing to explain"),
            },
        },
        'y' | 'n' => match subject.approval {
            Some(id) => Ok(KeyCommand::Answer { id, allow: key == 'y' }),
            None => Err("no permission request is here that can be answered from here"),
        },
        'p' => match (question(subject, session, board), session) {
            (Some(need), _) if need.takes_answer() => Ok(KeyCommand::Ask {
                title: format!("answer to {}", session.unwrap_or_default()),
                asked: Some(need.line.clone()),
                text_for: TextFor::Answer { item: need.id.clone() },
            }),
            (Some(_), _) => Err("it is answered in its own window: Enter"),
            (None, Some(session)) => Ok(KeyCommand::Ask {
                title: format!("prompt to {session}"),
                asked: None,
                text_for: TextFor::Prompt { session: session.to_owned() },
            }),
            (None, None) => Err("no session is here"),
        },
        's' => match (session, subject.job) {
            (_, Some(job)) => Ok(KeyCommand::Confirm {
                action: Action::new(&["exec", "kill", job]),
                question: "End this job and all its processes?".to_owned(),
            }),
            (Some(session), None) => Ok(KeyCommand::Confirm {
                action: Action::new(&["session", "stop", session]),
                question: format!("Stop {session} and all its processes? Its claim stays."),
            }),
            (None, None) => Err("no session and no job is here"),
        },
        'r' => match subject.task.filter(|_| subject.job.is_none()) {
            Some(task) if claimant(board, task).is_some_and(|name| name == person) => Ok(KeyCommand::Confirm {
                action: Action::new(&["release", task]),
                question: format!("Release your claim on {task}?"),
            }),
            Some(task) => Ok(KeyCommand::Ask {
                title: match claimant(board, task) {
                    Some(name) => format!("reason to release {task}, claimed by {name}"),
                    None => format!("reason to release {task}"),
                },
                asked: None,
                text_for: TextFor::Release { task: task.to_owned() },
            }),
            None => Err("no claimed task is here"),
        },
        'N' => Ok(KeyCommand::StartNext),
        _ => match Aspect::of_key(key) {
            Some(Aspect::Screen) => key_command('l', subject, board, person),
            Some(aspect) => print(aspect, subject).map(KeyCommand::View),
            None => Err("no such key; ? shows the keys"),
        },
    }
}

/// Returns the command that prints one aspect of the selected row, such as its messages. The error says why there is no such
/// command.
pub(super) fn print(aspect: Aspect, subject: &Subject<'_>) -> Result<Action, &'static str> {
    let session = subject.session.filter(|_| subject.job.is_none());
    match (aspect, subject.job) {
        (Aspect::Screen, Some(job)) => Ok(Action::new(&["exec", "log", job])),
        (Aspect::Screen, None) => match session {
            Some(session) => Ok(Action::new(&["session", "peek", session, "--lines", SCREEN_LINES])),
            None => Err("no session and no job is here"),
        },
        (Aspect::Messages, _) => match session {
            Some(session) => Ok(Action::new(&["outbox", "--to-session", session, "--all"])),
            None => Err("no session is here"),
        },
        (Aspect::Changes, _) => match subject.lane {
            Some(lane) => Ok(Action::new(&["lane", "diff", lane])),
            None => Err("no lane is here"),
        },
        (Aspect::Evidence, _) => match subject.task.filter(|_| subject.job.is_none()) {
            Some(task) => Ok(Action::new(&["evidence", "list", task])),
            None => Err("no task is here"),
        },
    }
}

fn review(key: char, task: &str) -> KeyCommand {
    match key {
        // A patch that does not fit is shown whole: only then the card counts as seen.
        'v' => KeyCommand::View(Action::new(&["review", "next", "--task", task, "--lines", "0"])),
        'c' => KeyCommand::Ask {
            title: format!("what must change in {task}"),
            asked: None,
            text_for: TextFor::Changes { task: task.to_owned() },
        },
        _ => KeyCommand::Confirm {
            action: Action::new(&["land", task]),
            question: format!("Land {task}, if its gates are met?"),
        },
    }
}

fn worktree<'a>(board: &'a BoardView, lane: &str) -> Option<&'a str> {
    board.lanes.iter().find(|one| one.name == lane)?.worktree.as_deref()
}

pub(super) fn start(task: &str) -> Action {
    Action::new(&["start", task])
}

pub(super) fn answer(id: i64, allow: bool) -> Action {
    Action::new(&["approvals", "answer", &id.to_string(), if allow { "allow" } else { "deny" }])
}

/// Returns the command of a key for the selected row, as a person would type it. Returns `None` when the key does nothing
/// there.
pub(super) fn typed(key: char, subject: &Subject<'_>, board: &BoardView, person: &str) -> Option<String> {
    Some(match key_command(key, subject, board, person).ok()? {
        KeyCommand::Attach { session } => format!("fairway session attach {session}"),
        KeyCommand::View(action) | KeyCommand::Follow(action) => action.typed(),
        KeyCommand::Peek { action, .. } | KeyCommand::Confirm { action, .. } => action.typed(),
        KeyCommand::Ask { text_for: TextFor::Answer { item }, .. } => format!("fairway answer {item} TEXT"),
        KeyCommand::Ask { text_for: TextFor::Prompt { session }, .. } => format!("fairway prompt {session} TEXT"),
        KeyCommand::Ask { text_for: TextFor::Release { task }, .. } => {
            format!("fairway release {task} --force --reason TEXT")
        }
        KeyCommand::Ask { text_for: TextFor::Changes { task }, .. } => {
            format!("fairway review record {task} --verdict changes --notes TEXT")
        }
        KeyCommand::Edit { lane } => format!("$EDITOR {}", shell_words::quote(worktree(board, &lane)?)),
        KeyCommand::Answer { id, allow } => answer(id, allow).typed(),
        KeyCommand::StartNext => "fairway start TASK".to_owned(),
    })
}

/// The question that the selected row asks: its own or, for a row of a session that needs nothing else, that of the session.
fn question<'a>(subject: &Subject<'a>, session: Option<&str>, board: &'a BoardView) -> Option<&'a NeedView> {
    let is_question = |need: &&NeedView| need.kind == "question";
    if subject.need.is_some() {
        return subject.need.filter(is_question);
    }
    board.needs_you.iter().find(|need| is_question(need) && session.is_some() && need.session_id.as_deref() == session)
}

fn is_about_task(subject: &Subject<'_>) -> bool {
    subject
        .need
        .is_some_and(|need| matches!(need.kind, "unfinished" | "gate" | "review" | "blocked" | "lease" | "handoff"))
}

fn claimant<'a>(board: &'a BoardView, task: &str) -> Option<&'a str> {
    held(board, task).map(|held| held.claimant.as_str())
}

fn held<'a>(board: &'a BoardView, task: &str) -> Option<&'a HeldTaskView> {
    let in_lanes = board.lanes.iter().flat_map(|lane| &lane.tasks);
    let of_sessions = board.sessions.iter().flat_map(|one| &one.holds);
    let mut all = in_lanes.chain(of_sessions).chain(&board.claims);
    all.find(|held| held.task_id == task)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aspect {
    Screen,
    Messages,
    Changes,
    Evidence,
}

impl Aspect {
    pub(super) const ALL: [Self; 4] = [Self::Screen, Self::Messages, Self::Changes, Self::Evidence];

    pub(super) fn of_key(key: char) -> Option<Self> {
        Self::ALL.into_iter().find(|aspect| aspect.key() == key)
    }

    pub(super) const fn key(self) -> char {
        match self {
            Self::Screen => '1',
            Self::Messages => '2',
            Self::Changes => '3',
            Self::Evidence => '4',
        }
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Screen => "screen",
            Self::Messages => "messages",
            Self::Changes => "changes",
            Self::Evidence => "evidence",
        }
    }

    /// Whether the newest lines are at the end, so that the pane first shows the end.
    pub(super) const fn is_read_from_end(self) -> bool {
        matches!(self, Self::Screen | Self::Messages)
    }
}
