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

use super::events::last_seen;
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
        async_fd::{Descriptor, watched},
        body::query,
        error::Fault,
        prompt_delivery,
        sse::{self, Items, KEEP_ALIVE},
        state::{self, here},
    },
    domain::{message::Priority, session::Session},
    wire::MessageView,
};

/// How long after a failure of the store it is tried again.
const LATER: Duration = Duration::from_secs(1);

#[derive(Debug, Deserialize)]
struct Wanted {
    run_id: String,
}

/// A message as an item.
#[derive(Debug, Serialize)]
struct Item<'a> {
    #[serde(flatten)]
    message: &'a MessageView,
    /// Whether it is worth interrupting the work.
    interrupt: bool,
}

/// What there is now.
struct Now {
    messages: Vec<MessageView>,
    /// How long until something that was sent is to be sent again.
    lapses: Option<Duration>,
    is_over: bool,
}

/// What to do after a pause.
enum Next {
    Look,
    KeepAlive,
    End,
}

pub(in crate::api) async fn get(request: Request) -> Result<Response, Fault> {
    let wanted: Wanted = query(&request)?;
    let after = last_seen(request.headers())?;
    let (session, place) = state::look(|app| {
        let session = app.read(|tx| session_of_run(tx, &wanted.run_id))?;
        session.open()?;
        let listener = listener::listen(app, &session.id, ListenerKind::Stream)?;
        Ok((session, watched(listener)?))
    })?;
    let (response, items) = sse::stream();
    tokio::spawn(async move {
        let id = session.id.clone();
        // The place is given back before others are asked to bring what is left.
        follow(session, items, place, after).await;
        prompt_delivery::to_session(id);
    });
    Ok(response)
}

async fn follow(session: Session, items: Items, place: AsyncFd<Descriptor<Listener>>, after: Option<i64>) {
    let Ok((mut changes, mut ending, mut identities)) =
        here().map(|house| (house.changes.clone(), house.ending.clone(), house.identities.borrow().changes()))
    else {
        return;
    };
    // What was sent on this connection, until everything was that the one before had and did not acknowledge.
    let (mut sent, mut told) = (Some(Vec::new()), (0, false));
    loop {
        changes.mark_unchanged();
        identities.mark_unchanged();
        if !identity(&session.run_id, &items, &mut told).await {
            return;
        }
        let (of, since) = (session.clone(), sent.clone());
        let now = match state::change(move |app| look(app, &of, after, since.as_deref())).await {
            Ok(now) => now,
            Err(fault) if fault.failure.retryable => {
                sleep(LATER).await;
                continue;
            }
            Err(_) => return,
        };
        for message in &now.messages {
            let is_context = message.source == context::SOURCE;
            let item = Item { message, interrupt: message.priority == Priority::Urgent.as_str() };
            if !items.send(Some(message.id), if is_context { "context" } else { "prompt" }, &item).await {
                return;
            }
        }
        if now.is_over {
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
        let again = now.lapses.map(|left| Instant::now() + left);
        loop {
            let silent = Instant::now() + KEEP_ALIVE;
            let next = tokio::select! {
                changed = changes.changed() => if changed.is_ok() { Next::Look } else { Next::End },
                changed = identities.changed() => if changed.is_ok() { Next::Look } else { Next::End },
                _ = ending.wait_for(|ending| *ending) => Next::End,
                _ = place.readable() => Next::End,
                () = items.abandoned() => Next::End,
                () = sleep_until(again.unwrap_or(silent)), if again.is_some() => Next::Look,
                () = sleep_until(silent) => Next::KeepAlive,
            };
            match next {
                Next::Look => break,
                Next::KeepAlive if items.keep_alive().await => {}
                Next::KeepAlive | Next::End => return,
            }
        }
    }
}

fn look(app: &App, session: &Session, after: Option<i64>, since: Option<&[i64]>) -> Result<Now> {
    let messages = stream::next_batch(app, session, after, since)?;
    let lapses = stream::offer_expires_at(app, session)?;
    let is_over = app.read(|tx| lookup::session(tx, &session.id))?.status.is_final();
    let now = app.env.now();
    // A little later than the moment itself, so that it is over then.
    let lapses = lapses.map(|at| at.since(now) + Duration::from_millis(50));
    Ok(Now { messages, lapses, is_over })
}

/// Tells who the runtime is, when that has changed since it was told, and that its credential is near its end.
async fn identity(run: &str, items: &Items, told: &mut (u64, bool)) -> bool {
    let (texts, now) = identity_items(run, *told);
    for text in texts {
        if !items.put(text).await {
            return false;
        }
    }
    *told = now;
    true
}

/// The items that tell what of a run's identity has changed since that much was told, and how much is told then.
fn identity_items(run: &str, told: (u64, bool)) -> (Vec<String>, (u64, bool)) {
    let Ok(Some(known)) = here().map(|house| house.identities.borrow().find(run)) else { return (Vec::new(), told) };
    let mut texts = Vec::new();
    if known.version != told.0 {
        texts.extend(sse::item(None, "identity", &known.identity.told()));
    }
    if known.expiring && told != (known.version, true) {
        let kind = known.identity.credentials.as_ref().map(|one| one.kind.as_str());
        let at = known.identity.credentials.as_ref().and_then(|one| Some(one.expires_at?.to_string()));
        let item = json!({ "run_id": run, "type": kind, "expires_at": at });
        texts.extend(sse::item(None, "credential_expiring", &item));
    }
    (texts, (known.version, known.expiring))
}
