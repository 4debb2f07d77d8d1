//! Commands that follow the store outlast a server that is away, and end when it refuses.

use std::thread;
use std::time::Duration;

use super::wait_for;
use super::waiting::{Printing, listeners, named};
use crate::api::{Reader, Server, run_of};
use crate::common::{TestProject, postgres_server};

/// Longer than a connection is looked for by a command that follows nothing.
pub(super) const OUTAGE: Duration = Duration::from_secs(8);

#[test]
fn followers_go_on_after_a_server_that_was_stopped_for_seconds_and_miss_nothing() {
    let Some(server) = postgres_server::own() else { return };
    let mut world = TestProject::on_server_of_its_own(&server);
    world.real_time();
    world.run(["session", "upsert", "--id", "s1", "--role", "worker", "--status", "running"]).exits(0);
    world.run(["session", "upsert", "--id", "s2", "--role", "worker"]).exits(0);
    let (server, schema) = world.on_server.clone().unwrap();
    let (address, name) = named(&server, &schema);
    world.set("FAIRWAY_STORE_URL", &address);
    let _serving = Server::start(&world, &[]);
    let events = Printing::start(&world, &["events", "--follow"], None);
    let inbox = Printing::start(&world, &["inbox", "--session", "s2", "--wait", "60s"], None);
    let watcher = Printing::start(&world, &["approvals", "watch"], None);
    let mut prompts = Reader::of(&world, &format!("/stream?run_id={}", run_of(&world, "s1")), None);
    let mut log = Reader::of(&world, "/events?since=2", None);
    wait_for(|| (listeners(&server, &schema, &name).parse::<u32>().unwrap() >= 4).then_some(()));

    server.stop("fast");
    for follower in [&events, &inbox, &watcher] {
        follower.line("waiting for it");
    }
    thread::sleep(OUTAGE);
    server.start();
    // Before anything else happens, so that no event but the server's return leads to the look.
    world.run(["message", "send", "come-and-see", "--to-session", "s2"]).exits(0);
    world.run(["message", "send", "you-too", "--to-session", "s1", "--priority", "urgent"]).exits(0);
    events.line("message.queued");
    inbox.line("come-and-see");
    watcher.line("answers again");
    assert_eq!(prompts.next().unwrap().data["content"], "you-too");
    assert_eq!(log.next().unwrap().data["kind"], "message.queued");
}

#[test]
fn follower_ends_with_the_error_of_a_server_that_refuses() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.clone().unwrap();
    let (address, name) = named(&server, &schema);
    let mut events = Printing::start(&world, &["events", "--follow", "--json"], Some(address));
    wait_for(|| (listeners(&server, &schema, &name) == "1").then_some(()));
    let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'");
    server.query("public", &format!("ALTER SCHEMA {schema} RENAME TO {schema}_away"));
    server.query("public", &end);
    events.line("store_missing");
    assert_eq!(events.end(), Some(3));
    server.query("public", &format!("ALTER SCHEMA {schema}_away RENAME TO {schema}"));
}

#[test]
fn follower_ends_with_the_error_of_a_login_that_is_refused() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.clone().unwrap();
    let (address, name) = named(&server, &schema);
    server.query("public", &format!("CREATE ROLE {schema} SUPERUSER LOGIN"));
    let address = address.replacen("fairway@", &format!("{schema}@"), 1);
    let mut events = Printing::start(&world, &["events", "--follow", "--json"], Some(address));
    wait_for(|| (listeners(&server, &schema, &name) == "1").then_some(()));
    server.query("public", &format!("ALTER ROLE {schema} NOLOGIN"));
    let end = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'");
    server.query("public", &end);
    events.line("store_denied");
    assert_eq!(events.end(), Some(7));
    server.query("public", &format!("DROP ROLE {schema}"));
}
