//! The wake hook: waits for prompts while the agent is idle. The provider starts it when a session starts and when a turn ends.
//! When it exits with code 2, the provider starts the next turn with its stderr. The provider ignores its stdout.

use std::io::{self, Write};

use super::{
    call::{self, HookCall},
    context, launch_entry,
    payload::Payload,
};
use crate::{
    actions::agents::hook::{self as actions_hook, HookEvent},
    env::Env,
    os::exit_on_signal::{self, ExitPlan},
};

/// Stopping a waiting hook is not a failure.
static ON_STOP: ExitPlan = ExitPlan { code: 0, on_timeout: "", on_signal: "" };

/// Waits for prompts. Returns the exit code: 2 with prompts on stderr, 0 when there is nothing left to wait for, 1 for a failure,
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
    let app = context::build_app(env, project).map_err(|error| call::message_with_hint(&error))?;
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
