//! Connections that end: between two transactions nothing is noticed, and a write whose commit had no answer is asked about.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use fairway_actions::App;
use fairway_actions::core::errors;
use fairway_actions::queue::task::claim::{self, ClaimRequest};
use fairway_core::env::Env;
use fairway_core::store::tasks;

use super::transactions::hold_lock;
use crate::common::postgres_proxy::{Fault, FaultProxy, Side};
use crate::common::postgres_server::{self, PostgresServer};
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, app};

/// The context of a use case in this process, on connections of this name.
fn app_at(world: &TestProject, name: &str) -> App {
    let (server, schema) = world.on_server.as_ref().unwrap();
    let address = format!("{}&application_name={name}", server.address(schema));
    let env = Env::from_process().with_vars(&BTreeMap::from([("FAIRWAY_STORE_URL".into(), address)]));
    app::app(&world.root(), env, app::person("ann"))
}

fn end_connections(server: &PostgresServer, name: &str) {
    let end = format!("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = '{name}'");
    assert_eq!(server.query("public", &end), ["t"]);
}

#[test]
fn an_idle_connection_that_ended_is_replaced() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    for title in ["one", "two", "three"] {
        world.run(["task", "add", title]).exits(0);
    }
    let app = app_at(&world, schema);
    let claim = || claim::claim(&app, &ClaimRequest::default(), &[]).unwrap().ids;
    assert_eq!(claim(), ["T-1"]);
    end_connections(server, schema);
    assert_eq!(claim(), ["T-2"]);
    end_connections(server, schema);
    assert_eq!(app.read(|tx| Ok(tasks::newest_number(tx, "T")?)).unwrap(), 3);
    // How long a write waits is set again too.
    app.store_for_writing().unwrap().set_busy_timeout(Some(Duration::from_millis(50))).unwrap();
    end_connections(server, schema);
    let (mut holder, _) = hold_lock(server, schema);
    let start = Instant::now();
    assert_eq!(errors::classify(&claim::claim(&app, &ClaimRequest::default(), &[]).unwrap_err()).code, "store_busy");
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    drop(holder.stdin.take());
    holder.wait().unwrap();
    assert_eq!(claim(), ["T-3"]);
}

/// The number of turns of a side before the one that commits an added task.
fn turns_of_an_add(world: &TestProject, side: Side) -> usize {
    let (server, schema) = world.on_server.as_ref().unwrap();
    let proxy = FaultProxy::start(server.port(), Fault::None);
    add_by(world, &server.network_address("127.0.0.1", proxy.port(), schema), &[]).exits(0);
    proxy.turns(side)
}

fn add_by(world: &TestProject, address: &str, more: &[&str]) -> CommandOutput {
    let mut command = world.fairway(["task", "add", "a task", "--json"]);
    command.args(more).env("FAIRWAY_STORE_URL", address).output().unwrap().into()
}

#[test]
fn a_write_whose_commit_had_no_answer_is_asked_about() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let count = || server.query(schema, "SELECT count(*) FROM tasks").remove(0).parse::<i64>().unwrap();
    // The first write records the host.
    add_by(&world, &server.address(schema), &[]).exits(0);
    let client_commit = turns_of_an_add(&world, Side::Client) - 1;
    let server_answer = turns_of_an_add(&world, Side::Server) - 1;
    let address = |proxy: &FaultProxy| server.network_address("127.0.0.1", proxy.port(), schema) + "&connect_timeout=1";

    // The server committed, and its answer is lost.
    let before = count();
    let proxy = FaultProxy::start(server.port(), Fault::Cut(Side::Server, server_answer));
    add_by(&world, &address(&proxy), &[]).exits(0);
    assert_eq!(count(), before + 1);

    // The server never heard of the commit.
    let proxy = FaultProxy::start(server.port(), Fault::Cut(Side::Client, client_commit));
    let answer = add_by(&world, &address(&proxy), &[]).refuses(8, "store_busy");
    assert!(answer.error()["message"].as_str().unwrap().ends_with("nothing was written"), "{answer:?}");
    assert_eq!(answer.error()["retryable"], true);
    assert_eq!(count(), before + 1);

    // The server committed and cannot be asked.
    for (more, retryable) in [(&[][..], false), (&["--request-id", "r-1"], true)] {
        let at = if more.is_empty() { server_answer } else { server_answer_with_request(&world) };
        let before = count();
        let start = Instant::now();
        let proxy = FaultProxy::start(server.port(), Fault::CutForGood(Side::Server, at));
        let answer = add_by(&world, &address(&proxy), more).refuses(8, "outcome_unknown");
        assert_eq!(answer.error()["retryable"], retryable, "{answer:?}");
        assert!(answer.error()["hint"].as_str().unwrap().contains("--request-id"), "{answer:?}");
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        assert_eq!(count(), before + 1);
    }
    // The repetition finds what was done.
    let before = count();
    add_by(&world, &server.address(schema), &["--request-id", "r-1"]).exits(0);
    assert_eq!(count(), before);
}

fn server_answer_with_request(world: &TestProject) -> usize {
    let (server, schema) = world.on_server.as_ref().unwrap();
    let proxy = FaultProxy::start(server.port(), Fault::None);
    let address = server.network_address("127.0.0.1", proxy.port(), schema);
    add_by(world, &address, &["--request-id", "r-0"]).exits(0);
    proxy.turns(Side::Server) - 1
}

/// A server that crashed gives numbers of transactions out again, so that they alone do not say what became of a write.
#[test]
fn a_crash_of_the_server_is_another_run_of_it() {
    let Some(server) = postgres_server::own() else { return };
    let run = || {
        server.query(
            "public",
            "SELECT concat_ws(' ', pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time())",
        )
    };
    let first = run();
    assert_eq!(run(), first);
    // The server recovers from the crash of one of its processes without beginning anew.
    let mut client = server.psql("public");
    client.arg("-c").arg("SELECT pg_sleep(60)").stdout(Stdio::null()).stderr(Stdio::null());
    let mut client = client.spawn().unwrap();
    let sleeping = "SELECT pid FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)'";
    let pid: i32 = super::wait_for(|| server.query("public", sleeping).pop()).parse().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).unwrap();
    client.wait().unwrap();
    let second = super::wait_for(|| {
        let output = server.psql("public").arg("-c").arg("SELECT 1").output().unwrap();
        output.status.success().then(run)
    });
    assert_ne!(second, first);
    server.crash_and_restart();
    assert_ne!(run(), second);
}

/// A process that ended with an unread answer would reset its connection, which the server logs.
#[test]
fn commands_leave_nothing_about_their_connections_in_the_server_log() {
    let Some(server) = postgres_server::own() else { return };
    let world = TestProject::on_server_of_its_own(&server);
    for _ in 0..5 {
        world.run(["task", "add", "a task"]).exits(0);
        world.run(["ready"]).exits(0);
        world.run(["claim", "T-99", "--json"]).refuses(3, "not_found");
    }
    server.query("public", "SELECT 1");
    let log = std::fs::read_to_string(server.file("log")).unwrap();
    assert!(!log.contains("from client") && !log.contains("EOF"), "{log}");
}

/// PostgreSQL refuses the beginning of a write there with another code than a write in a transaction that only reads.
#[test]
fn write_to_a_hot_standby_is_refused_as_read_only_and_a_look_answers() {
    let Some(server) = postgres_server::own() else { return };
    let world = TestProject::on_server_of_its_own(&server);
    world.run(["task", "add", "one"]).exits(0);
    server.stop("fast");
    std::fs::write(server.file("data/standby.signal"), "").unwrap();
    server.start();
    let refused = world.run(["task", "add", "two", "--json"]).refuses(7, "store_read_only").error();
    assert_eq!(refused["retryable"], false, "{refused}");
    // The look notes no sign of this host there, and does not fail for that.
    world.advance_clock(600);
    assert!(world.run(["ready"]).exits(0).stdout.contains("one"));
    let log = std::fs::read_to_string(server.file("log")).unwrap();
    assert!(!log.contains("cannot execute UPDATE"), "{log}");
}
