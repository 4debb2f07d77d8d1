//! The reports of runtimes, through the use cases that every entry point calls.

mod agent_context;
mod health;
mod lifecycle;
mod telemetry;

use fairway_actions::App;
use fairway_actions::core::errors;
use fairway_core::domain::{Actor, SessionId};
use fairway_core::env::{Clock, Env, Timestamp};
use rusqlite::Connection;
use serde_json::Value;

use crate::common::{self, TestProject};

/// The use cases on a world's store, at the time that the world has.
pub fn app(world: &TestProject) -> App {
    at(world, world.now())
}

/// The app at a time of its own.
pub fn at(world: &TestProject, now: Timestamp) -> App {
    let mut env = Env::from_process();
    env.clock = Clock::Fixed(now);
    env.cwd = world.root();
    common::app::app(&world.root(), env, common::app::person("test@here"))
}

/// The app with a session as its actor.
pub fn acting(app: &App, session: &str) -> App {
    let id = SessionId::parse(session).unwrap();
    app.with_actor(Actor { name: session.into(), session: Some(id), ..app.actor.clone() }, None)
}

/// The code of a refusal.
#[track_caller]
pub fn code<T: std::fmt::Debug>(refused: anyhow::Result<T>) -> &'static str {
    errors::classify(&refused.unwrap_err()).code
}

/// The only value that a query finds.
pub fn one<T: rusqlite::types::FromSql>(world: &TestProject, query: &str) -> T {
    Connection::open(world.store()).unwrap().query_row(query, [], |row| row.get(0)).unwrap()
}

/// A session as a document.
pub fn session(world: &TestProject, id: &str) -> Value {
    world.json(["session", "show", id])
}
