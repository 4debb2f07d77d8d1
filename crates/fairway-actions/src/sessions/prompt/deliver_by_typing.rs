//! The fallback delivery channel: messages are typed into a session's terminal when no other channel delivers them.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::Result;

use super::deliver_inline::{BatchBuilder, without_first_prompt};
use super::{listener, lost_enter};
use crate::core::message_state::{acknowledge, expire, offer};
use crate::core::{errors, lookup};
use crate::mail::{self, outbox};
use crate::sessions::control::running_session::RunningSession;
use crate::sessions::control::{interrupt, question};
use crate::sessions::report::idle_screen;
use crate::{Answer, App};
use fairway_core::adapters::AdapterError;
use fairway_core::domain::checkpoint::CheckpointState;
use fairway_core::domain::message::{
    Channel, LONGEST_OFFER, Message, MessageStatus, NEVER_EXPIRES, REMINDER_SOURCE, Recipient,
};
use fairway_core::domain::question::QuestionId;
use fairway_core::domain::rules::delivery::{self, MAX_READ, TurnAccess, TypingPolicy, Urgency};
use fairway_core::domain::session::{Activity, Session, SessionStatus};
use fairway_core::domain::text_limits::MAX_BODY_BYTES;
use fairway_core::domain::{EventKind, Refusal, SessionId, plural, secrets};
use fairway_core::env::{Timestamp, vars};
use fairway_core::os::executable;
use fairway_core::store::session_reports::{self, SessionReports};
use fairway_core::store::{ReadTx, WriteTx, messages, overview, sessions};
use fairway_core::wire::{MessageView, SessionView};

/// The duration of an offer while its text is typed: longer than the timeout of a backend call.
const TYPING_OFFER_DURATION: Duration = LONGEST_OFFER;

/// Types the queued messages of a session into its terminal when no other channel delivers them: the session has no listener,
/// and its hooks will not be called soon. Typed text stays offered until the session's next event. Returns the channel; `None`
/// when nothing was typed.
/// Calls the session's adapter: never inside a transaction.
///
/// # Errors
/// Those of the backend call, after which the messages stay queued; `untrusted`, `session_gone`, `session_mismatch`.
pub fn deliver(app: &App, session: &SessionId) -> Result<Option<Channel>> {
    // In this order: most sessions have no queued messages, and the check for listeners opens a socket.
    let has_typable = |tx: &ReadTx<'_>| has_typable(tx, session, app.env.now(), TypingScope::Due);
    if !app.read(has_typable)? || listener::has_any(app, session) {
        return Ok(None);
    }
    type_pending(app, session, false)
}

/// Like [`deliver`], but without the check for listeners, for a listener that can only deliver by typing. With `when_unknown`
/// it also types while the session's state is unknown.
pub fn type_pending(app: &App, session: &SessionId, when_unknown: bool) -> Result<Option<Channel>> {
    let scope = if when_unknown { TypingScope::DueOrUnknown } else { TypingScope::Due };
    if !app.read(|tx| has_typable(tx, session, app.env.now(), scope))? {
        return Ok(None);
    }
    let live = RunningSession::find(app, session, &["prompt", session.as_str(), "TEXT"])?;
    let typed = type_batches(app, &live, scope)?;
    Ok((typed > 0).then_some(Channel::Nudge))
}

/// Types all queued messages of a session now, even while it is busy. Without `force` that is refused while it asks a question.
///
/// # Errors
/// `session_asks`, `session_final`, `session_gone`, `session_mismatch`; those of the backend call, after which the messages
/// stay queued.
pub fn type_queued(app: &App, session: &SessionId, force: bool) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    let live = RunningSession::find(app, session, &["prompt", session.as_str(), "TEXT"])?;
    if !force {
        question::refuse_open_question(app, &live)?;
    }
    let scope = if force { TypingScope::AllByForce } else { TypingScope::All };
    let typed = type_batches(app, &live, scope).map_err(|error| refuse_unsupported(error, session))?;
    let line = match typed {
        0 => format!("unchanged: no messages are queued for {session}"),
        typed => format!("typed {} into {session}", plural::count(typed, "queued message")),
    };
    app.mutate(|tx| Answer::new(&SessionView::from(&lookup::session(tx, session)?), session, line.clone()))
}

/// Turns the error of a script that cannot type into one that says that the agent reads its messages itself.
fn refuse_unsupported(error: anyhow::Error, session: &SessionId) -> anyhow::Error {
    match error.downcast_ref() {
        Some(AdapterError::Unsupported { script, operation }) => Refusal::BackendCannot {
            script: script.display().to_string(),
            operation,
            hint: format!("the messages stay queued; the agent reads them itself: fairway inbox --session {session}"),
        }
        .into(),
        _ => error,
    }
}

/// Types the queued messages, one batch per round. Messages that arrive meanwhile are typed in a later round. Returns their
/// number.
fn type_batches(app: &App, live: &RunningSession, scope: TypingScope) -> Result<usize> {
    let mut typed = 0;
    // Text that cannot be submitted stays unconfirmed, and the board says so.
    let _ = lost_enter::press_again_if_unconfirmed(app, live);
    for _ in 0..MAX_READ {
        let Some(batch) = app.transaction(|tx| offer_next(tx, &live.session.id, scope))? else { break };
        match batch.type_into(app, live, scope) {
            Ok(()) => {
                app.transaction(|tx| batch.record_typed(tx, live))?;
                let _ = lost_enter::press_again_if_unconfirmed(app, live);
            }
            Err(error) => {
                app.transaction(|tx| batch.withdraw_offer(tx))?;
                return Err(error);
            }
        }
        typed += batch.messages.len() + batch.announced.len();
    }
    Ok(typed)
}

/// Which queued messages are typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TypingScope {
    /// Messages that may be typed in the session's present state.
    Due,
    /// Due messages, and every message of a session whose state is unknown.
    DueOrUnknown,
    All,
    /// All, even if the session takes the text as the answer to a question.
    AllByForce,
}

/// Delivers the queued messages of a session. Before that, it looks at the screen of a busy session, which may be idle by now.
/// Returns a note when the delivery failed.
pub fn try_deliver(app: &App, session: &SessionId) -> Option<String> {
    app.mailed.borrow_mut().remove(session);
    let waits = app.read(|tx| Ok(!messages::open_for(tx, &Recipient::Session(session.clone()))?.is_empty()));
    // Without an answer, the session counts as it was reported.
    let _ = waits.and_then(|waits| if waits { idle_screen::look(app, session).map(Some) } else { Ok(None) });
    let error = deliver(app, session).err()?;
    Some(match error.downcast_ref() {
        Some(asks @ Refusal::SessionAsks { is_structured, .. }) => {
            let way = if *is_structured {
                "list its requests: fairway approvals list".to_owned()
            } else {
                format!("answer in its terminal: fairway session attach {session}")
            };
            format!("messages for {session} stay queued: {asks}; {way}")
        }
        Some(Refusal::SessionElsewhere { host, .. }) => {
            format!("messages for {session} stay queued: its host, {host}, delivers them")
        }
        _ => format!("messages for {session} stay queued; typing them failed: {}", errors::classify(&error).message),
    })
}

/// Delivers the messages that were queued through `app` and are not delivered yet: the one way of what people and
/// landings decide, of notices and of answers. Returns notes: why a delivery failed, or why a message waits.
pub fn deliver_mailed(app: &App) -> Vec<String> {
    let mailed = app.mailed.borrow().clone();
    let others = mailed.iter().filter(|session| app.actor.session.as_ref() != Some(session));
    others
        .filter_map(|session| try_deliver(app, session).or_else(|| mail_waits(app, session).unwrap_or_default()))
        .collect()
}

/// The word in place of the provider: `fairway hook deliver SESSION`.
pub const DELIVER: &str = "deliver";

/// Like [`deliver_mailed`], in processes of their own, for a caller that must not wait for a terminal, and for `also`, where
/// prompts wait for it. What a process that cannot start would have delivered stays queued.
pub fn start_delivery(app: &App, also: Option<SessionId>) {
    let mut sessions = app.mailed.take();
    sessions.retain(|session| app.actor.session.as_ref() != Some(session));
    sessions.extend(also);
    for session in sessions {
        let waits = app.read(|tx| Ok(!messages::open_for(tx, &Recipient::Session(session.clone()))?.is_empty()));
        if waits.unwrap_or(false) {
            start_command(app, &["hook", DELIVER, session.as_str()]);
        }
    }
}

/// Starts a command in a process of its own that is in no session; nothing happens when it cannot start.
pub(in crate::sessions) fn start_command(app: &App, args: &[&str]) {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let mut env = app.env.vars().clone();
    env.retain(|name, _| !vars::SESSION_IDENTITY.iter().any(|one| name == one));
    env.insert(vars::FAIRWAY_ROOT.into(), app.project.root.clone().into());
    let _ = executable::spawn_self(&args, &env, None);
}

/// A note that says why the newest message to a session waits.
fn mail_waits(app: &App, session: &SessionId) -> Result<Option<String>> {
    app.read(|tx| {
        let open = messages::open_for(tx, &Recipient::Session(session.clone()))?;
        let Some(message) = open.last().filter(|message| message.status == MessageStatus::Queued) else {
            return Ok(None);
        };
        // Without a terminal nothing helps.
        let wait = outbox::find(tx, message, app.env.now())?.filter(|wait| wait.hint.is_some());
        Ok(wait.map(|wait| format!("message {} waits: {}", message.id, wait.sentence())))
    })
}

/// Delivers the queued messages of a session, of which the last one was just sent with the answer `sent`. Adds notes to that
/// answer: why the delivery failed, why the message waits, and which question it leaves open.
pub fn deliver_sent(app: &App, session: &SessionId, sent: Answer) -> Answer {
    let note = try_deliver(app, session).or_else(|| waiting_note(app, &sent).unwrap_or_default());
    let unanswered = open_question_note(app, session, &sent).unwrap_or_default();
    sent.with_notes(note.into_iter().chain(unanswered))
}

/// A note about a question by checkpoint that a message leaves open, because only an answer that names the question settles it.
fn open_question_note(app: &App, session: &SessionId, sent: &Answer) -> Result<Option<String>> {
    let Some(id) = sent.document.get("message_id").and_then(serde_json::Value::as_i64) else { return Ok(None) };
    app.read(|tx| {
        let Some(asker) = sessions::find(tx, session)? else { return Ok(None) };
        // A question by activity comes before it, and the note about the waiting prompt names that.
        if asker.activity == Activity::RequiresAction {
            return Ok(None);
        }
        for held in overview::held(tx)?.iter().filter(|held| held.session.as_ref() == Some(session)) {
            let newest = overview::newest_written(tx, &held.task)?;
            let Some(asked) = newest.filter(|newest| newest.state == CheckpointState::AwaitingInput) else { continue };
            let item = QuestionId::checkpoint(session.clone(), asked.id);
            let question = secrets::mask(&asked.summary);
            return Ok(Some(format!(
                "prompt {id} does not answer the question of {session} ({question}); answer it: fairway answer {item} TEXT"
            )));
        }
        Ok(None)
    })
}

/// A note that says why a sent message waits.
fn waiting_note(app: &App, sent: &Answer) -> Result<Option<String>> {
    let Some(id) = sent.document.get("message_id").and_then(serde_json::Value::as_i64) else { return Ok(None) };
    app.read(|tx| {
        let queued = messages::find(tx, id)?.filter(|message| message.status == MessageStatus::Queued);
        let Some(message) = queued else { return Ok(None) };
        let wait = outbox::find(tx, &message, app.env.now())?;
        Ok(wait.map(|wait| format!("prompt {id} waits: {}", wait.sentence())))
    })
}

/// Delivers the queued messages of the session that `answer` describes, provided that `activity`, which it has just reported, is
/// idle. A failure becomes a note.
pub(crate) fn deliver_when_idle(app: &App, activity: Option<Activity>, answer: Answer) -> Answer {
    let session = answer.document["id"].as_str().and_then(|id| SessionId::parse(id).ok());
    match session.filter(|_| activity == Some(Activity::Idle)).and_then(|session| try_deliver(app, &session)) {
        Some(note) => answer.note(note),
        None => answer,
    }
}

/// Messages that are typed together.
#[derive(Debug)]
struct TypedBatch {
    /// Until when the messages are offered, while their text is typed.
    until: Timestamp,
    /// The session's version at the offer, if its hooks had been called before. A newer version is then a reaction to this
    /// text.
    version: Option<i64>,
    text: String,
    messages: Vec<Message>,
    announced: Vec<i64>,
    interrupts: bool,
}

/// The messages that may be typed into a session now, in order. Messages to its lane or role are not typed, because the first
/// session that reads them gets them.
fn typable(
    tx: &ReadTx<'_>,
    id: &SessionId,
    now: Timestamp,
    scope: TypingScope,
) -> Result<Vec<(Message, TypingPolicy)>> {
    let is_parked = |session: &Session| session.is_parked(now) && scope != TypingScope::AllByForce;
    let Some(session) = sessions::find(tx, id)?.filter(|one| accepts_typing(one) && !is_parked(one)) else {
        return Ok(Vec::new());
    };
    let mut open = messages::open_for(tx, &Recipient::Session(id.clone()))?;
    without_first_prompt(&mut open, &session, now);
    // A person may be writing there.
    open.retain(|message| message.source != REMINDER_SOURCE);
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let reports = session_reports::find(tx, id)?;
    let free = delivery::deliverable(open, Channel::Nudge, session.activity, now).into_iter();
    let access = turn_access(&session, &reports);
    let policy = |message: &Message| match scope {
        TypingScope::Due => delivery::typing_policy(Urgency::of(message), session.activity, access),
        TypingScope::DueOrUnknown => {
            delivery::typing_policy(Urgency { now: true, ..Urgency::of(message) }, session.activity, access)
        }
        TypingScope::All | TypingScope::AllByForce => TypingPolicy::Type,
    };
    let typings = free.map(|message| (policy(&message), message));
    Ok(typings.filter(|(how, _)| *how != TypingPolicy::Wait).map(|(how, message)| (message, how)).collect())
}

/// How an urgent message can reach the session during its turn.
fn turn_access(session: &Session, reports: &SessionReports) -> TurnAccess {
    let can_steer = session.is_structured() && reports.protocol.as_ref().is_some_and(|protocol| protocol.can_steer);
    match (can_steer, reports.last_hook_at) {
        (true, _) => TurnAccess::Steering,
        (false, Some(_)) => TurnAccess::Hooks,
        (false, None) => TurnAccess::None,
    }
}

/// Whether messages may be typed: the session has a backend, and its launch is complete. Until then the launch types the first
/// prompt itself.
fn accepts_typing(session: &Session) -> bool {
    session.adapter_script.is_some() && matches!(session.status, SessionStatus::Running | SessionStatus::Stale)
}

fn has_typable(tx: &ReadTx<'_>, id: &SessionId, now: Timestamp, scope: TypingScope) -> Result<bool> {
    Ok(typable(tx, id, now, scope)?.iter().any(|(message, _)| needs_typing(message, id)))
}

/// Whether a message needs typing. A message that is too long is only announced, once.
fn needs_typing(message: &Message, id: &SessionId) -> bool {
    let is_short = || mail::format_messages(&[MessageView::from(message)]).len() <= MAX_BODY_BYTES;
    !message.is_announced_to(id) || is_short()
}

/// Offers the next batch. A person's message is typed alone and verbatim, so that it can be a command of the program. Other
/// messages are typed together, each with a header.
fn offer_next(tx: &WriteTx<'_>, id: &SessionId, scope: TypingScope) -> Result<Option<TypedBatch>> {
    expire(tx)?;
    let mut waiting = typable(tx, id, tx.now(), scope)?;
    waiting.retain(|(message, _)| needs_typing(message, id));
    let Some(session) = sessions::find(tx, id)? else { return Ok(None) };
    let hooked = session_reports::find(tx, id)?.last_hook_at.is_some();
    let version = hooked.then_some(session.version);
    let is_plain = |message: &Message| mail::is_by_hand(&MessageView::from(message));
    let Some((first, how)) = waiting.first() else { return Ok(None) };
    let interrupts = *how == TypingPolicy::InterruptThenType;
    let until = tx.now().plus(TYPING_OFFER_DURATION);
    let batch = if is_plain(first) {
        TypedBatch {
            until,
            version,
            text: first.content.clone(),
            messages: vec![first.clone()],
            announced: Vec::new(),
            interrupts,
        }
    } else {
        let alike = waiting
            .iter()
            .take_while(|(message, how)| !is_plain(message) && (*how == TypingPolicy::InterruptThenType) == interrupts);
        let builder = BatchBuilder::pack(alike.map(|(message, _)| message.clone()).collect(), id, MAX_BODY_BYTES);
        let text = builder.text.trim_end().to_owned();
        TypedBatch { until, version, text, messages: builder.messages, announced: builder.announced, interrupts }
    };
    offer(tx, &session, &batch.messages, Channel::Nudge, until)?;
    Ok(Some(batch))
}

impl TypedBatch {
    fn type_into(&self, app: &App, live: &RunningSession, scope: TypingScope) -> Result<()> {
        if scope == TypingScope::AllByForce {
            return Ok(live.adapter.nudge(live.backend_name(), self.text.as_bytes())?);
        }
        if self.interrupts {
            // The keys that interrupt a turn would answer a question, too.
            question::refuse_open_question(app, live)?;
            interrupt::press(app, live)?;
        }
        question::type_unless_asked(app, live, self.text.as_bytes())
    }

    /// Records the typed batch: messages that were not withdrawn meanwhile stay offered until the session's next event.
    fn record_typed(&self, tx: &WriteTx<'_>, live: &RunningSession) -> Result<()> {
        // A fast program may have called its hook before the backend call returned.
        let is_hooked = session_reports::find(tx, &live.session.id)?.last_hook_at.is_some();
        let now = sessions::find(tx, &live.session.id)?;
        let newer = match self.version {
            Some(before) => now.filter(|now| before != now.version),
            // It had no hook before: some agents call none until their first prompt.
            None => now.filter(|_| is_hooked),
        };
        for message in &self.messages {
            messages::extend_offer(tx, message.id, self.until, NEVER_EXPIRES)?;
            if let Some(session) = &newer
                && let Some(typed) = messages::find(tx, message.id)?.filter(Message::is_typed)
            {
                acknowledge(tx, &typed, session)?;
            }
        }
        for id in &self.announced {
            messages::mark_announced(tx, *id, &live.session.id)?;
        }
        if self.interrupts {
            tx.record(&live.event(EventKind::SessionInterrupted))?;
        }
        let size = i64::try_from(self.text.len()).unwrap_or(i64::MAX);
        tx.record(&live.event(EventKind::SessionNudged).with("bytes", size))?;
        Ok(())
    }

    /// Withdraws the offer after a failure: the messages stay queued.
    fn withdraw_offer(&self, tx: &WriteTx<'_>) -> Result<()> {
        for message in &self.messages {
            messages::withdraw_offer(tx, message.id, self.until)?;
        }
        Ok(())
    }
}
