//! One process that begins queued runs and settles those whose supervisor died. It sleeps until something has happened.

use std::{os::fd::AsFd, time::Duration};

use anyhow::{Context as _, Result};
use nix::sys::signal::Signal;
use serde_json::json;

use super::{next, standby};
use crate::{
    actions::{Answer, App},
    domain::run::{ExecRun, RunStatus},
    os::{detach, host, process, signals::Caught, wake::Waiter},
    store::exec_runs,
};

/// How soon to look again at a run that is being handed from one process to another.
const SOON: Duration = Duration::from_millis(100);

/// Begins and settles runs until TERM or INT; with `until_empty` only as long as something is queued. While another worker
/// is at work it only says so.
///
/// # Errors
/// As the store fails, or the folder of locks.
pub fn worker(app: &App, until_empty: bool) -> Result<Answer> {
    let signals = Caught::these(&[Signal::SIGTERM, Signal::SIGINT]).context("signals cannot be caught")?;
    let mut begun = 0;
    loop {
        let place = standby::take(app).context("the worker's lock cannot be taken")?;
        let Some(place) = place else {
            standby::wake(app);
            let document = json!({ "busy": true, "begun": begun });
            return Answer::new(&document, "", "unchanged: another worker is at work");
        };
        let waiter = Waiter::bind(&standby::folder(app), &format!("w-{}", std::process::id()))
            .context("the worker cannot be woken")?;
        loop {
            if signals.next()?.is_some() {
                return done(begun);
            }
            waiter.calm()?;
            detach::bury();
            begun += next::start_what_may(app)?;
            let host = host::identity();
            let (waits, active) =
                app.read(|tx| Ok((exec_runs::first_queued(tx, &host)?.is_some(), exec_runs::active(tx)?)))?;
            if until_empty && !waits {
                break;
            }
            sleep(&signals, &waiter, active.iter().filter(|run| run.host == host));
        }
        // Who queues a run now may still have seen us: a last look, when we are not there any more.
        drop((waiter, place));
        let host = host::identity();
        if app.read(|tx| Ok(exec_runs::first_queued(tx, &host)?.is_none()))? {
            return done(begun);
        }
    }
}

/// Sleeps until somebody calls, a signal comes, or one of those who look after runs has ended.
fn sleep<'a>(signals: &Caught, waiter: &Waiter, active: impl Iterator<Item = &'a ExecRun>) {
    let (mut keepers, mut limit) = (Vec::new(), None);
    for run in active {
        let keeper = process::ProcessKey::recorded(run.keeper_pid, run.keeper_started, Some(&run.boot_id));
        let there = keeper.filter(|keeper| keeper.presence() == process::Presence::Alive);
        match there.and_then(|keeper| process::pidfd(keeper.pid).ok().flatten()) {
            Some(end) => keepers.push(end),
            // Whoever began it has gone, and its supervisor has not written itself down yet.
            None if run.status == RunStatus::Starting => limit = Some(SOON),
            None => {}
        }
    }
    let mut until = vec![signals.as_fd(), waiter.as_fd()];
    until.extend(keepers.iter().map(AsFd::as_fd));
    detach::sleep(&until, limit);
}

fn done(begun: usize) -> Result<Answer> {
    Answer::new(&json!({ "busy": false, "begun": begun }), "", format!("began {begun} run(s)"))
}
