//! One hook call, from stdin to exit code. stdout gets one JSON object or nothing. While a tool call waits for the decision,
//! every failure denies it and states the reason.

use std::cell::Cell;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use super::call::{self, HookCall, catch_panic, find_project, hook_caller, message_with_hint, one_line, read_stdin};
use super::install::longest_approval_wait;
use super::launch_entry::{self, BY_LAUNCH};
use super::payload::Payload;
use super::{Provider, git_hook, git_wrapper, is_tool_event, prompt_delivery, server_decision, worktree_lane};
use fairway_actions::agents::approval::ApprovalWait;
use fairway_actions::agents::guard;
use fairway_actions::agents::hook::{self, HookEvent, Reply};
use fairway_actions::sessions::prompt::{self, DELIVER};
use fairway_actions::sessions::sandbox::state;
use fairway_core::env::debug_log::{self, WithoutFile};
use fairway_core::env::{Env, vars};
use fairway_core::os::exit_on_signal::{self, ExitPlan};
use fairway_core::os::notify::notify_all;

/// How long a hook that is ended may take to record that it waits no more for the answer to its request.
const WITHDRAWAL_TIMEOUT: Duration = Duration::from_secs(2);

/// The name of a tool that does not exist. Its call is always denied, before anything else is checked, so that `doctor hooks` can
/// test whether a denial reaches the provider.
pub const CANARY: &str = "fairway-canary";

/// The exit while a tool call waits for a decision: it denies the call.
static ON_FAILURE_DENY: ExitPlan = ExitPlan {
    code: 2,
    on_timeout: "fairway hook: timed out before a decision; the tool call is denied\n",
    on_signal: "fairway hook: interrupted before a decision; the tool call is denied\n",
};
/// The exit while the agent waits, but continues without a reply.
static ON_FAILURE_ERROR: ExitPlan =
    ExitPlan { code: 1, on_timeout: "fairway hook: timed out\n", on_signal: "fairway hook: interrupted\n" };
/// The exit after the reply is written.
static ON_FAILURE_IGNORE: ExitPlan = ExitPlan { code: 0, on_timeout: "", on_signal: "" };

/// The word in place of the provider when git calls a hook of a launched session.
const GIT: &str = "git";

/// The word in place of the provider for the `git` of a launched session.
const SESSION_GIT: &str = "session-git";

/// Whether `hook NAME …` is what git runs in a launched session, in a sandbox as well: there it works on the sandbox's repository.
pub fn is_of_git(name: &str) -> bool {
    matches!(name, GIT | SESSION_GIT)
}

/// The event name of the wake hook.
pub const WAKE_EVENT: &str = "wait";

/// Runs `hook PROVIDER EVENT`, `hook git HOOK`, `hook session-git DIRECTORY` and `hook deliver SESSION`, without the command line parser, which would
/// slow down every tool call. Returns `None` for any other arguments.
pub fn fast_path(mut args: impl Iterator<Item = OsString>) -> Option<u8> {
    let mut next = || args.next()?.into_string().ok();
    if next()? != "hook" {
        return None;
    }
    let first = next()?;
    if first == GIT {
        return Some(git_hook::run(&args.collect::<Vec<_>>(), logging_env));
    }
    if first == SESSION_GIT {
        return Some(git_wrapper::run(&args.collect::<Vec<_>>(), &logging_env()));
    }
    if first == DELIVER {
        return Some(prompt_delivery::run_delivery(&next()?, logging_env));
    }
    let (provider, event) = (Provider::parse(&first)?, args.next()?.into_string().ok()?);
    let by_launch = match args.next() {
        None => false,
        Some(flag) if flag == BY_LAUNCH => true,
        Some(_) => return None,
    };
    if args.next().is_some() || event.starts_with('-') {
        return None;
    }
    Some(run_hook(&HookCall { provider, event: &event, root: None, by_launch }, logging_env))
}

/// The environment of this process, whose debug log is started. A log that cannot be written changes no decision.
fn logging_env() -> Env {
    let env = Env::from_process();
    let _ = debug_log::start(&env, false, WithoutFile::NoLog);
    env
}

/// Handles one hook call. Returns the exit code that providers expect: 0 with or without a reply, 2 for a denial that could
/// not be printed as JSON, 1 for a failure that denies nothing. For the wake hook, the exit code is that of
/// `prompt_delivery::run_wake_hook`.
pub fn run_hook(call: &HookCall<'_>, env: impl FnOnce() -> Env) -> u8 {
    if call.provider.wake_hook.is_some() && call.event == WAKE_EVENT {
        return prompt_delivery::run_wake_hook(call, env);
    }
    let is_tool = Cell::new(is_tool_event(call.event));
    let exit_plan = if is_tool.get() { &ON_FAILURE_DENY } else { &ON_FAILURE_ERROR };
    let limited = exit_on_signal::install(exit_plan)
        .and_then(|()| exit_on_signal::set_deadline(call.provider.timeout(call.event)));
    let limited = limited.map_err(|error| format!("cannot set a time limit: {error}"));
    match limited.and_then(|()| catch_panic(|| handle(call, env, &is_tool))) {
        Ok(()) => 0,
        Err(why) => {
            let suffix = if is_tool.get() { "; the tool call is denied" } else { "" };
            // When stderr cannot be written, only the exit code is left.
            let _ = io::stderr().write_all(format!("fairway hook: {}{suffix}\n", one_line(&why)).as_bytes());
            if is_tool.get() { 2 } else { 1 }
        }
    }
}

fn handle(call: &HookCall<'_>, env: impl FnOnce() -> Env, is_tool: &Cell<bool>) -> Result<(), String> {
    let env = env();
    let _span = tracing::debug_span!("hook", provider = call.provider.label(), event = call.event).entered();
    let payload = read_stdin().and_then(|bytes| Payload::parse(&bytes));
    if payload.as_ref().is_ok_and(|payload| payload.hook_event_name.as_deref().is_some_and(is_tool_event)) {
        is_tool.set(true);
        exit_on_signal::replace(&ON_FAILURE_DENY);
    }
    let denial = |reason: &str| print_reply(call, &Reply::Deny(reason.to_owned()));
    if let Ok(payload) = &payload
        && is_tool.get()
        && payload.tool_name.as_deref() == Some(CANARY)
    {
        payload.check_event(call.event)?;
        return denial(&format!("{CANARY}: this call is always denied"));
    }
    env.inject_test_fault();
    let cwd = payload.as_ref().ok().and_then(|payload| payload.cwd.as_deref());
    let project = find_project(call.provider, call.root, &env, cwd)?;
    if worktree_lane::is_meant(call) {
        return worktree_lane::answer(call, env, project, &payload?);
    }
    let Some(project) = project else { return Ok(()) };
    if payload.as_ref().is_ok_and(|payload| launch_entry::is_silent(call, &env, &project, payload)) {
        return Ok(());
    }
    let is_known = is_tool.get() || call.provider.events().iter().any(|known| known.name == call.event);
    let payload = match payload.and_then(|payload| payload.check_event(call.event).map(|()| payload)) {
        // The fields of an unknown event are unknown as well.
        Err(_) if !is_known => return Ok(()),
        payload => payload?,
    };
    let external = Payload::require("session_id", payload.session_id.as_ref())?.to_owned();
    let role = env.var(vars::FAIRWAY_ROLE);
    let mut event = (call.provider.parse)(call.event, &payload, role)?;
    if let HookEvent::BeforeTool(tool) | HookEvent::PermissionRequest(tool) = &mut event {
        tool.runs_own_program = guard::is_own_verb(&env, tool);
    }
    if let HookEvent::BeforeTool(tool) = &event
        && let Some(reply) = server_decision::authorize(&project, &env, call.provider, &external, tool)
    {
        return print_reply(call, &reply);
    }
    let app = call::build_app(env, project).map_err(|error| message_with_hint(&error))?;
    let usual = app.settings.hooks.approval_wait;
    let mut wait = ApprovalWait { usual, longest: usual };
    if matches!(event, HookEvent::PermissionRequest(_)) {
        wait.longest = longest_approval_wait(call.provider, &app.env, &app.project.root, usual).max(usual);
        let limit = call.provider.timeout(call.event).saturating_add(wait.longest);
        exit_on_signal::set_deadline(limit).map_err(|error| format!("cannot set a time limit: {error}"))?;
        // A provider that ends its hook asks the person itself: an answer from here would be lost.
        let wake_dir = app.store_for_writing().map_err(|error| message_with_hint(&error))?.wake_dir().to_owned();
        exit_on_signal::delay_termination(WITHDRAWAL_TIMEOUT, move || notify_all(&wake_dir))
            .map_err(|error| format!("cannot hold signals back: {error}"))?;
    }
    let caller = hook_caller(call.provider, &app.env, payload, external)?;
    let transcripts = |path: &Path, offset: u64| {
        call::read_transcript(call.provider, &state::outside(&app, &caller.provider, path), offset)
    };
    let outcome = hook::handle(&app, &caller, &event, &transcripts, wait).map_err(|error| message_with_hint(&error))?;
    exit_on_signal::end_if_asked();
    print_reply(call, &outcome.reply)?;
    exit_on_signal::replace(&ON_FAILURE_IGNORE);
    // The reply is written. A delivery that could not be confirmed is offered again.
    let _ = hook::confirm_written(&app, &outcome);
    // What the hook has told others; after an interrupt its own session gets what waits.
    let own = app.actor.session.clone().filter(|_| matches!(event, HookEvent::Interrupted));
    prompt::start_delivery(&app, own);
    Ok(())
}

/// Prints the whole reply, or nothing.
fn print_reply(call: &HookCall<'_>, reply: &Reply) -> Result<(), String> {
    let reply = match reply {
        Reply::Deny(reason) => Reply::Deny(one_line(reason)),
        Reply::Allow(reason) => Reply::Allow(one_line(reason)),
        other => other.clone(),
    };
    let Some(document) = (call.provider.reply)(call.event, &reply) else {
        return match reply {
            // A denial must never be dropped.
            Reply::Deny(reason) if is_tool_event(call.event) => Err(reason),
            _ => Ok(()),
        };
    };
    let mut line = document.to_string();
    line.push('\n');
    if let Reply::Deny(reason) = &reply
        && is_tool_event(call.event)
        && call::is_dev_null(&io::stdout())
    {
        return Err(reason.clone());
    }
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|()| out.flush()).map_err(|error| match reply {
        Reply::Deny(reason) => reason,
        _ => format!("cannot write the reply: {error}"),
    })
}
