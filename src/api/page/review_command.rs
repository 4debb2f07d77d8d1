//! The commands about reviews that the page can do: a verdict, a comment on a line, putting a card off, and landing.

use std::cell::RefCell;

use anyhow::Result;

use super::form::Form;
use fairway_actions::agents::guard;
use fairway_actions::land::{self, LandRequest};
use fairway_actions::queue::review::next::{self, NextRequest};
use fairway_actions::queue::review::{self, NewReview, comments};
use fairway_actions::{Answer, App};
use fairway_core::domain::id::Label;
use fairway_core::domain::review::{LinePlace, Verdict};
use fairway_core::domain::{Refusal, TaskId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReviewCommand {
    Record {
        task: TaskId,
        verdict: Verdict,
        domain: Option<Label>,
        commit: Option<String>,
    },
    /// On the line that the form's field `place` names.
    Comment {
        task: TaskId,
        commit: Option<String>,
    },
    Resolve(i64),
    Defer(TaskId),
    Land(TaskId),
}

impl ReviewCommand {
    /// Parses the words after `fairway`. Returns `None` for a command that neither belongs to a review nor lands a task.
    pub(super) fn parse(words: &[&str]) -> Option<Self> {
        let task = |text: &str| TaskId::parse(text).ok();
        Some(match words {
            ["review", "record", id, "--verdict", verdict, rest @ ..] => {
                let verdict = Verdict::parse(verdict)?;
                let rest = rest.strip_suffix(&["--notes", "TEXT"]).unwrap_or(rest);
                let (domain, rest) = match rest {
                    ["--domain", domain, rest @ ..] => (Some(Label::parse(domain).ok()?), rest),
                    rest => (None, rest),
                };
                Self::Record { task: task(id)?, verdict, domain, commit: commit(rest)? }
            }
            ["review", "comment", id, "FILE:LINE", "TEXT", rest @ ..] => {
                Self::Comment { task: task(id)?, commit: commit(rest)? }
            }
            ["review", "resolve", id] => Self::Resolve(id.parse().ok()?),
            ["review", "next", "--defer", id] => Self::Defer(task(id)?),
            ["land", id] => Self::Land(task(id)?),
            _ => return None,
        })
    }

    /// The key of the command on the page.
    pub(super) const fn key(&self) -> Option<&'static str> {
        match self {
            Self::Record { verdict: Verdict::Approve, .. } => Some("a"),
            Self::Record { .. } => Some("c"),
            Self::Land(_) => Some("L"),
            Self::Comment { .. } | Self::Resolve(_) | Self::Defer(_) => None,
        }
    }

    /// The CSS class of its button.
    pub(super) const fn class(&self) -> &'static str {
        match self {
            Self::Record { verdict: Verdict::Approve, .. } => "allow",
            Self::Land(_) => "land",
            Self::Defer(_) => "slight",
            _ => "plain",
        }
    }

    /// The label of the text field that the person must fill in. Returns `None` when the command needs no text.
    pub(super) const fn text_label(&self) -> Option<&'static str> {
        match self {
            Self::Record { verdict: Verdict::Approve, .. } => None,
            Self::Record { .. } => Some("What must change"),
            Self::Comment { .. } => Some("Comment"),
            _ => None,
        }
    }

    /// The question that a person must confirm before the command is run. Returns `None` when the command needs no
    /// confirmation.
    pub(super) const fn question(&self) -> Option<&'static str> {
        match self {
            Self::Land(_) => {
                Some("The work is checked, and goes into its base if its gates are met. This may take a while.")
            }
            _ => None,
        }
    }

    /// Runs the command with the texts that the person wrote into the form.
    ///
    /// # Errors
    /// Those of the command on the command line; `usage` when a text is missing.
    pub(super) fn run(&self, app: &App, form: &Form) -> Result<Answer> {
        match self {
            Self::Record { task, verdict, domain, commit } => {
                let notes = match verdict {
                    Verdict::Approve => form.written("text").map(str::to_owned),
                    _ => Some(form.needed("text", "What must change")?),
                };
                let review = NewReview {
                    verdict: *verdict,
                    domain: domain.clone(),
                    reviewer: None,
                    commit: commit.clone(),
                    notes,
                    is_posted: false,
                };
                review::record(app, task, &review)
            }
            Self::Comment { task, commit } => {
                let place = LinePlace::parse(form.get("place"))
                    .ok_or_else(|| Refusal::invalid("FILE:LINE", "must be a file and the number of a line"))?;
                comments::comment(app, task, &place, &form.needed("text", "Comment")?, commit.as_deref())
            }
            Self::Resolve(id) => comments::resolve(app, *id, None),
            Self::Defer(task) => {
                let request = NextRequest { defer: Some(task.clone()), ..NextRequest::default() };
                let found = next::next(app, &request)?;
                Answer::new(&found, task, format!("put off {task}, until it is submitted again"))
            }
            Self::Land(task) => {
                let request = LandRequest { names: vec![task.to_string()], ..LandRequest::default() };
                let said = RefCell::new(Vec::new());
                let say = |line: &str| said.borrow_mut().push(line.to_owned());
                let may_push = |remote: &str, branch: &str| guard::refuse_denied_push(app, remote, branch);
                let (answer, _) = land::land(app, &request, &say, &may_push)?;
                Ok(answer.with_notes(said.into_inner()))
            }
        }
    }
}

/// Reads `--commit SHA` or nothing; the outer `None` refuses anything else.
#[expect(clippy::option_option, reason = "the outer one is a refusal")]
fn commit(words: &[&str]) -> Option<Option<String>> {
    match words {
        [] => Some(None),
        ["--commit", sha] if sha.bytes().all(|byte| byte.is_ascii_hexdigit()) && sha.len() >= 7 => {
            Some(Some((*sha).to_owned()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_of_a_card_is_understood_and_no_other() {
        let task = || TaskId::parse("T-1").unwrap();
        let sha = || Some("0123456789ab".to_owned());
        let record = |verdict, domain: Option<&str>, commit| ReviewCommand::Record {
            task: task(),
            verdict,
            domain: domain.map(|domain| Label::parse(domain).unwrap()),
            commit,
        };
        for (text, command) in [
            ("review record T-1 --verdict approve", record(Verdict::Approve, None, None)),
            (
                "review record T-1 --verdict approve --domain security --commit 0123456789ab",
                record(Verdict::Approve, Some("security"), sha()),
            ),
            (
                "review record T-1 --verdict changes --commit 0123456789ab --notes TEXT",
                record(Verdict::Changes, None, sha()),
            ),
            (
                "review comment T-1 FILE:LINE TEXT --commit 0123456789ab",
                ReviewCommand::Comment { task: task(), commit: sha() },
            ),
            ("review resolve 3", ReviewCommand::Resolve(3)),
            ("review next --defer T-1", ReviewCommand::Defer(task())),
            ("land T-1", ReviewCommand::Land(task())),
        ] {
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(ReviewCommand::parse(&words), Some(command), "{text}");
        }
        for text in [
            "land --all",
            "review record T-1 --verdict maybe",
            "review record T-1 --verdict approve --commit HEAD",
            "review list",
        ] {
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(ReviewCommand::parse(&words), None, "{text}");
        }
    }
}
