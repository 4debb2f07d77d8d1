//! A project inside of another one, and a project that is reached over a link.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{command, denied, silent, started};
use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

const RULES: &str =
    "[guard]\n[[guard.rules]]\nname = \"no-rm\"\ntools = [\"Bash\"]\ncommand = [\"rm\"]\naction = \"deny\"\n";

fn guarded() -> TestProject {
    let world = TestProject::new();
    fs::write(world.root().join(".fairway.toml"), RULES).unwrap();
    world.run(["trust"]).exits(0);
    world
}

/// The answer of a hook whose agent works in this directory.
fn ask(world: &TestProject, dir: &Path, text: &str) -> CommandOutput {
    let mut payload = command("codex", "a", text);
    payload["cwd"] = dir.to_str().unwrap().into();
    let mut hook = world.fairway(["hook", "codex", "PreToolUse"]);
    hook.current_dir(dir);
    started(hook, payload.to_string().as_bytes()).wait_with_output().unwrap().into()
}

fn in_dir(world: &TestProject, dir: &Path, args: &[&str]) -> CommandOutput {
    world.fairway(args).current_dir(dir).output().unwrap().into()
}

#[test]
fn project_without_rules_has_those_around_it() {
    let world = guarded();
    let inner = world.root().join("vendor/inner");
    fs::create_dir_all(&inner).unwrap();
    in_dir(&world, &inner, &["init", "--quiet"]).exits(0);
    let reason = denied("codex", &ask(&world, &inner, "rm x"));
    assert!(reason.contains("no-rm") && reason.contains(&*world.root().to_string_lossy()), "{reason}");
    silent(&ask(&world, &inner, "ls"));
    // With a server of the inner project as well.
    let mut serve = world.fairway(["serve", "--exit-after", "60s"]);
    let mut serve = serve.current_dir(&inner).stdout(std::process::Stdio::null()).spawn().unwrap();
    let socket = inner.join(".fairway/runtime/worker.sock");
    crate::sessions::eventually("a server", || std::os::unix::net::UnixStream::connect(&socket).ok());
    denied("codex", &ask(&world, &inner, "rm x"));
    serve.kill().unwrap();
    serve.wait().unwrap();
    // Rules of its own are its guard, once a person has trusted them.
    fs::write(inner.join(".fairway.toml"), "[guard]\n").unwrap();
    denied("codex", &ask(&world, &inner, "ls"));
    in_dir(&world, &inner, &["trust"]).exits(0);
    silent(&ask(&world, &inner, "rm x"));
}

#[test]
fn rules_around_a_project_that_cannot_be_read_deny() {
    let world = guarded();
    let inner = world.root().join("inner");
    fs::create_dir(&inner).unwrap();
    in_dir(&world, &inner, &["init", "--quiet"]).exits(0);
    fs::remove_dir_all(world.dir().join("home/.local/state/fairway/trust")).unwrap();
    denied("codex", &ask(&world, &inner, "ls"));
    fs::write(world.root().join(".fairway.toml"), "[guard").unwrap();
    assert!(denied("codex", &ask(&world, &inner, "ls")).contains("rules around"));
}

#[test]
fn link_to_a_project_is_the_project() {
    let world = guarded();
    let link = world.dir().join("link");
    symlink(world.root(), &link).unwrap();
    silent(&ask(&world, &link, "ls"));
    assert!(denied("codex", &ask(&world, &link, "rm x")).contains("no-rm"));
    let linked = link.to_str().unwrap();
    for (args, root) in [(&["--root", linked][..], None), (&[], Some(linked))] {
        let run = |words: &[&str]| {
            let mut command = world.fairway(args.iter().chain(words));
            command.current_dir(world.dir());
            if let Some(root) = root {
                command.env("FAIRWAY_ROOT", root);
            }
            CommandOutput::from(command.output().unwrap())
        };
        let tested = run(&["guard", "test", "--role", "r", "--input", "ls", "--json"]).exits(0).json();
        assert_eq!(tested["allowed"], true, "{tested}");
        assert!(run(&["trust"]).exits(0).stdout.contains("trusted already"));
    }
    // Files that were trusted over the link are trusted.
    fs::write(world.root().join(".fairway.toml"), format!("{RULES}# more\n")).unwrap();
    world.run(["--root", linked, "trust"]).exits(0);
    assert!(world.run(["trust"]).exits(0).stdout.contains("trusted already"));
}
