//! Answering a question of a session. The answer goes to the question that it names: at once, or not at all.

use anyhow::Result;

use super::control::dialog::{self, RecordedDialogs};
use super::control::running_session::{self, RunningSession};
use super::control::{answer_lock, question};
use super::prompt::{self, listener};
use super::report::idle_screen;
use crate::core::{errors, lookup, session_events, session_overview};
use crate::queue::checkpoint;
use crate::{Answer, App};
use fairway_core::adapters::AdapterError;
use fairway_core::config::DialogProfile;
use fairway_core::domain::checkpoint::CheckpointState;
use fairway_core::domain::excerpt::excerpt;
use fairway_core::domain::question::{QuestionId, QuestionNumber};
use fairway_core::domain::rules::open_question::{AnswerWay, answer_way};
use fairway_core::domain::rules::screen_dialog::Dialog;
use fairway_core::domain::rules::session_machine::{Report, SessionEvent};
use fairway_core::domain::session::{ANSWER_SOURCE, Activity, HOOK_SOURCE};
use fairway_core::domain::session_facts::SessionOverview;
use fairway_core::domain::text_limits::{self, MAX_LINE_BYTES};
use fairway_core::domain::{EventKind, Refusal, SessionId, TaskId, secrets};
use fairway_core::os::lock::FileLock;
use fairway_core::store::{ReadTx, WriteTx, approvals, checkpoints, overview, session_reports};
use fairway_core::wire::SessionView;

/// The reason why a question that is not open cannot be answered.
const SETTLED: &str = "it is settled, or was never asked";

/// A question to which a session waits for the answer.
struct OpenQuestion {
    /// The session that asks.
    asker: SessionOverview,
    text: String,
    /// The task, when the session asked by a checkpoint.
    task: Option<TaskId>,
}

/// Answers a question of a session and marks it as settled. The answer is typed into the session's terminal, after the same check
/// of the screen as for a prompt. A session that reads its messages instead gets it as a message that names the question. In a
/// dialog of the provider whose keys are recorded, `text` selects a choice by its number or its wording.
///
/// # Errors
/// `not_found` when the session does not ask this question now; `session_asks` for a dialog of the provider whose keys are not
/// recorded; `not_answerable` when the answer cannot be delivered at once; `invalid_value`; those of [`RunningSession::find`];
/// those of the backend call.
pub fn answer(app: &App, item: &QuestionId, text: &str) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    let text = text_limits::check_body("answer", text)?;
    if text.trim().is_empty() {
        return Err(Refusal::invalid("answer", "must not be empty").into());
    }
    let id = &item.session;
    if app.actor.session.as_ref() == Some(id) {
        return Err(Refusal::Usage { why: format!("the session {id} cannot answer its own question") }.into());
    }
    let _alone = lock(app, item)?;
    // A person may have ended the turn, and the question with it. Without an answer, the session counts as it was reported.
    let _ = idle_screen::look(app, id);
    let open = app.read(|tx| find(tx, item))?;
    match way(app, item, &open)? {
        Way::Chosen(profile) => chosen(app, item, &open.text, &profile, &text),
        Way::Typed => typed(app, item, &text),
        Way::Message => by_message(app, item, &text),
    }
}

fn lock(app: &App, item: &QuestionId) -> Result<FileLock> {
    answer_lock::acquire(app)?
        .ok_or_else(|| unanswerable(item, "another answer is on its way", "try again: fairway status"))
}

/// Finds the question with this id, if the session asks it now.
fn find(tx: &ReadTx<'_>, item: &QuestionId) -> Result<OpenQuestion> {
    let session = lookup::session(tx, &item.session)?;
    let held = overview::held(tx)?;
    let asker = session_overview::with_facts(tx, vec![session], &held)?.pop();
    let asker = asker.ok_or_else(|| errors::internal("a session without facts"))?;
    let over = |why: &str| Refusal::QuestionOver { item: item.to_string(), why: why.to_owned() };
    if asker.is_over() {
        return Err(over("its session is over").into());
    }
    let asked_now = asker.waiting_for().map(str::to_owned);
    let other = |now: &str| {
        let number = asker.session.questions;
        let id = QuestionId::activity(item.session.clone(), number);
        over(&format!("the session asks another one now, {id}: {}", secrets::mask(now)))
    };
    match (item.number, asked_now) {
        (QuestionNumber::Activity(number), Some(text)) if number == asker.session.questions => {
            Ok(OpenQuestion { asker, text, task: None })
        }
        (_, Some(now)) => Err(other(&now).into()),
        (QuestionNumber::Activity(_), None) => Err(over(SETTLED).into()),
        (QuestionNumber::Checkpoint(number), None) => {
            for held in &asker.holds {
                let newest = overview::newest_written(tx, &held.task)?.filter(|newest| newest.id == number);
                if let Some(newest) = newest.filter(|newest| newest.state == CheckpointState::AwaitingInput) {
                    let task = Some(held.task.clone());
                    return Ok(OpenQuestion { asker, text: newest.summary, task });
                }
            }
            Err(over(SETTLED).into())
        }
    }
}

/// How an answer reaches its session.
enum Way {
    /// As the choice of a dialog on the session's screen.
    Chosen(DialogProfile),
    /// Typed into the session's terminal.
    Typed,
    /// As a message that names the question.
    Message,
}

/// Decides how the answer to an open question reaches the session.
fn way(app: &App, item: &QuestionId, open: &OpenQuestion) -> Result<Way> {
    let session = &open.asker.session;
    let id = &session.id;
    let (has_pending, has_hooks) = app.read(|tx| {
        let has_pending = !approvals::pending_of(tx, id)?.is_empty();
        Ok((has_pending, session_reports::find(tx, id)?.last_hook_at.is_some()))
    })?;
    let approve = || unanswerable(item, "the session waits for a permission", "list the requests: fairway approvals");
    let asks = || Refusal::SessionAsks {
        session: id.clone(),
        question: open.text.clone(),
        typing: false,
        is_structured: session.is_structured(),
    };
    if has_pending {
        return Err(approve());
    }
    if open.task.is_none() {
        match answer_way(session) {
            AnswerWay::Text => {}
            AnswerWay::Window => {
                let recorded = RecordedDialogs::of(app, session).choice;
                // A dialog that was seen on a screen has no text of its own to know it by.
                let recorded = recorded.filter(|_| session.activity_source.as_deref() == Some(HOOK_SOURCE));
                return recorded.map(Way::Chosen).ok_or_else(|| asks().into());
            }
            AnswerWay::Approval => return Err(approve()),
        }
    }
    let has_terminal = session.adapter_script.is_some();
    if listener::has_kind(app, id, listener::ListenerKind::Stream) {
        return Ok(Way::Message);
    }
    match (&open.task, session.activity) {
        (None, _) if has_terminal => Ok(Way::Typed),
        (None, _) => Err(unanswerable(
            item,
            "the session has no terminal of a backend, and no stream is connected",
            &format!("see where it runs, and answer it there: fairway session show {id}"),
        )),
        // It reads its messages; this one names the question that it asked.
        (Some(_), _) if !has_terminal => Ok(Way::Message),
        (Some(_), Activity::Idle | Activity::Unknown) => Ok(Way::Typed),
        // Its next tool call brings the message.
        (Some(_), Activity::Busy) if has_hooks => Ok(Way::Message),
        (Some(_), activity) => Err(unanswerable(
            item,
            &format!("the session is {activity}"),
            &format!("wait for the end of its turn: fairway session status {id}"),
        )),
    }
}

fn unanswerable(item: &QuestionId, why: &str, hint: &str) -> anyhow::Error {
    Refusal::Unanswerable { item: item.to_string(), why: why.to_owned(), hint: hint.to_owned() }.into()
}

/// Selects a choice of the dialog that asks the question, by its number or its wording, and settles the question.
fn chosen(app: &App, item: &QuestionId, question: &str, profile: &DialogProfile, text: &str) -> Result<Answer> {
    let id = &item.session;
    let attach = format!("answer it in its own window: fairway session attach {id}");
    running_session::run_idempotent(
        app,
        id,
        &["answer", &item.to_string(), "TEXT"],
        |live| {
            let choose = |shown: &Dialog| {
                let count = shown.choices_of(question).ok_or("its screen shows another dialog")?;
                let own = shown.choices.get(..count).unwrap_or_default();
                choice_number(own, text).ok_or_else(|| {
                    let numbered = own.iter().enumerate().map(|(at, choice)| format!("{} {choice}", at + 1));
                    format!("'{}' is none of its choices: {}", excerpt(text), numbered.collect::<Vec<_>>().join(", "))
                })
            };
            dialog::take(live, profile, choose, || Ok(()))?.map_err(|why| unanswerable(item, &why, &attach))?;
            app.transaction(|tx| settle(tx, item, text))
        },
        |live| Some(live.event(EventKind::SessionNudged).with("bytes", 1)),
        format!("answered {item}: {}", excerpt(text)),
    )
}

/// The number of the choice that a text names by its number or its wording.
fn choice_number(choices: &[String], text: &str) -> Option<usize> {
    let text = text.trim();
    let by_number = text.parse().ok().filter(|number| (1..=choices.len()).contains(number));
    by_number.or_else(|| Some(choices.iter().position(|choice| choice.to_lowercase() == text.to_lowercase())? + 1))
}

/// Types the answer, and settles the question.
fn typed(app: &App, item: &QuestionId, text: &str) -> Result<Answer> {
    let id = &item.session;
    let size = i64::try_from(text.len()).unwrap_or(i64::MAX);
    running_session::run_idempotent(
        app,
        id,
        &["answer", &item.to_string(), "TEXT"],
        |live| {
            type_into(app, live, item, text).map_err(|error| cannot_type(item, error))?;
            app.transaction(|tx| settle(tx, item, text))
        },
        |live| Some(live.event(EventKind::SessionNudged).with("bytes", size)),
        format!("answered {item}: typed {size} bytes into {id}"),
    )
}

/// Types the answer if its question is still open: after the check of the screen, the question is read again.
fn type_into(app: &App, live: &RunningSession, item: &QuestionId, text: &str) -> Result<()> {
    let signs = question::refuse_shown_question(app, live)?;
    app.read(|tx| find(tx, item))?;
    question::type_unless_shown(live, text.as_bytes(), &signs)
}

/// Turns the error of a backend that cannot type into `not_answerable`. Other commands count that as a success that did
/// nothing.
fn cannot_type(item: &QuestionId, error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(AdapterError::Unsupported { .. }) => {
            let hint = format!("answer it in its own window: fairway session attach {}", item.session);
            unanswerable(item, "its backend cannot type", &hint)
        }
        _ => error,
    }
}

/// Sends the answer as a message that names its question, and settles the question.
fn by_message(app: &App, item: &QuestionId, text: &str) -> Result<Answer> {
    let id = &item.session;
    app.mutate(|tx| {
        let open = find(tx, item)?;
        let message = prompt::queue_answer(app, tx, id, &format!("to your question: {}\n{text}", open.text))?;
        settle(tx, item, text)?;
        let line = format!("answered {item}: message {message} to {id}");
        Answer::new(&SessionView::from(&lookup::session(tx, id)?), id, line)
    })
}

/// Settles a question that was answered. Does nothing when the session has moved on meanwhile.
fn settle(tx: &WriteTx<'_>, item: &QuestionId, text: &str) -> Result<()> {
    match item.number {
        QuestionNumber::Activity(number) => settle_activity(tx, &item.session, number),
        QuestionNumber::Checkpoint(number) => settle_checkpoint(tx, number, text),
    }
}

fn settle_activity(tx: &WriteTx<'_>, id: &SessionId, number: i64) -> Result<()> {
    let session = lookup::session(tx, id)?;
    if session.activity != Activity::RequiresAction || session.questions != number {
        return Ok(());
    }
    let works = Report::of(Activity::Busy, None, ANSWER_SOURCE);
    session_events::apply(tx, &session, &SessionEvent::Seen(works)).map(drop)
}

/// Adds a checkpoint with the answer, which replaces the question as the task's newest checkpoint.
fn settle_checkpoint(tx: &WriteTx<'_>, number: i64, text: &str) -> Result<()> {
    let Some(asked) = checkpoints::find(tx, number)? else { return Ok(()) };
    if checkpoints::newest_written(tx, &asked.task)?.is_none_or(|newest| newest.id != number) {
        return Ok(());
    }
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut summary = format!("the answer to checkpoint {number}: {}", secrets::mask(&line));
    let end = (0..=summary.len().min(MAX_LINE_BYTES)).rev().find(|at| summary.is_char_boundary(*at));
    summary.truncate(end.unwrap_or_default());
    let draft = checkpoints::CheckpointFields {
        task: asked.task.clone(),
        session: None,
        state: CheckpointState::Active,
        owner: asked.session.map(|session| session.to_string()),
        summary,
        artifact: None,
        due_at: None,
        origin: None,
    };
    checkpoint::insert(tx, &lookup::task(tx, &asked.task)?, &draft, None)?;
    Ok(())
}
