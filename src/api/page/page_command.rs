//! The commands that the page can do: those of the board's items and sessions that a person needs to settle something, and those
//! about tasks and reviews. Each is the use case of the command line.

use anyhow::Result;

use super::form::Form;
use super::review_command::ReviewCommand;
use super::task_command::TaskCommand;
use fairway_actions::agents::approval;
use fairway_actions::jobs::rm;
use fairway_actions::mail::outbox;
use fairway_actions::queue::handoff;
use fairway_actions::queue::handoff::accept::{self, Acceptance};
use fairway_actions::queue::task::claim::ClaimRequest;
use fairway_actions::queue::task::{ForceReason, done, release, transition};
use fairway_actions::sessions::control::stop;
use fairway_actions::sessions::launch::provider_hooks::ProviderHooks;
use fairway_actions::sessions::prompt::{self, NewPrompt};
use fairway_actions::sessions::start::relaunch::{self, RelaunchRequest};
use fairway_actions::sessions::{self, answer};
use fairway_actions::upkeep::reconcile;
use fairway_actions::{Answer, App};
use fairway_core::domain::approval::Decision;
use fairway_core::domain::id::Label;
use fairway_core::domain::job::JobId;
use fairway_core::domain::message::Priority;
use fairway_core::domain::question::QuestionId;
use fairway_core::domain::{SessionId, TaskId};

/// The placeholder in a shown command for the text that the person writes.
const TEXT: &str = "TEXT";
/// The source that `fairway prompt` records, too.
const PROMPT_SOURCE: &str = "nudge";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PageCommand {
    Approval(i64, Decision),
    /// Allows the call, and chooses the agent's own option to allow such calls from now on.
    AllowAlways(i64),
    Answer(QuestionId),
    Prompt(SessionId),
    /// Types the messages that wait into the session's terminal.
    TypeQueued(SessionId),
    /// Reminds a stopped session of what its task still needs.
    Continue(SessionId),
    Stop(SessionId),
    Relaunch(SessionId),
    Reconcile,
    Claim(TaskId),
    Release(TaskId),
    Unblock(TaskId),
    Done(TaskId),
    AcceptHandoff(i64),
    DeclineHandoff(i64),
    WithdrawMessage(i64),
    RemoveJob(JobId),
    Task(TaskCommand),
    Review(ReviewCommand),
}

/// What a command of the board needs on a surface with keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyedCommand {
    pub key: Option<char>,
    /// The question that a person must confirm before the command is run.
    pub question: Option<&'static str>,
    /// Whether `task undo` can take it back.
    pub is_undoable: bool,
}

/// Returns the key of a command and its question, as the page has them. Returns `None` for a command that the page cannot run.
pub fn keyed_command(command: &str) -> Option<KeyedCommand> {
    let found = PageCommand::parse(command)?;
    let key = found.key().and_then(|key| key.chars().next());
    Some(KeyedCommand { key, question: found.question(), is_undoable: found.undoable().is_some() })
}

impl PageCommand {
    /// Parses a command as the board writes it. Returns `None` for a command that the page cannot run.
    pub(super) fn parse(command: &str) -> Option<Self> {
        let words: Vec<&str> = command.split(' ').collect();
        let number = |text: &str| text.parse().ok();
        let session = |text: &str| SessionId::parse(text).ok();
        let task = |text: &str| TaskId::parse(text).ok();
        let words = words.strip_prefix(&["fairway"])?;
        match words {
            ["approvals", "answer", id, decision] => Some(Self::Approval(number(id)?, Decision::parse(decision)?)),
            ["approvals", "answer", id, "allow", "--always"] => Some(Self::AllowAlways(number(id)?)),
            ["answer", item, TEXT] => QuestionId::parse(item).ok().map(Self::Answer),
            ["prompt", id, TEXT] => session(id).map(Self::Prompt),
            ["send", id, "--queued"] => session(id).map(Self::TypeQueued),
            ["session", "continue", id] => session(id).map(Self::Continue),
            ["session", "stop", id] => session(id).map(Self::Stop),
            ["session", "relaunch", id] => session(id).map(Self::Relaunch),
            ["session", "reconcile"] => Some(Self::Reconcile),
            ["claim", id] => task(id).map(Self::Claim),
            ["release", id, "--force", "--reason", TEXT] => task(id).map(Self::Release),
            ["task", "unblock", id, "--force", "--reason", TEXT] => task(id).map(Self::Unblock),
            ["done", id, "--force", "--reason", TEXT] => task(id).map(Self::Done),
            ["handoff", "accept", id] => number(id).map(Self::AcceptHandoff),
            ["handoff", "decline", id, "--reason", TEXT] => number(id).map(Self::DeclineHandoff),
            ["exec", "rm", id] => JobId::parse(id).ok().map(Self::RemoveJob),
            ["outbox", "withdraw", id] => number(id).map(Self::WithdrawMessage),
            _ => TaskCommand::parse(words).map(Self::Task).or_else(|| ReviewCommand::parse(words).map(Self::Review)),
        }
    }

    /// The label of the text field that the person must fill in. Returns `None` when the command needs no text.
    pub(super) fn text_label(&self) -> Option<&'static str> {
        match self {
            Self::Answer(_) => Some("Answer"),
            Self::Prompt(_) => Some("Message"),
            Self::Release(_) | Self::Unblock(_) | Self::Done(_) | Self::DeclineHandoff(_) => Some("Reason"),
            Self::Task(command) => command.text_label(),
            Self::Review(command) => command.text_label(),
            _ => None,
        }
    }

    /// The key of the command on the page.
    pub(super) fn key(&self) -> Option<&'static str> {
        match self {
            Self::Approval(_, Decision::Allow) => Some("a"),
            Self::Approval(_, Decision::Deny) => Some("d"),
            Self::AllowAlways(_) => Some("A"),
            Self::Answer(_) | Self::Prompt(_) => Some("p"),
            Self::Stop(_) => Some("s"),
            Self::Relaunch(_) => Some("R"),
            Self::Release(_) => Some("r"),
            Self::Unblock(_) => Some("b"),
            Self::Done(_) => Some("f"),
            Self::Task(TaskCommand::Undo(..)) => Some("u"),
            Self::Review(command) => command.key(),
            _ => None,
        }
    }

    /// The question that a person must confirm before the command is run. Returns `None` when the command needs no
    /// confirmation.
    pub(super) fn question(&self) -> Option<&'static str> {
        match self {
            Self::AllowAlways(_) => Some(
                "The agent keeps this rule of its own, and asks no more about such calls. The guard sees them when they have run.",
            ),
            Self::Stop(_) => Some("All processes of the session are ended. What they have not saved is lost."),
            Self::Done(_) => Some("The task is finished, if its gates are met."),
            Self::DeclineHandoff(_) => Some("The handoff is declined for good."),
            Self::RemoveJob(_) => Some("The job and its output are deleted."),
            Self::WithdrawMessage(_) => Some("The message is not delivered any more."),
            Self::Review(command) => command.question(),
            _ => None,
        }
    }

    /// The CSS class of its button: how much it weighs.
    pub(super) fn class(&self) -> &'static str {
        match self {
            Self::Approval(_, Decision::Allow) => "allow",
            Self::Approval(..) => "deny",
            Self::Task(TaskCommand::Start(_)) => "allow",
            Self::Review(command) => command.class(),
            _ if self.question().is_some() => "danger",
            _ => "plain",
        }
    }

    /// The task whose change can be taken back.
    pub(super) fn undoable(&self) -> Option<&TaskId> {
        match self {
            Self::Release(task) | Self::Review(ReviewCommand::Record { task, .. }) => Some(task),
            Self::Task(command) => command.undoable(),
            _ => None,
        }
    }

    /// The command line that has the same effect: `words` with the person's texts in place of the placeholders, quoted for a
    /// shell.
    pub(super) fn line(&self, words: &str, form: &Form) -> String {
        let mut line: Vec<String> = words
            .split(' ')
            .map(|word| match word {
                TEXT => form.get("text").trim().to_owned(),
                "TITLE" => form.get("title").trim().to_owned(),
                "FILE:LINE" => form.get("place").to_owned(),
                other => other.to_owned(),
            })
            .collect();
        if let Self::Task(command) = self {
            line.extend(command.arguments(form));
        }
        shell_words::join(line)
    }

    /// Runs the command with the texts that the person wrote into the form, and delivers the messages that it has queued.
    ///
    /// # Errors
    /// Those of the command on the command line; `usage` when a text is missing.
    pub(super) fn run(&self, app: &App, form: &Form, hooks: &'static dyn ProviderHooks) -> Result<Answer> {
        let answer = self.answer(app, form, hooks);
        let notes = prompt::deliver_mailed(app);
        Ok(answer?.with_notes(notes))
    }

    fn answer(&self, app: &App, form: &Form, hooks: &'static dyn ProviderHooks) -> Result<Answer> {
        let text = form.written("text");
        let needed = || form.needed("text", self.text_label().unwrap_or("Text"));
        let force = || needed().map(|reason| ForceReason { reason });
        match self {
            Self::Approval(id, decision) => approval::answer(app, *id, *decision, false, text),
            Self::AllowAlways(id) => approval::answer(app, *id, Decision::Allow, true, text),
            Self::Answer(item) => answer::answer(app, item, &needed()?),
            Self::Prompt(to) => {
                let prompt = NewPrompt {
                    to: to.clone(),
                    content: needed()?,
                    priority: Priority::Normal,
                    source: Label::parse(PROMPT_SOURCE)?,
                    metadata: None,
                    dedup: None,
                    ttl: None,
                };
                Ok(prompt::deliver_sent(app, to, prompt::send(app, &prompt)?))
            }
            Self::TypeQueued(id) => prompt::type_queued(app, id, false),
            Self::Continue(id) => sessions::reminder::continue_session(app, id),
            Self::Stop(id) => stop::stop(app, id),
            Self::Relaunch(id) => relaunch::relaunch(app, id, &RelaunchRequest::new(hooks)),
            Self::Reconcile => reconcile::reconcile(app, false),
            Self::Claim(id) => {
                sessions::claim::claim(app, &ClaimRequest { id: Some(id.clone()), ..ClaimRequest::default() })
            }
            Self::Release(id) => {
                let force = force()?;
                release::release(app, id, Some(&force.reason), Some(&force))
            }
            Self::Unblock(id) => transition::unblock(app, id, Some(&force()?)),
            Self::Done(id) => done::done(app, id, None, Some(&force()?)),
            Self::AcceptHandoff(id) => accept::accept(app, *id, Acceptance::WithClaim),
            Self::DeclineHandoff(id) => handoff::decline(app, *id, &needed()?),
            Self::WithdrawMessage(id) => outbox::withdraw(app, *id, None),
            Self::RemoveJob(id) => rm::rm(app, &[id.to_string()], false, None),
            Self::Task(command) => command.run(app, form, hooks),
            Self::Review(command) => command.run(app, form),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_of_the_board_is_understood_and_no_other() {
        let session = || SessionId::parse("s-1").unwrap();
        let task = || TaskId::parse("T-1").unwrap();
        let job = || JobId::parse("01900000-0000-7000-8000-000000000001").unwrap();
        for (text, command) in [
            ("fairway approvals answer 3 allow", PageCommand::Approval(3, Decision::Allow)),
            ("fairway approvals answer 3 allow --always", PageCommand::AllowAlways(3)),
            ("fairway answer question:s-1:3 TEXT", PageCommand::Answer(QuestionId::activity(session(), 3))),
            ("fairway prompt s-1 TEXT", PageCommand::Prompt(session())),
            ("fairway send s-1 --queued", PageCommand::TypeQueued(session())),
            ("fairway session continue s-1", PageCommand::Continue(session())),
            ("fairway session stop s-1", PageCommand::Stop(session())),
            ("fairway session relaunch s-1", PageCommand::Relaunch(session())),
            ("fairway session reconcile", PageCommand::Reconcile),
            ("fairway claim T-1", PageCommand::Claim(task())),
            ("fairway release T-1 --force --reason TEXT", PageCommand::Release(task())),
            ("fairway task unblock T-1 --force --reason TEXT", PageCommand::Unblock(task())),
            ("fairway done T-1 --force --reason TEXT", PageCommand::Done(task())),
            ("fairway handoff accept 4", PageCommand::AcceptHandoff(4)),
            ("fairway handoff decline 4 --reason TEXT", PageCommand::DeclineHandoff(4)),
            ("fairway outbox withdraw 5", PageCommand::WithdrawMessage(5)),
            ("fairway exec rm 01900000-0000-7000-8000-000000000001", PageCommand::RemoveJob(job())),
        ] {
            assert_eq!(PageCommand::parse(text), Some(command), "{text}");
        }
        for text in [
            "fairway trust",
            "fairway approvals answer x allow",
            "fairway approvals answer 3 maybe",
            "fairway approvals answer 3 deny --always",
            "fairway prompt s-1 other words",
            "fairway answer question:s-1 TEXT",
            "fairway answer approval:3 TEXT",
            "fairway session stop --all",
            "fairway session attach s-1",
            "fairway release T-1 --force --reason TEXT; fairway trust",
            "fairway evidence run T-1 -- COMMAND",
            " fairway claim T-1",
            "sh -c true",
            "",
        ] {
            assert_eq!(PageCommand::parse(text), None, "{text}");
        }
    }
}
