//! A sender in a thread of its own, for programs that have other work: a program of a sink that hangs delays nothing else.

use std::{rc::Rc, thread, time::Duration};

use anyhow::{Context as _, Result};

use super::{
    send::{Outlets, SendReport},
    waiting_sender::follow_with,
};
use crate::{
    actions::App,
    config::Project,
    domain::Actor,
    env::Env,
    os::{
        notify::{ChangeWaiter, WaiterFile},
        poll_until::sleep,
    },
};

/// The delay after a failure, such as a configuration with an error.
const RETRY_DELAY: Duration = Duration::from_secs(30);

/// Starts a thread that sends to the sinks `desktop` and `command` until the process ends. `warn` gets a sentence for each problem.
/// An item that is claimed when the process ends is sent by the next sender. Keep the answer until then: it removes the file by
/// which the thread is woken.
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
