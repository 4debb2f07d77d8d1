//! When another host was last heard of. Without `--force`, sessions, jobs and lanes are given up only when their host was silent
//! for `sessions.stale_after`.

use anyhow::Result;

use super::app::App;
use fairway_core::domain::ended_by::GIVEN_UP_REASON;
use fairway_core::domain::excerpt::excerpt;
use fairway_core::domain::job::Job;
use fairway_core::domain::other_host::OtherHost;
use fairway_core::domain::session::Session;
use fairway_core::domain::{Refusal, age};
use fairway_core::env::Timestamp;
use fairway_core::os::host;
use fairway_core::store::{ReadTx, hosts};

/// When a host, or a session or job on it, last wrote to the store.
#[derive(Debug, Clone, Copy)]
pub struct LastHeard {
    at: Timestamp,
    now: Timestamp,
}

impl LastHeard {
    pub const fn new(at: Timestamp, now: Timestamp) -> Self {
        Self { at, now }
    }

    /// When the session or its host last wrote to the store, whichever is later.
    pub fn of_session(tx: &ReadTx<'_>, session: &Session, now: Timestamp) -> Result<Self> {
        let own = session.last_heartbeat_at.unwrap_or(session.started_at);
        Self::of(tx, own, session.host_id.as_deref(), now)
    }

    /// When the job or its host last wrote to the store, whichever is later.
    pub fn of_job(tx: &ReadTx<'_>, job: &Job, now: Timestamp) -> Result<Self> {
        Self::of(tx, job.updated_at, job.host_id.as_deref(), now)
    }

    fn of(tx: &ReadTx<'_>, own: Timestamp, host_id: Option<&str>, now: Timestamp) -> Result<Self> {
        let host = host_id.map(|id| hosts::find(tx, id)).transpose()?.flatten();
        Ok(Self::new(host.map_or(own, |host| host.last_seen.max(own)), now))
    }

    /// Whether the last write is at most `sessions.stale_after` ago; always true when that setting is `off`.
    pub fn is_recent(self, app: &App) -> bool {
        app.settings.sessions.stale_after.is_none_or(|limit| self.now.since(self.at) <= limit)
    }

    pub fn age(self) -> String {
        age::rough(self.now.since(self.at))
    }

    /// Refuses to give up a session, a job or a lane when its host was last heard of recently and may still work on it, unless
    /// `forced`.
    ///
    /// # Errors
    /// `host_alive`.
    pub fn refuse_recent(self, app: &App, forced: bool, subject: Subject<'_>) -> Result<(), Refusal> {
        if forced || !self.is_recent(app) {
            return Ok(());
        }
        let Subject { name, recorded, there, force } = subject;
        let host = OtherHost::new(recorded, &host::name(), None).name;
        Err(Refusal::HostAlive { subject: name, host, ago: self.age(), there, force })
    }

    /// The reason to record with a session or job that is given up: by whom, how long ago it was last heard of, and `why`.
    pub fn reason(self, app: &App, why: Option<&str>) -> String {
        let mut text = format!("{GIVEN_UP_REASON}{}, last heard {} ago", app.actor.name, self.age());
        if let Some(why) = why {
            text.push_str(": ");
            text.push_str(&excerpt(why));
        }
        text
    }
}

/// The session, job or lane that is to be given up, for [`LastHeard::refuse_recent`].
#[derive(Debug)]
pub struct Subject<'a> {
    /// The name with its noun, such as `the session s1`.
    pub name: String,
    /// The host as the row names it.
    pub recorded: &'a str,
    /// The command that ends the session or job on its own host.
    pub there: Option<String>,
    /// The command that gives up the session or job although its host may be at work.
    pub force: String,
}
