//! Whether a command is called from inside a session. No boundary: a process that leaves its session's process tree and
//! clears its environment is outside.

use anyhow::Result;

use crate::{
    actions::App,
    domain::Refusal,
    env::vars,
    os::{
        host,
        process::{self, ProcessKey},
    },
    store::{jobs, sessions},
};

/// Refuses a person's command inside a session, and where this is unknown.
///
/// # Errors
/// `inside_session`; as the store fails.
pub fn require_person(app: &App, command: &'static str) -> Result<()> {
    if app.actor.session.is_some() || is_inside(app)? {
        return Err(Refusal::InsideSession { command }.into());
    }
    Ok(())
}

/// Whether the caller has a session's variable, or a live session's root process or the supervisor of a session's job as an
/// ancestor. Ancestors that cannot be read count as inside.
///
/// # Errors
/// As the store fails.
pub fn is_inside(app: &App) -> Result<bool> {
    let has_variable = [vars::FAIRWAY_SESSION_ID, vars::FAIRWAY_RUN_ID].iter().any(|name| app.env.var(name).is_some());
    if has_variable {
        return Ok(true);
    }
    let Ok(ancestors) = process::own_ancestors() else { return Ok(true) };
    let host = host::identity();
    app.read(|tx| {
        let sessions = sessions::live(tx)?;
        let roots = sessions
            .iter()
            .filter(|session| host.owns(&session.host, session.host_id.as_deref()))
            .filter_map(|one| ProcessKey::from_record(one.pid, one.pid_started, one.boot_id.as_deref()));
        let jobs = jobs::active(tx)?;
        let supervisors = jobs
            .iter()
            .filter(|job| job.session.is_some() && host.owns(&job.host, job.host_id.as_deref()))
            .filter_map(|job| ProcessKey::from_record(job.supervisor_pid, job.supervisor_started, Some(&job.boot_id)));
        Ok(roots.chain(supervisors).any(|key| ancestors.contains(&key)))
    })
}
