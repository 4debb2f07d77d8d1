//! Waiting beside an agent that has nothing to do, to wake it when something is to be told; and, with it, knowing at once
//! when it is gone.

use std::{
    os::fd::{AsFd, BorrowedFd},
    time::Duration,
};

use anyhow::Result;

use super::{
    event::{HookCaller, SOURCE, StartKind},
    resolve_session,
};
use crate::{
    actions::{
        App,
        boundary::runtime,
        core::errors,
        sessions::{
            liveness::check_exited,
            prompt::{self, DeliveryBatch, listener},
        },
    },
    domain::{
        message::{Channel, MessageStatus, Recipient},
        session::{Activity, Session},
    },
    os::{
        file_watch,
        process::{self, ProcessStatus},
    },
    store::{messages, sessions},
};

/// The longest time that an offer to somebody else is waited for: one that lasts longer has no end to wait for.
const MAX_OFFER_WAIT: Duration = Duration::from_secs(600);

/// Waits until something is to be told to the session. `None`: there is nothing to wait for any more, since the session is
/// over, its agent is gone, or another one waits in our place.
///
/// # Errors
/// As the store fails.
pub fn wait_for_prompts(
    app: &App,
    caller: &HookCaller,
    start: Option<StartKind>,
) -> Result<Option<(Session, DeliveryBatch)>> {
    let Ok(session) = resolve_session::find_or_create(app, caller, start, |_, _| Ok(()))? else { return Ok(None) };
    let app = resolve_session::app_as(app, &session);
    let waiter = app.waiter("wait")?;
    let listener = listener::listen(&app, &session.id, listener::ListenerKind::WakeHook)?;
    let end = match &caller.agent_process {
        Some(agent) => process::pidfd(agent.pid).map_err(errors::internal)?,
        None => None,
    };
    let found = loop {
        if listener.is_superseded() {
            // The newcomer looks by itself.
            return Ok(None);
        }
        let live = app.read(|tx| Ok(sessions::find(tx, &session.id)?))?;
        let Some(live) = live.filter(|live| !live.status.is_final() && live.run_id == session.run_id) else {
            break None;
        };
        if caller.agent_process.as_ref().is_some_and(|agent| matches!(agent.status(), ProcessStatus::Gone(_))) {
            check_exited::mark_if_exited(&app, &live.id)?;
            break None;
        }
        // One at work is not woken: what is urgent comes with its next tool.
        if let Some(carried) = prompt::take_deliverable(&app, &live, Channel::Wake, caller.max_output_bytes)? {
            // It is, before anybody else concludes from its rest that it can be told something.
            app.transaction(|tx| runtime::report_activity(tx, &live, Activity::Busy, None, SOURCE))?;
            break Some((live, carried));
        }
        let mut these: Vec<BorrowedFd<'_>> = vec![waiter.as_fd(), listener.as_fd()];
        these.extend(end.as_ref().map(AsFd::as_fd));
        file_watch::wait_readable(&these, next_offer_expiry(&app, &live)?);
        waiter.drain().map_err(errors::internal)?;
    };
    if found.is_none() {
        drop(listener);
        // What came in the last moment was left to us.
        let _ = prompt::deliver(&app, &session.id);
    }
    Ok(found)
}

/// When the next offer to somebody else lapses, which makes no sound.
fn next_offer_expiry(app: &App, session: &Session) -> Result<Option<Duration>> {
    let now = app.env.now();
    let offered = app.read(|tx| Ok(messages::open_for(tx, &Recipient::Session(session.id.clone()))?))?;
    let lapses = offered
        .iter()
        .filter(|message| message.status == MessageStatus::Offered)
        .filter_map(|message| message.offered_until)
        .map(|until| until.since(now).max(Duration::from_millis(1)))
        .filter(|left| *left < MAX_OFFER_WAIT);
    Ok(lapses.min())
}
