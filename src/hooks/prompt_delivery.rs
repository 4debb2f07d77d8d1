//! Hook processes that bring prompts to the agent: the wake hook, and the delivery after a hook whose reply cannot carry
//! prompts.
//!
//! The wake hook waits for prompts while the agent is idle. The provider starts it when a session starts and when a turn ends.
//! When it exits with code 2, the provider starts the next turn with its stderr. The provider ignores its stdout.

use std::io::{self, Write};
use std::time::Duration;

use super::call::{self, HookCall};
use super::launch_entry;
use super::payload::Payload;
use fairway_actions::agents::hook::{self as actions_hook, HookEvent};
use fairway_actions::sessions::prompt;
use fairway_core::domain::SessionId;
use fairway_core::env::Env;
use fairway_core::os::exit_on_signal::{self, ExitPlan};

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

const DELIVERY_TIMEOUT: Duration = Duration::from_secs(60);

/// Delivers the waiting prompts of a session. Returns the exit code: 1 for a failure, else 0.
pub(super) fn run_delivery(session: &str, env: impl FnOnce() -> Env) -> u8 {
    let limited = exit_on_signal::install(&ON_STOP).and_then(|()| exit_on_signal::set_deadline(DELIVERY_TIMEOUT));
    let limited = limited.map_err(|error| error.to_string());
    u8::from(limited.and_then(|()| call::catch_panic(|| deliver(session, env))).is_err())
}

fn deliver(session: &str, env: impl FnOnce() -> Env) -> Result<(), String> {
    let session = SessionId::parse(session).map_err(|why| why.to_string())?;
    let env = env();
    let Some(project) =
        call::discover_project(&env, None, [None, None]).map_err(|error| call::message_with_hint(&error.into()))?
    else {
        return Ok(());
    };
    let app = call::build_app(env, project).map_err(|error| call::message_with_hint(&error))?;
    prompt::deliver(&app, &session).map(drop).map_err(|error| call::message_with_hint(&error))
}
