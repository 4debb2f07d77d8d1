//! Sessions in screen and zellij from launch to the recorded end.

use std::fs;

use super::{Sessions, eventually, text};
use crate::common::require;

fn with(backend: &str, test: impl FnOnce(&Sessions)) {
    if !require::program(backend) {
        return;
    }
    let mut world = Sessions::new();
    let state = world.dir().join("state");
    world.set("FAIRWAY_ADAPTER_STATE", &state);
    world.run(["lane", "add", "ui"]).exits(0);
    test(&world);
    let left =
        fs::read_dir(&state).unwrap().flatten().filter(|one| one.file_name().to_string_lossy().starts_with("s-"));
    assert_eq!(left.count(), 0);
}

fn from_launch_to_end(backend: &str) {
    with(backend, |world| {
        let script = "printf 'ready\\n'; read -r line; echo \"got $line\"; exit 7";
        let command = ["--role", "r", "--lane", "ui", "--name", "s1", "--backend", backend, "--", "sh", "-c", script];
        let session = world.launch(&command);
        assert_eq!((text(&session["status"]), text(&session["backend"])), ("running".into(), backend.into()));
        let row = world.session("s1");
        assert!(!row["pane"].is_empty() && !row["transcript"].is_empty() && !row["pid"].is_empty(), "{row:?}");
        eventually("it shows its prompt", || {
            world.run(["session", "peek", "s1"]).stdout.contains("ready").then_some(())
        });
        let reconciled = world.json(["session", "reconcile"]);
        assert_eq!(reconciled["stale"], serde_json::json!([]), "{reconciled}");
        assert_eq!(reconciled["unknown"], serde_json::json!([]), "{reconciled}");
        world.run(["session", "nudge", "s1", "go; $HOME `x`"]).exits(0);
        eventually("its end is recorded", || (world.session("s1")["status"] == "failed").then_some(()));
        let row = world.session("s1");
        assert_eq!(row["exit_code"], "7", "{row:?}");
        let shown = world.run(["session", "peek", "s1"]).exits(0).stdout;
        assert!(shown.contains("ready") && shown.contains("got go; $HOME `x`"), "{shown}");
        // The whole transcript, from its first byte.
        let kept = fs::read_to_string(world.root().join(&row["transcript"])).unwrap();
        assert!(kept.starts_with("ready\r\n") && kept.ends_with("got go; $HOME `x`\r\n"), "{kept:?}");
        // Stopped while it runs: the end is one, and nothing is left.
        world.launch(&["--role", "r", "--name", "s2", "--backend", backend, "--", "sleep", "300"]);
        world.run(["session", "stop", "s2"]).exits(0);
        assert_ne!(world.session("s2")["status"], "running");
        world.run(["session", "stop", "s2"]).exits(0);
    });
}

fn program_that_ends_at_once_is_a_failed_launch(backend: &str) {
    with(backend, |world| {
        let words = ["--role", "r", "--name", "bad", "--backend", backend, "--", "sh", "-c", "echo no; exit 9"];
        let error =
            world.run(["session", "launch", "--json"].iter().chain(&words)).refuses(7, "program_failed").error();
        let message = "bad was started, but its program ended with exit code 9; it last showed: no";
        assert_eq!(text(&error["message"]), message);
        assert_eq!(world.session("bad")["status"], "failed");
    });
}

mod screen {
    #[test]
    fn from_launch_to_end() {
        super::from_launch_to_end("screen");
    }

    #[test]
    fn program_that_ends_at_once_is_a_failed_launch() {
        super::program_that_ends_at_once_is_a_failed_launch("screen");
    }

    /// screen drops the upper rows of a window for a smaller terminal, and the program prints nothing again.
    #[test]
    fn session_launched_without_a_terminal_shows_its_text_in_a_small_one() {
        super::with("screen", |world| {
            world.launch(&["--role", "r", "--name", "s1", "--backend", "screen", "--", "sh", "-c", "echo seen; cat"]);
            super::eventually("it prints", || {
                world.run(["session", "peek", "s1"]).stdout.contains("seen").then_some(())
            });
            let fairway = crate::common::test_project::FAIRWAY;
            let command = format!("stty rows 24 cols 80; exec '{fairway}' session attach s1");
            let output = world.dir().join("attached");
            let mut attached = world
                .command("script")
                .args(["-qec", &command, "/dev/null"])
                .env("TERM", "xterm")
                .current_dir(world.root())
                .stdin(std::process::Stdio::piped())
                .stdout(std::fs::File::create(&output).unwrap())
                .spawn()
                .unwrap();
            super::eventually("the text", || {
                String::from_utf8_lossy(&std::fs::read(&output).unwrap()).contains("seen").then_some(())
            });
            world.run(["session", "stop", "s1"]).exits(0);
            attached.wait().unwrap();
        });
    }
}

mod zellij {
    #[test]
    fn from_launch_to_end() {
        super::from_launch_to_end("zellij");
    }

    #[test]
    fn program_that_ends_at_once_is_a_failed_launch() {
        super::program_that_ends_at_once_is_a_failed_launch("zellij");
    }
}
