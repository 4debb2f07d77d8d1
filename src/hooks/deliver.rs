//! Delivers waiting prompts after a hook whose answer cannot carry them: in a process of its own, because the provider waits
//! for the hook.

use std::{ffi::OsString, time::Duration};

use super::{Provider, call, context};
use crate::{
    actions::{App, sessions::prompt},
    domain::{SessionId, message::Recipient},
    env::{Env, vars},
    os::{
        executable,
        exit_on_signal::{self, ExitPlan},
    },
    store::messages,
};

/// The name on the command line: `fairway hook PROVIDER deliver`.
pub(super) const EVENT: &str = "deliver";

/// How long the delivery may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Nothing waits for this process.
static ON_STOP: ExitPlan = ExitPlan { code: 0, on_timeout: "", on_signal: "" };

/// Starts the delivery when prompts wait for the session of the environment. A failure leaves them queued.
pub(super) fn start(app: &App, provider: Provider) {
    let Some(session) = app.actor.session.clone() else { return };
    let waits = app.read(|tx| Ok(!messages::open_for(tx, &Recipient::Session(session.clone()))?.is_empty()));
    if waits.unwrap_or(false) {
        let mut env = app.env.vars().clone();
        env.insert(vars::FAIRWAY_ROOT.into(), app.project.root.clone().into());
        let args = ["hook", provider.label(), EVENT].map(OsString::from);
        let _ = executable::spawn_self(&args, &env, None);
    }
}

/// Delivers the prompts to the session that the environment names. Returns the exit code.
pub(super) fn run(provider: Provider, env: impl FnOnce() -> Env) -> u8 {
    let limited = exit_on_signal::install(&ON_STOP).and_then(|()| exit_on_signal::set_deadline(TIMEOUT));
    let limited = limited.map_err(|error| error.to_string());
    u8::from(limited.and_then(|()| call::catch_panic(|| deliver(provider, env))).is_err())
}

fn deliver(provider: Provider, env: impl FnOnce() -> Env) -> Result<(), String> {
    let env = env();
    let Some(session) = env.var(vars::FAIRWAY_SESSION_ID).and_then(|id| SessionId::parse(id).ok()) else {
        return Ok(());
    };
    let Some(project) = call::find_project(provider, None, &env, None)? else { return Ok(()) };
    let app = context::build_app(env, project).map_err(|error| call::message_with_hint(&error))?;
    prompt::deliver(&app, &session).map(drop).map_err(|error| call::message_with_hint(&error))
}
