//! `GET /stream`: what there is for a runtime, as it comes. What it does not acknowledge comes again.

use std::time::Duration;

use anyhow::Result;
use axum::{extract::Request, response::Response};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{
    io::unix::AsyncFd,
    time::{Instant, sleep, sleep_until},
};

use super::events::last_event_id;
use crate::{
    actions::{
        App,
        boundary::runtime::{context, session_of_run},
        core::lookup,
        sessions::prompt::{
            listener::{self, Listener, ListenerKind},
            stream,
        },
    },
    api::{
        async_fd::{RawFdAdapter, register_fd},
        body::query,
        error::ApiError,
        prompt_delivery,
        sse::{self, EventSender, KEEP_ALIVE_INTERVAL},
        state::{self, server_state},
    },
    domain::{message::Priority, session::Session},
    wire::MessageView,
};

/// How long after a failure of the store it is tried again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

#[derive(Debug, Deserialize)]
struct Query {
    run_id: String,
}

/// A message as an item.
#[derive(Debug, Serialize)]
struct MessageEvent<'a> {
    #[serde(flatten)]
    message: &'a MessageView,
    /// Whether it is worth interrupting the work.
    interrupt: bool,
}

/// What there is now.
struct Snapshot {
    messages: Vec<MessageView>,
    /// How long until something that was sent is to be sent again.
    resend_in: Option<Duration>,
    has_ended: bool,
}

/// What to do after a pause.
enum NextStep {
    Poll,
    KeepAlive,
    End,
}

pub(in crate::api) async fn get(request: Request) -> Result<Response, ApiError> {
    let wanted: Query = query(&request)?;
    let after = last_event_id(request.headers())?;
    let (session, place) = state::read(|app| {
        let session = app.read(|tx| session_of_run(tx, &wanted.run_id))?;
        session.check_open()?;
        let listener = listener::listen(app, &session.id, ListenerKind::Stream)?;
        Ok((session, register_fd(listener)?))
    })?;
    let (response, items) = sse::stream();
    tokio::spawn(async move {
        let id = session.id.clone();
        // The place is given back before others are asked to bring what is left.
        follow(session, items, place, after).await;
        prompt_delivery::start_for_session(id);
    });
    Ok(response)
}

async fn follow(session: Session, items: EventSender, place: AsyncFd<RawFdAdapter<Listener>>, after: Option<i64>) {
    let Ok((mut changes, mut ending, mut identities)) = server_state()
        .map(|house| (house.changes.clone(), house.shutdown.clone(), house.identities.borrow().subscribe()))
    else {
        return;
    };
    // What was sent on this connection, until everything was that the one before had and did not acknowledge.
    let (mut sent, mut told) = (Some(Vec::new()), (0, false));
    loop {
        changes.mark_unchanged();
        identities.mark_unchanged();
        if !send_identity(&session.run_id, &items, &mut told).await {
            return;
        }
        let (of, since) = (session.clone(), sent.clone());
        let now = match state::write(move |app| take_snapshot(app, &of, after, since.as_deref())).await {
            Ok(now) => now,
            Err(fault) if fault.failure.retryable => {
                sleep(RETRY_DELAY).await;
                continue;
            }
            Err(_) => return,
        };
        for message in &now.messages {
            let is_context = message.source == context::SOURCE;
            let item = MessageEvent { message, interrupt: message.priority == Priority::Urgent.as_str() };
            if !items.send(Some(message.id), if is_context { "context" } else { "prompt" }, &item).await {
                return;
            }
        }
        if now.has_ended {
            return;
        }
        // There may be more than comes at a time.
        if !now.messages.is_empty() {
            if let Some(sent) = &mut sent {
                sent.extend(now.messages.iter().map(|message| message.id));
            }
            continue;
        }
        sent = None;
        let again = now.resend_in.map(|left| Instant::now() + left);
        loop {
            let silent = Instant::now() + KEEP_ALIVE_INTERVAL;
            let next = tokio::select! {
                changed = changes.changed() => if changed.is_ok() { NextStep::Poll } else { NextStep::End },
                changed = identities.changed() => if changed.is_ok() { NextStep::Poll } else { NextStep::End },
                _ = ending.wait_for(|ending| *ending) => NextStep::End,
                _ = place.readable() => NextStep::End,
                () = items.closed() => NextStep::End,
                () = sleep_until(again.unwrap_or(silent)), if again.is_some() => NextStep::Poll,
                () = sleep_until(silent) => NextStep::KeepAlive,
            };
            match next {
                NextStep::Poll => break,
                NextStep::KeepAlive if items.keep_alive().await => {}
                NextStep::KeepAlive | NextStep::End => return,
            }
        }
    }
}

fn take_snapshot(app: &App, session: &Session, after: Option<i64>, since: Option<&[i64]>) -> Result<Snapshot> {
    let messages = stream::next_batch(app, session, after, since)?;
    let lapses = stream::offer_expires_at(app, session)?;
    let is_over = app.read(|tx| lookup::session(tx, &session.id))?.status.is_final();
    let now = app.env.now();
    // A little later than the moment itself, so that it is over then.
    let lapses = lapses.map(|at| at.since(now) + Duration::from_millis(50));
    Ok(Snapshot { messages, resend_in: lapses, has_ended: is_over })
}

/// Tells who the runtime is, when that has changed since it was told, and that its credential is near its end.
async fn send_identity(run: &str, items: &EventSender, told: &mut (u64, bool)) -> bool {
    let (texts, now) = identity_events(run, *told);
    for text in texts {
        if !items.send_text(text).await {
            return false;
        }
    }
    *told = now;
    true
}

/// The items that tell what of a run's identity has changed since that much was told, and how much is told then.
fn identity_events(run: &str, told: (u64, bool)) -> (Vec<String>, (u64, bool)) {
    let Ok(Some(known)) = server_state().map(|house| house.identities.borrow().get(run)) else {
        return (Vec::new(), told);
    };
    let mut texts = Vec::new();
    if known.version != told.0 {
        texts.extend(sse::format_event(None, "identity", &known.identity.payload()));
    }
    if known.expiring && told != (known.version, true) {
        let kind = known.identity.credentials.as_ref().map(|one| one.kind.as_str());
        let at = known.identity.credentials.as_ref().and_then(|one| Some(one.expires_at?.to_string()));
        let item = json!({ "run_id": run, "type": kind, "expires_at": at });
        texts.extend(sse::format_event(None, "credential_expiring", &item));
    }
    (texts, (known.version, known.expiring))
}
