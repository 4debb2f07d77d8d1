//! Taking in an identity, and fetching the next before its credential expires.

use std::{collections::BTreeMap, ffi::OsString, path::Path, time::Duration};

use anyhow::{Result, bail};
use serde_json::json;
use tokio::time::sleep;
use zeroize::Zeroizing;

use super::{
    identity::Identity,
    log::warn,
    state::{self, server_state},
};
use crate::{
    actions::{App, core::trust},
    domain::{Event, EventKind, Refusal, session::Session},
    env::{Timestamp, vars},
    os::capture::{Call, ExitReason, capture},
};

/// How long the command may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// How often it is tried, and how long after the first time again; each next pause is twice as long.
const MAX_ATTEMPTS: u32 = 5;
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(5);

/// Takes in a session's identity, also in the place of an older one. Says whether there was one.
///
/// # Errors
/// `session_final`, `session_mismatch`.
pub(super) fn store_identity(session: &Session, identity: Identity) -> Result<bool> {
    session.check_open()?;
    if let Some(role) = identity.role.as_deref().filter(|role| *role != session.role.as_str()) {
        let role: String = role.chars().take(64).collect();
        let why = format!("the session {} is of the role {}, not of {role}", session.id, session.role);
        return Err(Refusal::SessionMismatch { why }.into());
    }
    let identity = Identity { session_id: Some(session.id.to_string()), ..identity };
    let (run, expires_at) = (&session.run_id, identity.credentials.as_ref().and_then(|one| one.expires_at));
    let house = server_state().map_err(|fault| crate::actions::core::errors::internal(fault.failure.message))?;
    let rotated = house.identities.borrow_mut().insert(run, identity);
    if let Some(at) = expires_at {
        let version = house.identities.borrow().get(run).map_or(0, |known| known.version);
        let watch = tokio::spawn(watch_expiry(run.clone(), version, at));
        house.identities.borrow_mut().set_expiry_task(run, watch);
    }
    Ok(rotated)
}

/// Waits until a credential is near its end; then says so, and has the next one fetched.
async fn watch_expiry(run: String, version: u64, expires_at: Timestamp) {
    let Ok(Ok((left, kind))) =
        server_state().map(|house| house.read(|app| Ok(until_refresh(app, &house, &run, expires_at))))
    else {
        return;
    };
    sleep(left).await;
    let Ok(true) = server_state().map(|house| house.identities.borrow_mut().mark_expiring(&run, version)) else {
        return;
    };
    let (of, told) = (run.clone(), kind);
    let recorded = state::write(move |app| {
        app.transaction(|tx| {
            let session = crate::actions::boundary::runtime::session_of_run(tx, &of)?;
            let event = Event::new(EventKind::CredentialExpiring).session(&session.id, &session.run_id);
            tx.record(&event.with("type", told).with("expires_at", expires_at.to_string()))?;
            Ok(())
        })
    });
    if let Err(fault) = recorded.await {
        warn(&format!("that the credential of {run} expires was not recorded: {}", fault.failure.message));
    }
    let mut pause = FIRST_RETRY_DELAY;
    for attempt in 1..=MAX_ATTEMPTS {
        let of = run.clone();
        match state::run_blocking(move |app| run_refresh_command(app, &of, kind)).await {
            Ok(None) => return,
            Ok(Some((session, identity))) => {
                // This task is the older identity's, and ends with it: nothing comes after.
                if let Err(error) = store_identity(&session, identity) {
                    warn(&format!("the next credential of {run} was not taken: {error}"));
                }
                return;
            }
            Err(fault) => warn(&format!("the credential of {run} was not refreshed: {}", fault.failure.message)),
        }
        if attempt < MAX_ATTEMPTS {
            sleep(pause).await;
            pause *= 2;
        }
    }
}

fn until_refresh(app: &App, house: &state::ServerState, run: &str, expires_at: Timestamp) -> (Duration, &'static str) {
    let known = house.identities.borrow().get(run);
    let kind = known.and_then(|known| Some(known.identity.credentials.as_ref()?.kind.as_str())).unwrap_or_default();
    let left = expires_at.since(app.env.now()).saturating_sub(app.settings.agents.refresh_before);
    (left, kind)
}

/// Has the command print the next identity of a run; `None` when there is no command.
fn run_refresh_command(app: &App, run: &str, kind: &str) -> Result<Option<(Session, Identity)>> {
    let Some(command) = app.settings.agents.refresh.clone() else { return Ok(None) };
    let session = app.read(|tx| crate::actions::boundary::runtime::session_of_run(tx, run))?;
    trust::require(app)?;
    let mut env: BTreeMap<OsString, OsString> = app.env.vars().clone();
    for name in vars::SESSION_IDENTITY {
        env.remove(&OsString::from(name));
    }
    env.insert(vars::FAIRWAY_ROOT.into(), app.project.root.clone().into());
    let stdin = serde_json::to_vec(&json!({ "run_id": run, "type": kind }))?;
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
    let said = capture(&call)?;
    // Whatever it printed may be the credential: it is read, and never quoted.
    let (stdout, _stderr) = (Zeroizing::new(said.stdout), Zeroizing::new(said.stderr));
    match said.exit {
        ExitReason::Code(0) => {}
        ExitReason::Code(code) => bail!("[identity] refresh ended with exit code {code}"),
        ExitReason::Signal(number) => bail!("[identity] refresh was ended by signal {number}"),
        ExitReason::TimedOut => bail!("[identity] refresh took longer than {} s", COMMAND_TIMEOUT.as_secs()),
    }
    match serde_json::from_slice(&stdout) {
        Ok(identity) => Ok(Some((session, identity))),
        Err(_) => bail!("[identity] refresh printed no identity"),
    }
}
