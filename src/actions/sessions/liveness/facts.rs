//! Facts about a session, gathered outside of any transaction.

use std::time::Duration;

use crate::{
    actions::App,
    adapters::tmux_panes,
    config::Silence,
    domain::{
        rules::liveness::{self, Backend, Facts, Process, Verdict},
        session::Session,
    },
    env::Timestamp,
    os::{
        host,
        process::{self, ProcessKey, ProcessStatus},
    },
};

/// Judges a session of this or another host by what was seen of its process and what its backend says.
#[must_use]
pub fn assess(app: &App, session: &Session, process: &Process, backend: &Backend, now: Timestamp) -> Verdict {
    let here = host::identity();
    let (process, backend) =
        if session.host == here { (process, backend) } else { (&Process::NotRecorded, &Backend::Nothing) };
    let facts = Facts {
        session,
        here: &here,
        process,
        backend,
        launch_limit: app.settings.launch_timeout,
        silence_limit: stale_after(app, session),
    };
    liveness::judge(&facts, now)
}

/// How long it may be silent: its backend's limit goes before the general one.
#[must_use]
pub fn stale_after(app: &App, session: &Session) -> Option<Duration> {
    let own = session.backend.as_ref().and_then(|name| app.settings.backends.get(name)?.stale_after);
    match own.unwrap_or(app.settings.stale_after) {
        Silence::Limit(limit) => Some(limit),
        Silence::Unlimited => None,
    }
}

/// Its process, on this host.
#[must_use]
pub fn process_state(session: &Session) -> Process {
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
    if let Some(key) = ProcessKey::from_record(session.pid, session.pid_started, session.boot_id.as_deref()) {
        return match key.status() {
            ProcessStatus::Alive => Process::Alive,
            ProcessStatus::Gone(why) => Process::Gone(why),
            ProcessStatus::Unknown(why) => Process::Unknown(why),
        };
    }
    match process::stat(pid) {
        Ok(None) => gone(),
        Ok(Some(_)) => Process::Unknown(format!("process {pid} is there, but when ours started is not known")),
        Err(error) => Process::Unknown(error.to_string()),
    }
}

/// Its backend, when nobody asks it. A pane of which nobody here knows how to ask is nothing to look at.
#[must_use]
pub fn unprobed_backend(session: &Session) -> Backend {
    let is_tmux_pane = session.pane.is_some() && session.backend.as_deref() == Some(tmux_panes::BACKEND);
    if !is_tmux_pane && session.adapter_script.is_none() {
        return Backend::Nothing;
    }
    let name = session.backend.as_deref().unwrap_or("the backend");
    Backend::Unknown(format!("{name} was not asked"))
}
