//! Lanes, sessions and jobs of another host: what needs that host names it, and the command to type there. The rows are those that
//! another host writes: its name, its id and, on a server, its entry in the table of hosts.

mod lanes;
mod processes;

use serde_json::Value;

use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

/// The id of the other host; no machine's digest.
const ID: &str = "ffffffffffffffffffffffffffffffff/1";
/// Its name, with the pid namespace.
const NAME: &str = "build1/1";
/// The root of its checkout, as a server knows it.
const ROOT: &str = "/srv/the shop";

/// The columns of a row of the other host, of this one, and of an earlier version.
fn foreign() -> String {
    format!("host = '{NAME}', host_id = '{ID}'")
}

fn own() -> String {
    let local = fairway_core::os::host::identity();
    format!("host = '{}', host_id = {}", local.name, local.id.map_or("NULL".into(), |id| format!("'{id}'")))
}

/// A project in a repository with a commit, in a store in a file, and one on a server where that is built in.
fn worlds() -> Vec<TestProject> {
    #[cfg_attr(not(feature = "postgres"), expect(unused_mut, reason = "another world with a server"))]
    let mut worlds = vec![TestProject::new()];
    #[cfg(feature = "postgres")]
    worlds.extend(TestProject::on_postgres());
    for world in &worlds {
        let root = world.root();
        let config = root.join(".fairway.toml");
        let text = std::fs::read_to_string(&config).unwrap_or_default();
        let gates = "[gates.merge]\nrequire = [\"clean_worktree\"]\n[gates.done]\nrequire = [\"clean_worktree\"]\n";
        std::fs::write(config, format!("{text}\n{gates}")).unwrap();
        world.git(&root, &["init", "--quiet", "--initial-branch=main"]);
        world.git(&root, &["add", "."]);
        world.git(&root, &["commit", "--quiet", "--message=begin"]);
        add_host(world);
    }
    worlds
}

fn is_on_server(world: &TestProject) -> bool {
    !world.store().exists()
}

/// The other host writes, and so the server knows it.
fn add_host(world: &TestProject) {
    if is_on_server(world) {
        world.write_rows(&format!(
            "INSERT INTO hosts (id, name, root, version, boot_id, first_seen, last_seen) \
             VALUES ('{ID}', '{NAME}', '{ROOT}', '0.1.0', 'boot', 1, 1)"
        ));
    }
}

/// The command on the other host, as the store of this project can tell it.
fn there(world: &TestProject, words: &str) -> String {
    if is_on_server(world) {
        format!("ssh build1 'fairway --root '\\''{ROOT}'\\'' {words}'")
    } else {
        format!("ssh build1 fairway {words}")
    }
}

/// Runs words of a shell.
#[track_caller]
fn run(world: &TestProject, line: &str) -> CommandOutput {
    world.run(shell_words::split(line).unwrap())
}

/// Demands the refusal with the host and the command that is typed there.
#[track_caller]
fn refused(world: &TestProject, line: &str, code: &str, words: &str) -> Value {
    let error = run(world, &format!("--json {line}")).refuses(4, code).error();
    let command = there(world, words);
    assert_eq!((&error["details"]["host"], &error["details"]["command"]), (&"build1".into(), &command.clone().into()));
    let hint = error["hint"].as_str().unwrap();
    assert_eq!(hint.lines().next(), Some(&*format!("run it there: {command}")), "{line}: {hint}");
    error
}
