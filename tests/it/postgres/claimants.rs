//! A person on several machines: each machine is a claimant of its own.

use serde_json::Value;

use super::another_host;
use crate::common::{TestProject, postgres_server};

fn claimant(world: &TestProject, task: &str) -> String {
    let shown: Value = world.json(["task", "show", task]);
    shown["claim"]["claimant"].as_str().unwrap_or_else(|| panic!("{shown:#}")).to_owned()
}

fn user_at_host() -> String {
    format!("{}@{}", fairway_core::os::user::name(), fairway_core::os::host::name())
}

#[test]
fn one_person_on_two_machines_of_one_name_is_two_claimants() {
    let Some(world) = TestProject::on_postgres() else { return };
    let other = another_host(&world);
    for title in ["one", "two", "three"] {
        world.run(["task", "add", title]).exits(0);
    }
    world.run(["claim", "T-1"]).exits(0);
    other.run(["claim", "T-2"]).exits(0);
    let (here, there) = (claimant(&world, "T-1"), claimant(&world, "T-2"));
    assert_ne!(here, there);
    for name in [&here, &there] {
        let letters = name.strip_prefix(&format!("{}#", user_at_host())).unwrap_or_else(|| panic!("{name}"));
        assert!(letters.len() == 4 && letters.chars().all(|letter| letter.is_ascii_hexdigit()), "{name}");
    }
    other.run(["task", "submit", "T-1", "--json"]).refuses(4, "not_claimant");
    other.run(["release", "T-1", "--json"]).refuses(4, "not_claimant");
    world.run(["task", "submit", "T-2", "--json"]).refuses(4, "not_claimant");
    // Each has what it has claimed, without a word about it.
    world.run(["note", "from here"]).exits(0);
    other.run(["note", "from there"]).exits(0);
    world.run(["task", "submit", "T-1"]).exits(0);
    other.run(["release", "--all"]).exits(0);
    // One request id of two claimants is not one command.
    world.run(["claim", "T-3", "--request-id", "r1"]).exits(0);
    other.run(["claim", "T-3", "--request-id", "r1", "--json"]).refuses(2, "request_reused");
    // A session's name has no machine.
    world.run(["session", "upsert", "--id", "s1", "--role", "worker"]).exits(0);
    world.run(["claim", "T-2", "--session", "s1"]).exits(0);
    assert_eq!(claimant(&world, "T-2"), "s1");
}

/// A person's claims stay theirs on the way to a server and back.
#[test]
fn claims_of_before_the_move_to_a_server_are_the_persons_still() {
    let Some(server) = postgres_server::shared() else { return };
    let world = TestProject::new();
    for title in ["one", "two", "three", "four"] {
        world.run(["task", "add", title]).exits(0);
        world.run(["claim", &format!("T-{}", world.json(["task", "list"]).as_array().unwrap().len())]).exits(0);
    }
    assert_eq!(claimant(&world, "T-1"), user_at_host());
    let address = server.address(&format!("claims_{}", std::process::id()));
    world.run(["store", "copy", "--yes", "--to", &address]).exits(0);
    world.run(["claim", "T-1", "--json"]).refuses(4, "already_yours");
    world.run(["release", "T-1"]).exits(0);
    world.run(["task", "submit", "T-2"]).exits(0);
    world.run(["claim", "T-1"]).exits(0);
    assert_ne!(claimant(&world, "T-1"), user_at_host());
    world.run(["store", "copy", "--yes", "--to", "sqlite"]).exits(0);
    let released = world.run(["release", "--all"]).exits(0).stdout;
    assert!(released.contains("T-1") && released.contains("T-3") && released.contains("T-4"), "{released}");
}
