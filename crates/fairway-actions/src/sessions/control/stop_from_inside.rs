//! Stopping a session from inside: the caller belongs to the process tree that ends. A helper process outside of it does
//! the work instead.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;
use serde_json::Value;

use crate::core::errors;
use crate::{Answer, App};
use fairway_core::adapters::{AdapterError, clean_env};
use fairway_core::domain::session::Session;
use fairway_core::env::{Env, vars};
use fairway_core::os;
use fairway_core::os::process::{self, ProcessKey};

/// The environment tag of the helper. A stop ends only processes with the session's own tag.
const OUTSIDE_TAG: &str = "outside";

/// Whether this process is the helper that [`stop_through_helper`] starts.
pub(crate) fn is_outside_helper(env: &Env) -> bool {
    env.var(vars::FAIRWAY_RUN_ID) == Some(OUTSIDE_TAG)
}

/// Whether this process belongs to the session: it has the session's environment tag or, without any tag, the session's root
/// process as an ancestor.
pub(crate) fn is_inside(env: &Env, session: &Session) -> bool {
    match env.var(vars::FAIRWAY_RUN_ID) {
        Some(run) => run == session.run_id.as_str(),
        None => ProcessKey::from_record(session.pid, session.pid_started, session.boot_id.as_deref())
            .is_some_and(|root| process::is_own_ancestor(&root)),
    }
}

/// Starts a helper process that stops the session, and waits for it. Usually this process is ended before the helper is done.
///
/// # Errors
/// `adapter_failed` with the helper's error.
pub(crate) fn stop_through_helper(app: &App, session: &Session) -> Result<Answer> {
    let mut env_vars = clean_env(&app.env);
    env_vars.insert(vars::FAIRWAY_RUN_ID.into(), OUTSIDE_TAG.into());
    for name in [vars::FAIRWAY_DB, vars::FAIRWAY_ROLE, vars::FAIRWAY_LANE] {
        env_vars.extend(app.env.var_os(name).map(|value| (name.into(), value.clone())));
    }
    let id = session.id.as_str();
    let mut args: Vec<OsString> =
        ["session", "stop", id, "--json", "--session", id, "--root"].map(OsString::from).to_vec();
    args.push(app.project.root.clone().into());
    if let Some(request) = &app.idempotency_key {
        args.extend(["--request-id".into(), OsString::from(&request.id)]);
    }
    let script = PathBuf::from(session.adapter_script.clone().unwrap_or_default());
    let output = os::executable::spawn_self_until_ready(&args, &env_vars)
        .map_err(|source| AdapterError::CannotRun { script: script.clone(), source })?
        .map_err(|output| AdapterError::Failed { script, operation: "stop", why: error_message(&output) })?;
    let document: Value = serde_json::from_str(&output).map_err(errors::internal)?;
    Answer::new(&document, id, format!("stopped {id}"))
}

/// The message of an error document, else the whole output.
fn error_message(output: &str) -> String {
    let document = output.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
    let message = document.as_ref().and_then(|document| document.pointer("/error/message")?.as_str());
    message.unwrap_or(output.trim()).to_owned()
}
