//! `GET /stream`: streams prompts, context and identity to a runtime. `POST /ack`: acknowledges messages, which are else sent
//! again.

use std::time::Duration;

use anyhow::Result;
use axum::extract::Request;
use axum::http::Method;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, sleep, sleep_until};

use super::events::last_event_id;
use crate::api::async_fd::{RawFdAdapter, register_fd};
use crate::api::body::{json_response, query, read_json};
use crate::api::error::ApiError;
use crate::api::prompt_delivery;
use crate::api::sse::{self, EventSender, KEEP_ALIVE_INTERVAL};
use crate::api::state::{self, app_as_run, server_state};
use fairway_actions::App;
use fairway_actions::agents::runtime::{context, session_of_run};
use fairway_actions::core::lookup;
use fairway_actions::sessions::prompt::deliver_by_stream;
use fairway_actions::sessions::prompt::listener::{self, Listener, ListenerKind};
use fairway_core::domain::RunId;
use fairway_core::domain::message::may_interrupt;
use fairway_core::domain::session::Session;
use fairway_core::wire::integer::deserialize_whole_numbers;
use fairway_core::wire::{MessageView, SectionView};

/// The pause before a retry when the store is busy.
const RETRY_DELAY: Duration = Duration::from_secs(1);

#[derive(Debug, Deserialize)]
struct Query {
    run_id: RunId,
}

/// The data of a message's event.
#[derive(Debug, Serialize)]
struct MessageEvent<'a> {
    run_id: &'a str,
    #[serde(flatten)]
    message: &'a MessageView,
    /// The sections of pushed context.
    #[serde(skip_serializing_if = "Option::is_none")]
    sections: Option<Vec<SectionView>>,
    /// Whether the runtime should interrupt its turn.
    interrupt: bool,
}

/// The messages to send now, and the state of the session.
struct Snapshot {
    messages: Vec<MessageView>,
    /// The time until a sent message must be sent again.
    resend_in: Option<Duration>,
    has_ended: bool,
}

/// The stream's next step after a wait.
enum NextStep {
    Poll,
    KeepAlive,
    End,
}

pub(in crate::api) async fn get(request: Request) -> Result<Response, ApiError> {
    let parameters: Query = query(&request)?;
    let after = last_event_id(request.headers())?;
    let session = state::read(|app| {
        let session = app.read(|tx| session_of_run(tx, &parameters.run_id))?;
        session.check_open()?;
        Ok(session)
    })?;
    // A new stream ends the runtime's own one: a request for the head alone must not.
    if request.method() == Method::HEAD {
        return Ok(sse::head());
    }
    let (session, listener) = state::read(|app| {
        let listener = listener::listen(app, &session.id, ListenerKind::Stream)?;
        Ok((session, register_fd(listener)?))
    })?;
    let (response, items) = sse::stream();
    tokio::spawn(async move {
        let id = session.id.clone();
        // The listener must be released first: another delivery channel may only then deliver the rest.
        follow(session, items, listener, after).await;
        prompt_delivery::start_for_session(id);
    });
    Ok(response)
}

async fn follow(session: Session, items: EventSender, listener: AsyncFd<RawFdAdapter<Listener>>, after: Option<i64>) {
    let Ok((mut changes, mut shutdown, mut identities)) = server_state()
        .map(|state| (state.changes.clone(), state.shutdown.clone(), state.identities.borrow().subscribe()))
    else {
        return;
    };
    // The messages sent on this connection; `None` once all unacknowledged messages of the previous connection were sent again.
    let (mut sent, mut sent_identity) = (Some(Vec::new()), (0, false));
    loop {
        changes.mark_unchanged();
        identities.mark_unchanged();
        if !send_identity(&session.run_id, &items, &mut sent_identity).await {
            return;
        }
        let (owner, since) = (session.clone(), sent.clone());
        let now = match state::write(move |app| take_snapshot(app, &owner, after, since.as_deref())).await {
            Ok(now) => now,
            Err(error) if error.failure.retryable => {
                sleep(RETRY_DELAY).await;
                continue;
            }
            Err(_) => return,
        };
        for message in &now.messages {
            let is_context = message.source == context::SOURCE;
            let item = MessageEvent {
                run_id: session.run_id.as_str(),
                message,
                sections: if is_context { context::pushed_sections(message) } else { None },
                interrupt: may_interrupt(message.priority, &message.source),
            };
            if !items.send(Some(message.id), if is_context { "context" } else { "prompt" }, &item).await {
                return;
            }
        }
        if now.has_ended {
            return;
        }
        // There may be more messages than one batch.
        if !now.messages.is_empty() {
            if let Some(sent) = &mut sent {
                sent.extend(now.messages.iter().map(|message| message.id));
            }
            continue;
        }
        sent = None;
        let resend_at = now.resend_in.map(|left| Instant::now() + left);
        loop {
            let keep_alive_at = Instant::now() + KEEP_ALIVE_INTERVAL;
            let next = tokio::select! {
                changed = changes.changed() => if changed.is_ok() { NextStep::Poll } else { NextStep::End },
                changed = identities.changed() => if changed.is_ok() { NextStep::Poll } else { NextStep::End },
                _ = shutdown.wait_for(|shutdown| *shutdown) => NextStep::End,
                _ = listener.readable() => NextStep::End,
                () = items.closed() => NextStep::End,
                () = sleep_until(resend_at.unwrap_or(keep_alive_at)), if resend_at.is_some() => NextStep::Poll,
                () = sleep_until(keep_alive_at) => NextStep::KeepAlive,
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
    let messages = deliver_by_stream::next_batch(app, session, after, since)?;
    let expires_at = deliver_by_stream::offer_expires_at(app, session)?;
    let has_ended = app.read(|tx| lookup::session(tx, &session.id))?.status.is_final();
    let now = app.env.now();
    // A little later than the expiry, so that the offer has expired then.
    let resend_in = expires_at.map(|at| at.since(now) + Duration::from_millis(50));
    Ok(Snapshot { messages, resend_in, has_ended })
}

/// Sends the identity if it has changed since `sent`, and a warning if its credential is about to expire. False when the reader
/// is gone.
async fn send_identity(run: &RunId, items: &EventSender, sent: &mut (u64, bool)) -> bool {
    let (texts, now) = identity_events(run, *sent);
    for text in texts {
        if !items.send_text(text).await {
            return false;
        }
    }
    *sent = now;
    true
}

/// The events for changes of a run's identity since `sent` (version, expiry warning), and the new value of `sent`.
fn identity_events(run: &RunId, sent: (u64, bool)) -> (Vec<String>, (u64, bool)) {
    let Ok(Some(known)) = server_state().map(|state| state.identities.borrow().get(run)) else {
        return (Vec::new(), sent);
    };
    let mut texts = Vec::new();
    if known.version != sent.0 {
        texts.extend(sse::format_event(None, "identity", &known.identity.payload(run.as_str())));
    }
    if known.expiring && sent != (known.version, true) {
        let kind = known.identity.credentials.as_ref().map(|one| one.kind.as_str());
        let at = known.identity.credentials.as_ref().and_then(|one| Some(one.expires_at?.to_string()));
        let item = json!({ "run_id": run.as_str(), "type": kind, "expires_at": at });
        texts.extend(sse::format_event(None, "credential_expiring", &item));
    }
    (texts, (known.version, known.expiring))
}

#[derive(Debug, Deserialize)]
struct AckBody {
    run_id: RunId,
    #[serde(deserialize_with = "deserialize_whole_numbers")]
    message_ids: Vec<i64>,
}

pub(in crate::api) async fn acknowledge(request: Request) -> Result<Response, ApiError> {
    let body: AckBody = read_json(request).await?;
    let done = state::write(move |app| {
        deliver_by_stream::ack(&app_as_run(app, &body.run_id, None)?, &body.run_id, &body.message_ids)
    })
    .await?;
    Ok(json_response(&done.document))
}
