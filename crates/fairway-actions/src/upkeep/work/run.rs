//! The loop of `work`: look, carry out what the rule says, wait for a change.

use std::os::fd::AsFd as _;
use std::time::Duration;

use anyhow::Result;
use nix::sys::signal::Signal;
use serde_json::Value;

use super::landing::Lander;
use super::look::look;
use super::request::WorkRequest;
use crate::core::change_wait::Round;
use crate::core::{errors, inside_session};
use crate::land;
use crate::sessions::resumption;
use crate::sessions::start::relaunch::{self, RelaunchRequest};
use crate::sessions::start::{self, StartRequest};
use crate::{Answer, App};
use fairway_core::config::{Permission, load_in_force};
use fairway_core::domain::rules::work::{Effect, Event, News, Work};
use fairway_core::domain::{LaneName, Refusal, SessionId, TaskId};
use fairway_core::env::Timestamp;
use fairway_core::os::files;
use fairway_core::os::lock::FileLock;
use fairway_core::os::notify::ChangeWaiter;
use fairway_core::os::run_streaming::StreamError;
use fairway_core::os::signals::SignalPipe;
use fairway_core::store::StoreError;
use fairway_core::wire::FailureKind;

/// How long to wait for a start of another `work`, whose setup may take long.
const LOCK_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkEnd {
    Exit(u8),
    /// A second Ctrl-C.
    Interrupted,
}

/// Keeps the places of this host full: starts a session for each ready task, and relaunches sessions that die. `tell` gets the
/// news. Several of them on one project share the places. Ends when nothing is ready and nothing runs; a signal that ends it
/// leaves the sessions as they are.
///
/// # Errors
/// `inside_session`; errors of the store, the configuration and `tell`.
pub fn work(app: &App, request: &WorkRequest, tell: &mut dyn FnMut(&News) -> Result<()>) -> Result<WorkEnd> {
    inside_session::refuse_unless_permitted(app, "work", Permission::Start)?;
    let waiter = app.waiter("work")?;
    let signals = SignalPipe::install(&[Signal::SIGINT])?;
    let (work, lander) = (Work::new(request.plan), Lander::default());
    let mut running = Running { request, work, lander, waiter: &waiter, tell, is_interrupted: false };
    loop {
        while signals.next()?.is_some() {
            if running.is_interrupted {
                return Ok(WorkEnd::Interrupted);
            }
            running.take(Event::Interrupted)?;
        }
        let (layers, settings) = load_in_force(&app.project, &app.env)?;
        let current = app.with_settings(layers, settings).with_actor(app.actor.clone(), None);
        let round = Round::begin(&current, true)?;
        match running.step(&current)? {
            Step::Acted => {}
            Step::Wait(until) => {
                let asks = land::start_sync(&current).unwrap_or_default();
                let until = until.into_iter().chain(asks).min();
                round.wait(&waiter, &[signals.as_fd()], until, current.env.now())?;
            }
            Step::End(code) => return Ok(WorkEnd::Exit(code)),
        }
    }
}

enum Step {
    Acted,
    Wait(Option<Timestamp>),
    End(u8),
}

struct Running<'a> {
    request: &'a WorkRequest,
    work: Work,
    lander: Lander,
    waiter: &'a ChangeWaiter,
    tell: &'a mut dyn FnMut(&News) -> Result<()>,
    is_interrupted: bool,
}

impl Running<'_> {
    /// One look and what follows from it. No other `work` of this project looks or starts meanwhile.
    fn step(&mut self, app: &App) -> Result<Step> {
        for event in self.lander.take_ended() {
            self.take(event)?;
        }
        let _lock = lock(app)?;
        let resumed = resumption::resume_due(app, self.request.start.hooks)?;
        for note in &resumed.notes {
            app.progress.note(note);
        }
        let mut facts = look(app, self.request, &self.work, self.lander.is_at_work())?;
        facts.next_change = facts.next_change.into_iter().chain(resumed.next).min();
        let mut step = Step::Acted;
        for effect in self.work.take(Event::Looked(facts)) {
            match effect {
                Effect::Tell(news) => (self.tell)(&news)?,
                Effect::Land => self.lander.begin(app, self.waiter.waker()?)?,
                Effect::Start(task) => {
                    app.progress.state(&format!("starting {task}"));
                    for event in start(app, &self.request.start, task) {
                        self.take(event)?;
                    }
                }
                Effect::Relaunch(session) => {
                    app.progress.state(&format!("relaunching {session}"));
                    let event = relaunch(app, &self.request.start, session);
                    self.take(event)?;
                }
                Effect::Wait { until, line } => {
                    app.progress.state(&line);
                    step = Step::Wait(until);
                }
                Effect::End(code) => step = Step::End(code),
            }
        }
        Ok(step)
    }

    /// Takes an event whose effects are only news.
    fn take(&mut self, event: Event) -> Result<()> {
        self.is_interrupted |= matches!(event, Event::Interrupted);
        for effect in self.work.take(event) {
            if let Effect::Tell(news) = effect {
                (self.tell)(&news)?;
            }
        }
        Ok(())
    }
}

/// While it is held, no other `work` counts the places or starts anything.
fn lock(app: &App) -> Result<FileLock> {
    let runtime = app.project.runtime_dir();
    files::private_dir(&app.project.state).and_then(|()| files::private_dir(&runtime)).map_err(StoreError::from)?;
    let lock = FileLock::acquire_within(&runtime.join("work.lock"), LOCK_TIMEOUT).map_err(StoreError::from)?;
    lock.ok_or_else(|| {
        let (id, by) = (app.project.root.display().to_string(), "another fairway work".to_owned());
        Refusal::InUse { noun: "repository", id, by }.into()
    })
}

/// The events of a start. A Ctrl-C during a command of the lane's setup reaches that command alone, and the start is undone.
fn start(app: &App, request: &StartRequest, task: TaskId) -> Vec<Event> {
    let mut notes = Vec::new();
    let started = start::start(app, task.as_str(), request, &mut notes).and_then(|answer| {
        notes.extend(answer.notes.iter().cloned());
        let lane = text(&answer, "lane").map(LaneName::parse).transpose()?;
        let with = text(&answer, "provider").unwrap_or_default().to_owned();
        Ok((session_of(&answer)?, lane, with))
    });
    for note in &notes {
        app.progress.note(note);
    }
    match started {
        Ok((session, lane, with)) => vec![Event::Started { task, session, lane, with }],
        Err(error) => {
            let is_interrupted = matches!(error.downcast_ref(), Some(StreamError::Interrupted { .. }));
            let failure = errors::classify(&error);
            let is_general = !matches!(failure.kind, FailureKind::Conflict | FailureKind::Refused);
            let event = Event::NotStarted { task, why: failure.message, exit: failure.kind.exit_code(), is_general };
            std::iter::once(event).chain(is_interrupted.then_some(Event::Interrupted)).collect()
        }
    }
}

fn relaunch(app: &App, start: &StartRequest, of: SessionId) -> Event {
    let request = RelaunchRequest { env: start.env.clone(), ..RelaunchRequest::new(start.hooks) };
    let relaunched = relaunch::relaunch(app, &of, &request).and_then(|answer| {
        for note in &answer.notes {
            app.progress.note(note);
        }
        Ok((session_of(&answer)?, answer.document["conversation"].is_string()))
    });
    match relaunched {
        Ok((session, is_resumed)) => Event::Relaunched { of, session, is_resumed },
        Err(error) => Event::NotRelaunched { session: of, why: errors::classify(&error).message },
    }
}

fn text<'a>(answer: &'a Answer, key: &str) -> Option<&'a str> {
    answer.document.get(key).and_then(Value::as_str)
}

fn session_of(answer: &Answer) -> Result<SessionId> {
    Ok(SessionId::parse(text(answer, "id").unwrap_or_default())?)
}
