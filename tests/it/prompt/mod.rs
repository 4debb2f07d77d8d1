//! Prompts and their receipts: who brings them, what counts as proof, and that none is lost and none doubled.

mod deliver_by_typing;
mod deliver_inline;
mod listener;
mod storm;
mod stream;
mod wait_ack;

use std::{path::Path, rc::Rc};

use fairway::{
    actions::{
        App,
        core::lookup,
        sessions::prompt::{self, DeliveryBatch, NewPrompt},
    },
    config::{Layers, Project, Settings},
    domain::{
        Actor, SessionId,
        id::Label,
        message::{Channel, Priority},
        session::Session,
    },
    env::{Clock, Env, Timestamp},
};
use rusqlite::Connection;

use crate::common::TestProject;

/// What a vendor takes as added context.
const LIMIT: usize = 10_000;

/// The house as a hook of this session has it, at this time.
fn app(root: &Path, session: &str, now: Timestamp) -> App {
    let mut env = Env::from_process();
    env.clock = Clock::Fixed(now);
    let project = Project::at(root.to_owned(), &env);
    let layers = Layers::load(&project, &env).unwrap();
    let settings = Settings::from_layers(&layers, &project).unwrap();
    let actor = Actor {
        name: session.to_owned(),
        session: Some(id(session)),
        run_id: None,
        role: None,
        lane: None,
        epoch: None,
    };
    App::new(Rc::new(env), project, layers, settings, actor, None)
}

/// The same in this world, now.
fn hook(world: &TestProject, session: &str) -> App {
    app(&world.root(), session, world.now())
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
