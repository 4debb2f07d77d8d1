//! Landings beside the starts, in a thread: the checks of a landing may take long.

use std::rc::Rc;
use std::sync::mpsc;
use std::thread;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::App;
use crate::agents::guard;
use crate::core::errors;
use crate::land::{self, LandRequest};
use fairway_core::domain::TaskId;
use fairway_core::domain::rules::work::Event;
use fairway_core::os::notify::Waker;

/// The landing at work, if there is one.
#[derive(Debug, Default)]
pub(super) struct Lander(Option<mpsc::Receiver<Vec<Event>>>);

impl Lander {
    pub(super) const fn is_at_work(&self) -> bool {
        self.0.is_some()
    }

    /// Lands everything that is ready, until nothing more lands. `waker` is called at its end.
    pub(super) fn begin(&mut self, app: &App, waker: Waker) -> Result<()> {
        let (env, project, actor) = ((*app.env).clone(), (*app.project).clone(), app.actor.clone());
        let (send, receive) = mpsc::channel();
        let run = move || {
            let landed = App::in_force(Rc::new(env), project, actor, None)
                .map_err(anyhow::Error::from)
                .and_then(|app| land_all(&app))
                .unwrap_or_else(|error| vec![Event::NotLanded { task: None, why: errors::classify(&error).message }]);
            let _ = send.send(landed);
            waker.wake();
        };
        thread::Builder::new().name("landing".into()).spawn(run).context("cannot start the landing's thread")?;
        self.0 = Some(receive);
        Ok(())
    }

    /// The events of a landing that has ended.
    pub(super) fn take_ended(&mut self) -> Vec<Event> {
        match self.0.as_ref().map(mpsc::Receiver::try_recv) {
            None | Some(Err(mpsc::TryRecvError::Empty)) => Vec::new(),
            Some(ended) => {
                self.0 = None;
                ended.unwrap_or_default()
            }
        }
    }
}

fn land_all(app: &App) -> Result<Vec<Event>> {
    let request = LandRequest { queue: true, ..LandRequest::default() };
    let may_push = |remote: &str, branch: &str| guard::refuse_denied_push(app, remote, branch);
    let (answer, _) = land::land(app, &request, &|_| (), &may_push)?;
    let landings = answer.document["landings"].as_array().into_iter().flatten();
    Ok(landings.flat_map(events).collect())
}

/// The events of a landing's document: one for each task.
fn events(landing: &Value) -> Vec<Event> {
    let tasks = landing["tasks"].as_array().into_iter().flatten();
    let ids = tasks.filter_map(|task| TaskId::parse(task.as_str()?).ok());
    let why = landing["error"]["message"].as_str();
    let event = |task| match (landing["state"].as_str(), why) {
        (Some("landed" | "proposed"), _) => {
            Event::Landed { task, how: landing["state"].as_str().unwrap_or_default().to_owned() }
        }
        (state, why) => Event::NotLanded { task: Some(task), why: why.or(state).unwrap_or_default().to_owned() },
    };
    ids.map(event).collect()
}
