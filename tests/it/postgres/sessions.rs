//! Sessions of a project whose store is on a server.

use std::fs;
use std::time::Duration;

use fairway_core::os::poll_until;

use crate::common::TestProject;

/// Its supervisor has no project around it: it must find the server, or the session would look alive for ever.
#[test]
fn end_of_a_session_is_recorded_on_the_server_and_its_variables_have_no_password() {
    let Some(mut world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.clone().unwrap();
    world.set("FAIRWAY_STORE_URL", server.address(&schema).replace("fairway@", "fairway:s3cret@"));
    world.real_time();
    let program = "echo \"<$FAIRWAY_STORE_URL>\" >said; until [ -e go ]; do sleep 0.05; done; exit 3";
    let launch =
        ["session", "launch", "--role", "worker", "--backend", "shell", "--name", "w-1", "--", "sh", "-c", program];
    world.run(launch).exits(0);
    let environments = server.query(&schema, "SELECT count(*) FROM agent_sessions s WHERE s::text LIKE '%s3cret%'");
    assert_eq!(environments, ["0"]);
    fs::write(world.root().join("go"), "").unwrap();
    let ended = poll_until::poll_until(Duration::from_secs(60), Duration::from_millis(100), || {
        Some(world.json(["session", "show", "w-1"])).filter(|session| session["status"] == "failed")
    });
    let ended = ended.expect("the end was not recorded");
    assert_eq!(ended["exit_code"], 3, "{ended}");
    // The local file names the same store.
    assert_eq!(fs::read_to_string(world.root().join("said")).unwrap(), "<>\n");
}
