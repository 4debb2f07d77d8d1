//! Stopping a session from inside: whoever asks is a part of what ends. A call that stands outside does it instead.

use std::{ffi::OsString, path::PathBuf};

use anyhow::Result;
use serde_json::Value;

use crate::{
    actions::{Answer, App, core::errors},
    adapters::{AdapterError, clean_env},
    domain::session::Session,
    env::{Env, vars},
    os::{
        self,
        process::{self, ProcessKey},
    },
};

/// The mark of a call that is no part of any session: what has another mark than a session's is passed by when it ends.
const OUTSIDE_TAG: &str = "outside";

/// Whether this call was started to stand outside.
pub(crate) fn is_outside_helper(env: &Env) -> bool {
    env.var(vars::FAIRWAY_RUN_ID) == Some(OUTSIDE_TAG)
}

/// Whether this call is a part of the session: it has its mark, or, without any, its root process above it.
pub(crate) fn is_inside(env: &Env, session: &Session) -> bool {
    match env.var(vars::FAIRWAY_RUN_ID) {
        Some(run) => run == session.run_id,
        None => ProcessKey::from_record(session.pid, session.pid_started, session.boot_id.as_deref())
            .is_some_and(|root| process::is_own_ancestor(&root)),
    }
}

/// Has a call outside stop the session, and waits for it: mostly this call is gone before that one is done.
///
/// # Errors
/// `adapter_failed` with what the other call said.
pub(crate) fn stop_through_helper(app: &App, session: &Session) -> Result<Answer> {
    let mut around = clean_env(&app.env);
    around.insert(vars::FAIRWAY_RUN_ID.into(), OUTSIDE_TAG.into());
    for name in [vars::FAIRWAY_DB, vars::FAIRWAY_ROLE, vars::FAIRWAY_LANE] {
        around.extend(app.env.var_os(name).map(|value| (name.into(), value.clone())));
    }
    let id = session.id.as_str();
    let mut args: Vec<OsString> =
        ["session", "stop", id, "--json", "--session", id, "--root"].map(OsString::from).to_vec();
    args.push(app.project.root.clone().into());
    if let Some(request) = &app.idempotency_key {
        args.extend(["--request-id".into(), OsString::from(&request.id)]);
    }
    let script = PathBuf::from(session.adapter_script.clone().unwrap_or_default());
    let said = os::child::spawn_self_until_ready(&args, &around)
        .map_err(|source| AdapterError::CannotRun { script: script.clone(), source })?
        .map_err(|said| AdapterError::Failed { script, operation: "stop", why: error_message(&said) })?;
    let document: Value = serde_json::from_str(&said).map_err(errors::internal)?;
    Answer::new(&document, id, format!("stopped {id}"))
}

/// The sentence of an error document, or what was said instead of one.
fn error_message(said: &str) -> String {
    let document = said.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
    let sentence = document.as_ref().and_then(|document| document.pointer("/error/message")?.as_str());
    sentence.unwrap_or(said.trim()).to_owned()
}
