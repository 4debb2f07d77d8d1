//! One call of a hook, from stdin to exit code. Nothing but one JSON object ever reaches stdout; and where a tool waits for a
//! decision, whatever goes wrong is a no that says why.

use std::{
    cell::Cell,
    ffi::OsString,
    io::{self, Write},
    path::Path,
};

use serde_json::Value;

use super::{
    Provider,
    call::{catch_panic, find_project, hook_caller, message_with_hint, one_line, read_stdin},
    claude, codex, context, gemini, is_tool_event,
    payload::Payload,
    via_server, wake_hook,
};
use crate::{
    actions::boundary::hook::{self, HookEvent, Reply},
    env::{Env, vars},
    os::exit_on_signal::{self, ExitPlan},
};

/// A tool that no one has: its call is always denied, before anything else is looked at. By it is seen whether a denial of
/// ours reaches the vendor.
pub const CANARY: &str = "fairway-canary";

/// While a tool waits for a decision.
static ON_FAILURE_DENY: ExitPlan = ExitPlan {
    code: 2,
    on_timeout: "fairway hook: there was no decision in time; the tool call is denied\n",
    on_signal: "fairway hook: it was stopped before there was a decision; the tool call is denied\n",
};
/// While nothing waits for us but an agent that goes on without.
static ON_FAILURE_ERROR: ExitPlan = ExitPlan {
    code: 1,
    on_timeout: "fairway hook: it was not done in time\n",
    on_signal: "fairway hook: it was stopped before it was done\n",
};
/// When the answer is out.
static ON_FAILURE_IGNORE: ExitPlan = ExitPlan { code: 0, on_timeout: "", on_signal: "" };

/// One call.
#[derive(Debug)]
pub struct HookCall<'a> {
    /// The vendor that calls.
    pub provider: Provider,
    /// Its event, as it stands on the command line.
    pub event: &'a str,
    /// The project's root, when it is named.
    pub root: Option<&'a Path>,
}

/// What stands for an event where a hook waits for something to tell.
pub const WAKE_EVENT: &str = "wait";

/// The quick way in: `hook VENDOR EVENT` and nothing else on the command line is answered without a parser. `None`: it is
/// something else.
#[must_use]
pub fn fast_path(mut words: impl Iterator<Item = OsString>) -> Option<u8> {
    let mut word = || words.next()?.into_string().ok();
    if word()? != "hook" {
        return None;
    }
    let (provider, event) = (Provider::parse(&word()?)?, word()?);
    if words.next().is_some() || event.starts_with('-') {
        return None;
    }
    Some(run_hook(&HookCall { provider, event: &event, root: None }, Env::from_process))
}

/// Answers one call of a hook; the exit code is the vendor's: 0 with or without an answer, 2 for a denial that could not be
/// put into JSON, 1 for a failure that stops nobody.
#[must_use]
pub fn run_hook(call: &HookCall<'_>, env: impl FnOnce() -> Env) -> u8 {
    if call.provider.supports_wake() && call.event == WAKE_EVENT {
        return wake_hook::run_wake_hook(call.provider, call.root, env);
    }
    let is_tool = Cell::new(is_tool_event(call.event));
    let ending = if is_tool.get() { &ON_FAILURE_DENY } else { &ON_FAILURE_ERROR };
    let tied =
        exit_on_signal::install(ending).and_then(|()| exit_on_signal::set_deadline(call.provider.timeout(call.event)));
    let tied = tied.map_err(|error| format!("no time limit can be set: {error}"));
    match tied.and_then(|()| catch_panic(|| handle(call, env, &is_tool))) {
        Ok(()) => 0,
        Err(why) => {
            let end = if is_tool.get() { "; the tool call is denied" } else { "" };
            // Without stderr there is nobody to tell.
            let _ = io::stderr().write_all(format!("fairway hook: {}{end}\n", one_line(&why)).as_bytes());
            if is_tool.get() { 2 } else { 1 }
        }
    }
}

fn handle(call: &HookCall<'_>, env: impl FnOnce() -> Env, is_tool: &Cell<bool>) -> Result<(), String> {
    let env = env();
    let payload = read_stdin().and_then(|bytes| Payload::parse(&bytes));
    if payload.as_ref().is_ok_and(|told| told.hook_event_name.as_deref().is_some_and(is_tool_event)) {
        is_tool.set(true);
        exit_on_signal::replace(&ON_FAILURE_DENY);
    }
    let denial = |reason: &str| print_reply(call, &Reply::Deny(reason.to_owned()));
    if let Ok(told) = &payload
        && is_tool.get()
        && told.tool_name.as_deref() == Some(CANARY)
    {
        check_event_name(call.event, told)?;
        return denial(&format!("{CANARY}: this call is always denied"));
    }
    env.inject_test_fault();
    let cwd = payload.as_ref().ok().and_then(|told| told.cwd.as_deref());
    let Some(project) = find_project(call.provider, call.root, &env, cwd)? else { return Ok(()) };
    let is_known = is_tool.get() || call.provider.events().iter().any(|known| known.name == call.event);
    let told = match payload.and_then(|told| check_event_name(call.event, &told).map(|()| told)) {
        // Of an event of tomorrow not even the form is known.
        Err(_) if !is_known => return Ok(()),
        told => told?,
    };
    let external = Payload::require("session_id", told.session_id.as_ref())?.to_owned();
    let role = env.var(vars::FAIRWAY_ROLE);
    let moment = match call.provider {
        Provider::Claude => claude::parse(call.event, &told, role),
        Provider::Codex => codex::parse(call.event, &told, role),
        Provider::Gemini => gemini::parse(call.event, &told, role),
    }?;
    if let HookEvent::BeforeTool(tool) = &moment
        && let Some(reply) = via_server::authorize(&project, &env, call.provider, &external, tool)
    {
        return print_reply(call, &reply);
    }
    let app = context::build_app(env, project).map_err(|error| message_with_hint(&error))?;
    let wait = app.settings.agents.approval_wait;
    if matches!(moment, HookEvent::PermissionRequest(_)) {
        let limit = call.provider.timeout(call.event).saturating_add(wait);
        exit_on_signal::set_deadline(limit).map_err(|error| format!("no time limit can be set: {error}"))?;
    }
    let caller = hook_caller(call.provider, &app.env, told, external)?;
    let records = |path: &Path, offset: u64| context::read_transcript(call.provider, path, offset);
    let outcome = hook::handle(&app, &caller, &moment, &records, wait).map_err(|error| message_with_hint(&error))?;
    print_reply(call, &outcome.reply)?;
    exit_on_signal::replace(&ON_FAILURE_IGNORE);
    // What could not be noted comes again; the answer is out and stands.
    let _ = hook::confirm_written(&app, &outcome);
    Ok(())
}

/// What was called must be what is told: else one of the two is not for us.
fn check_event_name(event: &str, told: &Payload) -> Result<(), String> {
    let named = Payload::require("hook_event_name", told.hook_event_name.as_ref())?;
    if named == event {
        return Ok(());
    }
    Err(format!("the hook was called for {event}, and the vendor's JSON tells of {named}"))
}

/// Prints the answer whole, or nothing at all.
fn print_reply(call: &HookCall<'_>, reply: &Reply) -> Result<(), String> {
    let reply = match reply {
        Reply::Deny(reason) => Reply::Deny(one_line(reason)),
        Reply::Allow(reason) => Reply::Allow(one_line(reason)),
        other => other.clone(),
    };
    let answer: Option<Value> = match call.provider {
        Provider::Claude => claude::reply(call.event, &reply),
        Provider::Codex => codex::reply(call.event, &reply),
        Provider::Gemini => gemini::reply(call.event, &reply),
    };
    let Some(answer) = answer else {
        return match reply {
            // Never silence in place of a no.
            Reply::Deny(reason) if is_tool_event(call.event) => Err(reason),
            _ => Ok(()),
        };
    };
    let mut line = answer.to_string();
    line.push('\n');
    if let Reply::Deny(reason) = &reply
        && is_tool_event(call.event)
        && context::is_dev_null(&io::stdout())
    {
        return Err(reason.clone());
    }
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|()| out.flush()).map_err(|error| match reply {
        Reply::Deny(reason) => reason,
        _ => format!("the answer cannot be written: {error}"),
    })
}
