//! The outcome of a launch and the answer for it.

use anyhow::Result;

use super::first_prompt::FirstPrompt;
use super::purpose::{Purpose, Start};
use crate::Answer;
use fairway_core::adapters::StartReport;
use fairway_core::domain::session::{Session, SessionStatus};
use fairway_core::domain::{SessionId, TaskId};
use fairway_core::os::process::ProcessKey;
use fairway_core::wire::{LaunchedView, RelaunchedView, SessionView, StartedView};

/// The outcome of a start.
pub(crate) enum LaunchOutcome {
    /// The program runs; with its process, where the backend script reported one.
    Running(Box<StartReport>, Option<ProcessKey>),
    /// The program was started; whether it runs is unknown, for this reason.
    Unknown(Box<StartReport>, String),
    /// The program has already ended.
    Ended,
}

/// The answer of a launch, for the session in its present state. `requested_id` is set when the session got another id than the
/// requested one.
pub(crate) fn launch_answer(
    session: &Session,
    purpose: &Purpose,
    requested_id: Option<&SessionId>,
    notes: Vec<String>,
) -> Result<Answer> {
    answer_with_prompt(session, purpose, requested_id, notes, None)
}

/// Like [`launch_answer`], with the delivery of the first prompt.
pub(crate) fn answer_with_prompt(
    session: &Session,
    purpose: &Purpose,
    requested_id: Option<&SessionId>,
    notes: Vec<String>,
    first_prompt: Option<&FirstPrompt>,
) -> Result<Answer> {
    let id = &session.id;
    let has_ended = session.status == SessionStatus::Ended;
    let (what, more) = match purpose {
        Purpose::Launch => (format!("launched {id}"), String::new()),
        Purpose::Start(start) => start_lines(session, start),
        Purpose::Relaunch(relaunch) => {
            let resumed = relaunch.conversation.as_ref().map_or("", |_| ", with its conversation");
            let tasks: Vec<&str> = relaunch.continued.iter().map(TaskId::as_str).collect();
            let claims = if tasks.is_empty() { String::new() } else { format!("\n  continues: {}", tasks.join(", ")) };
            (format!("relaunched {} as {id}{resumed}", relaunch.of), claims)
        }
        Purpose::Switch(_) if session.is_structured() => (format!("{id} goes on without a terminal"), String::new()),
        Purpose::Switch(_) => (format!("{id} goes on in its agent's terminal"), String::new()),
    };
    let mut line = if has_ended {
        format!("{what}; its program has already ended with exit code 0{more}")
    } else {
        let last = match purpose {
            Purpose::Launch | Purpose::Relaunch(_) | Purpose::Switch(_) => format!("stop: fairway session stop {id}"),
            Purpose::Start(_) => "status: fairway status".to_owned(),
        };
        format!("{what}{more}\n  attach: fairway session attach {id}\n  peek: fairway session peek {id}\n  {last}")
    };
    if let Some(text) = first_prompt.and_then(FirstPrompt::line) {
        line = format!("{line}\n  {text}");
    }
    let launched = LaunchedView {
        session: SessionView::from(session),
        requested_id: requested_id.map(ToString::to_string),
        notes: notes.clone(),
        first_prompt: first_prompt.map(FirstPrompt::view),
    };
    let mut answer = match purpose {
        Purpose::Launch | Purpose::Switch(_) => Answer::new(&launched, id, line)?,
        Purpose::Start(start) => {
            let (added_task, added_lane) = (start.added_task, start.added_lane);
            let title = start.title.clone();
            Answer::new(&StartedView { launched, title, added_task, added_lane, claimed: start.claims }, id, line)?
        }
        Purpose::Relaunch(relaunch) => {
            let continued = relaunch.continued.iter().map(ToString::to_string).collect();
            let conversation = relaunch.conversation.clone();
            Answer::new(&RelaunchedView { launched, conversation, continued }, id, line)?
        }
    };
    answer.notes = notes;
    Ok(answer)
}

/// The first line of the answer of a start, and the lines about lane and worktree.
fn start_lines(session: &Session, start: &Start) -> (String, String) {
    let id = &session.id;
    let task = session.task.as_ref().map(|task| format!(" on {task}: {}", start.title)).unwrap_or_default();
    let lane = session.lane.as_ref().map(|lane| {
        let new = if start.added_lane { " (new)" } else { "" };
        format!("\n  lane: {lane}{new}")
    });
    let worktree = session.worktree.as_ref().map(|dir| format!("\n  worktree: {dir}"));
    (format!("started {id}{task}"), lane.unwrap_or_default() + &worktree.unwrap_or_default())
}
