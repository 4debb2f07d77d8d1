//! Commands as argv, and those that print what stands beside the list.

use super::rows::Subject;

/// The lines of a conversation that are read.
const SCREEN_LINES: &str = "200";
/// The flag of a command that prints cells.
const SCREEN: &str = "--screen";

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

    /// Whether its output is a screen, whose rows keep their places and colours.
    pub(super) fn prints_cells(&self) -> bool {
        self.argv.last().is_some_and(|word| word == SCREEN)
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

/// Returns the command that prints one aspect of the selected row, such as its messages. The error says why there is no such
/// command.
pub(super) fn print(aspect: Aspect, subject: &Subject<'_>) -> Result<Action, &'static str> {
    let session = subject.session.filter(|_| subject.job.is_none());
    match (aspect, subject.job) {
        (Aspect::Screen, Some(job)) => Ok(Action::new(&["exec", "log", job])),
        (Aspect::Screen, None) => match session {
            Some(session) if subject.has_terminal => Ok(Action::new(&["session", "peek", session, SCREEN])),
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
