//! A sender that waits for changes.

use std::rc::Rc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::send::{Outlets, SendReport, require_sinks, send_due};
use crate::App;
use crate::core::change_wait::Round;
use crate::core::errors;
use fairway_core::config::{Project, load_in_force};
use fairway_core::domain::Actor;
use fairway_core::env::Env;
use fairway_core::os::notify::{ChangeWaiter, WaiterFile};
use fairway_core::os::poll_until::sleep;

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
        let (layers, settings) = load_in_force(&app.project, &app.env)?;
        let current = app.with_settings(layers, settings);
        let round = Round::begin(&current, !current.settings.notify.sinks.is_empty())?;
        let next = match send_due(&current, hook_providers, outlets) {
            Ok(sent) => {
                report(&sent)?;
                sent.next
            }
            Err(error) if errors::classify(&error).retryable => Some(current.env.now().plus(BUSY_DELAY)),
            Err(error) => return Err(error),
        };
        round.wait(waiter, &[], next, current.env.now())?;
    }
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
