//! The hosts that are open to a sandbox of the project, and the record of each closed host that a program asks for, once for
//! each host.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::proxy::{HostGate, RefusedHost};
use crate::App;
use crate::core::trust;
use fairway_core::config::Project;
use fairway_core::domain::id::Label;
use fairway_core::domain::rules::proxy_hosts::OpenHost;
use fairway_core::domain::{Actor, Event, EventKind, LaneName};
use fairway_core::env::Env;
use fairway_core::store::{event_facts, sessions};

/// How many refused hosts of one sandbox are recorded.
const MAX_RECORDED: usize = 64;
/// The shortest time between two readings of the configuration.
const READ_INTERVAL: Duration = Duration::from_millis(50);

/// The gate of a sandbox, by the project's configuration.
#[derive(Debug)]
pub struct ProjectGate {
    env: Mutex<Env>,
    project: Project,
    actor: Actor,
    lane: Option<LaneName>,
    /// The agent inside, whose profile has hosts as well.
    provider: Option<Label>,
    open: Mutex<(Vec<OpenHost>, Option<Instant>)>,
    refused: Mutex<BTreeMap<String, RefusedHost>>,
}

impl ProjectGate {
    pub fn new(app: &App, lane: Option<&LaneName>, provider: Option<&Label>) -> Self {
        Self {
            env: Mutex::new((*app.env).clone()),
            project: (*app.project).clone(),
            actor: app.actor.clone(),
            lane: lane.cloned(),
            provider: provider.cloned(),
            open: Mutex::new((app.settings.sandbox_of(provider).hosts, None)),
            refused: Mutex::default(),
        }
    }

    /// One note for each refused host, with the configuration entry that would open it.
    pub fn notes(&self) -> Vec<String> {
        let all = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let note = |one: &RefusedHost| {
            let open = one.entry.as_ref().map(|entry| format!("; to open it, add \"{entry}\" to sandbox.hosts"));
            format!("{} was asked for and is closed: {}{}", one.host, one.why, open.unwrap_or_default())
        };
        all.values().map(note).collect()
    }

    fn app(&self) -> Result<App> {
        let env = self.env.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(App::in_force(Rc::new(env), self.project.clone(), self.actor.clone(), None)?)
    }

    fn record(&self, host: &RefusedHost) -> Result<()> {
        let app = self.app()?;
        app.transaction(|tx| {
            let session = self.actor.session.as_ref().map(|id| sessions::find(tx, id)).transpose()?.flatten();
            let Some(session) = session else { return Ok(()) };
            if event_facts::is_refusal_recorded(tx, &session.id, &host.host)? {
                return Ok(());
            }
            let event = Event::new(EventKind::SandboxHostRefused)
                .session(&session.id, &session.run_id)
                .lane(self.lane.as_ref())
                .with("host", host.host.as_str())
                .with("reason", host.why.to_string())
                .with("entry", host.entry.clone());
            tx.record(&event)?;
            Ok(())
        })
    }
}

impl HostGate for ProjectGate {
    fn open(&self) -> Vec<OpenHost> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Reads the configuration again, so that a session need not be restarted when a person opens a host.
    fn open_anew(&self) -> Vec<OpenHost> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.1.is_none_or(|at| at.elapsed() > READ_INTERVAL) {
            let read = || {
                let app = self.app()?;
                trust::require(&app)?;
                anyhow::Ok(app.settings.sandbox_of(self.provider.as_ref()).hosts)
            };
            // A configuration that cannot be read, or that is not trusted, changes nothing.
            if let Ok(hosts) = read() {
                open.0 = hosts;
            }
            open.1 = Some(Instant::now());
        }
        open.0.clone()
    }

    fn refused(&self, host: &RefusedHost) {
        let is_new = {
            let mut all = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            all.len() < MAX_RECORDED && all.insert(host.host.clone(), host.clone()).is_none()
        };
        // The program gets its answer also when the store cannot be written.
        if is_new {
            let _ = self.record(host);
        }
    }
}
