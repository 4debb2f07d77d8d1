//! A claim for which the store has no task.

use crate::common::{TestProject, bulk_tasks};

/// Idle agents repeat such a claim: it waits for no writer, keeps none waiting, and names the first tasks of a long list.
#[test]
fn claim_that_finds_nothing_takes_no_turn_of_the_writers() {
    let world = TestProject::new();
    bulk_tasks::insert_ready_tasks(&world.store(), 300);
    let store = rusqlite::Connection::open(world.store()).unwrap();
    store.execute_batch("UPDATE tasks SET role = 'frontend'; BEGIN IMMEDIATE").unwrap();
    let refused = world.run(["claim", "--as", "backend", "--json"]).refuses(6, "nothing_ready");
    let details = &refused.error()["details"];
    assert_eq!((details["skipped"].as_array().unwrap().len(), &details["excluded"]), (100, &300.into()), "{details}");
    assert_eq!(details["skipped"][0]["code"], "role_mismatch");
    assert!(refused.stdout.contains("300 ready tasks") || refused.stderr.contains("300 ready tasks"), "{refused:?}");
    store.execute_batch("UPDATE tasks SET role = NULL WHERE id = 'S-300'; COMMIT").unwrap();
    assert_eq!(world.json(["claim", "--as", "backend", "--request-id", "again"])["task"]["id"], "S-300");
    // The stored answer of a repeated request comes before the look for tasks.
    assert_eq!(world.json(["claim", "--as", "backend", "--request-id", "again"])["task"]["id"], "S-300");
}
