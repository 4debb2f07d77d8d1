//! `fairway complete`: the values that a shell offers at a place where an id or name stands.

use std::collections::BTreeSet;

use anyhow::Result;
use clap::{Arg, Command};

use super::context::Context;
use super::exit::Exit;
use super::short_verbs;
use crate::hooks::Provider;
use fairway_actions::agents::approval;
use fairway_actions::agents::runtime::context::Mode;
use fairway_actions::mail::outbox;
use fairway_actions::queue::{handoff, lane, review, task};
use fairway_actions::{App, jobs, sessions};
use fairway_core::domain::EventKind;
use fairway_core::domain::approval::Decision;
use fairway_core::domain::checkpoint::CheckpointState;
use fairway_core::domain::evidence::EvidenceResult;
use fairway_core::domain::message::Priority;
use fairway_core::domain::notification::NotifySink;
use fairway_core::domain::provider_event::ProviderState;
use fairway_core::domain::review::Verdict;
use fairway_core::domain::session::{Activity, SessionStatus};
use fairway_core::domain::task::TaskStatus;
use fairway_core::domain::usage::UsageBy;

/// The largest number of values that a shell is given.
const MAX_VALUES: usize = 500;

/// Print the values that fit the last word of a command line
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Words behind `fairway`; the last one is being typed
    #[arg(last = true, value_name = "WORD")]
    words: Vec<String>,
}

impl Args {
    /// Prints the values that fit the word being completed. It prints nothing instead of an error, because the shell calls it
    /// while a person types.
    pub(super) fn run(self, ctx: &Context, command: Command) -> Result<Exit> {
        let (typed, before) = match self.words.split_last() {
            Some((typed, before)) if typed != "=" => (typed.as_str(), before),
            Some((_, before)) => ("", before),
            None => ("", self.words.as_slice()),
        };
        let before = short_verbs::expanded_words(before);
        let Some((path, arg)) = place(&command, &before, typed) else { return Ok(0) };
        let found = values(ctx, &path, &arg).unwrap_or_default();
        let fitting = found.iter().filter(|value| value.starts_with(typed)).take(MAX_VALUES);
        ctx.out.text(&fairway_core::render::escape_controls(
            &fitting.map(|value| format!("{value}\n")).collect::<String>(),
        ))?;
        Ok(0)
    }
}

/// The command's canonical path and the argument whose value is being typed.
fn place(command: &Command, before: &[String], typed: &str) -> Option<(String, Arg)> {
    let mut at = command;
    let mut path = Vec::new();
    let mut positional = 0;
    let mut flag: Option<&Arg> = None;
    // bash hands `--lane=x` over as three words.
    for word in before.iter().map(String::as_str).filter(|word| *word != "=") {
        if flag.take().is_some() {
            continue;
        }
        if word == "--" {
            return None;
        }
        if let Some(name) = word.strip_prefix("--") {
            let takes_value = |arg: &&Arg| arg.get_action().takes_values() && has_long(arg, name);
            flag = at.get_arguments().find(takes_value);
        } else if word.starts_with('-') {
        } else if let Some(below) = at.find_subcommand(word).filter(|_| positional == 0) {
            at = below;
            path.push(below.get_name());
        } else {
            positional += 1;
        }
    }
    let path = path.join(" ");
    match flag {
        Some(arg) => Some((path, arg.clone())),
        None if typed.starts_with('-') => None,
        None => {
            let operands = || at.get_positionals().filter(|arg| !arg.is_last_set());
            let last = operands().last().filter(|arg| is_repeatable(arg));
            let arg = operands().nth(positional).or(last)?;
            Some((path, arg.clone()))
        }
    }
}

fn has_long(arg: &Arg, name: &str) -> bool {
    arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
}

fn is_repeatable(arg: &Arg) -> bool {
    matches!(arg.get_action(), clap::ArgAction::Append)
}

/// The values that an argument may have. Empty for an argument that takes any value.
fn values(ctx: &Context, path: &str, arg: &Arg) -> Result<BTreeSet<String>> {
    let listed: BTreeSet<String> = arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    if !listed.is_empty() {
        return Ok(listed);
    }
    let mut words = path.split(' ');
    let (noun, verb) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    match (arg.get_long(), noun, verb) {
        (Some("task" | "of-task" | "parent" | "depends-on"), ..) => tasks(ctx),
        (Some("lane" | "of-lane" | "to-lane"), ..) => lanes(ctx),
        (Some("role" | "as" | "to-role" | "handoff-to"), ..) => roles(ctx),
        (Some("session" | "to-session" | "of-session" | "notify"), ..)
        | (Some("id"), "session", "upsert" | "event") => sessions(ctx, false),
        (Some("backend"), ..) | (None, "adapter", "check") => backends(ctx),
        (Some("provider"), ..) => providers(ctx),
        (Some("state"), "checkpoint", _) => Ok(set(CheckpointState::ALL.iter().map(|one| one.as_str()))),
        (Some("state"), "session", _) => Ok(set(ProviderState::ALL.iter().map(|one| one.as_str()))),
        (Some("status"), "task", _) => Ok(set(TaskStatus::ALL.iter().map(|one| one.as_str()).chain(["all"]))),
        (Some("status"), "session", verb) => {
            let fits = |one: &&SessionStatus| one.is_final() == (verb == "end");
            Ok(set(SessionStatus::ALL.iter().filter(fits).map(|one| one.as_str())))
        }
        (Some("activity"), ..) => Ok(set(Activity::ALL.iter().map(|one| one.as_str()))),
        (Some("result"), ..) => Ok(set(EvidenceResult::ALL.iter().map(|one| one.as_str()))),
        (Some("verdict"), ..) => Ok(set(Verdict::ALL.iter().map(|one| one.as_str()))),
        (Some("priority"), "message" | "prompt", _) => Ok(set(Priority::ALL.iter().map(|one| one.as_str()))),
        (Some("mode"), ..) => Ok(set(Mode::ALL.iter().map(|one| one.as_str()))),
        (Some("kind"), "events" | "event", _) => Ok(set(EventKind::ALL.iter().map(|one| one.as_str()))),
        (Some("by"), ..) => Ok(set(UsageBy::ALL.iter().map(|one| one.as_str()))),
        (Some("test"), "notify", _) => sinks(ctx),
        (Some(_), ..) => Ok(BTreeSet::new()),
        (None, "approvals", _) if arg.get_id() == "decision" => Ok(set(Decision::ALL.iter().map(|one| one.as_str()))),
        (None, "approvals", _) => {
            Ok(approval::list(&ctx.app()?, false)?.iter().map(|one| one.id.to_string()).collect())
        }
        (None, "handoff", "accept" | "decline" | "withdraw") => {
            let filter = handoff::Filter { to_role: None, task: None, open: true };
            Ok(handoff::list(&ctx.app()?, &filter)?.iter().map(|one| one.id.to_string()).collect())
        }
        (None, "review", "withdraw") => {
            let requested = review::list::requested(&ctx.app()?)?;
            Ok(requested.own.iter().chain(&requested.others).map(|one| one.id.to_string()).collect())
        }
        (None, "outbox", "withdraw") => {
            let filter = outbox::OutboxFilter { to: None, all: false, limit: MAX_VALUES };
            Ok(outbox::list(&ctx.app()?, &filter)?.iter().map(|one| one.message.id.to_string()).collect())
        }
        (None, "exec", _) if matches!(arg.get_id().as_str(), "run" | "runs") => jobs(ctx),
        (None, "lane", "diff") => Ok(lanes(ctx)?.into_iter().chain(tasks(ctx)?).collect()),
        (None, "lane", _) if verb != "add" => lanes(ctx),
        (None, "session", "relaunch") => sessions(ctx, true),
        (None, "session", _) if arg.get_id() == "id" => sessions(ctx, matches!(verb, "show" | "peek" | "status")),
        (None, "send", _) if arg.get_id() == "who" => audiences(ctx),
        (None, "explain", "") => Ok(tasks(ctx)?.into_iter().chain(sessions(ctx, true)?).collect()),
        (None, "explain", "session") | (None, "prompt", _) if matches!(arg.get_id().as_str(), "id" | "session") => {
            sessions(ctx, noun == "explain")
        }
        (None, ..) if takes_task(noun, verb, arg.get_id().as_str()) => tasks(ctx),
        (None, ..) => Ok(BTreeSet::new()),
    }
}

fn takes_task(noun: &str, verb: &str, id: &str) -> bool {
    match noun {
        "task" => verb != "add" && matches!(id, "id" | "ids" | "depends_on"),
        "claim" | "release" | "done" | "merge-ready" => matches!(id, "id" | "ids"),
        "start" => id == "tasks",
        "land" => id == "names",
        "explain" => verb == "task",
        "checkpoint" | "evidence" | "review" | "handoff" => id == "task",
        _ => false,
    }
}

fn set(words: impl Iterator<Item = &'static str>) -> BTreeSet<String> {
    words.map(str::to_owned).collect()
}

/// The open tasks.
fn tasks(ctx: &Context) -> Result<BTreeSet<String>> {
    Ok(open_tasks(&ctx.app()?)?.into_iter().map(|task| task.id).collect())
}

fn open_tasks(app: &App) -> Result<Vec<fairway_core::wire::TaskView>> {
    let limit = Some(MAX_VALUES);
    let filter = task::list::Filter {
        statuses: Vec::new(),
        role: None,
        lane: None,
        label: None,
        text: None,
        held: false,
        limit,
    };
    task::list::list(app, &filter)
}

fn lanes(ctx: &Context) -> Result<BTreeSet<String>> {
    Ok(lane::list::list(&ctx.app()?, false)?.into_iter().map(|lane| lane.name).collect())
}

fn sessions(ctx: &Context, all: bool) -> Result<BTreeSet<String>> {
    let scope = if all { sessions::list::SessionScope::All } else { sessions::list::SessionScope::Live };
    Ok(sessions::list::list(&ctx.app()?, scope)?.into_iter().map(|one| one.session.id).collect())
}

/// The recipients of a message: the ids of the live sessions, and the lanes and roles with the prefixes `lane:` and `role:`.
fn audiences(ctx: &Context) -> Result<BTreeSet<String>> {
    let app = ctx.app()?;
    let live = sessions::list::list(&app, sessions::list::SessionScope::Live)?;
    let mut found: BTreeSet<String> = live.iter().map(|one| one.session.id.clone()).collect();
    found.extend(live.iter().map(|one| format!("role:{}", one.session.role)));
    found.extend(lane::list::list(&app, false)?.into_iter().map(|lane| format!("lane:{}", lane.name)));
    Ok(found)
}

/// The roles that tasks, lanes and sessions name.
fn roles(ctx: &Context) -> Result<BTreeSet<String>> {
    let app = ctx.app()?;
    let mut roles: BTreeSet<String> = open_tasks(&app)?.into_iter().filter_map(|task| task.role).collect();
    roles.extend(lane::list::list(&app, false)?.into_iter().filter_map(|lane| lane.role));
    roles.extend(
        sessions::list::list(&app, sessions::list::SessionScope::Live)?.into_iter().map(|one| one.session.role),
    );
    Ok(roles)
}

/// The short forms of the jobs.
fn jobs(ctx: &Context) -> Result<BTreeSet<String>> {
    let limit = i64::try_from(MAX_VALUES).ok();
    let order = jobs::list::ListOptions { session: None, unfinished: false, limit };
    let found = jobs::list::list(&ctx.app()?, &order)?;
    Ok(found.iter().map(|run| fairway_core::wire::short_job_id(&run.run_id).to_owned()).collect())
}

/// The providers with hooks and those of the configuration.
fn providers(ctx: &Context) -> Result<BTreeSet<String>> {
    let mut providers = set(Provider::ALL.iter().map(|provider| provider.label()));
    providers.extend(fairway_core::config::built_in_profiles().into_keys());
    providers.extend(ctx.app()?.settings.providers.keys().cloned());
    Ok(providers)
}

/// The built-in sinks of notifications and those of the configuration.
fn sinks(ctx: &Context) -> Result<BTreeSet<String>> {
    let mut sinks = set(NotifySink::built_in().into_iter());
    sinks.extend(ctx.app()?.settings.notify.per_sink.keys().cloned());
    Ok(sinks)
}

fn backends(ctx: &Context) -> Result<BTreeSet<String>> {
    Ok(fairway_core::adapters::list::list(&ctx.env, ctx.globals.root.as_deref())?
        .into_iter()
        .map(|one| one.name)
        .collect())
}
