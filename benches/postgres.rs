//! How fast the commands are with their store on a PostgreSQL server of this machine: whole processes against the smallest
//! program that connects and does the same, and 64 workers beside a queue with `SKIP LOCKED`.
//!
//! `just bench-postgres` builds everything and runs it; words after `--` choose rows by a part of their name.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    clippy::cast_precision_loss,
    reason = "a measuring program"
)]

#[expect(dead_code, reason = "what the other program measures with")]
mod api;
mod database;
#[expect(dead_code, reason = "what the other program measures with")]
mod measure;
mod storm;

use api::{hook, served};
use database::Database;
use measure::{Build, READS, against, median, medians, ms, project, row, took, wanted};
use storm::{Storm, best};
use tempfile::TempDir;

const ROUNDS: usize = 200;
const PROGRAM: &str = "bench_on_server";
const WORKERS: u32 = 64;
const TASKS: u32 = 5_000;

/// The measured build, and the server.
struct Bench {
    build: Build,
    database: Database,
}

impl Bench {
    /// A project with its store in a schema of the server, with so many ready tasks and so many that are done.
    fn project(&self, schema: &str, ready: u32, done: u32) -> TempDir {
        let project = project(&self.build, ready, done);
        let address = format!("{}?schema={schema}", self.database.address());
        took(&mut self.build.fairway(project.path(), &["store", "copy", "--to", &address, "--yes", "--quiet"]));
        // As the server does by itself in time.
        self.database.execute("VACUUM ANALYZE");
        project
    }

    fn smallest(&self, project: &TempDir, what: &str, schema: &str) -> std::process::Command {
        self.build.example(PROGRAM, project.path(), &[what, &self.database.address(), schema])
    }

    fn command(&self, words: &[&str], what: &str) {
        let (ours, least) = (format!("{what}_ours"), format!("{what}_least"));
        let projects = [self.project(&ours, 1_000, 0), self.project(&least, 1_000, 0)];
        let [ours, least] =
            medians(ROUNDS, [self.build.fairway(projects[0].path(), words), self.smallest(&projects[1], what, &least)]);
        let what = format!("`{}` on a server, 1,000 tasks, against the smallest program", words.join(" "));
        against(&what, ours, least, "≤ 1.5 ×");
    }

    fn million(&self) {
        let (few, many) = (self.project("few", 10, 990), self.project("many", 10_000, 990_000));
        for words in READS {
            let commands = [&many, &few].map(|project| self.build.fairway(project.path(), words));
            let [large, small] = medians(100, commands);
            let what = format!("`{}` on a server, 1,000,000 tasks, against 1,000", words.join(" "));
            against(&what, large, small, "≤ 1.3 ×");
        }
    }

    /// The hook asks `fairway serve`, which has its connection; the smallest program without a server of its own must connect.
    fn hook(&self) {
        let (project, _server) = served(&self.build, self.project("hooked", 0, 1), &[]);
        let mut spans = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            spans[0].push(took(&mut hook(&self.build, &project)));
            spans[1].push(took(&mut self.smallest(&project, "session", "hooked")));
        }
        let [ours, least] = spans.map(median);
        let what = "a hook (`PreToolUse`) through `serve` with the store on a server, against the smallest program";
        against(what, ours, least, "≤ 1.5 ×");
    }

    fn ours(&self, round: u32) -> Storm {
        let project = self.project(&format!("storm_{round}"), TASKS, 0);
        let worker = |n: u32| self.build.example("bench_storm", project.path(), &["fairway", &format!("worker-{n}")]);
        storm::run((0..WORKERS).map(worker), TASKS as usize)
    }

    fn skip_locked(&self, round: u32) -> Storm {
        let schema = format!("queue_{round}");
        self.database.execute(&format!(
            "CREATE SCHEMA {schema}; SET search_path TO {schema}; \
             CREATE TABLE jobs (id text PRIMARY KEY, status text NOT NULL, claimant text, priority bigint NOT NULL, \
                 created_at bigint NOT NULL); \
             CREATE INDEX jobs_ready ON jobs (priority, created_at, id) WHERE status = 'todo'; \
             INSERT INTO jobs SELECT 'S-' || i, 'todo', NULL, 2, i FROM generate_series(1, {TASKS}) i; ANALYZE jobs"
        ));
        let here = TempDir::new().unwrap();
        let worker = |n: u32| {
            let mut command = self.smallest(&here, "queue", &schema);
            command.arg(format!("worker-{n}"));
            command
        };
        storm::run((0..WORKERS).map(worker), TASKS as usize)
    }

    fn storms(&self) {
        let (mut ours, mut plain) = (Vec::new(), Vec::new());
        for round in 0..3 {
            ours.push(self.ours(round));
            plain.push(self.skip_locked(round));
        }
        let (ours, plain) = (best(ours), best(plain));
        row("claims by 64 processes on a server, against a queue with `SKIP LOCKED`", &ours.rate(&plain), "–");
        for (what, storm) in [("", &ours), (" (`SKIP LOCKED`)", &plain)] {
            let figure = format!("{:.0} ms, median {:.1} ms", ms(storm.worst), ms(storm.median));
            row(&format!("their worst wait{what}"), &figure, "–");
            row(&format!("their fairness (Jain){what}"), &format!("{:.3}", storm.fairness), "–");
        }
    }
}

fn main() {
    let bench = Bench { build: Build::own(), database: Database::start() };
    println!("| what | measured | goal |\n|---|---|---|");
    if wanted("ready") {
        bench.command(&["ready", "--limit", "20"], "ready");
    }
    if wanted("claim") {
        bench.command(&["claim"], "claim");
    }
    if wanted("hook") {
        bench.hook();
    }
    if wanted("million") {
        bench.million();
    }
    if wanted("storm") {
        bench.storms();
    }
}
