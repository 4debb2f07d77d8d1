//! Addresses and servers that cannot be used.

use std::{fs, process::Stdio};

use super::wait_for;
use crate::common::{
    TestProject,
    postgres_proxy::{Fault, FaultProxy},
    test_project::CommandOutput,
};

#[test]
fn a_server_that_does_not_answer_is_told_with_a_retry() {
    let Some(mut world) = TestProject::on_postgres() else { return };
    let nowhere = format!("postgres://ann:s3cret@/team?host={}", world.dir().join("tmp").display());
    world.on_server = None;
    world.set("FAIRWAY_STORE_URL", nowhere);
    let answer = world.run(["ready", "--json"]).refuses(8, "store_unreachable");
    assert_eq!(answer.error()["retryable"], true);
    assert!(!format!("{answer:?}").contains("s3cret"));
    assert!(answer.error()["message"].as_str().unwrap().contains("postgres://ann@/team?host="), "{answer:?}");
    // No file takes the place of the store.
    assert!(!world.store().exists());
}

#[test]
fn an_address_that_cannot_be_used_is_refused_without_its_password() {
    let Some(mut world) = TestProject::on_postgres() else { return };
    world.on_server = None;
    for address in ["postgres://ann:s3cret@/", "mysql://ann:s3cret@db/team", "postgres://ann:s3cret@db:x/team"] {
        world.set("FAIRWAY_STORE_URL", address);
        let answer = world.run(["ready", "--json"]).refuses(2, "store_address");
        assert!(!format!("{answer:?}").contains("s3cret"), "{answer:?}");
    }
    assert!(!world.store().exists());
}

#[test]
fn what_only_a_file_can_do_names_the_servers_own_tools() {
    let Some(world) = TestProject::on_postgres() else { return };
    let answer = world.run(["backup", "copy.db", "--json"]).refuses(5, "store_on_server");
    assert!(answer.error()["hint"].as_str().unwrap().contains("pg_dump"), "{answer:?}");
    assert!(!fs::exists(world.root().join("copy.db")).unwrap());
    assert!(world.run(["doctor"]).exits(0).stdout.lines().count() < 5);
}

#[test]
fn a_database_that_is_not_there_is_named_with_the_way_to_make_it() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let address = server.network_address("127.0.0.1", server.port(), schema).replace("/postgres?", "/nowhere?");
    let answer: CommandOutput =
        world.fairway(["ready", "--json"]).env("FAIRWAY_STORE_URL", address).output().unwrap().into();
    let error = answer.refuses(3, "store_missing").error();
    assert!(error["message"].as_str().unwrap().contains("database \"nowhere\" does not exist"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("createdb"), "{error}");
}

/// A server that takes no connection now takes one a moment later, or says so in the end.
#[test]
fn a_server_without_a_free_connection_is_asked_again() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let [soon, never] = ["soon", "never"].map(|name| {
        let role = format!("{name}_{schema}");
        server.query("public", &format!("CREATE ROLE {role} LOGIN CONNECTION LIMIT 0 IN ROLE pg_read_all_data"));
        server.query("public", &format!("GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {role}"));
        let address = server.address(schema).replace("fairway@", &format!("{role}@"));
        let mut command = world.fairway(["task", "list", "--json"]);
        command.env("FAIRWAY_STORE_URL", address).stdout(Stdio::piped()).stderr(Stdio::piped());
        (role, command.spawn().unwrap())
    });
    // The server writes down each login that it refuses.
    wait_for(|| {
        fs::read_to_string(server.file("log")).unwrap().contains(&format!("role \"{}\"", soon.0)).then_some(())
    });
    server.query("public", &format!("ALTER ROLE {} CONNECTION LIMIT 5", soon.0));
    CommandOutput::from(soon.1.wait_with_output().unwrap()).exits(0);
    let refused = CommandOutput::from(never.1.wait_with_output().unwrap()).refuses(8, "store_busy");
    assert!(refused.error()["message"].as_str().unwrap().contains("too many connections"), "{refused:?}");
}

/// Behind a pooler that lends connections for a transaction each, a waiter would hear nothing.
#[test]
fn a_waiter_whose_notifications_do_not_come_through_is_refused() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let proxy = FaultProxy::start(server.port(), Fault::NoNotifications);
    let address = server.network_address("127.0.0.1", proxy.port(), schema);
    let mut follow = world.fairway(["events", "--follow", "--json"]);
    let answer: CommandOutput = follow.env("FAIRWAY_STORE_URL", &address).output().unwrap().into();
    let answer = answer.refuses(7, "store_server");
    assert!(answer.error()["message"].as_str().unwrap().contains("pooler"), "{answer:?}");
}
