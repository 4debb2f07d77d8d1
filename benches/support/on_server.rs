//! The smallest programs on a PostgreSQL server: each connects and does the same as the command of Fairway. `queue` is a
//! worker of a queue with `SKIP LOCKED`, which prints a line of microseconds per task.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    reason = "a measuring program"
)]

use std::env;
use std::fmt::Write as _;
use std::io::Read;
use std::time::Instant;

use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage, SimpleQueryRow};

/// One snapshot, as Fairway has it.
const READY: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; \
     SELECT id, priority, status, role, lane, claimant, title FROM tasks WHERE status = 'todo' AND open_deps = 0 \
     ORDER BY priority, created_at, id LIMIT 20; COMMIT";
/// The project's lock comes first: all writes have one order.
const BEGIN: &str = "BEGIN; SELECT schema_version FROM project FOR UPDATE; SELECT begin_write(); \
     SELECT id, epoch + 1 FROM tasks WHERE status = 'todo' AND open_deps = 0 ORDER BY priority, created_at, id LIMIT 1";
/// The reads of a tool call that is judged, without the judging.
const SESSION: &str = "SELECT run_id, status, role FROM agent_sessions WHERE id = 's1'";
/// A queue without an order of all writes: a worker passes over what another one has locked.
const NEXT: &str = "UPDATE jobs SET status = 'in_progress', claimant = $1 WHERE id = (SELECT id FROM jobs \
     WHERE status = 'todo' ORDER BY priority, created_at, id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id";

async fn rows(client: &Client, statements: &str) -> Vec<SimpleQueryRow> {
    let row = |message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    };
    client.simple_query(statements).await.unwrap().into_iter().filter_map(row).collect()
}

async fn ready(client: &Client) {
    let mut text = String::new();
    for row in rows(client, READY).await {
        writeln!(text, "{}  {}", row.get(0).unwrap(), row.get(6).unwrap()).unwrap();
    }
    print!("{text}");
}

async fn claim(client: &Client) {
    let found = rows(client, BEGIN).await;
    let task = found.last().unwrap();
    let (id, epoch) = (task.get(0).unwrap(), task.get(1).unwrap());
    let change = format!(
        "UPDATE tasks SET status = 'in_progress', claimant = 'bench', epoch = {epoch}, claimed_at = 1, updated_at = 1 \
             WHERE id = '{id}'; \
         INSERT INTO claims (task_id, epoch, claimant, claimed_at) VALUES ('{id}', {epoch}, 'bench', 1); \
         INSERT INTO events (at, kind, task_id, actor, data) VALUES (1, 'task.claimed', '{id}', 'bench', '{{}}'); \
         SELECT end_write(); COMMIT"
    );
    rows(client, &change).await;
    println!("claimed {id} under epoch {epoch}");
}

async fn queue(client: &Client, name: &str) {
    let next = client.prepare(NEXT).await.unwrap();
    // At the line: ready, and off when our stdin is closed.
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    let mut text = String::new();
    loop {
        let start = Instant::now();
        if client.query_opt(&next, &[&name]).await.unwrap().is_none() {
            break;
        }
        writeln!(text, "{}", start.elapsed().as_micros()).unwrap();
    }
    print!("{text}");
}

fn main() {
    let mut words = env::args().skip(1);
    let [what, address, schema] = std::array::from_fn(|_| words.next().unwrap());
    let mut config: Config = address.parse().unwrap();
    config.options(format!("-c search_path={schema}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = config.connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        match what.as_str() {
            "ready" => ready(&client).await,
            "claim" => claim(&client).await,
            "session" => assert_eq!(rows(&client, SESSION).await.len(), 1),
            "queue" => queue(&client, &words.next().unwrap()).await,
            other => panic!("{other}: ready, claim, session or queue"),
        }
    });
}
