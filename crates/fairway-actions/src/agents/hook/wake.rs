//! The wake hook: waits beside an idle agent for prompts, and notices the agent's exit at once.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use anyhow::Result;

use super::event::{HookCaller, StartKind};
use super::resolve_session;
use crate::App;
use crate::core::server_outage::{self, ServerOutage};
use crate::core::{errors, session_events};
use crate::sessions::liveness::check_exited;
use crate::sessions::prompt::{self, DeliveryBatch, listener};
use fairway_core::domain::message::{Channel, MessageStatus, Recipient};
use fairway_core::domain::rules::delivery::FIRST_TURN_TIMEOUT;
use fairway_core::domain::session::{Activity, Session};
use fairway_core::os::poll;
use fairway_core::os::process::{self, ProcessStatus};
use fairway_core::store::{messages, sessions};

/// Offers by other channels that expire later than this are not waited for.
const MAX_OFFER_WAIT: Duration = Duration::from_secs(600);

/// Waits beside an idle agent until there are prompts for its session. Returns `None` if the session has ended, its agent has
/// exited, or another wake hook took over. An outage of the store's server ends the wait only when the agent's process is
/// unknown.
pub fn wait_for_prompts(
    app: &App,
    caller: &HookCaller,
    start: Option<StartKind>,
) -> Result<Option<(Session, DeliveryBatch)>> {
    // Nothing else would wake an agent whose turn ended in an outage.
    let begun = server_outage::retry_while(
        || caller.agent_process.is_some() && !has_exited(caller),
        || {
            let Ok(session) = resolve_session::find_or_create(app, caller, start, |_, _| Ok(()))? else {
                return Ok(None);
            };
            let app = resolve_session::app_as(app, &session);
            let waiter = app.waiter("wait")?;
            Ok(Some((session, app, waiter)))
        },
    );
    let (session, app, waiter) = match begun {
        Ok(Some(begun)) => begun,
        Ok(None) => return Ok(None),
        Err(error) if server_outage::is_outage(&error) && has_exited(caller) => return Ok(None),
        Err(error) => return Err(error),
    };
    if caller.is_beside_supervisor(&session) {
        return Ok(None);
    }
    let listener = listener::listen(&app, &session.id, listener::ListenerKind::WakeHook)?;
    let end = match &caller.agent_process {
        Some(agent) => process::pidfd(agent.pid).map_err(errors::internal)?,
        None => None,
    };
    // Warnings are dropped: text that the hook prints would reach the agent.
    let mut no_warning = |_: &str| ();
    // An offer that is followed by no delivery is made again.
    let mut outage = ServerOutage::new(&mut no_warning).repeating_unknown();
    let found = loop {
        let look = || {
            if listener.is_superseded() {
                return Ok(Found::Superseded);
            }
            look(&app, caller, &session)
        };
        let next_offer_expiry = match outage.outlast(&waiter, None, look)? {
            // The new listener checks for prompts itself.
            Found::Superseded => return Ok(None),
            Found::End => break None,
            Found::Prompts(live, batch) => {
                // Set to busy at once, so that no other channel delivers to a session that seems idle.
                match app.transaction(|tx| session_events::reported(tx, &live, Activity::Busy, None, caller.source())) {
                    Ok(_) => break Some((*live, batch)),
                    // The offer expires, and the next look finds the prompts again.
                    Err(error) if server_outage::is_outage(&error) => continue,
                    Err(error) => return Err(error),
                }
            }
            Found::Nothing { next_offer_expiry } => next_offer_expiry,
        };
        let mut sources: Vec<BorrowedFd<'_>> = vec![waiter.as_fd(), listener.as_fd()];
        sources.extend(end.as_ref().map(AsFd::as_fd));
        poll::wait_readable(&sources, next_offer_expiry);
        waiter.drain().map_err(errors::internal)?;
    };
    if found.is_none() {
        drop(listener);
        // Prompts sent while the listener existed were left to it.
        let _ = prompt::deliver(&app, &session.id);
    }
    Ok(found)
}

enum Found {
    Superseded,
    End,
    Prompts(Box<Session>, DeliveryBatch),
    Nothing { next_offer_expiry: Option<Duration> },
}

/// Whether the agent's process is known and gone.
fn has_exited(caller: &HookCaller) -> bool {
    caller.agent_process.as_ref().is_some_and(|agent| matches!(agent.status(), ProcessStatus::Gone(_)))
}

fn look(app: &App, caller: &HookCaller, session: &Session) -> Result<Found> {
    let live = app.read(|tx| Ok(sessions::find(tx, &session.id)?))?;
    let Some(live) = live.filter(|live| !live.status.is_final() && live.run_id == session.run_id) else {
        return Ok(Found::End);
    };
    if has_exited(caller) {
        check_exited::mark_if_exited(app, &live.id)?;
        return Ok(Found::End);
    }
    // A busy session is not woken: urgent prompts are delivered with its next tool call.
    if let Some(batch) = prompt::take_deliverable(app, &live, Channel::Wake, caller.max_output_bytes)? {
        return Ok(Found::Prompts(Box::new(live), batch));
    }
    Ok(Found::Nothing { next_offer_expiry: next_offer_expiry(app, &live)? })
}

/// Time until the next offer by another channel expires, or the first prompt is no longer left to the first turn. Neither wakes
/// a waiter.
fn next_offer_expiry(app: &App, session: &Session) -> Result<Option<Duration>> {
    let now = app.env.now();
    let offered = app.read(|tx| Ok(messages::open_for(tx, &Recipient::Session(session.id.clone()))?))?;
    let expiries = offered
        .iter()
        .filter(|message| message.status == MessageStatus::Offered)
        .filter_map(|message| message.offered_until)
        .map(|until| until.since(now).max(Duration::from_millis(1)))
        .filter(|left| *left < MAX_OFFER_WAIT);
    let parked =
        session.parking_ends_at().filter(|until| *until > now && !offered.is_empty()).map(|until| until.since(now));
    let first = offered.iter().find(|message| Some(message.id) == session.first_prompt);
    let first = first.filter(|message| message.status == MessageStatus::Queued).map(|_| FIRST_TURN_TIMEOUT);
    Ok(expiries.chain(parked).chain(first).min())
}
