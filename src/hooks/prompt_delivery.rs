//! Hook processes that bring prompts to the agent: the wake hook, and the delivery after a hook whose reply cannot carry
//! prompts.
//!
//! The wake hook waits for prompts while the agent is idle. The provider starts it when a session starts and when a turn ends.
//! When it exits with code 2, the provider starts the next turn with its stderr. The provider ignores its stdout.

use std::{
    ffi::OsString,
    io::{self, Write},
    time::Duration,
};

use super::{
    Provider,
    call::{self, HookCall},
    launch_entry,
    payload::Payload,
};
use crate::{
    actions::{
        App,
        agents::hook::{self as actions_hook, HookEvent},
        sessions::prompt,
    },
    domain::{SessionId, message::Recipient},
    env::{Env, vars},
    os::{
        executable,
        exit_on_signal::{self, ExitPlan},
    },
    store::messages,
};

/// The exit when the process is stopped, which is no failure.
static ON_STOP: ExitPlan = ExitPlan { code: 0, on_timeout: "", on_signal: "" };

/// Waits for prompts. Returns the exit code: 2 with prompts on stderr, 0 when no prompt can come any more, 1 for a failure,
/// which does not wake the agent.
pub fn run_wake_hook(hook: &HookCall<'_>, env: impl FnOnce() -> Env) -> u8 {
    let installed = exit_on_signal::install(&ON_STOP).map_err(|error| error.to_string());
    match installed.and_then(|()| call::catch_panic(|| wait_for_prompt(hook, env))) {
        Ok(code) => code,
        Err(why) => {
            let _ = io::stderr().write_all(format!("fairway hook: {}\n", call::one_line(&why)).as_bytes());
            1
        }
    }
}

fn wait_for_prompt(hook: &HookCall<'_>, env: impl FnOnce() -> Env) -> Result<u8, String> {
    let provider = hook.provider;
    let env = env();
    let payload = Payload::parse(&call::read_stdin()?)?;
    if !provider.runs_in_background(&env) {
        return Ok(0);
    }
    let Some(project) = call::find_project(provider, hook.root, &env, payload.cwd.as_deref())? else {
        return Ok(0);
    };
    if launch_entry::is_silent(hook, &env, &project, &payload) {
        return Ok(0);
    }
    let external = Payload::require("session_id", payload.session_id.as_ref())?.to_owned();
    let event = Payload::require("hook_event_name", payload.hook_event_name.as_ref())?;
    let start = match (provider.parse)(event, &payload, None)? {
        HookEvent::SessionStart(start) => Some(start),
        _ => None,
    };
    let app = call::build_app(env, project).map_err(|error| call::message_with_hint(&error))?;
    let caller = call::hook_caller(provider, &app.env, payload, external)?;
    let Some((session, prompts)) =
        actions_hook::wait_for_prompts(&app, &caller, start).map_err(|error| call::message_with_hint(&error))?
    else {
        return Ok(0);
    };
    let written = io::stderr().write_all(prompts.text.as_bytes());
    written.map_err(|error| format!("cannot write the prompts: {error}"))?;
    // The prompts are written. A delivery that could not be confirmed is offered again.
    let _ = actions_hook::confirm_delivered(&app, &session, &prompts);
    Ok(2)
}

/// The name on the command line: `fairway hook PROVIDER deliver`.
pub(super) const DELIVER_EVENT: &str = "deliver";

const DELIVERY_TIMEOUT: Duration = Duration::from_secs(60);

/// Starts a process that delivers the prompts that wait for the acting session, if there are any. If that fails, they stay
/// queued.
pub(super) fn start_delivery(app: &App, provider: Provider) {
    let Some(session) = app.actor.session.clone() else { return };
    let waits = app.read(|tx| Ok(!messages::open_for(tx, &Recipient::Session(session.clone()))?.is_empty()));
    if waits.unwrap_or(false) {
        let mut env = app.env.vars().clone();
        env.insert(vars::FAIRWAY_ROOT.into(), app.project.root.clone().into());
        let args = ["hook", provider.label(), DELIVER_EVENT].map(OsString::from);
        let _ = executable::spawn_self(&args, &env, None);
    }
}

/// Delivers the waiting prompts of the session that the environment names. Returns the exit code: 1 for a failure, else 0.
pub(super) fn run_delivery(provider: Provider, env: impl FnOnce() -> Env) -> u8 {
    let limited = exit_on_signal::install(&ON_STOP).and_then(|()| exit_on_signal::set_deadline(DELIVERY_TIMEOUT));
    let limited = limited.map_err(|error| error.to_string());
    u8::from(limited.and_then(|()| call::catch_panic(|| deliver(provider, env))).is_err())
}

fn deliver(provider: Provider, env: impl FnOnce() -> Env) -> Result<(), String> {
    let env = env();
    let Some(session) = env.var(vars::FAIRWAY_SESSION_ID).and_then(|id| SessionId::parse(id).ok()) else {
        return Ok(());
    };
    let Some(project) = call::find_project(provider, None, &env, None)? else { return Ok(()) };
    let app = call::build_app(env, project).map_err(|error| call::message_with_hint(&error))?;
    prompt::deliver(&app, &session).map(drop).map_err(|error| call::message_with_hint(&error))
}
