//! Querying backends for running sessions: one call for all sessions of a script or of a tmux server.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::facts;
use crate::App;
use crate::sessions::adapter_endpoint;
use fairway_core::adapters::tmux_panes::PaneProber;
use fairway_core::adapters::{Adapter, AdapterError, builtin_scripts};
use fairway_core::domain::rules::staleness::{BackendObservation, ProcessObservation};
use fairway_core::domain::session::{Session, SessionStatus};
use fairway_core::env::Timestamp;
use fairway_core::os::host::{self, HostIdentity};

/// Sessions with the same key share one call: backend, script, state directory and socket, as recorded.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct EndpointKey {
    backend: Option<String>,
    script: String,
    state: String,
    socket: Option<String>,
}

/// A script and the names that it listed.
struct Endpoint {
    adapter: Adapter,
    listed: RunningList,
    /// Whether the backend script may know when a session last printed something.
    reports_activity: bool,
}

/// The sessions that run behind an endpoint, by name.
enum RunningList {
    /// These names. A session that is not listed may have exited.
    Names(BTreeSet<String>),
    /// The backend script cannot list: each session is queried separately.
    Unsupported,
    /// The call failed for this reason, and is not repeated.
    Unknown(String),
}

/// Queries backends for their running sessions. Each endpoint is listed once, whatever the number of its sessions.
pub struct BackendProber {
    endpoints: BTreeMap<EndpointKey, Result<Endpoint, String>>,
    panes: PaneProber,
    local_host: HostIdentity,
}

impl Default for BackendProber {
    fn default() -> Self {
        Self::new()
    }
}

impl BackendProber {
    pub fn new() -> Self {
        Self { endpoints: BTreeMap::new(), panes: PaneProber::default(), local_host: host::identity() }
    }

    /// Asks the backend whether a session runs. Sessions of other hosts, sessions without a backend, and sessions whose recorded
    /// process or supervisor is gone are not queried. Writes nothing.
    pub fn probe(
        &mut self,
        app: &App,
        session: &Session,
        process: &ProcessObservation,
        now: Timestamp,
    ) -> BackendObservation {
        // An exited process needs no query, and of a program without its supervisor the backend knows nothing.
        if matches!(process, ProcessObservation::Gone(_) | ProcessObservation::Orphaned(_)) {
            return facts::unprobed_backend(session);
        }
        self.probe_anyway(app, session, process, now)
    }

    /// Like [`Self::probe`], but also queries a session whose process has exited, because the backend may still run something
    /// of it.
    pub fn probe_anyway(
        &mut self,
        app: &App,
        session: &Session,
        process: &ProcessObservation,
        now: Timestamp,
    ) -> BackendObservation {
        // A session of another host cannot be queried from here.
        if !self.local_host.owns(&session.host, session.host_id.as_deref()) {
            return facts::unprobed_backend(session);
        }
        if let Some(key) = endpoint_key(session) {
            // Until the program has started, its script correctly reports that it is not running.
            if session.status == SessionStatus::Starting
                && now.since(session.started_at) <= app.settings.sessions.launch_timeout
            {
                return BackendObservation::Unknown("its launch may still be in progress".to_owned());
            }
            return match self.endpoints.entry(key).or_insert_with_key(|key| Endpoint::open(app, session, key)) {
                Ok(endpoint) => endpoint.probe(session, process),
                Err(why) => BackendObservation::Unknown(why.clone()),
            };
        }
        self.panes.probe(&app.env, session).unwrap_or_else(|| facts::unprobed_backend(session))
    }

    /// When the backend last saw output of a running session that was probed before. `None` when it cannot tell; a script that
    /// fails to answer is not asked again. For a built-in backend it is the time of the transcript's last change.
    pub fn last_output(&mut self, app: &App, session: &Session) -> Option<Timestamp> {
        let script = session.adapter_script.as_deref()?;
        if builtin_scripts::at_path(Path::new(script), &app.env).is_some() {
            let transcript = fs::metadata(session.transcript.as_deref()?).ok()?;
            return Some(Timestamp::from_millis(transcript.mtime() * 1_000 + transcript.mtime_nsec() / 1_000_000));
        }
        let endpoint = self.endpoints.get_mut(&endpoint_key(session)?)?.as_mut().ok()?;
        endpoint.last_output(session)
    }
}

impl Endpoint {
    /// Lists the running sessions. `Err` is the reason why the backend script cannot be called.
    fn open(app: &App, session: &Session, key: &EndpointKey) -> Result<Self, String> {
        // The call would create them again.
        if let Some(gone) = [&key.script, &key.state].into_iter().find(|path| !Path::new(path).exists()) {
            return Err(format!("{gone} does not exist"));
        }
        let adapter = adapter_endpoint::local_adapter(app, session)
            .map_err(|error| format!("cannot query {}: {error:#}", key.script))?;
        let listed = match adapter.list_running("") {
            Ok(names) => RunningList::Names(names),
            Err(AdapterError::Unsupported { .. }) => RunningList::Unsupported,
            Err(error) => RunningList::Unknown(error.to_string()),
        };
        Ok(Self { adapter, listed, reports_activity: true })
    }

    fn last_output(&mut self, session: &Session) -> Option<Timestamp> {
        if !self.reports_activity {
            return None;
        }
        let answer = self.adapter.last_activity(adapter_endpoint::backend_name(session));
        // One failed call says enough about the others of this script.
        self.reports_activity = answer.is_ok();
        Timestamp::parse(&answer.ok()?)
    }

    fn probe(&mut self, session: &Session, process: &ProcessObservation) -> BackendObservation {
        let name = adapter_endpoint::backend_name(session);
        match &self.listed {
            RunningList::Unknown(why) => return BackendObservation::Unknown(why.clone()),
            RunningList::Names(names) if names.contains(name) => return verify_run(&self.adapter, session, process),
            // A missing name is no proof that the session has exited; the next call is.
            RunningList::Names(_) | RunningList::Unsupported => {}
        }
        match self.adapter.query_running(name) {
            Ok(false) => BackendObservation::Gone(format!("its backend reports that {name} is not running")),
            Ok(true) => verify_run(&self.adapter, session, process),
            Err(error) => {
                if matches!(error, AdapterError::TimedOut { .. }) {
                    let why = format!("{} timed out for another session", self.adapter.script().display());
                    self.listed = RunningList::Unknown(why);
                }
                BackendObservation::Unknown(error.to_string())
            }
        }
    }
}

fn endpoint_key(session: &Session) -> Option<EndpointKey> {
    let (script, state) = session.adapter_script.clone().zip(session.adapter_state.clone())?;
    Some(EndpointKey { backend: session.backend.clone(), script, state, socket: session.socket.clone() })
}

/// Checks that a running name belongs to the session run. A live recorded process proves it.
fn verify_run(adapter: &Adapter, session: &Session, process: &ProcessObservation) -> BackendObservation {
    let name = adapter_endpoint::backend_name(session);
    if *process == ProcessObservation::Alive {
        return BackendObservation::Alive;
    }
    match adapter.session_run(name) {
        Ok(Some(run)) if run == session.run_id => BackendObservation::Alive,
        Ok(Some(_)) => BackendObservation::Gone(format!("{name} in its backend belongs to another session run")),
        // A script without meta: its yes counts, but it is no proof that a session which was gone is back.
        Err(AdapterError::Unsupported { .. }) if session.status != SessionStatus::Stale => BackendObservation::Alive,
        Ok(None) | Err(_) => BackendObservation::Unknown(format!(
            "its backend reports that {name} is running, but not for which session run"
        )),
    }
}
