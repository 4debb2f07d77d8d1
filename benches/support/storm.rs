//! A worker of the claim storm: opens the store once and claims until nothing is ready. `fairway` goes through the library,
//! `plain` through the smallest IMMEDIATE transaction with SQLite's own waiting, `turns` through the same transaction behind
//! Fairway's queue of writers. Prints a line of microseconds per claim.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    reason = "a measuring program"
)]

use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use fairway_actions::App;
use fairway_actions::core::errors;
use fairway_actions::queue::task::claim::{self, ClaimRequest};
use fairway_core::config::{Layers, Project, Settings};
use fairway_core::domain::Actor;
use fairway_core::env::Env;
use fairway_core::os::lock_queue;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

/// Claims once; `false` when nothing is ready.
type Claim = Box<dyn FnMut() -> bool>;

fn through_fairway(name: &str) -> Claim {
    let env = Env::from_process();
    let project = Project::discover(&env, None).unwrap();
    let layers = Layers::load(&project, &env).unwrap();
    let settings = Settings::from_layers(&layers, &project).unwrap();
    let actor = Actor { name: name.into(), session: None, run_id: None, role: None, lane: None, epoch: None };
    let app = App::new(Rc::new(env), project, layers, settings, actor, None);
    app.store_for_writing().unwrap();
    Box::new(move || match claim::claim(&app, &ClaimRequest::default(), &[]) {
        Ok(_) => true,
        Err(error) => {
            let failure = errors::classify(&error);
            assert_eq!(failure.code, "nothing_ready", "{failure:?}");
            false
        }
    })
}

/// The smallest transaction that claims; `turns`: in the order of the queue.
fn plainly(name: &str, turns: bool) -> Claim {
    let conn = Connection::open(".fairway/fairway.db").unwrap();
    conn.busy_timeout(Duration::from_secs(60)).unwrap();
    conn.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON").unwrap();
    let name = name.to_owned();
    Box::new(move || {
        let queue = Path::new(".fairway/fairway.db-turn");
        let turn = turns.then(|| lock_queue::acquire(queue, Duration::from_secs(60)).unwrap().unwrap());
        let tx = Transaction::new_unchecked(&conn, TransactionBehavior::Immediate).unwrap();
        let first = "SELECT id, epoch + 1 FROM tasks INDEXED BY tasks_ready WHERE status = 'todo' AND open_deps = 0 \
                     ORDER BY priority, created_at, id LIMIT 1";
        let found: Option<(String, i64)> =
            match tx.prepare_cached(first).unwrap().query_row([], |row| Ok((row.get(0)?, row.get(1)?))) {
                Err(rusqlite::Error::QueryReturnedNoRows) => None,
                found => Some(found.unwrap()),
            };
        let Some((id, epoch)) = found else { return false };
        for (statement, values) in [
            (
                "UPDATE tasks SET status = 'in_progress', claimant = ?3, epoch = ?2, claimed_at = 1 WHERE id = ?1",
                params![id, epoch, name],
            ),
            (
                "INSERT INTO claims (task_id, epoch, claimant, claimed_at) VALUES (?1, ?2, ?3, 1)",
                params![id, epoch, name],
            ),
            (
                "INSERT INTO events (at, kind, task_id, actor, data) VALUES (?2, 'task.claimed', ?1, ?3, '{}')",
                params![id, epoch, name],
            ),
        ] {
            tx.prepare_cached(statement).unwrap().execute(values).unwrap();
        }
        if let Some(turn) = &turn {
            turn.release_next();
        }
        tx.commit().unwrap();
        true
    })
}

fn main() {
    let mut words = std::env::args().skip(1);
    let (how, name) = (words.next().unwrap(), words.next().unwrap());
    let mut claim = match how.as_str() {
        "fairway" => through_fairway(&name),
        "plain" => plainly(&name, false),
        "turns" => plainly(&name, true),
        other => panic!("{other}: fairway, plain or turns"),
    };
    // At the line: ready, and off when our stdin is closed.
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    let mut text = String::new();
    loop {
        let start = Instant::now();
        if !claim() {
            break;
        }
        writeln!(text, "{}", start.elapsed().as_micros()).unwrap();
    }
    print!("{text}");
}
