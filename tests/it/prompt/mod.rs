//! Prompts and their receipts: who brings them, what counts as proof, and that none is lost and none doubled.

mod decisions;
mod deliver_by_typing;
mod deliver_inline;
mod listener;
mod storm;
mod stream;
mod wait_ack;

use std::path::Path;

use fairway_actions::App;
use fairway_actions::core::lookup;
use fairway_actions::sessions::prompt::{self, DeliveryBatch, NewPrompt};
use fairway_core::domain::SessionId;
use fairway_core::domain::id::Label;
use fairway_core::domain::message::{Channel, Priority};
use fairway_core::domain::session::Session;
use fairway_core::env::{Clock, Env, Timestamp};
use rusqlite::Connection;

use crate::common::{self, TestProject};

/// The most characters that a vendor takes as added context.
const LIMIT: usize = 10_000;

/// The use cases as a hook of this session calls them, at this time.
fn app_at(root: &Path, session: &str, now: Timestamp) -> App {
    let mut env = Env::from_process();
    env.clock = Clock::Fixed(now);
    common::app::app(root, env, common::app::session(session))
}

/// The app of a hook of this session, now.
fn hook(world: &TestProject, session: &str) -> App {
    app_at(&world.root(), session, world.now())
}

fn id(session: &str) -> SessionId {
    SessionId::parse(session).unwrap()
}

fn session_of(app: &App) -> Session {
    app.read(|tx| lookup::session(tx, app.actor.session.as_ref().unwrap())).unwrap()
}

fn take_deliverable(app: &App, way: Channel) -> Option<DeliveryBatch> {
    prompt::take_deliverable(app, &session_of(app), way, LIMIT).unwrap()
}

fn a_prompt(to: &str, content: &str, priority: Priority) -> NewPrompt {
    NewPrompt {
        to: id(to),
        content: content.to_owned(),
        priority,
        source: Label::parse("nudge").unwrap(),
        metadata: None,
        dedup: None,
        ttl: None,
    }
}

fn column(world: &TestProject, column: &str, message: i64) -> String {
    let conn = Connection::open(world.store()).unwrap();
    let query = format!("SELECT coalesce({column}, '-') FROM messages WHERE id = ?1");
    conn.query_row(&query, [message], |row| row.get(0)).unwrap()
}

fn status(world: &TestProject, message: i64) -> String {
    column(world, "status", message)
}

fn set_activity(world: &TestProject, session: &str, activity: &str) {
    let conn = Connection::open(world.store()).unwrap();
    conn.execute("UPDATE agent_sessions SET activity = ?2 WHERE id = ?1", [session, activity]).unwrap();
}

/// Hooks of this session's provider have called.
fn set_hooked(world: &TestProject, session: &str) {
    let conn = Connection::open(world.store()).unwrap();
    conn.execute("INSERT INTO session_reports (session_id, hooked_at) VALUES (?1, 1)", [session]).unwrap();
}
