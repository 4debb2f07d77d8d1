//! Hosts that write to one store. All run on this machine: each has a checkout and a home of its own, in which its id stands.
//! A write of another boot or machine is put into the row of the host.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::another_host;
use crate::common::{TestProject, fixtures};

/// The answer to a query of the world's schema, as one line.
fn ask(world: &TestProject, query: &str) -> String {
    let (server, schema) = world.on_server.as_ref().unwrap();
    server.query(schema, query).join("\n")
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim().to_owned()
}

/// The host of a command, in the list that its world sees.
fn here(world: &TestProject) -> Value {
    let hosts = world.json(["host", "list"]);
    let mut here = hosts.as_array().unwrap().iter().filter(|host| host["here"] == true);
    let host = here.next().unwrap().clone();
    assert!(here.next().is_none(), "{hosts:#}");
    host
}

/// The files of ids that `host renew` wrote.
fn renewed_ids(world: &TestProject) -> Vec<PathBuf> {
    let files = fs::read_dir(world.dir().join("home/.local/state/fairway")).unwrap();
    let is_id = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("host-id");
    files.map(|entry| entry.unwrap().path()).filter(is_id).collect()
}

#[test]
fn host_that_writes_is_recorded_and_its_row_is_written_again_only_for_news() {
    let Some(world) = TestProject::on_postgres() else { return };
    world.run(["ready"]);
    world.run(["task", "list"]).exits(0);
    assert_eq!(ask(&world, "SELECT count(*) FROM hosts"), "0", "a read wrote");
    world.run(["task", "add", "one"]).exits(0);
    let row = ask(&world, "SELECT concat_ws('|', name, root, version, boot_id, earlier_boots) FROM hosts");
    let root = world.root().canonicalize().unwrap().display().to_string();
    let cells: Vec<&str> = row.split('|').collect();
    assert!(cells[0].starts_with(&format!("{}/", fairway_core::os::host::name())), "{row}");
    assert_eq!(cells[1..], [root.as_str(), env!("CARGO_PKG_VERSION"), &boot_id(), "[]"]);

    let version = "SELECT xmin FROM hosts";
    let before = ask(&world, version);
    world.run(["task", "add", "two"]).exits(0);
    assert_eq!(ask(&world, version), before);
    world.advance_clock(60);
    world.run(["task", "add", "three"]).exits(0);
    assert_ne!(ask(&world, version), before);

    // It was renamed, moved, updated and booted again since.
    ask(&world, "UPDATE hosts SET name = 'old/1', root = '/old', version = '0.0.1', boot_id = 'before'");
    world.run(["task", "add", "four"]).exits(0);
    assert_eq!(
        ask(&world, "SELECT concat_ws('|', name, root, version, boot_id, earlier_boots) FROM hosts"),
        row.replace("[]", "[\"before\"]")
    );
}

/// A look is no write of the project: it changes the time alone, and a host that never wrote stays unknown.
#[test]
fn look_of_a_host_counts_as_a_sign_of_it_once_a_minute() {
    let Some(world) = TestProject::on_postgres() else { return };
    world.run(["task", "add", "one"]).exits(0);
    let seen = || ask(&world, "SELECT last_seen FROM hosts").parse::<i64>().unwrap();
    let events = || ask(&world, "SELECT count(*) FROM events");
    let (wrote, before) = (seen(), events());
    world.run(["ready"]).exits(0);
    assert_eq!(seen(), wrote, "within a minute");
    world.advance_clock(600);
    world.run(["status"]).exits(0);
    let looked = seen();
    assert!(looked >= wrote + 600_000, "{looked} {wrote}");
    assert_eq!(events(), before);
    // The look of another boot would hide that a machine was copied.
    ask(&world, "UPDATE hosts SET boot_id = 'other'");
    world.advance_clock(600);
    world.run(["status"]).exits(0);
    assert_eq!(seen(), looked);
    // A look waits for no lock of the row, and never fails for its sake.
    ask(
        &world,
        &format!(
            "UPDATE hosts SET boot_id = '{}'; ALTER TABLE hosts ADD CHECK (last_seen <= {looked}) NOT VALID",
            boot_id()
        ),
    );
    world.run(["status"]).exits(0);
    assert_eq!(seen(), looked);
}

#[test]
fn machine_whose_id_another_one_uses_is_refused_until_it_has_an_id_of_its_own() {
    let Some(world) = TestProject::on_postgres() else { return };
    world.run(["task", "add", "one"]).exits(0);
    ask(
        &world,
        "UPDATE hosts SET name = 'copy/1', root = '/srv/copy', earlier_boots = jsonb_build_array(boot_id)::text, \
         boot_id = 'of-the-copy'",
    );
    let refused = world.run(["task", "add", "two", "--json"]).refuses(4, "host_cloned");
    let error = refused.error();
    assert_eq!(
        error["message"],
        "another machine has the id of this host, and has written with it since: copy/1, with its checkout at /srv/copy"
    );
    assert_eq!(
        error["hint"],
        "only the copy gets a new id: if this machine is the copy, run it here, else on the other one: fairway host renew"
    );
    let findings = world.run(["doctor", "--json"]).json()["findings"].clone();
    let cloned = findings.as_array().unwrap().iter().find(|one| one["code"] == "host_cloned").expect("no finding");
    assert_eq!((&cloned["message"], &cloned["severity"]), (&error["message"], &json!("error")));
    assert_eq!(error["retryable"], false);
    assert_eq!(ask(&world, "SELECT count(*) FROM tasks"), "1");
    // A read is no claim to be the host.
    world.run(["task", "list"]).exits(0);

    let before = here(&world)["id"].clone();
    let renewed = world.json(["host", "renew", "--yes"]);
    assert_eq!(renewed["before"], before);
    assert_eq!(here(&world)["id"], renewed["id"]);
    let files = renewed_ids(&world);
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(fs::metadata(&files[0]).unwrap().permissions().mode() & 0o777, 0o600);
    world.run(["task", "add", "two"]).exits(0);
    // The old id is the other machine's now.
    assert_eq!(ask(&world, "SELECT name, boot_id FROM hosts ORDER BY first_seen LIMIT 1"), "copy/1|of-the-copy");
}

/// The person gives the new id to the copy, as the help says.
#[test]
fn original_writes_again_when_its_copy_has_an_id_of_its_own() {
    let Some(copy) = TestProject::on_postgres() else { return };
    copy.run(["task", "add", "one"]).exits(0);
    ask(&copy, "UPDATE hosts SET earlier_boots = '[\"older\", \"of-the-original\"]'");
    copy.run(["host", "renew", "--yes"]).exits(0);
    assert_eq!(
        ask(&copy, "SELECT boot_id, earlier_boots FROM hosts ORDER BY first_seen LIMIT 1"),
        format!("{}|[\"older\"]", boot_id())
    );
    // The original has written: the copy with the old id is the one that is refused.
    ask(
        &copy,
        "UPDATE hosts SET boot_id = 'of-the-original', earlier_boots = jsonb_build_array('older', boot_id)::text \
         WHERE earlier_boots <> '[]'",
    );
    fs::remove_file(&renewed_ids(&copy)[0]).unwrap();
    copy.run(["task", "add", "two", "--json"]).refuses(4, "host_cloned");
}

#[test]
fn hosts_are_listed_with_what_is_on_them() {
    let Some(world) = TestProject::on_postgres() else { return };
    let other = another_host(&world);
    world.run(["task", "add", "one"]).exits(0);
    other.run(["session", "upsert", "--id", "s1", "--role", "worker"]).exits(0);
    other.run(["session", "upsert", "--id", "s2", "--role", "worker"]).exits(0);
    other.run(["session", "end", "s2"]).exits(0);
    fixtures::add_lane(&world, "ui", None, Some(&other.root()));
    fixtures::add_lane(&world, "bare", None, None);
    let (own, away) = (here(&world), here(&other));
    assert_ne!(own["id"], away["id"]);
    let lane = format!(
        "UPDATE lanes SET host = '{0}', host_id = '{1}' WHERE name = 'ui'",
        text(&away["name"]),
        text(&away["id"])
    );
    world.write_rows(&lane);

    let listed = world.json(["host", "list"]);
    let short = |host: &Value| {
        json!([host["id"], host["here"], host["sessions"], host["jobs"], host["lanes"], host["version"]])
    };
    let short: Vec<Value> = listed.as_array().unwrap().iter().map(short).collect();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(short, [json!([own["id"], true, 0, 0, 0, version]), json!([away["id"], false, 1, 0, 1, version])]);
    assert_eq!(listed[1]["root"], json!(other.root().canonicalize().unwrap()));
    assert_eq!(other.json(["host", "list"])[0]["id"], away["id"]);
    let table = world.run(["host", "list"]).exits(0).stdout;
    assert!(table.starts_with("HOST "), "{table}");
    assert_eq!(table.lines().nth(1).unwrap().split_whitespace().nth(1), Some("yes"), "{table}");

    // A host that is long gone is shown on demand.
    ask(&world, "INSERT INTO hosts VALUES ('gone/1', 'gone/1', '/gone', '0.1.0', 'b', '[]', 0, 0)");
    assert_eq!(world.json(["host", "list"]).as_array().unwrap().len(), 2);
    assert_eq!(world.json(["host", "list", "--all"])[2]["id"], "gone/1");
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// A write names the table of hosts, which a schema of an earlier version does not have.
#[test]
fn write_to_a_schema_without_hosts_is_refused_as_older() {
    let Some(world) = TestProject::on_postgres() else { return };
    ask(&world, "DROP TABLE hosts; UPDATE project SET schema_version = 10");
    world.run(["task", "add", "one", "--json"]).refuses(1, "store_older");
}
