//! The last way to a session: its text is typed into its terminal, when nobody else brings it.

use std::time::Duration;

use anyhow::Result;

use super::{
    deliver_inline::{BatchBuilder, acknowledge, offer},
    listener,
};
use crate::{
    actions::{
        Answer, App,
        core::errors,
        mail::{self, inbox::expire},
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

/// How long text is held while it is being typed: longer than the calls to an adapter may take.
const TYPING_OFFER_DURATION: Duration = Duration::from_secs(2 * OFFER_TIMEOUT_SECS);

/// Has what waits for a session typed into its terminal, when nobody brings it: nobody listens for the session, and its
/// hooks will not come by soon enough. Typed text stays offered until the session's next event. Answers how it went out;
/// `None` when it is left to others, or there is nothing to do.
///
/// Calls the session's adapter: never inside a transaction.
///
/// # Errors
/// As the adapter fails: the prompt waits then as before. `untrusted`, `session_gone`, `session_mismatch`.
pub fn deliver(app: &App, session: &SessionId) -> Result<Option<Channel>> {
    // Asked in this order: most sessions have nothing waiting, and asking who listens makes a socket.
    if !app.read(|tx| has_typable(tx, session, app.env.now()))? || listener::has_any(app, session) {
        return Ok(None);
    }
    type_pending(app, session)
}

/// The same for one who listens for that session and has no other way to it.
///
/// # Errors
/// Those of [`deliver`].
pub fn type_pending(app: &App, session: &SessionId) -> Result<Option<Channel>> {
    if !app.read(|tx| has_typable(tx, session, app.env.now()))? {
        return Ok(None);
    }
    let live = RunningSession::find(app, session)?;
    let mut way = None;
    // Each has its own turn; what came meanwhile has one too.
    for _ in 0..MAX_READ {
        let until = app.env.now().plus(TYPING_OFFER_DURATION);
        let Some(letter) = app.transaction(|tx| offer_next(tx, session, until))? else { break };
        match letter.type_into(&live) {
            Ok(()) => app.transaction(|tx| letter.record_typed(tx, &live, until))?,
            Err(error) => {
                app.transaction(|tx| letter.withdraw_offer(tx, until))?;
                return Err(error);
            }
        }
        way = Some(Channel::Nudge);
    }
    Ok(way)
}

/// Has what waits for a session typed, now that something was changed there; answers why it waits on when that failed.
#[must_use]
pub fn try_deliver(app: &App, session: &SessionId) -> Option<String> {
    let error = deliver(app, session).err()?;
    Some(format!("messages for {session} stay queued; typing them failed: {}", errors::classify(&error).message))
}

/// The same for a session that the answer is about, once it was reported to be idle.
#[must_use]
pub(in crate::actions) fn deliver_when_idle(app: &App, activity: Option<Activity>, answer: Answer) -> Answer {
    let session = answer.document["id"].as_str().and_then(|id| SessionId::parse(id).ok());
    match session.filter(|_| activity == Some(Activity::Idle)).and_then(|session| try_deliver(app, &session)) {
        Some(remark) => answer.note(remark),
        None => answer,
    }
}

/// What is typed at once.
#[derive(Debug)]
struct TypedBatch {
    /// The session's version when it was offered, if its hooks had been here before: what they say then is about this text.
    version: Option<i64>,
    text: String,
    messages: Vec<Message>,
    announced: Vec<i64>,
    interrupts: bool,
}

/// What may be typed into a session now, in order. What is for its lane or role is for whoever comes for it first.
fn typable(tx: &ReadTx<'_>, id: &SessionId, now: Timestamp) -> Result<Vec<(Message, TypingPolicy)>> {
    let Some(session) = sessions::find(tx, id)?.filter(accepts_typing) else { return Ok(Vec::new()) };
    let unsettled = messages::open_for(tx, &Recipient::Session(id.clone()))?;
    if unsettled.is_empty() {
        return Ok(Vec::new());
    }
    let hooked = session_reports::find(tx, id)?.last_hook_at.is_some();
    let free = delivery::deliverable(unsettled, Channel::Nudge, session.activity, now).into_iter();
    let typings = free.map(|message| (delivery::typing_policy(message.priority, session.activity, hooked), message));
    Ok(typings.filter(|(how, _)| *how != TypingPolicy::Wait).map(|(how, message)| (message, how)).collect())
}

/// Whether it has a terminal of ours, and nobody is just about to type its first prompt.
fn accepts_typing(session: &Session) -> bool {
    session.adapter_script.is_some() && matches!(session.status, SessionStatus::Running | SessionStatus::Stale)
}

fn has_typable(tx: &ReadTx<'_>, id: &SessionId, now: Timestamp) -> Result<bool> {
    Ok(typable(tx, id, now)?.iter().any(|(message, _)| needs_typing(message, id)))
}

/// Whether there is something to type: what is too long even here is announced once.
fn needs_typing(message: &Message, id: &SessionId) -> bool {
    let is_short = || mail::format_messages(&[MessageView::from(message)]).len() <= MAX_BODY_BYTES;
    !message.is_announced_to(id) || is_short()
}

/// Offers what is typed next: what a person wrote alone and as it is, so that it can be a command of the program's; what
/// others wrote together, each marked.
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
    let letter = if is_plain(first) {
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
        let load = BatchBuilder::pack(alike.map(|(message, _)| message.clone()).collect(), id, MAX_BODY_BYTES);
        let text = load.text.trim_end().to_owned();
        TypedBatch { version, text, messages: load.messages, announced: load.announced, interrupts }
    };
    offer(tx, &session, &letter.messages, Channel::Nudge, until)?;
    Ok(Some(letter))
}

impl TypedBatch {
    fn type_into(&self, live: &RunningSession) -> Result<()> {
        if self.interrupts {
            live.adapter.interrupt(live.backend_name())?;
        }
        Ok(live.adapter.nudge(live.backend_name(), self.text.as_bytes())?)
    }

    /// It was typed: what was not withdrawn meanwhile stays offered until the session goes on.
    fn record_typed(&self, tx: &WriteTx<'_>, live: &RunningSession, until: Timestamp) -> Result<()> {
        // Whoever is quick has gone on with it before the adapter came back: its hook was here already.
        let now = sessions::find(tx, &live.session.id)?;
        let heard = now.filter(|now| self.version.is_some_and(|before| before != now.version));
        for message in &self.messages {
            messages::extend_offer(tx, message.id, until, NEVER_EXPIRES)?;
            if let Some(session) = &heard
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

    /// It was not: it waits as before.
    fn withdraw_offer(&self, tx: &WriteTx<'_>, until: Timestamp) -> Result<()> {
        for message in &self.messages {
            messages::withdraw_offer(tx, message.id, until)?;
        }
        Ok(())
    }
}
