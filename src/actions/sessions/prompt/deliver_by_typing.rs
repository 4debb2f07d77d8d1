//! The fallback channel to a session: messages are typed into its terminal when no other channel delivers them.

use std::time::Duration;

use anyhow::Result;

use super::{
    deliver_inline::{BatchBuilder, without_first_prompt},
    listener,
};
use crate::{
    actions::{
        Answer, App,
        core::{
            errors,
            message_state::{acknowledge, expire, offer},
        },
        mail,
        sessions::control::running_session::RunningSession,
    },
    domain::{
        EventKind, SessionId,
        message::{Channel, Message, NEVER_EXPIRES, OFFER_TIMEOUT_SECS, Recipient},
        rules::delivery::{self, MAX_READ, TypingPolicy},
        session::{Activity, Session, SessionStatus},
        text_limits::MAX_BODY_BYTES,
    },
    env::Timestamp,
    store::{ReadTx, WriteTx, messages, session_reports, sessions},
    wire::MessageView,
};

/// The duration of an offer while its text is typed: longer than the timeout of a backend call.
const TYPING_OFFER_DURATION: Duration = Duration::from_secs(2 * OFFER_TIMEOUT_SECS);

/// Types the queued messages of a session into its terminal when no other channel delivers them: the session has no listener,
/// and its hooks are not called soon. Typed text stays offered until the session's next event. Returns the channel; `None`
/// when nothing was typed.
///
/// Calls the session's adapter: never inside a transaction.
///
/// # Errors
/// As the backend call fails: the messages stay queued. `untrusted`, `session_gone`, `session_mismatch`.
pub fn deliver(app: &App, session: &SessionId) -> Result<Option<Channel>> {
    // In this order: most sessions have no queued messages, and the check for listeners opens a socket.
    if !app.read(|tx| has_typable(tx, session, app.env.now()))? || listener::has_any(app, session) {
        return Ok(None);
    }
    type_pending(app, session)
}

/// Types the queued messages without a check for listeners, for a listener that has no other channel.
///
/// # Errors
/// Those of [`deliver`].
pub fn type_pending(app: &App, session: &SessionId) -> Result<Option<Channel>> {
    if !app.read(|tx| has_typable(tx, session, app.env.now()))? {
        return Ok(None);
    }
    let live = RunningSession::find(app, session)?;
    let mut channel = None;
    // One batch per round; messages that arrive meanwhile get a round, too.
    for _ in 0..MAX_READ {
        let until = app.env.now().plus(TYPING_OFFER_DURATION);
        let Some(batch) = app.transaction(|tx| offer_next(tx, session, until))? else { break };
        match batch.type_into(&live) {
            Ok(()) => app.transaction(|tx| batch.record_typed(tx, &live, until))?,
            Err(error) => {
                app.transaction(|tx| batch.withdraw_offer(tx, until))?;
                return Err(error);
            }
        }
        channel = Some(Channel::Nudge);
    }
    Ok(channel)
}

/// Delivers the queued messages after a change. Returns a note when that failed.
#[must_use]
pub fn try_deliver(app: &App, session: &SessionId) -> Option<String> {
    let error = deliver(app, session).err()?;
    Some(format!("messages for {session} stay queued; typing them failed: {}", errors::classify(&error).message))
}

/// Delivers the queued messages to the answer's session when it was reported idle. A failure becomes a note.
#[must_use]
pub(in crate::actions) fn deliver_when_idle(app: &App, activity: Option<Activity>, answer: Answer) -> Answer {
    let session = answer.document["id"].as_str().and_then(|id| SessionId::parse(id).ok());
    match session.filter(|_| activity == Some(Activity::Idle)).and_then(|session| try_deliver(app, &session)) {
        Some(note) => answer.note(note),
        None => answer,
    }
}

/// The messages that are typed together.
#[derive(Debug)]
struct TypedBatch {
    /// The session's version at the offer, if its hooks were called before: a newer version then is a reaction to this text.
    version: Option<i64>,
    text: String,
    messages: Vec<Message>,
    announced: Vec<i64>,
    interrupts: bool,
}

/// The messages that may be typed into a session now, in order. Messages to its lane or role are not typed: the first
/// session that reads them gets them.
fn typable(tx: &ReadTx<'_>, id: &SessionId, now: Timestamp) -> Result<Vec<(Message, TypingPolicy)>> {
    let Some(session) = sessions::find(tx, id)?.filter(accepts_typing) else { return Ok(Vec::new()) };
    let mut open = messages::open_for(tx, &Recipient::Session(id.clone()))?;
    without_first_prompt(&mut open, &session, now);
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let hooked = session_reports::find(tx, id)?.last_hook_at.is_some();
    let free = delivery::deliverable(open, Channel::Nudge, session.activity, now).into_iter();
    let typings = free.map(|message| (delivery::typing_policy(message.priority, session.activity, hooked), message));
    Ok(typings.filter(|(how, _)| *how != TypingPolicy::Wait).map(|(how, message)| (message, how)).collect())
}

/// Whether the session has a backend, and its launch is complete: that types the first prompt itself.
fn accepts_typing(session: &Session) -> bool {
    session.adapter_script.is_some() && matches!(session.status, SessionStatus::Running | SessionStatus::Stale)
}

fn has_typable(tx: &ReadTx<'_>, id: &SessionId, now: Timestamp) -> Result<bool> {
    Ok(typable(tx, id, now)?.iter().any(|(message, _)| needs_typing(message, id)))
}

/// Whether a message needs typing: a message that is too long is announced once.
fn needs_typing(message: &Message, id: &SessionId) -> bool {
    let is_short = || mail::format_messages(&[MessageView::from(message)]).len() <= MAX_BODY_BYTES;
    !message.is_announced_to(id) || is_short()
}

/// Offers the next batch. A person's message is typed alone and verbatim, so that it can be a command of the program. Other
/// messages are typed together, each with a header.
fn offer_next(tx: &WriteTx<'_>, id: &SessionId, until: Timestamp) -> Result<Option<TypedBatch>> {
    expire(tx)?;
    let mut waiting = typable(tx, id, tx.now())?;
    waiting.retain(|(message, _)| needs_typing(message, id));
    let Some(session) = sessions::find(tx, id)? else { return Ok(None) };
    let hooked = session_reports::find(tx, id)?.last_hook_at.is_some();
    let version = hooked.then_some(session.version);
    let is_plain = |message: &Message| mail::is_by_person(&MessageView::from(message));
    let Some((first, how)) = waiting.first() else { return Ok(None) };
    let interrupts = *how == TypingPolicy::InterruptThenType;
    let batch = if is_plain(first) {
        TypedBatch {
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
        TypedBatch { version, text, messages: builder.messages, announced: builder.announced, interrupts }
    };
    offer(tx, &session, &batch.messages, Channel::Nudge, until)?;
    Ok(Some(batch))
}

impl TypedBatch {
    fn type_into(&self, live: &RunningSession) -> Result<()> {
        if self.interrupts {
            live.adapter.interrupt(live.backend_name())?;
        }
        Ok(live.adapter.nudge(live.backend_name(), self.text.as_bytes())?)
    }

    /// Records the typed batch: messages that were not withdrawn meanwhile stay offered until the session's next event.
    fn record_typed(&self, tx: &WriteTx<'_>, live: &RunningSession, until: Timestamp) -> Result<()> {
        // A fast program may have called its hook before the backend call returned.
        let now = sessions::find(tx, &live.session.id)?;
        let newer = now.filter(|now| self.version.is_some_and(|before| before != now.version));
        for message in &self.messages {
            messages::extend_offer(tx, message.id, until, NEVER_EXPIRES)?;
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
    fn withdraw_offer(&self, tx: &WriteTx<'_>, until: Timestamp) -> Result<()> {
        for message in &self.messages {
            messages::withdraw_offer(tx, message.id, until)?;
        }
        Ok(())
    }
}
