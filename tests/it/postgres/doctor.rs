//! The findings of `doctor` about a server and the hosts that write to it.

use serde_json::Value;

use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

/// The findings of a run: each code with its cure.
fn findings(output: &CommandOutput) -> Vec<(String, Option<String>)> {
    let report: Value = output.json();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let findings = report["findings"].as_array().unwrap().iter();
    findings.map(|one| (text(&one["code"]).unwrap(), text(&one["fix"]))).collect()
}

/// The output of `doctor` at an address of the world's schema on the network.
fn doctor_at(world: &TestProject, user: &str, parameters: &str) -> CommandOutput {
    let (server, schema) = world.on_server.as_ref().unwrap();
    let address = server.network_address("127.0.0.1", server.port(), schema).replace("fairway@", user) + parameters;
    world.fairway(["doctor", "--json"]).env("FAIRWAY_STORE_URL", address).output().unwrap().into()
}

fn cure(output: &CommandOutput, code: &str) -> Option<String> {
    let found = findings(output).into_iter().find(|(found, _)| found == code)?;
    Some(found.1.unwrap_or_else(|| panic!("{code} has no cure")))
}

#[test]
fn doctor_names_a_server_that_is_not_verified_or_takes_no_writes() {
    let Some(world) = TestProject::on_postgres() else { return };
    // With real clocks: server and host are one machine.
    world.real_time();
    let (server, schema) = world.on_server.as_ref().unwrap();
    let sound = doctor_at(&world, "fairway@", "");
    let codes: Vec<String> = findings(&sound).into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, ["store", "same_user"], "{sound:?}");
    assert!(
        cure(&doctor_at(&world, "fairway@", "&sslmode=require"), "server_unverified").unwrap().contains("sslrootcert")
    );
    let role = format!("reader_{}", std::process::id());
    server.query(
        schema,
        &format!("CREATE ROLE {role} SUPERUSER LOGIN; ALTER ROLE {role} SET default_transaction_read_only = on"),
    );
    let read_only = cure(&doctor_at(&world, &format!("{role}@"), ""), "server_read_only");
    server.query(schema, &format!("DROP ROLE {role}"));
    assert!(read_only.unwrap().contains("default_transaction_read_only"));
}

#[test]
fn doctor_names_a_host_with_another_version() {
    let Some(world) = TestProject::on_postgres() else { return };
    world.run(["task", "add", "one"]).exits(0);
    let (server, schema) = world.on_server.as_ref().unwrap();
    let seen = world.now().millis();
    server
        .query(schema, &format!("INSERT INTO hosts VALUES ('o/1', 'old/1', '/o', '0.0.1', 'b', '[]', {seen}, {seen})"));
    // A note: they can work together, or a store of another schema says so.
    let run = world.run(["doctor", "--json"]).exits(0);
    assert!(cure(&run, "host_version").is_some(), "{run:?}");
}

#[test]
fn doctor_leaves_the_directories_of_another_hosts_jobs_alone() {
    let Some(world) = TestProject::on_postgres() else { return };
    world.real_time();
    let other = super::another_host(&world);
    other.real_time();
    other.run(["exec", "spawn", "--foreground", "--", "true"]).exits(0);
    other.run(["exec", "spawn", "--", "sleep", "600"]).exits(0);
    let report = world.run(["doctor", "--json"]);
    let codes: Vec<String> = findings(&report).into_iter().map(|(code, _)| code).collect();
    assert!(
        codes.contains(&"run_elsewhere".to_owned()) && !codes.contains(&"run_folder_missing".to_owned()),
        "{report:?}"
    );
    // A directory that is gone here is still told.
    other.kill_jobs();
    std::fs::remove_dir_all(other.root().join(".fairway/runs")).unwrap();
    let report = other.run(["doctor", "--json"]);
    assert!(findings(&report).iter().any(|(code, _)| code == "run_folder_missing"), "{report:?}");
}
