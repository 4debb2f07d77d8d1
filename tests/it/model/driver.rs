//! The two ways to run a sequence for real: the use cases in this process, and the binary.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use fairway_actions::core::dead_session::DeadSession;
use fairway_actions::core::errors;
use fairway_actions::queue::task::{ForceReason, add, claim, done, release, transition};
use fairway_actions::queue::{evidence, handoff, lane, review};
use fairway_actions::sessions::report::{end, heartbeat, upsert};
use fairway_actions::upkeep::reconcile;
use fairway_actions::{Answer, App};
use fairway_core::domain::evidence::EvidenceResult;
use fairway_core::domain::id::Label;
use fairway_core::domain::review::Verdict;
use fairway_core::domain::session::SessionStatus;
use fairway_core::domain::task::TaskFields;
use fairway_core::domain::{Actor, LaneName, Role, SessionId, TaskId};
use fairway_core::env::{Clock, Env, Timestamp};
use fairway_core::os;
use fairway_core::store::sessions;
use rusqlite::Connection;

use super::operation::{
    ATTACHED, BEGINNING, COMMIT, IN_LANE, LANE, Op, Reply, SESSIONS, Seen, SessionSeen, TASKS, TaskSeen, Verb, Who,
    Word,
};
#[cfg(feature = "postgres")]
use super::server_store::ServerStore;
use crate::common::{TestProject, app, invariants, scratch};

/// The name under which somebody holds tasks.
pub fn name(who: Who) -> String {
    match who {
        Who::Person => format!("{}@{}", os::user::name(), os::host::name()),
        Who::Session(number) => SESSIONS[number].to_owned(),
    }
}

/// A way to run commands.
pub trait Driver {
    /// Back to the beginning; answers with what is seen there.
    fn reset(&mut self) -> Seen;
    /// Gives a command; answers with `ok` or the code of its refusal.
    fn act(&mut self, op: &Op, clock: i64, epoch: Option<i64>) -> String;
    /// The store, to look at.
    fn store(&self) -> &Store;

    /// The visible state now.
    fn seen(&self) -> Seen {
        self.store().seen()
    }

    /// The epoch of one's own last claim, for commands that pass it.
    fn token(&self, op: &Op) -> Option<i64> {
        let (who, task, older) = match *op {
            Op::Renew { who, task } => (who, task, 0),
            Op::Move { who, task, token: Some(older), .. } | Op::Record { who, task, token: Some(older), .. } => {
                (who, task, older)
            }
            _ => return None,
        };
        self.store().latest_epoch(TASKS[task], &name(who), older)
    }

    /// The invariants, whatever was done.
    fn invariants(&self) -> Result<(), String> {
        self.store().violations().map_or(Ok(()), Err)
    }
}

/// The store from outside, and its beginning to go back to.
pub enum Store {
    File(FileStore),
    #[cfg(feature = "postgres")]
    Server(ServerStore),
}

/// A store in a file from outside.
pub struct FileStore {
    conn: Connection,
}

impl Store {
    fn restore(&self) {
        match self {
            Self::File(store) => store.restore(),
            #[cfg(feature = "postgres")]
            Self::Server(store) => store.restore(),
        }
    }

    fn seen(&self) -> Seen {
        match self {
            Self::File(store) => store.seen(),
            #[cfg(feature = "postgres")]
            Self::Server(store) => store.seen(),
        }
    }

    /// The epoch of the last claim of a task by this name, or of one so many before it.
    fn latest_epoch(&self, task: &str, name: &str, older: i64) -> Option<i64> {
        match self {
            Self::File(store) => store.latest_epoch(task, name, older),
            #[cfg(feature = "postgres")]
            Self::Server(store) => store.latest_epoch(task, name, older),
        }
    }

    /// The number of the newest handoff, or of one so many before it; of one that is not there when there are too few.
    fn handoff(&self, back: usize) -> i64 {
        let found = match self {
            Self::File(store) => store.handoff(back),
            #[cfg(feature = "postgres")]
            Self::Server(store) => store.handoff(back),
        };
        found.unwrap_or(999_999)
    }

    fn violations(&self) -> Option<String> {
        match self {
            Self::File(store) => invariants::violations(&store.conn),
            #[cfg(feature = "postgres")]
            Self::Server(store) => store.violations(),
        }
    }
}

/// The tables that a sequence can change, in an order that references allow.
pub(super) const TABLES: [&str; 10] = [
    "checkpoints", "evidence", "handoffs", "reviews", "claims", "messages", "tasks", "agent_sessions", "events",
    "requests",
];

impl FileStore {
    fn keep(path: PathBuf) -> Self {
        let conn = Connection::open(path).unwrap();
        conn.set_prepared_statement_cache_capacity(64);
        conn.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; ATTACH ':memory:' AS kept").unwrap();
        for table in TABLES {
            conn.execute_batch(&format!("CREATE TABLE kept.{table} AS SELECT * FROM main.{table}")).unwrap();
        }
        Self { conn }
    }

    fn restore(&self) {
        let run = |statement: &str| self.conn.prepare_cached(statement).unwrap().execute([]).unwrap();
        run("BEGIN IMMEDIATE");
        for table in TABLES {
            run(&format!("DELETE FROM main.{table}"));
            run(&format!("INSERT INTO main.{table} SELECT * FROM kept.{table}"));
        }
        run("COMMIT");
    }

    fn seen(&self) -> Seen {
        let claims = |task: &str| -> Vec<(String, i64)> {
            let query = "SELECT claimant, epoch FROM claims WHERE task_id = ?1 AND ended_at IS NULL";
            let mut live = self.conn.prepare_cached(query).unwrap();
            live.query_map([task], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
        };
        let query = "SELECT id, status, claimant, epoch, lease_until, \
                     (SELECT count(*) FROM checkpoints c WHERE c.task_id = t.id), commit_id, \
                     (SELECT count(*) FROM evidence r WHERE r.task_id = t.id), \
                     (SELECT count(*) FROM reviews r WHERE r.task_id = t.id), lane FROM tasks t ORDER BY id";
        let mut tasks = self.conn.prepare_cached(query).unwrap();
        let tasks = tasks.query_map([], |row| {
            Ok(TaskSeen {
                status: row.get(1)?,
                claimant: row.get(2)?,
                epoch: row.get(3)?,
                lease_until: row.get(4)?,
                claims: claims(&row.get::<_, String>(0)?),
                checkpoints: row.get(5)?,
                commit: row.get(6)?,
                evidence: row.get(7)?,
                reviews: row.get(8)?,
                lane: row.get(9)?,
            })
        });
        let query = "SELECT status, last_heartbeat_at FROM agent_sessions ORDER BY id";
        let mut sessions = self.conn.prepare_cached(query).unwrap();
        let sessions = sessions.query_map([], |row| Ok(SessionSeen { status: row.get(0)?, heartbeat: row.get(1)? }));
        let mut handoffs = self.conn.prepare_cached("SELECT status, answered_by FROM handoffs ORDER BY id").unwrap();
        let handoffs = handoffs.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        Seen {
            handoffs: handoffs.unwrap().map(Result::unwrap).collect(),
            tasks: tasks.unwrap().map(Result::unwrap).collect(),
            sessions: sessions.unwrap().map(Result::unwrap).collect(),
        }
    }
}

impl FileStore {
    fn latest_epoch(&self, task: &str, name: &str, older: i64) -> Option<i64> {
        let latest = "SELECT max(epoch) - ?3 FROM claims WHERE task_id = ?1 AND claimant = ?2";
        self.conn.query_row(latest, (task, name, older), |row| row.get(0)).unwrap()
    }

    fn handoff(&self, back: usize) -> Option<i64> {
        let query = "SELECT id FROM handoffs ORDER BY id DESC LIMIT 1 OFFSET ?1";
        let mut found = self.conn.prepare_cached(query).unwrap();
        found.query_row([i64::try_from(back).unwrap()], |row| row.get(0)).ok()
    }
}

/// The use cases, on a store that lives in memory where the machine has a place for that, or on a server.
pub struct InProcess {
    app: App,
    store: Store,
    /// Removed with this value.
    _home: Box<dyn Any + Send>,
}

impl InProcess {
    pub fn new() -> Self {
        let memory = PathBuf::from("/dev/shm");
        let clean = memory.is_dir() && scratch::marker_above(&memory).is_none();
        let folder = if clean { memory } else { scratch::root() };
        let home = tempfile::Builder::new().prefix("fw-model").tempdir_in(folder).unwrap();
        std::fs::write(home.path().join(".fairway.toml"), "").unwrap();
        let app = Self::begin(home.path(), Env::from_process());
        let store = Store::File(FileStore::keep(app.project.store.clone()));
        Self { app, store, _home: Box::new(home) }
    }

    /// The same on a server; `None` where none can be started.
    #[cfg(feature = "postgres")]
    pub fn on_server() -> Option<Self> {
        let world = TestProject::on_postgres()?;
        let (server, schema) = world.on_server.clone().unwrap();
        let address = std::collections::BTreeMap::from([("FAIRWAY_STORE_URL".into(), server.address(&schema))]);
        let app = Self::begin(&world.root(), Env::from_process().with_vars(&address));
        let store = Store::Server(ServerStore::keep(&server, &schema));
        Some(Self { app, store, _home: Box::new(world) })
    }

    /// The beginning of every sequence.
    fn begin(root: &Path, mut env: Env) -> App {
        env.clock = Clock::Fixed(Timestamp::from_millis(BEGINNING));
        // No folder has such a name, so no git is forked to ask about it: that would take longer than everything else,
        // and hold the locks of the other thread until its exec.
        env.cwd = PathBuf::from("\0");
        let app = app::app(root, env, actor(Who::Person, None));
        for (number, task) in TASKS.iter().enumerate() {
            let mut words = TaskFields::with_title("one".into());
            if number == 2 {
                words.depends_on = vec![TaskId::parse(TASKS[0]).unwrap()];
            }
            add::add(&app, Some(&TaskId::parse(task).unwrap()), words).unwrap();
        }
        lane::add::add(&app, &LaneName::parse(LANE).unwrap(), &lane::LanePatch::default()).unwrap();
        for (number, session) in SESSIONS.iter().enumerate() {
            let told = upsert::SessionPatch {
                lane: IN_LANE[number].then(|| LaneName::parse(LANE).unwrap()),
                id: Some(SessionId::parse(session).unwrap()),
                role: Some(Role::parse("r").unwrap()),
                task: ATTACHED[number].map(task),
                status: (number == 1).then_some(SessionStatus::Starting),
                pid: (number == 3).then_some(i64::from(std::process::id())),
                ..upsert::SessionPatch::default()
            };
            upsert::upsert(&app, &told).unwrap();
        }
        app
    }

    /// The ended sessions: in this process nothing of them was ever alive.
    fn dead(&self) -> Vec<DeadSession> {
        let all = self.app.read(|tx| Ok(sessions::all(tx)?)).unwrap();
        let ended = all.iter().filter(|session| session.status.is_final());
        ended.map(|session| DeadSession::new(session, "it has ended".into())).collect()
    }

    fn run(&self, op: &Op) -> anyhow::Result<()> {
        let app = &self.app;
        let wish = |lease: &Option<u32>| claim::ClaimRequest {
            lease: lease.map(|seconds| Duration::from_secs(u64::from(seconds))),
            ..claim::ClaimRequest::default()
        };
        match op {
            Op::Clock(_) => return Ok(()),
            Op::Claim { task: number, lease, steal, .. } => {
                let steal = steal.then(|| "it must be".to_owned());
                claim::claim(app, &claim::ClaimRequest { id: Some(task(*number)), steal, ..wish(lease) }, &self.dead())?
            }
            Op::ClaimNext { lease, .. } => claim::claim(app, &wish(lease), &self.dead())?,
            Op::Renew { task: number, .. } => claim::claim(
                app,
                &claim::ClaimRequest { id: Some(task(*number)), ..claim::ClaimRequest::default() },
                &self.dead(),
            )?,
            Op::Move { verb, task: number, force, .. } => {
                let id = task(*number);
                let force = force.then(|| ForceReason { reason: "it must be".into() });
                match verb {
                    Verb::Release => release::release(app, &id, None, force.as_ref())?,
                    Verb::Submit => transition::submit(app, &id, None, force.as_ref())?,
                    Verb::SubmitAt => transition::submit(app, &id, Some(COMMIT), force.as_ref())?,
                    Verb::Resume => transition::resume(app, &id, force.as_ref())?,
                    Verb::Done => done::done(app, &id, None, force.as_ref())?,
                    Verb::Block => transition::block(app, &id, "it waits", force.as_ref())?,
                    Verb::Unblock => transition::unblock(app, &id, force.as_ref())?,
                    Verb::Cancel => transition::cancel(app, &id, "no", force.as_ref())?,
                    Verb::Reopen => transition::reopen(app, &id, "yes")?,
                }
            }
            Op::Record { task: number, word, .. } => record(app, &task(*number), *word)?,
            Op::Answer { back, reply, .. } => {
                let number = self.store.handoff(*back);
                match reply {
                    Reply::Accept => handoff::accept::accept(app, number, handoff::accept::Acceptance::WithoutClaim)?,
                    Reply::Take => handoff::accept::accept(app, number, handoff::accept::Acceptance::WithClaim)?,
                    Reply::Decline => handoff::decline(app, number, "no")?,
                    Reply::Withdraw { force } => {
                        let force = force.then(|| ForceReason { reason: "it must be".into() });
                        handoff::withdraw(app, number, force.as_ref())?
                    }
                }
            }
            Op::Heartbeat { session, .. } => {
                heartbeat::heartbeat(app, &id(*session), &heartbeat::Heartbeat::default())?
            }
            Op::Report { session, stale } => {
                let status = if *stale { SessionStatus::Stale } else { SessionStatus::Running };
                let told = upsert::SessionPatch {
                    id: Some(id(*session)),
                    status: Some(status),
                    ..upsert::SessionPatch::default()
                };
                upsert::upsert(app, &told)?
            }
            Op::End { session, .. } => end::end(app, &id(*session), &end::EndRequest::default())?,
            Op::Reconcile { dry_run, .. } => reconcile::reconcile(app, *dry_run)?,
        };
        Ok(())
    }
}

fn record(app: &App, task: &TaskId, word: Word) -> anyhow::Result<Answer> {
    match word {
        Word::Evidence { kind, pass } => {
            let result = if pass { EvidenceResult::Pass } else { EvidenceResult::Fail };
            let kind = Some(Label::parse(kind).unwrap());
            let words =
                evidence::NewEvidence { result, kind, command: None, artifact: None, summary: None, commit: None };
            evidence::add(app, task, &words)
        }
        Word::Review { approves } => {
            let verdict = if approves { Verdict::Approve } else { Verdict::Changes };
            let domain = Some(Label::parse("d").unwrap());
            let words =
                review::NewReview { verdict, domain, reviewer: None, commit: None, notes: None, is_posted: false };
            review::record(app, task, &words)
        }
        Word::Handoff { theirs } => {
            let to_role = Some(Role::parse(role(theirs)).unwrap());
            let words = handoff::NewHandoff { to_role, to_lane: None, summary: "over to you".into(), payload: None };
            handoff::create(app, task, &words)
        }
    }
}

/// The role of all sessions, or another one.
fn role(theirs: bool) -> &'static str {
    if theirs { "r" } else { "x" }
}

fn task(number: usize) -> TaskId {
    TaskId::parse(TASKS[number]).unwrap()
}

fn id(number: usize) -> SessionId {
    SessionId::parse(SESSIONS[number]).unwrap()
}

/// The giver of a command.
fn giver(op: &Op) -> Who {
    match op {
        Op::Claim { who, .. } | Op::ClaimNext { who, .. } | Op::Renew { who, .. } | Op::Move { who, .. } => *who,
        Op::Record { who, .. } | Op::Answer { who, .. } => *who,
        Op::Heartbeat { session, own: true } | Op::End { session, own: true } => Who::Session(*session),
        _ => Who::Person,
    }
}

fn actor(who: Who, epoch: Option<i64>) -> Actor {
    let session = match who {
        Who::Person => None,
        Who::Session(number) => Some(id(number)),
    };
    Actor { name: name(who), session, run_id: None, role: None, lane: None, epoch }
}

impl InProcess {
    /// The project as the last command saw it.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// The use cases of a person. A board depends on its reader: no session waits for an answer of its own.
    pub fn persons_app(&mut self) -> &App {
        self.app.actor = actor(Who::Person, None);
        &self.app
    }
}

impl Driver for InProcess {
    fn reset(&mut self) -> Seen {
        self.store.restore();
        self.seen()
    }

    fn act(&mut self, op: &Op, clock: i64, epoch: Option<i64>) -> String {
        Rc::get_mut(&mut self.app.env).unwrap().clock = Clock::Fixed(Timestamp::from_millis(clock));
        self.app.actor = actor(giver(op), epoch);
        match self.run(op) {
            Ok(()) => "ok".into(),
            Err(error) => errors::classify(&error).code.into(),
        }
    }

    fn store(&self) -> &Store {
        &self.store
    }
}

/// The binary, in a world of its own.
pub struct Binary {
    world: TestProject,
    store: Store,
}

impl Binary {
    pub fn new() -> Self {
        let world = TestProject::new();
        let at_the_beginning = |args: &[&str]| {
            let mut command = world.fairway(args);
            let beginning = Timestamp::from_millis(BEGINNING).to_string();
            assert!(command.env("FAIRWAY_TEST_TIME", beginning).output().unwrap().status.success(), "{args:?}");
        };
        for (number, task) in TASKS.iter().enumerate() {
            let depends: &[&str] = if number == 2 { &["--depends-on", TASKS[0]] } else { &[] };
            at_the_beginning(&[&["task", "add", "--id", task, "one"], depends].concat());
        }
        at_the_beginning(&["lane", "add", LANE]);
        let pid = std::process::id().to_string();
        for (number, session) in SESSIONS.iter().enumerate() {
            let mut args = vec!["session", "upsert", "--id", session, "--role", "r"];
            if IN_LANE[number] {
                args.extend(["--lane", LANE]);
            }
            args.extend(ATTACHED[number].into_iter().flat_map(|task| ["--task-id", TASKS[task]]));
            match number {
                1 => args.extend(["--status", "starting"]),
                3 => args.extend(["--pid", &pid]),
                _ => {}
            }
            at_the_beginning(&args);
        }
        let store = Store::File(FileStore::keep(world.store()));
        Self { world, store }
    }
}

fn words(op: &Op, store: &Store) -> Option<Vec<String>> {
    let lease = |lease: &Option<u32>| lease.map(|seconds| format!(" --lease {seconds}s")).unwrap_or_default();
    let forced = |force: &bool| if *force { " --force --reason because" } else { "" };
    let line = match op {
        Op::Clock(_) => return None,
        Op::Claim { task, lease: span, steal, .. } => {
            let steal = if *steal { " --steal --reason because" } else { "" };
            format!("claim {}{}{steal}", TASKS[*task], lease(span))
        }
        Op::ClaimNext { lease: span, .. } => format!("claim{}", lease(span)),
        Op::Renew { task, .. } => format!("claim {}", TASKS[*task]),
        Op::Move { verb, task, force, .. } => {
            let id = TASKS[*task];
            match verb {
                Verb::Release => format!("release {id}{}", forced(force)),
                Verb::Submit => format!("task submit {id}{}", forced(force)),
                Verb::SubmitAt => format!("task submit {id} --commit {COMMIT}{}", forced(force)),
                Verb::Resume => format!("task resume {id}{}", forced(force)),
                Verb::Done => format!("task done {id}{}", forced(force)),
                Verb::Unblock => format!("task unblock {id}{}", forced(force)),
                Verb::Block if *force => format!("task block {id} --force --reason because"),
                Verb::Cancel if *force => format!("task cancel {id} --force --reason because"),
                Verb::Block => format!("task block {id} --reason because"),
                Verb::Cancel => format!("task cancel {id} --reason because"),
                Verb::Reopen => format!("task reopen {id} --reason because"),
            }
        }
        Op::Record { task, word, .. } => {
            let id = TASKS[*task];
            match word {
                Word::Evidence { kind, pass } => {
                    format!("evidence add {id} --kind {kind} --result {}", if *pass { "pass" } else { "fail" })
                }
                Word::Review { approves } => {
                    format!("review record {id} --domain d --verdict {}", if *approves { "approve" } else { "changes" })
                }
                Word::Handoff { theirs } => format!("handoff create {id} --to {} --summary over", role(*theirs)),
            }
        }
        Op::Answer { back, reply, .. } => {
            let number = store.handoff(*back);
            match reply {
                Reply::Accept => format!("handoff accept {number} --no-claim"),
                Reply::Take => format!("handoff accept {number}"),
                Reply::Decline => format!("handoff decline {number} --reason because"),
                Reply::Withdraw { force } => format!("handoff withdraw {number}{}", forced(force)),
            }
        }
        Op::Heartbeat { session, .. } => format!("session heartbeat {}", SESSIONS[*session]),
        Op::Report { session, stale } => {
            let status = if *stale { "stale" } else { "running" };
            format!("session upsert --id {} --status {status}", SESSIONS[*session])
        }
        Op::End { session, .. } => format!("session end {}", SESSIONS[*session]),
        Op::Reconcile { dry_run, .. } => format!("session reconcile{}", if *dry_run { " --dry-run" } else { "" }),
    };
    Some(line.split_whitespace().map(str::to_owned).collect())
}

impl Driver for Binary {
    fn reset(&mut self) -> Seen {
        self.store.restore();
        self.seen()
    }

    fn act(&mut self, op: &Op, clock: i64, epoch: Option<i64>) -> String {
        let Some(mut words) = words(op, &self.store) else { return "ok".into() };
        words.push("--json".into());
        words.extend(epoch.into_iter().map(|epoch| format!("--epoch={epoch}")));
        if let Who::Session(number) = giver(op) {
            words.extend(["--session".into(), SESSIONS[number].into()]);
        }
        let mut command = self.world.fairway(&words);
        command.env("FAIRWAY_TEST_TIME", Timestamp::from_millis(clock).to_string());
        let run = crate::common::test_project::CommandOutput::from(command.output().unwrap());
        match run.code {
            Some(0) => "ok".into(),
            _ => run.error()["code"].as_str().unwrap().to_owned(),
        }
    }

    fn store(&self) -> &Store {
        &self.store
    }
}
