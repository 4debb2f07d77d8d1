//! A sender that waits for changes.

use std::{
    os::fd::{AsFd, OwnedFd},
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, poll},
};

use super::send::{Outlets, SendReport, require_sinks, send_due};
use crate::{
    actions::{
        App,
        core::{errors, session_process},
    },
    config::{Project, load_in_force},
    domain::{Actor, rules::staleness::ProcessObservation},
    env::{Env, Timestamp},
    os::{
        notify::{ChangeWaiter, WaiterFile},
        poll::poll_timeout,
        poll_until::sleep,
        process,
    },
    store::sessions,
};

/// The limits of the delay after a wake-up, in which further changes are collected for one round.
const MIN_DELAY: Duration = Duration::from_millis(50);
const MAX_DELAY: Duration = Duration::from_secs(1);
/// While changes come without a pause, rounds use at most this part of a core: one divided by this number.
const SHARE: u32 = 40;
/// The longest time to wait at once, because clocks are set and computers sleep.
const MAX_WAIT: Duration = Duration::from_secs(15 * 60);
/// The delay after the store was busy.
const BUSY_DELAY: Duration = Duration::from_secs(5);

/// Sends the notifications that are due, then waits for a change of the store, the end of a live session's process, or the time
/// at which something is due; repeats this until an error. Reads the configuration again in each round. `report` gets the result
/// of each round's sending. A temporary failure is not reported, and sending is tried again later.
///
/// # Errors
/// `usage`, `untrusted`; errors of the configuration, the store and `report`.
pub fn follow(
    app: &App,
    hook_providers: &[&str],
    outlets: &mut Outlets<'_>,
    report: impl FnMut(&SendReport) -> Result<()>,
) -> Result<()> {
    require_sinks(app, outlets)?;
    follow_with(&app.waiter("notify")?, app, hook_providers, outlets, report)
}

/// Like [`follow`], but does not check the sinks first, and uses the waiter of the caller.
pub(super) fn follow_with(
    waiter: &ChangeWaiter,
    app: &App,
    hook_providers: &[&str],
    outlets: &mut Outlets<'_>,
    mut report: impl FnMut(&SendReport) -> Result<()>,
) -> Result<()> {
    loop {
        let started = Instant::now();
        let (layers, settings) = load_in_force(&app.project, &app.env)?;
        let current = app.with_settings(layers, settings);
        // Before the board is read: a process that ends meanwhile wakes.
        let processes = if current.settings.notify.sinks.is_empty() { Vec::new() } else { live_processes(&current)? };
        let next = match send_due(&current, hook_providers, outlets) {
            Ok(sent) => {
                report(&sent)?;
                sent.next
            }
            Err(error) if errors::classify(&error).retryable => Some(current.env.now().plus(BUSY_DELAY)),
            Err(error) => return Err(error),
        };
        let cost = started.elapsed();
        let limit = next.map(|next| time_left(next, current.env.now()));
        if wait(waiter, &processes, limit)? {
            sleep((cost * SHARE).clamp(MIN_DELAY, MAX_DELAY));
            waiter.drain().map_err(errors::internal)?;
        }
    }
}

/// The time until `next`, plus a millisecond, so that `next` is over afterwards.
fn time_left(next: Timestamp, now: Timestamp) -> Duration {
    next.since(now).saturating_add(Duration::from_millis(1)).min(MAX_WAIT)
}

/// Waits for a change or the end of a process; false when the time is over.
fn wait(waiter: &ChangeWaiter, processes: &[OwnedFd], limit: Option<Duration>) -> Result<bool> {
    let deadline = limit.map(|limit| Instant::now() + limit);
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let mut ready: Vec<PollFd<'_>> = vec![PollFd::new(waiter.as_fd(), PollFlags::POLLIN)];
        ready.extend(processes.iter().map(|process| PollFd::new(process.as_fd(), PollFlags::POLLIN)));
        match poll(&mut ready, poll_timeout(left)) {
            Ok(0) if left.is_some_and(|left| left.is_zero()) => return Ok(false),
            Ok(0) | Err(Errno::EINTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(errors::internal(error)),
        }
    }
}

/// Descriptors that become readable when the process of a live session on this host ends.
fn live_processes(app: &App) -> Result<Vec<OwnedFd>> {
    let live = app.read(|tx| Ok(sessions::live(tx)?))?;
    let local = live.iter().filter(|session| session_process::is_local(session));
    let opened = local.filter_map(|session| {
        let pid = i32::try_from(session.pid?).ok()?;
        let process = process::pidfd(pid).ok()??;
        // The pid may belong to another process by now.
        matches!(session_process::process_state(session), ProcessObservation::Alive).then_some(process)
    });
    Ok(opened.collect())
}

/// The delay after a failure, such as a configuration with an error.
const RETRY_DELAY: Duration = Duration::from_secs(30);

/// Starts a thread that sends to the sinks `desktop` and `command` until the process ends. `warn` gets a message for each
/// problem. When the process ends with a claimed item, the next sender sends it. The caller must keep the returned value until
/// then: dropping it removes the file through which the thread is woken.
pub fn send_in_background(
    app: &App,
    hook_providers: Vec<&'static str>,
    warn: impl Fn(&str) + Send + 'static,
) -> Result<WaiterFile> {
    let waiter = app.waiter("notify")?;
    let file = waiter.file();
    let (env, project, actor) = ((*app.env).clone(), (*app.project).clone(), app.actor.clone());
    let run = move || {
        loop {
            if let Err(error) = send(&waiter, &env, &project, &actor, &hook_providers, &warn) {
                warn(&format!("no notifications are sent for {} s: {error:#}", RETRY_DELAY.as_secs()));
            }
            sleep(RETRY_DELAY);
        }
    };
    thread::Builder::new().name("notifications".into()).spawn(run).context("cannot start the notifications thread")?;
    Ok(file)
}

fn send(
    waiter: &ChangeWaiter,
    env: &Env,
    project: &Project,
    actor: &Actor,
    hook_providers: &[&str],
    warn: &impl Fn(&str),
) -> Result<()> {
    let app = App::in_force(Rc::new(env.clone()), project.clone(), actor.clone(), None)?;
    let mut outlets = Outlets { terminal: None, programs: true };
    let mut untrusted = None;
    follow_with(waiter, &app, hook_providers, &mut outlets, |report: &SendReport| {
        for failed in report.attempts.iter().filter(|attempt| attempt.state == "failed") {
            let why = failed.error.as_deref().unwrap_or_default();
            warn(&format!("a notification to the sink {} was given up: {why}", failed.sink));
        }
        if report.untrusted != untrusted {
            untrusted.clone_from(&report.untrusted);
            if let Some(why) = &untrusted {
                warn(&format!("no program of a sink is run: {why}"));
            }
        }
        Ok(())
    })
}
