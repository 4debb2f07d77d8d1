//! A launch that loses its server: nothing runs that the store does not know, nothing is started twice, and `reconcile` settles the
//! rest.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{fs, thread};

use fairway_core::env::{Env, Timestamp};
use fairway_core::os::process_tree;

use crate::common::postgres_proxy::{Fault, FaultProxy, Side};
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, soak};

/// The longest answer: a launch, its attempts to reach the server again, and its rollback.
const ANSWER_LIMIT: Duration = Duration::from_secs(40);
/// The launches that go on at once.
const AT_ONCE: usize = 4;
/// The quick set cuts at one of so many turns.
const QUICK_STEP: usize = 3;

/// A launch of a program that notes its start.
fn launch(world: &TestProject, name: &str, proxy: Option<&FaultProxy>) -> CommandOutput {
    let (server, schema) = world.on_server.as_ref().unwrap();
    let port = proxy.map_or(server.port(), FaultProxy::port);
    let address = server.network_address("127.0.0.1", port, schema) + "&connect_timeout=2";
    let program = format!("echo started >>'{}'; exec sleep 300", starts(world, name).display());
    let mut command = world.fairway(["session", "launch", "--role", "worker", "--backend", "shell", "--name", name]);
    command.args(["--request-id", name, "--json", "--", "sh", "-c", &program]).env("FAIRWAY_STORE_URL", address);
    command.output().unwrap().into()
}

/// The file to which the program of a session adds a line when it starts.
fn starts(world: &TestProject, name: &str) -> std::path::PathBuf {
    world.dir().join(format!("starts-{name}"))
}

/// The runs and statuses of all sessions, by name.
fn sessions(world: &TestProject) -> BTreeMap<String, (String, String)> {
    let (server, schema) = world.on_server.as_ref().unwrap();
    let rows = server.query(schema, "SELECT id, run_id, status FROM agent_sessions");
    let fields = |row: String| {
        let fields: Vec<_> = row.split('|').map(str::to_owned).collect();
        (fields[0].clone(), (fields[1].clone(), fields[2].clone()))
    };
    rows.into_iter().map(fields).collect()
}

fn is_alive(run: &str) -> bool {
    !process_tree::with_env_entry(&format!("FAIRWAY_RUN_ID={run}")).unwrap().is_empty()
}

#[test]
fn launch_that_is_cut_off_at_any_message_is_known_and_starts_once() {
    let Some(world) = TestProject::on_postgres() else { return };
    world.real_time();
    let (server, _) = world.on_server.as_ref().unwrap();
    let proxy = FaultProxy::start(server.port(), Fault::None);
    launch(&world, "w-all", Some(&proxy)).exits(0);
    let step = if soak::is_on() { 1 } else { QUICK_STEP };
    let cuts: Vec<_> = [Side::Client, Side::Server]
        .into_iter()
        .flat_map(|side| (0..proxy.turns(side)).step_by(step).map(move |turn| Fault::Cut(side, turn)))
        .collect();
    let runs = Mutex::new(cuts.into_iter().enumerate().collect::<Vec<_>>());
    let answers = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some((number, cut)) = runs.lock().unwrap().pop() else { return };
                    let (name, proxy) = (format!("w-{number}"), FaultProxy::start(server.port(), cut));
                    let start = Instant::now();
                    let first = launch(&world, &name, Some(&proxy));
                    assert!(start.elapsed() < ANSWER_LIMIT, "{cut:?}: {:?}", start.elapsed());
                    let known = sessions(&world).remove(&name);
                    let again = launch(&world, &name, None);
                    // The proxy lives on: the session's own supervisor may be connected through it.
                    answers.lock().unwrap().push((cut, name, first, known, again, proxy));
                }
            });
        }
    });
    let answers = answers.into_inner().unwrap();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for (cut, name, first, known, again, _) in &answers {
        let about = format!("{cut:?} of {name}: {first:?}, {known:?}, {again:?}");
        let kind = match first.code {
            Some(0) => "done".to_owned(),
            _ => first.error()["code"].as_str().unwrap().to_owned(),
        };
        match kind.as_str() {
            "done" => assert_eq!(known.as_ref().map(|(_, status)| &**status), Some("running"), "{about}"),
            "store_unreachable" | "store_busy" | "outcome_unknown" => {}
            _ => panic!("{about}"),
        }
        if again.code != Some(0) {
            let code = again.error()["code"].clone();
            assert!(known.is_some() && code == "launch_failed", "{about}");
        }
        let started = fs::read_to_string(starts(&world, name)).unwrap_or_default();
        assert!(started.lines().count() <= 1, "started twice: {about}");
        // Only of a launch that the store does not know, or knows to have failed, a message may promise that nothing was done.
        let promises = first.code != Some(0) && kind != "outcome_unknown";
        let is_live = known.as_ref().is_some_and(|(run, status)| status != "failed" && is_alive(run));
        assert!(!(promises && is_live), "it runs and is said to be not launched: {about}");
        *kinds.entry(kind).or_default() += 1;
    }
    println!("{} cuts: {kinds:?}", answers.len());
    assert!(kinds["done"] >= 3 && kinds.contains_key("store_unreachable"), "{kinds:?}");
    // Later than any launch may take: what was begun is settled.
    let later = Timestamp::from_millis(Env::from_process().now().millis() + 120_000).to_string();
    let settled = || {
        let reconciled = world.fairway(["session", "reconcile"]).env("FAIRWAY_TEST_TIME", &later).output().unwrap();
        assert!(reconciled.status.success(), "{reconciled:?}");
        let is_so = |(run, status): &(String, String)| match status.as_str() {
            "running" => is_alive(run),
            "stale" | "ended" | "failed" => !is_alive(run),
            _ => false,
        };
        sessions(&world).values().all(is_so).then_some(())
    };
    super::wait_for(settled);
    // Nothing runs here whose run the store does not have.
    let root = format!("FAIRWAY_ROOT={}", world.root().display());
    let known = sessions(&world);
    for process in process_tree::with_env_entry(&root).unwrap() {
        let environ = fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
        let mut runs = environ.split(|byte| *byte == 0).filter_map(|entry| entry.strip_prefix(b"FAIRWAY_RUN_ID="));
        let is_known = runs.all(|run| run.is_empty() || known.values().any(|(known, _)| known.as_bytes() == run));
        assert!(is_known, "{process:?} is on no record");
    }
    world.run(["session", "stop", "--all"]).exits(0);
    let left = process_tree::with_env_entry(&root).unwrap();
    assert!(left.is_empty(), "{left:?}");
}
