//! Waiting beside an agent that has nothing to do, to wake it when something is to be told; and, with it, knowing at once
//! when it is gone.

use std::{
    os::fd::{AsFd, BorrowedFd},
    time::Duration,
};

use anyhow::Result;

use super::{Caller, Start, session};
use crate::{
    actions::{
        App, failure,
        prompt::{self, Carried, listener},
        session::suspect,
    },
    domain::{
        message::{MessageStatus, Recipient, Way},
        session::{Session, SessionStatus},
    },
    os::{
        process::{self, Presence, ProcessKey},
        watch,
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
    let Ok(session) = session::enter(app, caller, start, |_, _| Ok(()))? else { return Ok(None) };
    let app = session::acting(app, &session);
    let waiter = app.waiter("wait")?;
    let listener = listener::listen(&app, &session.id, listener::Kind::Wait)?;
    let end = match &caller.agent {
        Some(agent) => process::pidfd(agent.pid).map_err(failure::internal)?,
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
        if let Some(agent) = &caller.agent
            && let Presence::Gone(why) = agent.presence()
        {
            gone(&app, &live, agent, &why)?;
            break None;
        }
        if let Some(carried) = prompt::carry(&app, &live, Way::Wake, caller.room)? {
            break Some((live, carried));
        }
        let mut these: Vec<BorrowedFd<'_>> = vec![waiter.as_fd(), listener.as_fd()];
        these.extend(end.as_ref().map(AsFd::as_fd));
        watch::readable(&these, lapse(&app, &live)?);
        waiter.calm().map_err(failure::internal)?;
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

/// The agent is gone: its session is marked as a look at its process would mark it. One whose root is another process is
/// looked after by that.
fn gone(app: &App, session: &Session, agent: &ProcessKey, why: &str) -> Result<()> {
    let root = ProcessKey::recorded(session.pid, session.pid_started, session.boot_id.as_deref());
    let is_rooted_elsewhere = root.is_some_and(|root| root != *agent && root.presence() == Presence::Alive);
    if is_rooted_elsewhere || session.status == SessionStatus::Stale {
        return Ok(());
    }
    app.write(|tx| suspect(tx, session, why))?;
    Ok(())
}
