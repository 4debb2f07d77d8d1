//! The board that is composed from what has changed: it equals the whole one after events of every kind, and an event costs as
//! much in a store of ten thousand tasks as in one of a hundred.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;
use std::time::Duration;

use fairway_actions::App;
use fairway_actions::board::{self, BoardCache};
use fairway_actions::core::errors;
use fairway_actions::mail::{outbox, send};
use fairway_actions::queue::task::{add, claim, edit, remove};
use fairway_actions::queue::{checkpoint, lane};
use fairway_actions::sessions::report::heartbeat::{self, Heartbeat};
use fairway_actions::sessions::report::telemetry::{self, Turn, Usage};
use fairway_actions::upkeep::notify::{self, Outlets};
use fairway_core::domain::checkpoint::CheckpointState;
use fairway_core::domain::id::Label;
use fairway_core::domain::lane::LaneStatus;
use fairway_core::domain::message::{Priority, Recipient};
use fairway_core::domain::session::Activity;
use fairway_core::domain::task::TaskFields;
use fairway_core::domain::{LaneName, RunId, SessionId, TaskId};
use fairway_core::env::Env;
use proptest::prelude::RngExt as _;
use proptest::strategy::{Strategy as _, ValueTree as _};
use rusqlite::{Connection, ffi, params};

use super::driver::{Driver as _, InProcess};
use super::operation::{self, LANE, SESSIONS};
use super::{runner, seed};
use crate::common::{TestProject, app, bulk_tasks};

/// So many events are followed.
const EVENTS: usize = 1_000;
const PROVIDERS: &[&str] = &["acme"];

fn task(number: usize) -> TaskId {
    TaskId::parse(&format!("x-{number}")).unwrap()
}

fn session(number: usize) -> SessionId {
    SessionId::parse(SESSIONS[number % SESSIONS.len()]).unwrap()
}

fn turn(app: &App, key: usize, cost: u32) -> Turn {
    let usage = Usage {
        model: None,
        input_tokens: 1,
        output_tokens: u64::from(cost),
        cache_read_tokens: 0,
        cache_creation_tokens: 0,
        cost_usd: Some(f64::from(cost) / 7.0),
    };
    Turn { at: app.env.now(), key: Some(format!("k{key}")), usage: Some(usage), tools: Vec::new() }
}

/// The changes that the model of the queue does not know. What is refused changes nothing.
fn change(app: &App, conn: &Connection, which: usize, number: usize) {
    let lane = LaneName::parse(LANE).unwrap();
    let (one, now) = (session(number), app.env.now().millis());
    let run_id = || -> String {
        conn.query_row("SELECT run_id FROM agent_sessions WHERE id = ?1", [one.as_str()], |row| row.get(0)).unwrap()
    };
    let event = |kind: &str| {
        let insert = "INSERT INTO events (at, kind, session_id, actor, data) VALUES (?1, ?2, ?3, 'test', '{}')";
        conn.execute(insert, params![now, kind, one.as_str()]).unwrap();
    };
    let done = match which {
        0 => {
            let status = [LaneStatus::Paused, LaneStatus::Open, LaneStatus::Closed][number % 3];
            lane::status::set(app, &lane, status).map(drop)
        }
        1 => lane::edit::edit(
            app,
            &lane,
            &lane::LanePatch {
                wip_limit: Some(Some(i64::try_from(number).unwrap() + 5)),
                ..lane::LanePatch::default()
            },
        )
        .map(drop),
        2 => lane::add::add(app, &LaneName::parse("other").unwrap(), &lane::LanePatch::default()).map(drop),
        3 => lane::rm::rm(app, &LaneName::parse("other").unwrap(), lane::copies::Copies::Keep).map(drop),
        4 => {
            let mut fields = TaskFields::with_title("another".into());
            fields.depends_on = vec![TaskId::parse("a").unwrap()];
            add::add(app, Some(&task(number)), fields).map(drop)
        }
        5 => remove::remove(app, &[task(number)]).map(drop),
        6 => edit::edit(app, &TaskId::parse("b").unwrap(), |fields| {
            fields.title = format!("title {number}");
            fields.depends_on = if number.is_multiple_of(2) { vec![TaskId::parse("a").unwrap()] } else { Vec::new() };
            Ok(())
        })
        .map(drop),
        7 => {
            let state = if number.is_multiple_of(2) { CheckpointState::AwaitingInput } else { CheckpointState::Active };
            let new = checkpoint::NewCheckpoint {
                state,
                summary: format!("step {number}"),
                owner: None,
                artifact: None,
                due: None,
            };
            checkpoint::record(app, &TaskId::parse("a").unwrap(), new).map(drop)
        }
        8 => {
            let new = send::NewMessage {
                to: Recipient::Session(one),
                priority: Priority::Normal,
                source: Label::parse("mail").unwrap(),
                content: "hello".into(),
                dedup: None,
                ttl: Some(Duration::from_secs(40)),
            };
            send::send(app, &new).map(drop)
        }
        9 => outbox::withdraw(app, i64::try_from(number).unwrap(), None).map(drop),
        // The second report of a turn is no event.
        10 => telemetry::report(app, &RunId::from(run_id()), &[turn(app, number % 3, u32::try_from(number).unwrap())])
            .map(drop),
        11 => {
            let activity = [Activity::RequiresAction, Activity::Busy][number % 2];
            let words = Heartbeat { activity: Some(activity), ..Heartbeat::default() };
            heartbeat::heartbeat(app, &one, &words).map(drop)
        }
        12 => {
            let insert = "INSERT INTO approvals (session_id, run_id, provider, tool, input, answerable, status, asked_at) \
                 VALUES (?1, 'r', 'acme', 'Bash', '{}', 1, 'pending', ?2)";
            conn.execute(insert, params![one.as_str(), now]).unwrap();
            event("approval.asked");
            Ok(())
        }
        13 => {
            let answer =
                "UPDATE approvals SET status = 'denied', answered_at = ?1, answered_by = 'me' WHERE status = 'pending'";
            conn.execute(answer, [now]).unwrap();
            event("approval.answered");
            Ok(())
        }
        // Judging overlaps and sizes of changes is no event, unless a level changes.
        14 => {
            let put = "INSERT INTO overlaps (lane_a, lane_b, level, files, since, told) VALUES (?1, '', ?2, '[]', ?3, '[]') \
                 ON CONFLICT DO UPDATE SET level = excluded.level";
            conn.execute(put, params![LANE, ["rebase", "none"][number % 2], now]).unwrap();
            Ok(())
        }
        15 => {
            let put = "INSERT INTO lane_snapshots (lane, host, digest, paths, added, deleted, taken_at) \
                 VALUES (?1, 'h', 'd', '[]', ?2, 1, ?3) ON CONFLICT DO UPDATE SET added = excluded.added";
            conn.execute(put, params![LANE, i64::try_from(number).unwrap(), now]).unwrap();
            Ok(())
        }
        16 => {
            let insert = "INSERT OR IGNORE INTO exec_runs (id, session_id, status, command, cwd, background, max_output_bytes, \
                 recovery, host, boot_id, exit_code, actor, queued_at, started_at, finished_at, updated_at) VALUES \
                 (printf('01900000-0000-7000-8000-%012x', ?1), ?2, 'failed', 'false', '/', 1, 1, 'lost', 'h', 'b', 1, 'me', ?3, \
                  ?3, ?3, ?3)";
            conn.execute(insert, params![i64::try_from(number).unwrap(), one.as_str(), now]).unwrap();
            event("exec.finished");
            Ok(())
        }
        17 => {
            let set = "UPDATE agent_sessions SET last_output_at = ?2 WHERE id = ?1 AND ended_at IS NULL";
            conn.execute(set, params![one.as_str(), now]).unwrap();
            Ok(())
        }
        _ => {
            let touch = "INSERT INTO session_reports (session_id, hooked_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            conn.execute(touch, params![one.as_str(), now]).unwrap();
            Ok(())
        }
    };
    if let Err(error) = done {
        let code = errors::classify(&error).code;
        assert_ne!(code, "internal", "change {which} {number}: {error:?}");
    }
}

#[test]
fn kept_board_is_the_whole_one_after_each_of_a_thousand_random_events() {
    const KINDS: usize = 19;
    let (seed, mut driver) = (seed(), InProcess::new());
    let conn = Connection::open(&driver.app().project.store).unwrap();
    conn.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF").unwrap();
    let mut runner = runner(1, seed);
    let (mut events, mut clock) = (0, operation::BEGINNING);
    driver.reset();
    let mut cache = BoardCache::new();
    let mut log = Vec::new();
    while events < EVENTS {
        for op in operation::sequence().new_tree(&mut runner).unwrap().current() {
            // The clock goes on: lists of the last hour and day, and the costs of the day, change by that alone.
            clock += op.seconds().max(0) * 1_000;
            let epoch = driver.token(&op);
            driver.act(&op, clock, epoch);
            log.push(format!("{op:?}"));
            if runner.rng().random_bool(0.7) {
                let (which, number) = (runner.rng().random_range(0..KINDS), runner.rng().random_range(0..12));
                change(driver.app(), &conn, which, number);
                log.push(format!("change {which} {number}"));
            }
            // Sometimes several events are new.
            if runner.rng().random_bool(0.8) {
                let app = driver.persons_app();
                let last = &log[log.len().saturating_sub(8)..];
                let whole = board::compose(app, PROVIDERS).unwrap();
                assert_eq!(cache.compose(app, PROVIDERS).unwrap(), whole, "FAIRWAY_MODEL_SEED={seed}: {last:#?}");
            }
            events += 1;
        }
        // A session that was ended is made anew, so that all goes on.
        if events % 50 < 10 {
            driver.reset();
            cache = BoardCache::new();
        }
    }
}

thread_local! {
    /// The steps of SQLite's machine in statements of this thread.
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

#[expect(unsafe_code, reason = "SQLite tells its steps to a callback only")]
unsafe extern "C" fn add_steps(_: c_uint, _: *mut c_void, statement: *mut c_void, _: *mut c_void) -> c_int {
    // SAFETY: SQLite calls this with the statement that has ended.
    let steps = unsafe { ffi::sqlite3_stmt_status(statement.cast(), ffi::SQLITE_STMTSTATUS_VM_STEP, 1) };
    STEPS.set(STEPS.get() + u64::try_from(steps).unwrap_or_default());
    0
}

#[expect(unsafe_code, reason = "SQLite tells its steps to a callback only")]
unsafe extern "C" fn trace(db: *mut ffi::sqlite3, _: *mut *mut c_char, _: *const ffi::sqlite3_api_routines) -> c_int {
    // SAFETY: SQLite calls this with the connection that is being opened.
    unsafe { ffi::sqlite3_trace_v2(db, ffi::SQLITE_TRACE_PROFILE, Some(add_steps), ptr::null_mut()) }
}

/// The steps of the boards after one event of each kind in a store of so many tasks, of which ten are claimed, and the steps of
/// the whole board.
fn steps(tasks: u32) -> (Vec<u64>, u64) {
    let world = TestProject::new();
    bulk_tasks::insert_ready_tasks(&world.store(), tasks);
    for number in 1..=10 {
        let (session, task) = (format!("s{number}"), format!("S-{number}"));
        world.add_session(&session);
        world.run(["--session", &session, "claim", &task]).exits(0);
    }
    let mut env = Env::from_process();
    env.cwd = world.root();
    let app = app::app(&world.root(), env, app::person("me"));
    let mut cache = BoardCache::new();
    let mut counted = |change: &dyn Fn(&App)| {
        change(&app);
        STEPS.set(0);
        cache.compose(&app, PROVIDERS).unwrap();
        STEPS.get()
    };
    counted(&|_| {});
    let title = |text: &'static str| {
        move |app: &App| {
            edit::edit(app, &TaskId::parse("S-50").unwrap(), |fields| {
                fields.title = text.into();
                Ok(())
            })
            .unwrap();
        }
    };
    // The first change of a task reads the state of each; the events after it do not.
    counted(&title("first"));
    let id = |text| SessionId::parse(text).unwrap();
    let ask = |activity| {
        move |app: &App| {
            let words = Heartbeat { activity: Some(activity), ..Heartbeat::default() };
            heartbeat::heartbeat(app, &id("s1"), &words).unwrap();
        }
    };
    let of_one = vec![
        counted(&|_| {}),
        counted(&title("second")),
        counted(&ask(Activity::RequiresAction)),
        counted(&ask(Activity::Busy)),
        counted(&|app| {
            let request =
                claim::ClaimRequest { id: Some(TaskId::parse("S-60").unwrap()), ..claim::ClaimRequest::default() };
            claim::claim(app, &request, &[]).unwrap();
        }),
        counted(&|app| {
            let new = checkpoint::NewCheckpoint {
                state: CheckpointState::Active,
                summary: "on".into(),
                owner: None,
                artifact: None,
                due: None,
            };
            checkpoint::record(app, &TaskId::parse("S-60").unwrap(), new).unwrap();
        }),
        counted(&|app| drop(add::add(app, None, TaskFields::with_title("new".into())).unwrap())),
    ];
    STEPS.set(0);
    board::compose(&app, PROVIDERS).unwrap();
    (of_one, STEPS.get())
}

/// Counts the steps of connections that are opened from now on.
fn count_steps() {
    #[expect(unsafe_code, reason = "SQLite tells its steps to a callback only")]
    // SAFETY: the entry is a function of this program, which lives as long as it.
    let registered = unsafe { ffi::sqlite3_auto_extension(Some(trace)) };
    assert_eq!(registered, ffi::SQLITE_OK);
}

#[test]
fn notifications_of_a_composed_board_compose_no_other() {
    count_steps();
    let world = TestProject::new();
    std::fs::write(world.root().join(".fairway.toml"), "[notify]\nsinks = ['bell']\n").unwrap();
    bulk_tasks::insert_ready_tasks(&world.store(), 2_000);
    world.add_session("s1");
    world.run(["session", "heartbeat", "s1", "--activity", "requires_action"]).exits(0);
    let mut env = Env::from_process();
    env.cwd = world.root();
    let app = app::app(&world.root(), env, app::person("me"));
    let mut cache = BoardCache::new();
    let board = cache.compose(&app, PROVIDERS).unwrap();
    let mut rung = Vec::new();
    STEPS.set(0);
    let mut outlets = Outlets { terminal: Some(&mut rung), programs: false };
    let report = notify::send_due_of(&app, &board, &mut cache, PROVIDERS, &mut outlets).unwrap();
    let steps = STEPS.get();
    assert_eq!((report.attempts.len(), rung.as_slice()), (1, b"\x07".as_slice()));
    STEPS.set(0);
    board::compose(&app, PROVIDERS).unwrap();
    // Even the numbers of tasks alone take more.
    assert!(steps > 0 && steps < STEPS.get() / 4, "{steps} of {}", STEPS.get());
}

#[test]
fn event_costs_as_much_at_ten_thousand_tasks_as_at_a_hundred() {
    count_steps();
    let ((few, whole_few), (many, whole_many)) = (steps(100), steps(10_000));
    println!("{few:?} of {whole_few}, {many:?} of {whole_many}");
    for (few, many) in few.iter().zip(&many) {
        assert!(*few > 0 && *many <= few + few / 10, "{few:?} {many:?}");
    }
    // The control: the whole board does grow.
    assert!(whole_many > whole_few * 5, "{whole_few} {whole_many}");
}
