//! The main loop of a sidecar.

use std::os::fd::AsFd;
use std::time::Duration;

use anyhow::Result;

use super::agent_process::AgentProcess;
use super::options::SidecarOptions;
use super::transcript::TranscriptTail;
use crate::core::{errors, lookup};
use crate::sessions::liveness::check_exited::mark_if_exited;
use crate::sessions::prompt;
use crate::sessions::prompt::listener::{self, Listener, ListenerKind};
use crate::{Answer, App};
use fairway_core::domain::message::Recipient;
use fairway_core::domain::session::{Activity, Session, SessionStatus};
use fairway_core::domain::{Actor, Refusal};
use fairway_core::os::file_watch::FileWatch;
use fairway_core::os::notify::ChangeWaiter;
use fairway_core::store::messages;
use fairway_core::wire::SidecarView;

/// The delay before a retry, when no change wakes the sidecar earlier.
const RETRY_DELAY: Duration = Duration::from_secs(15);

/// Why a sidecar ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndReason {
    /// The session is final, or stale without a live process.
    SessionInactive(SessionStatus),
    AgentExited,
    Superseded,
}

impl EndReason {
    fn reason(self) -> String {
        match self {
            Self::SessionInactive(status) => format!("the session is {status}"),
            Self::AgentExited => "the agent has exited".to_owned(),
            Self::Superseded => "superseded by another sidecar".to_owned(),
        }
    }
}

struct Sidecar<'a> {
    app: &'a App,
    options: &'a SidecarOptions,
    waiter: ChangeWaiter,
    listener: Listener,
    agent: AgentProcess,
    transcript: Option<TranscriptTail>,
    turns: usize,
}

/// Runs beside a session until the session or its agent has ended, or another sidecar takes over. `warn` receives the errors
/// after which the sidecar tries again.
///
/// # Errors
/// `not_found`, `session_final`, `usage` for an unreadable transcript; `untrusted`.
pub fn run(app: &App, options: &SidecarOptions, warn: &mut dyn FnMut(&str)) -> Result<Answer> {
    // The sidecar acts under its own name: its writes are no heartbeat of the session.
    let own = Actor { name: format!("sidecar:{}", options.session), session: None, run_id: None, ..app.actor.clone() };
    let app = &app.with_actor(own, None);
    let session = app.read(|tx| lookup::session(tx, &options.session))?;
    if session.status.is_final() {
        return Err(Refusal::SessionFinal { session: session.id, status: session.status }.into());
    }
    let record = TranscriptTail::find(app, options, &session)?;
    // Bound before the first poll, so that no change is missed between poll and wait; and before the listener, because from
    // then on the other delivery channels leave the session to this sidecar.
    let waiter = app.waiter("sidecar")?;
    let listener = listener::listen(app, &session.id, ListenerKind::Sidecar)?;
    let mut sidecar =
        Sidecar { app, options, waiter, listener, agent: AgentProcess::default(), transcript: record, turns: 0 };
    let end = sidecar.run_loop(warn)?;
    let Sidecar { listener, turns, .. } = sidecar;
    drop(listener);
    let view = SidecarView { session_id: session.id.to_string(), reason: end.reason(), turns };
    Answer::new(&view, &session.id, format!("{}: {}", session.id, end.reason()))
}

impl Sidecar<'_> {
    fn run_loop(&mut self, warn: &mut dyn FnMut(&str)) -> Result<EndReason> {
        let mut watch = FileWatch::new();
        let mut last_warning = String::new();
        loop {
            // Changes from here on wake the next wait.
            self.waiter.drain().map_err(errors::internal)?;
            if let Some(record) = &self.transcript {
                record.watch(&mut watch);
            }
            let limit = match self.poll() {
                Ok(Some(end)) => return Ok(end),
                Ok(None) => {
                    last_warning.clear();
                    self.next_offer_expiry()?
                }
                Err(error) if is_permanent(&error) => return Err(error),
                Err(error) => {
                    let message = format!("{error:#}; retrying");
                    if message != last_warning {
                        warn(&message);
                        last_warning = message;
                    }
                    Some(RETRY_DELAY)
                }
            };
            let ends: Vec<_> =
                [self.waiter.as_fd(), self.listener.as_fd()].into_iter().chain(self.agent.exit_fd()).collect();
            watch.wait(limit, &ends, None);
        }
    }

    /// Checks session, agent and transcript once, and types queued messages.
    fn poll(&mut self) -> Result<Option<EndReason>> {
        if self.listener.is_superseded() {
            return Ok(Some(EndReason::Superseded));
        }
        let session = self.session()?;
        if session.status.is_final() {
            return Ok(Some(EndReason::SessionInactive(session.status)));
        }
        if self.agent.has_exited(&session) {
            mark_if_exited(self.app, &session.id)?;
            let session = self.session()?;
            return Ok(Some(if session.status.is_final() {
                EndReason::SessionInactive(session.status)
            } else {
                EndReason::AgentExited
            }));
        }
        if session.status == SessionStatus::Stale && !self.agent.is_alive() {
            return Ok(Some(EndReason::SessionInactive(session.status)));
        }
        if let Some(record) = &mut self.transcript {
            self.turns += record.read_new(self.app, self.options, &session)?;
        }
        // The transcript may have changed the activity.
        if self.session()?.activity != Activity::Unknown || self.options.when_unknown {
            prompt::type_pending(self.app, &self.options.session, self.options.when_unknown)?;
        }
        Ok(None)
    }

    fn session(&self) -> Result<Session> {
        self.app.read(|tx| lookup::session(tx, &self.options.session))
    }

    /// The time until the next offer of another channel expires. An expiry wakes no waiter.
    fn next_offer_expiry(&self) -> Result<Option<Duration>> {
        let now = self.app.env.now();
        let to = Recipient::Session(self.options.session.clone());
        let open = self.app.read(|tx| Ok(messages::open_for(tx, &to)?))?;
        let offered = open.iter().filter(|message| message.is_offered(now) && !message.is_typed());
        let first = offered.filter_map(|message| message.offered_until).min();
        Ok(first.map(|until| until.since(now) + Duration::from_millis(1)))
    }
}

/// Whether a retry would fail in the same way.
fn is_permanent(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(Refusal::Untrusted { .. } | Refusal::TrackedByGit { .. } | Refusal::NotFound { .. })
    )
}
