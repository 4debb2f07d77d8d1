//! Faults between a client and its server: at each one the client answers, what was acknowledged is there once, and a repetition
//! with the same request id settles the rest.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};
use std::{fs, thread};

use fairway_core::domain::TaskId;
use fairway_core::env::Clock;
use fairway_core::store::{Store, StoreAddress, tasks};

use crate::common::postgres_proxy::{Fault, FaultProxy, Side};
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, postgres_server};

/// The longest answer to a cut: a lock that the broken connection still holds, and the questions about a commit.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);
/// As many as the cuts of the verb with the most messages need.
const TASKS: usize = 200;
/// The runs that go on at once.
const AT_ONCE: usize = 4;

/// A verb of the fault table, with the kind of event that says that it was done.
struct Verb {
    args: &'static [&'static str],
    event: &'static str,
    /// Whether it takes the number of the task's handoff, not the task.
    is_of_handoff: bool,
}

const VERBS: &[Verb] = &[
    Verb { args: &["claim"], event: "task.claimed", is_of_handoff: false },
    CREATE,
    Verb { args: &["handoff", "accept", "--no-claim"], event: "handoff.accepted", is_of_handoff: true },
    Verb { args: &["done"], event: "task.done", is_of_handoff: false },
];
const CREATE: Verb = Verb {
    args: &["handoff", "create", "--to", "qa", "--summary", "please look"],
    event: "handoff.created",
    is_of_handoff: false,
};

/// One run of a verb through a proxy.
fn run(world: &TestProject, verb: &Verb, task: &str, proxy: Option<&FaultProxy>) -> CommandOutput {
    let (server, schema) = world.on_server.as_ref().unwrap();
    let port = proxy.map_or(server.port(), FaultProxy::port);
    let address = server.network_address("127.0.0.1", port, schema) + "&connect_timeout=2";
    let request = format!("{task}-{}", verb.event);
    let handoff = || server.query(schema, &format!("SELECT id FROM handoffs WHERE task_id = '{task}'")).remove(0);
    let subject = if verb.is_of_handoff { handoff() } else { task.to_owned() };
    let mut command = world.fairway(verb.args);
    command.args([&subject, "--request-id", &request, "--json"]).env("FAIRWAY_STORE_URL", address);
    command.output().unwrap().into()
}

/// How often a verb was done for a task.
fn times_done(world: &TestProject, verb: &Verb) -> BTreeMap<String, i64> {
    let (server, schema) = world.on_server.as_ref().unwrap();
    let query = format!("SELECT task_id, count(*) FROM events WHERE kind = '{}' GROUP BY 1", verb.event);
    let lines = server.query(schema, &query);
    let pair = |line: String| {
        let (task, count) = line.split_once('|').unwrap();
        (task.to_owned(), count.parse().unwrap())
    };
    lines.into_iter().map(pair).collect()
}

/// Cuts the connection at every turn of a verb, and in place of its commit.
fn cut_everywhere(world: &TestProject, verb: &Verb, next_task: &AtomicUsize) -> Vec<String> {
    let task = || format!("T-{}", next_task.fetch_add(1, SeqCst) + 1);
    let (server, _) = world.on_server.as_ref().unwrap();
    let proxy = FaultProxy::start(server.port(), Fault::None);
    run(world, verb, &task(), Some(&proxy)).exits(0);
    let cuts: Vec<_> = [Side::Client, Side::Server]
        .into_iter()
        .flat_map(|side| (0..proxy.turns(side)).map(move |turn| Fault::Cut(side, turn)))
        // The number of turns before it differs with what a run finds in the store.
        .chain([Fault::CutCommit])
        .collect();
    let runs = Mutex::new(cuts.into_iter().map(|cut| (cut, task())).collect::<Vec<_>>());
    let answers = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some((cut, task)) = runs.lock().unwrap().pop() else { return };
                    let proxy = FaultProxy::start(server.port(), cut);
                    let start = Instant::now();
                    let answer = run(world, verb, &task, Some(&proxy));
                    assert!(start.elapsed() < ANSWER_LIMIT, "{cut:?}: {:?}", start.elapsed());
                    answers.lock().unwrap().push((cut, task, answer));
                }
            });
        }
    });
    let answers = answers.into_inner().unwrap();
    let done = times_done(world, verb);
    let mut kinds = Vec::new();
    for (cut, task, answer) in &answers {
        let times = done.get(task).copied().unwrap_or_default();
        let kind = match answer.code {
            Some(0) => "done".to_owned(),
            _ => answer.error()["code"].as_str().unwrap().to_owned(),
        };
        assert!(!matches!(cut, Fault::CutCommit) || kind == "store_busy", "{task}: {answer:?}");
        match kind.as_str() {
            "done" => assert_eq!(times, 1, "{cut:?} of {task} was acknowledged and is lost"),
            "store_unreachable" | "store_busy" => assert_eq!(times, 0, "{cut:?} of {task}: {answer:?}"),
            _ => panic!("{cut:?} of {task}: {answer:?}"),
        }
        kinds.push(kind);
        // The repetition does the call that was not done, and repeats none.
        run(world, verb, task, None).exits(0);
    }
    let done = times_done(world, verb);
    assert!(answers.iter().all(|(_, task, _)| done[task] == 1), "{done:?}");
    kinds
}

#[test]
fn a_cut_at_every_message_loses_and_doubles_nothing() {
    let Some(world) = TestProject::on_postgres() else { return };
    let mut config = fs::read_to_string(world.root().join(".fairway.toml")).unwrap();
    config += "\n[gates.done]\nrequire = []\n";
    fs::write(world.root().join(".fairway.toml"), config).unwrap();
    let mut tasks = String::new();
    for number in 1..=TASKS {
        writeln!(tasks, "{{\"id\":\"T-{number}\",\"title\":\"task {number}\"}}").unwrap();
    }
    world.run_with_stdin(["task", "import", "-"], tasks.as_bytes()).exits(0);
    let claimed = AtomicUsize::new(0);
    for (index, verb) in VERBS.iter().enumerate() {
        let next = AtomicUsize::new(0);
        let next = if index == 0 { &claimed } else { &next };
        let kinds = cut_everywhere(&world, verb, next);
        let count = |kind: &str| kinds.iter().filter(|found| *found == kind).count();
        println!("{}: {} cuts, {} done", verb.event, kinds.len(), count("done"));
        // A commit whose answer was cut is told as done, one that was cut itself as not written.
        assert!(count("done") >= 3 && count("store_unreachable") >= 1, "{kinds:?}");
        if index == 0 {
            // The other verbs need claimed tasks; they may have more messages.
            for number in claimed.load(SeqCst)..TASKS {
                run(&world, verb, &format!("T-{}", number + 1), None).exits(0);
            }
        } else if verb.event == CREATE.event {
            for number in next.load(SeqCst)..TASKS {
                run(&world, verb, &format!("T-{}", number + 1), None).exits(0);
            }
        }
    }
}

/// A network that passes nothing on and says nothing: each step has a limit.
#[test]
fn a_silent_network_is_told_within_seconds() {
    let add = |world: &TestProject, proxy: &FaultProxy| -> CommandOutput {
        let (server, schema) = world.on_server.as_ref().unwrap();
        let address = server.network_address("127.0.0.1", proxy.port(), schema) + "&connect_timeout=1";
        let mut command = world.fairway(["task", "add", "a task", "--json"]);
        command.env("FAIRWAY_STORE_URL", address).output().unwrap().into()
    };
    let Some(server) = postgres_server::shared() else { return };
    thread::scope(|scope| {
        // The login, the beginning of the write, and its commit: on the way there, and on the way back.
        for (fault, codes) in [
            (Fault::Silence(Side::Server, 0), &["store_unreachable"][..]),
            (Fault::Silence(Side::Client, 1), &["store_unreachable"]),
            (Fault::SilentCommit, &["store_busy", "outcome_unknown"]),
            (Fault::SilentAfterCommit, &[]),
        ] {
            let (add, server) = (&add, &server);
            scope.spawn(move || {
                // Each in a store of its own: the lock of one would hold up the others.
                let world = TestProject::on_postgres().unwrap();
                let proxy = FaultProxy::start(server.port(), fault);
                let start = Instant::now();
                let answer = add(&world, &proxy);
                assert!(start.elapsed() < ANSWER_LIMIT, "{fault:?}: {:?}", start.elapsed());
                if codes.is_empty() {
                    answer.exits(0);
                } else {
                    let code = answer.exits(8).error()["code"].as_str().unwrap().to_owned();
                    assert!(codes.contains(&&*code), "{fault:?}: {code}");
                }
            });
        }
    });
}

/// A client that stands still inside a write is put out by the server.
#[test]
fn a_client_that_stops_inside_a_write_holds_the_others_up_for_seconds() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    // Behind the login and the beginning of the write.
    let proxy = FaultProxy::start(server.port(), Fault::Hold(2));
    let address = server.network_address("127.0.0.1", proxy.port(), schema);
    let mut frozen = world.fairway(["task", "add", "frozen", "--json"]);
    let frozen =
        frozen.env("FAIRWAY_STORE_URL", address).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    proxy.held();
    let signal =
        |signal| nix::sys::signal::kill(nix::unistd::Pid::from_raw(frozen.id().cast_signed()), signal).unwrap();
    // A read that pauses for as long goes on: no other process waits for it.
    let address = StoreAddress::parse(&server.address(schema)).unwrap();
    let store = Store::connect(&address, &world.root(), world.dir(), Clock::System).unwrap();
    let read = store.read(|tx| {
        signal(nix::sys::signal::Signal::SIGSTOP);
        let start = Instant::now();
        world.run(["task", "add", "another"]).exits(0);
        assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
        tasks::find(tx, &TaskId::parse("T-1").unwrap())
    });
    assert!(matches!(read, Ok(None)), "{read:?}");
    signal(nix::sys::signal::Signal::SIGCONT);
    proxy.let_go();
    let answer = CommandOutput::from(frozen.wait_with_output().unwrap()).exits(8);
    let error = answer.error();
    assert!(["store_busy", "store_unreachable"].contains(&error["code"].as_str().unwrap()), "{answer:?}");
    assert!(!error["message"].as_str().unwrap().contains("locked"), "{error:#}");
    assert_eq!(server.query(schema, "SELECT title FROM tasks"), ["another"]);
}

/// What a server ends is told with the process that everybody waits for: the limit of a lock, and that of a statement, which ends as
/// a statement that is cancelled.
#[test]
fn write_that_waits_too_long_is_told_which_process_holds_the_store() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let turn = "SELECT pg_advisory_xact_lock(1717660018, 'project'::regclass::oid::int)";
    let hold =
        format!("SET application_name = 'fairway build1 4711 task import'; BEGIN; {turn}; SELECT pg_sleep(9); COMMIT");
    let waiting = "FROM pg_locks WHERE locktype = 'advisory' AND objid = 'project'::regclass::oid AND NOT granted";
    let ask = |query: &str| server.query(schema, query);
    thread::scope(|scope| {
        scope.spawn(|| ask(&hold));
        let has_turn = waiting.replace("NOT granted", "granted");
        while ask(&format!("SELECT count(*) {has_turn}")) != ["1"] {
            thread::sleep(Duration::from_millis(10));
        }
        for is_cancelled in [true, false] {
            let add = scope.spawn(|| world.run(["task", "add", "late", "--json"]));
            if is_cancelled {
                while ask(&format!("SELECT pg_cancel_backend(pid) {waiting}")).is_empty() {
                    thread::sleep(Duration::from_millis(10));
                }
            }
            let error = add.join().unwrap().refuses(8, "store_busy").error();
            let message = error["message"].as_str().unwrap();
            assert!(
                message.starts_with("the store is locked by `fairway task import` on build1, pid 4711"),
                "{message}"
            );
            assert_eq!(error["retryable"], true);
        }
    });
    assert_eq!(ask("SELECT count(*) FROM tasks"), ["0"]);
}

/// Commits whose answers are cut, and about which nothing can be asked. `FAIRWAY_CUT_COMMITS` is their number.
#[test]
fn commits_cut_at_their_answer_are_unknown_and_settled_by_the_repetition() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let count: usize = std::env::var("FAIRWAY_CUT_COMMITS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let add = |request: &str, proxy: &FaultProxy| -> CommandOutput {
        let address = server.network_address("127.0.0.1", proxy.port(), schema) + "&connect_timeout=1";
        let mut command = world.fairway(["task", "add", "a task", "--json", "--request-id", request]);
        command.env("FAIRWAY_STORE_URL", address).output().unwrap().into()
    };
    let passing = || FaultProxy::start(server.port(), Fault::None);
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, SeqCst);
                    if number >= count {
                        return;
                    }
                    let request = format!("r-{number}");
                    let cut = FaultProxy::start(server.port(), Fault::CutAfterCommit);
                    let error = add(&request, &cut).refuses(8, "outcome_unknown").error();
                    assert_eq!(error["retryable"], true, "{error:#}");
                    add(&request, &passing()).exits(0);
                }
            });
        }
    });
    assert_eq!(server.query(schema, "SELECT count(*) FROM tasks"), [count.to_string()]);
    println!("{count} commits without an answer, each told as unknown and done once");
}
