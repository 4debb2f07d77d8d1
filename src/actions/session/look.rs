//! Facts about a session, gathered outside of any transaction.

use std::{collections::BTreeSet, path::Path, time::Duration};

use super::endpoint;
use crate::{
    actions::App,
    adapters::AdapterError,
    config::Silence,
    domain::{
        rules::liveness::{self, Backend, Facts, Process, Verdict},
        session::{Session, SessionStatus},
    },
    env::Timestamp,
    os::{
        host,
        process::{self, Presence, ProcessKey},
    },
};

/// Judges a session of this or another host by what can be seen of it now and what its backend says.
#[must_use]
pub fn judge(app: &App, session: &Session, backend: &Backend, now: Timestamp) -> Verdict {
    let here = host::identity();
    let (process, backend) =
        if session.host == here { (process(session), backend) } else { (Process::NotRecorded, &Backend::Nothing) };
    let facts = Facts {
        session,
        here: &here,
        process: &process,
        backend,
        launch_limit: app.settings.launch_timeout,
        silence_limit: silence_limit(app, session),
    };
    liveness::judge(&facts, now)
}

/// How long it may be silent: its backend's limit goes before the general one.
#[must_use]
pub fn silence_limit(app: &App, session: &Session) -> Option<Duration> {
    let own = session.backend.as_ref().and_then(|name| app.settings.backends.get(name)?.stale_after);
    match own.unwrap_or(app.settings.stale_after) {
        Silence::Limit(limit) => Some(limit),
        Silence::Unlimited => None,
    }
}

/// Its process, on this host.
#[must_use]
pub fn process(session: &Session) -> Process {
    // Whatever was local did not outlive the boot, a pane as little as a process.
    let now = host::boot_id();
    if let Some(then) = &session.boot_id
        && !now.is_empty()
        && *then != now
    {
        return Process::Gone("the machine was booted again".into());
    }
    let Some(number) = session.pid else { return Process::NotRecorded };
    let gone = || Process::Gone(format!("process {number} is gone"));
    // A number that no process can have is nobody's.
    let Some(pid) = i32::try_from(number).ok().filter(|pid| *pid > 0) else { return gone() };
    let started = session.pid_started.and_then(|started| u64::try_from(started).ok());
    if let (Some(started), Some(boot)) = (started, &session.boot_id) {
        return match (ProcessKey { pid, started, boot: boot.clone() }).presence() {
            Presence::Alive => Process::Alive,
            Presence::Gone(why) => Process::Gone(why),
            Presence::Unknown(why) => Process::Unknown(why),
        };
    }
    match process::stat(pid) {
        Ok(None) => gone(),
        Ok(Some(_)) => Process::Unknown(format!("process {pid} is there, but when ours started is not known")),
        Err(error) => Process::Unknown(error.to_string()),
    }
}

/// Its backend, when nobody asks it.
#[must_use]
pub fn unasked(session: &Session) -> Backend {
    if session.pane.is_none() && session.socket.is_none() && session.adapter_script.is_none() {
        return Backend::Nothing;
    }
    let name = session.backend.as_deref().unwrap_or("the backend");
    Backend::Unknown(format!("{name} was not asked"))
}

/// Asks the backends of sessions whether they run.
#[derive(Debug, Default)]
pub struct Asking {
    /// Scripts that let their time pass: nobody waits for the same one again.
    silent: BTreeSet<String>,
}

impl Asking {
    /// Its backend's answer. Whoever is of another host, or has no script, is not asked for. Nothing is written.
    pub fn backend(&mut self, app: &App, session: &Session, now: Timestamp) -> Backend {
        let (Some(script), Some(state)) = (&session.adapter_script, &session.adapter_state) else {
            return unasked(session);
        };
        // Another host's is not ours to ask for, and what is certain without an answer needs none.
        if session.host != host::identity() || matches!(process(session), Process::Gone(_)) {
            return unasked(session);
        }
        // Before it has come up, its script truly says that it does not run.
        if session.status == SessionStatus::Starting && now.since(session.started_at) <= app.settings.launch_timeout {
            return Backend::Unknown("its launch may be under way".to_owned());
        }
        // The call would make them anew.
        if let Some(gone) = [script, state].into_iter().find(|path| !Path::new(path).exists()) {
            return Backend::Unknown(format!("{gone} is not there"));
        }
        if self.silent.contains(script) {
            return Backend::Unknown(format!("{script} did not answer for another session"));
        }
        let adapter = match endpoint::adapter(app, session) {
            Ok(adapter) => adapter,
            Err(error) => return Backend::Unknown(format!("{script} may not be asked: {error:#}")),
        };
        let name = endpoint::name(session);
        match adapter.runs(name) {
            Ok(false) => Backend::Gone(format!("its backend says that {name} does not run")),
            Ok(true) => match adapter.is_of_run(name, &session.run_id) {
                Some(true) => Backend::Alive,
                Some(false) => Backend::Gone(format!("{name} is another run's in its backend")),
                None => Backend::Unknown(format!("its backend says that {name} runs, but not of which run")),
            },
            Err(error) => {
                if matches!(error, AdapterError::TimedOut { .. }) {
                    self.silent.insert(script.clone());
                }
                Backend::Unknown(error.to_string())
            }
        }
    }
}
