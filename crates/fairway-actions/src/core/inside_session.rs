//! Whether a command is called from inside of a session, and what is refused there. This is no security boundary: a process that
//! leaves its session's process tree and clears its environment is outside.

use anyhow::Result;

use crate::App;
use fairway_core::config::{Permission, trust};
use fairway_core::domain::job::Job;
use fairway_core::domain::{Refusal, RoutingKey, RunId, SessionId};
use fairway_core::env::{Env, vars};
use fairway_core::os::process::{self, ProcessKey};
use fairway_core::os::terminal::confirm;
use fairway_core::store::{jobs, sessions};

const SESSION_VARIABLES: [&str; 2] = [vars::FAIRWAY_SESSION_ID, vars::FAIRWAY_RUN_ID];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallPlace {
    /// The caller is outside of every session.
    Outside,
    /// The caller is inside of a session, whose id is given if a process or variable names it.
    Inside(Option<SessionId>),
    /// It cannot be determined, for this reason.
    Unknown(String),
}

/// Refuses a command that is for people only when it is called from inside a session. When that is unknown, asks at the terminal
/// whether the caller is a person; without a terminal, refuses.
///
/// # Errors
/// `inside_session`, `not_confirmed`.
pub fn refuse(app: &App, command: &'static str) -> Result<()> {
    if app.actor.session.is_some() {
        return Err(Refusal::InsideSession { command }.into());
    }
    refuse_at(&app.env, place(app), command)
}

/// Like [`refuse`], for a command outside of a project. Without a store it judges only by the environment variables of this
/// process and of its ancestors.
pub fn refuse_without_project(env: &Env, command: &'static str) -> Result<()> {
    let place = if has_session_variable(env) { CallPlace::Inside(None) } else { place_by_environment() };
    refuse_at(env, place, command)
}

fn refuse_at(env: &Env, place: CallPlace, command: &'static str) -> Result<()> {
    match place {
        CallPlace::Outside => Ok(()),
        CallPlace::Unknown(why) if env.terminal.stdin && env.terminal.stderr => {
            let question = format!("{command} is a person's command, and {why}. Are you a person?");
            if confirm(&question)? { Ok(()) } else { Err(Refusal::NotConfirmed.into()) }
        }
        CallPlace::Inside(_) | CallPlace::Unknown(_) => Err(Refusal::InsideSession { command }.into()),
    }
}

/// Like [`refuse`], but allows a session that calls under its own id and whose role has this permission. The texts of the
/// configuration that are in force must be trusted, because otherwise an agent could give its role this permission.
pub fn refuse_unless_permitted(app: &App, command: &'static str, needed: Permission) -> Result<()> {
    let refused = || Err(Refusal::InsideSession { command }.into());
    let known = match place(app) {
        CallPlace::Outside => return Ok(()),
        CallPlace::Inside(session) => session,
        unknown @ CallPlace::Unknown(_) => return refuse_at(&app.env, unknown, command),
    };
    let Some(acting) = &app.actor.session else { return refused() };
    if known.is_some_and(|known| known != *acting) || !trust::is_text_trusted(&app.layers) {
        return refused();
    }
    let role = app.read(|tx| Ok(sessions::find(tx, acting)?.map(|session| session.role)))?;
    let entry = role.and_then(|role| app.settings.roles.get(role.as_str()));
    if entry.is_some_and(|entry| entry.may.contains(&needed)) { Ok(()) } else { refused() }
}

/// Whether this process has an environment variable of a session, or [`place`] finds it inside a session or cannot tell.
pub fn is_inside(app: &App) -> bool {
    has_session_variable(&app.env) || place(app) != CallPlace::Outside
}

/// Whether this process was started from inside a session, and if possible from which one: by its ancestors, which may be a
/// session's root process, the supervisor of a session's job, or have been started with a session's environment variables, and by
/// its own environment variables.
pub fn place(app: &App) -> CallPlace {
    let ancestors = match process::own_ancestors() {
        Ok(ancestors) => ancestors,
        Err(_) if has_session_variable(&app.env) => return CallPlace::Inside(session_by_variable(&app.env)),
        Err(error) => return CallPlace::Unknown(format!("the ancestors of this process cannot be read: {error}")),
    };
    // A damaged store names no session, but a session's processes still have its variables.
    match place_by_store(app, &ancestors).unwrap_or_else(|_| place_by_environment()) {
        CallPlace::Outside if has_session_variable(&app.env) => CallPlace::Inside(session_by_variable(&app.env)),
        found => found,
    }
}

fn has_session_variable(env: &Env) -> bool {
    SESSION_VARIABLES.iter().any(|name| env.var(name).is_some())
}

fn session_by_variable(env: &Env) -> Option<SessionId> {
    SessionId::parse(env.var(vars::FAIRWAY_SESSION_ID)?).ok()
}

/// The place by the store: the session whose root process, job supervisor or environment variables are found at the
/// nearest ancestor.
fn place_by_store(app: &App, ancestors: &[ProcessKey]) -> Result<CallPlace> {
    // The program of a session that still starts has no recorded process, but the variables with which it was started.
    let runs: Vec<Option<RunId>> =
        ancestors.iter().map(|one| process::initial_variable(one.pid, vars::FAIRWAY_RUN_ID).map(RunId::from)).collect();
    let at = |key: &ProcessKey| ancestors.iter().position(|ancestor| ancestor == key);
    app.read(|tx| {
        let sessions = sessions::live(tx)?;
        // A process of another host has another boot: these keys need no look at the host's id, which a session could change.
        let roots = sessions.iter().filter_map(|one| {
            let key = ProcessKey::from_record(one.pid, one.pid_started, one.boot_id.as_deref())?;
            Some((at(&key)?, Some(one.id.clone())))
        });
        let started = sessions.iter().filter_map(|one| {
            let distance = runs.iter().position(|run| run.as_ref() == Some(&one.run_id))?;
            Some((distance, Some(one.id.clone())))
        });
        let jobs = jobs::active(tx)?;
        // The key of a job need not be a session's id.
        let session = |job: &Job| job.session.as_ref().and_then(RoutingKey::session_id);
        let supervisors = jobs.iter().filter(|job| job.session.is_some()).filter_map(|job| {
            let key = ProcessKey::from_record(job.supervisor_pid, job.supervisor_started, Some(&job.boot_id))?;
            Some((at(&key)?, session(job)))
        });
        let nearest = roots.chain(started).chain(supervisors).min_by_key(|(distance, _)| *distance);
        Ok(nearest.map_or(CallPlace::Outside, |(_, session)| CallPlace::Inside(session)))
    })
}

/// The place by the variables that the ancestors were started with.
fn place_by_environment() -> CallPlace {
    let Ok(ancestors) = process::own_ancestors() else {
        return CallPlace::Unknown("the ancestors of this process cannot be read".to_owned());
    };
    let is_inside = ancestors.iter().any(|one| process::has_variable(one.pid, &SESSION_VARIABLES) == Some(true));
    if is_inside { CallPlace::Inside(None) } else { CallPlace::Outside }
}
