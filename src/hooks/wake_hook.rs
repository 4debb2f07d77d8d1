//! The hook that waits beside an idle agent: it is started when a session begins and when a turn is over, and its end with
//! exit code 2 begins the next turn with what it wrote on stderr. Nobody reads its stdout.

use std::{
    io::{self, Write},
    path::Path,
};

use super::{Provider, call, claude, context, payload::Payload};
use crate::{
    actions::boundary::hook::{self, HookEvent},
    env::Env,
    os::exit_on_signal::{self, ExitPlan},
};

/// Who stops a waiting hook wants it gone, and nothing more.
static ON_STOP: ExitPlan = ExitPlan { code: 0, on_timeout: "", on_signal: "" };

/// Waits; the exit code is 2 when there is something to tell, 0 when there is nothing to wait for any more, and 1 for a
/// failure, which wakes nobody.
#[must_use]
pub fn run_wake_hook(provider: Provider, root: Option<&Path>, env: impl FnOnce() -> Env) -> u8 {
    let tied = exit_on_signal::install(&ON_STOP).map_err(|error| error.to_string());
    match tied.and_then(|()| call::catch_panic(|| wait_for_prompt(provider, root, env))) {
        Ok(code) => code,
        Err(why) => {
            let _ = io::stderr().write_all(format!("fairway hook: {}\n", call::one_line(&why)).as_bytes());
            1
        }
    }
}

fn wait_for_prompt(provider: Provider, root: Option<&Path>, env: impl FnOnce() -> Env) -> Result<u8, String> {
    let env = env();
    let payload = Payload::parse(&call::read_stdin()?)?;
    if !provider.runs_in_background(&env) {
        return Ok(0);
    }
    let Some(project) = call::find_project(provider, root, &env, payload.cwd.as_deref())? else { return Ok(0) };
    let external = Payload::require("session_id", payload.session_id.as_ref())?.to_owned();
    let event = Payload::require("hook_event_name", payload.hook_event_name.as_ref())?;
    let start = match claude::parse(event, &payload, None)? {
        HookEvent::SessionStart(start) => Some(start),
        _ => None,
    };
    let app = context::build_app(env, project).map_err(|error| call::message_with_hint(&error))?;
    let caller = call::hook_caller(provider, &app.env, payload, external)?;
    let Some((session, carried)) =
        hook::wait_for_prompts(&app, &caller, start).map_err(|error| call::message_with_hint(&error))?
    else {
        return Ok(0);
    };
    let written = io::stderr().write_all(carried.text.as_bytes());
    written.map_err(|error| format!("what waits cannot be told: {error}"))?;
    // What could not be noted comes again; the words are out and wake the agent.
    let _ = hook::confirm_delivered(&app, &session, &carried);
    Ok(2)
}
