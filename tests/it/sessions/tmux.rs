//! `session launch --backend tmux`, from the first byte to the recorded end.

use std::fs;
use std::path::Path;

use super::{Sessions, eventually, text};

#[test]
fn launch_in_tmux_keeps_output_from_first_byte_to_end() {
    let world = Sessions::new();
    let launch = |name: &str, command: &str| {
        world.launch(&["--role", "r", "--backend", "tmux", "--name", name, "--", "sh", "-c", command])
    };
    let session = launch("one", "echo first byte; exec cat");
    assert_eq!((text(&session["status"]), text(&session["backend"])), ("running".to_owned(), "tmux".to_owned()));
    let row = world.session("one");
    assert!(row["pane"].starts_with('%'), "{row:?}");
    assert!(Path::new(&row["socket"]).is_absolute(), "{row:?}");
    let transcript = row["transcript"].clone();
    eventually("the transcript has it all", || {
        (fs::read_to_string(&transcript).ok()? == "first byte\r\n").then_some(())
    });
    assert_eq!(world.run(["session", "peek", "one"]).exits(0).stdout, "first byte\n");
    // A second one lives on the same server and is another one.
    launch("one-2", "exec cat");
    world.run(["session", "stop", "one"]).exits(0);
    assert_eq!(world.session("one")["status"], "ended");
    assert_eq!(world.session("one-2")["status"], "running");
    world.run(["session", "stop", "one"]).exits(0);
    assert_eq!(world.run(["session", "peek", "one"]).exits(0).stdout, "first byte\n");
    world.run(["session", "stop", "one-2"]).exits(0);
}

#[test]
fn programs_own_end_in_tmux_is_recorded_with_its_exit_code() {
    let world = Sessions::new();
    for (name, code, status) in [("fine", 0, "ended"), ("broken", 7, "failed")] {
        let command = format!("read line; exit {code}");
        world.launch(&["--role", "r", "--backend", "tmux", "--name", name, "--", "sh", "-c", &command]);
        let row = world.session(name);
        let keys = ["-S", &row["socket"], "send-keys", "-t", &row["pane"], "Enter"];
        assert!(world.command("tmux").args(keys).status().unwrap().success());
        eventually("its end is recorded", || (world.session(name)["status"] == status).then_some(()));
        assert_eq!(world.session(name)["exit_code"], code.to_string());
    }
    // One that dies at once is a failed launch that shows its last words.
    let args = ["session", "launch", "--role", "r", "--backend", "tmux", "--", "sh", "-c", "echo so sorry; exit 3"];
    let failed = world.run(args).exits(7);
    assert!(failed.stderr.contains("so sorry"), "{failed:?}");
}
