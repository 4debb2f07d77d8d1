//! Stores an identity, and runs the configured command for the next one before its credential expires.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::json;
use tokio::time::sleep;
use zeroize::Zeroizing;

use super::identity::Identity;
use super::log::warn;
use super::state::{self, server_state};
use fairway_actions::App;
use fairway_actions::core::trust;
use fairway_core::domain::session::Session;
use fairway_core::domain::{Event, EventKind, Refusal, RunId};
use fairway_core::env::{Timestamp, vars};
use fairway_core::os::capture::{Call, capture};
use fairway_core::os::exit_reason::ExitReason;

/// How long before the expiry of a credential the refresh command runs.
const REFRESH_BEFORE: Duration = Duration::from_secs(300);
/// How long the refresh command may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// How often the command is tried, and the first pause. Each further pause is twice as long.
const MAX_ATTEMPTS: u32 = 5;
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(5);

/// Stores a session's identity. Fields that `identity` leaves out keep their earlier values. Returns whether it changes an
/// identity that the session had before. Errors: `session_final`; `session_mismatch` when `identity` names a role other than the session's.
pub(super) fn store_identity(session: &Session, identity: Identity) -> Result<bool> {
    session.check_open()?;
    if let Some(role) = identity.role.as_deref().filter(|role| *role != session.role.as_str()) {
        let role: String = role.chars().take(64).collect();
        let why = format!("session {} has role {}, not {role}", session.id, session.role);
        return Err(Refusal::SessionMismatch { why }.into());
    }
    let identity = Identity { session_id: Some(session.id.to_string()), ..identity };
    let run = &session.run_id;
    let state = server_state().map_err(|error| fairway_actions::core::errors::internal(error.failure.message))?;
    let before = state.identities.borrow().get(run).map(|known| known.identity);
    let rotated = before.is_some();
    let identity = match before {
        Some(before) => {
            let merged = before.merged(identity);
            if merged == *before {
                return Ok(false);
            }
            merged
        }
        None => identity,
    };
    let expires_at = identity.credentials.as_ref().and_then(|one| one.expires_at);
    state.identities.borrow_mut().insert(run, identity);
    if let Some(at) = expires_at {
        let version = state.identities.borrow().get(run).map_or(0, |known| known.version);
        let task = tokio::spawn(watch_expiry(run.clone(), version, at));
        state.identities.borrow_mut().set_expiry_task(run, task);
    }
    Ok(rotated)
}

/// Waits until a credential is about to expire, records that, and fetches the next one.
async fn watch_expiry(run: RunId, version: u64, expires_at: Timestamp) {
    let Ok(Ok((left, kind))) =
        server_state().map(|state| state.read(|app| Ok(until_refresh(app, &state, &run, expires_at))))
    else {
        return;
    };
    sleep(left).await;
    let Ok(true) = server_state().map(|state| state.identities.borrow_mut().mark_expiring(&run, version)) else {
        return;
    };
    let (run_id, credential) = (run.clone(), kind);
    let recorded = state::write(move |app| {
        app.transaction(|tx| {
            let session = fairway_actions::agents::runtime::session_of_run(tx, &run_id)?;
            let event = Event::new(EventKind::CredentialExpiring).session(&session.id, &session.run_id);
            tx.record(&event.with("type", credential).with("expires_at", expires_at.to_string()))?;
            Ok(())
        })
    });
    if let Err(error) = recorded.await {
        warn(&format!("the expiry of the credential of {run} was not recorded: {}", error.failure.message));
    }
    let mut delay = FIRST_RETRY_DELAY;
    for attempt in 1..=MAX_ATTEMPTS {
        let run_id = run.clone();
        match state::run_blocking(move |app| run_refresh_command(app, &run_id, kind)).await {
            Ok(None) => return,
            Ok(Some((session, identity))) => {
                // Storing the new identity aborts this task, so nothing may follow.
                if let Err(error) = store_identity(&session, identity) {
                    warn(&format!("the next credential of {run} was not stored: {error}"));
                }
                return;
            }
            Err(error) => warn(&format!("the credential of {run} was not refreshed: {}", error.failure.message)),
        }
        if attempt < MAX_ATTEMPTS {
            sleep(delay).await;
            delay *= 2;
        }
    }
}

fn until_refresh(
    app: &App,
    server: &state::ServerState,
    run: &RunId,
    expires_at: Timestamp,
) -> (Duration, &'static str) {
    let known = server.identities.borrow().get(run);
    let kind = known.and_then(|known| Some(known.identity.credentials.as_ref()?.kind.as_str())).unwrap_or_default();
    let left = expires_at.since(app.env.now()).saturating_sub(REFRESH_BEFORE);
    (left, kind)
}

/// Runs the refresh command, which prints the next identity. `None` without a configured command.
fn run_refresh_command(app: &App, run: &RunId, kind: &str) -> Result<Option<(Session, Identity)>> {
    let Some(command) = app.settings.identity.refresh.clone() else { return Ok(None) };
    let session = app.read(|tx| fairway_actions::agents::runtime::session_of_run(tx, run))?;
    trust::require(app)?;
    let mut env: BTreeMap<OsString, OsString> = app.env.vars().clone();
    for name in vars::SESSION_IDENTITY {
        env.remove(&OsString::from(name));
    }
    env.insert(vars::FAIRWAY_ROOT.into(), app.project.root.clone().into());
    let stdin = serde_json::to_vec(&json!({ "run_id": run.as_str(), "type": kind }))?;
    let args = [OsString::from("-c"), OsString::from(command)];
    let call = Call {
        program: Path::new("/bin/sh"),
        args: &args,
        env: &env,
        cwd: &app.project.root,
        stdin: &stdin,
        limit: COMMAND_TIMEOUT,
        ends_group: true,
    };
    let output = capture(&call)?;
    // The output may hold the credential: it is never quoted.
    let (stdout, _stderr) = (Zeroizing::new(output.stdout), Zeroizing::new(output.stderr));
    match output.exit {
        ExitReason::Code(0) => {}
        ExitReason::Code(code) => bail!("the [identity] refresh command failed with exit code {code}"),
        ExitReason::Signal(number) => bail!("the [identity] refresh command was killed by signal {number}"),
        ExitReason::TimedOut => {
            bail!("the [identity] refresh command took longer than {} s", COMMAND_TIMEOUT.as_secs())
        }
    }
    match serde_json::from_slice(&stdout) {
        Ok(identity) => Ok(Some((session, identity))),
        Err(_) => bail!("the [identity] refresh command did not print an identity"),
    }
}
