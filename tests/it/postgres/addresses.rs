//! Addresses and servers that cannot be used.

use std::fs;

use crate::common::TestProject;

#[test]
fn a_server_that_does_not_answer_is_told_with_a_retry() {
    let Some(mut world) = TestProject::on_postgres() else { return };
    let nowhere = format!("postgres://ann:s3cret@/team?host={}", world.dir().join("tmp").display());
    world.on_server = None;
    world.set("FAIRWAY_STORE_URL", nowhere);
    let answer = world.run(["ready", "--json"]).refuses(8, "store_unreachable");
    assert_eq!(answer.error()["retryable"], true);
    assert!(!format!("{answer:?}").contains("s3cret"));
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
