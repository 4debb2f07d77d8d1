//! Waiting beside an agent that has nothing to do, to wake it when something is to be told; and, with it, knowing at once
//! when it is gone.

use std::{
    os::fd::{AsFd, BorrowedFd},
    time::Duration,
};

use anyhow::Result;

use super::{Caller, SOURCE, Start, resolve_session};
use crate::{
    actions::{
        App,
        boundary::runtime,
        core::errors,
        sessions::{
            liveness::check_exited,
            prompt::{self, Carried, listener},
        },
    },
    domain::{
        message::{MessageStatus, Recipient, Way},
        session::{Activity, Session},
    },
    os::{
        file_watch,
        process::{self, Presence},
    },
    store::{messages, sessions},
};

/// The longest time that an offer to somebody else is waited for: one that lasts longer has no end to wait for.
const LAPSE: Duration = Duration::from_secs(600);

/// Waits until something is to be told to the session. `None`: there is nothing to wait for any more, since the session is
/// over, its agent is gone, or another one waits in our place.
///
/// # Errors
/// As the store fails.
pub fn wait(app: &App, caller: &Caller, start: Option<Start>) -> Result<Option<(Session, Carried)>> {
    let Ok(session) = resolve_session::enter(app, caller, start, |_, _| Ok(()))? else { return Ok(None) };
    let app = resolve_session::acting(app, &session);
    let waiter = app.waiter("wait")?;
    let listener = listener::listen(&app, &session.id, listener::Kind::Wait)?;
    let end = match &caller.agent {
        Some(agent) => process::pidfd(agent.pid).map_err(errors::internal)?,
        None => None,
    };
    let found = loop {
        if listener.is_replaced() {
            // The newcomer looks by itself.
            return Ok(None);
        }
        let live = app.read(|tx| Ok(sessions::find(tx, &session.id)?))?;
        let Some(live) = live.filter(|live| !live.status.is_final() && live.run_id == session.run_id) else {
            break None;
        };
        if caller.agent.as_ref().is_some_and(|agent| matches!(agent.presence(), Presence::Gone(_))) {
            check_exited::gone(&app, &live.id)?;
            break None;
        }
        // One at work is not woken: what is urgent comes with its next tool.
        if let Some(carried) = prompt::carry(&app, &live, Way::Wake, caller.room)? {
            // It is, before anybody else concludes from its rest that it can be told something.
            app.transaction(|tx| runtime::doing(tx, &live, Activity::Busy, None, SOURCE))?;
            break Some((live, carried));
        }
        let mut these: Vec<BorrowedFd<'_>> = vec![waiter.as_fd(), listener.as_fd()];
        these.extend(end.as_ref().map(AsFd::as_fd));
        file_watch::readable(&these, lapse(&app, &live)?);
        waiter.calm().map_err(errors::internal)?;
    };
    if found.is_none() {
        drop(listener);
        // What came in the last moment was left to us.
        let _ = prompt::deliver(&app, &session.id);
    }
    Ok(found)
}

/// When the next offer to somebody else lapses, which makes no sound.
fn lapse(app: &App, session: &Session) -> Result<Option<Duration>> {
    let now = app.env.now();
    let offered = app.read(|tx| Ok(messages::unsettled(tx, &Recipient::Session(session.id.clone()))?))?;
    let lapses = offered
        .iter()
        .filter(|message| message.status == MessageStatus::Offered)
        .filter_map(|message| message.offered_until)
        .map(|until| until.since(now).max(Duration::from_millis(1)))
        .filter(|left| *left < LAPSE);
    Ok(lapses.min())
}
