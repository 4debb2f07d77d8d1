//! How `tmux.sh` brings sessions up and takes them down: hostile places, cut-off starts, whole trees, last words.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

use fairway_core::os::process::ProcessStatus;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::json;

use super::tmux::tmux;
use super::{Caller, eventually, given, holds, naming};
use crate::common::test_project::{CommandOutput, FAIRWAY};

/// Text that tmux would expand or split, and that a shell would.
const HOSTILE: &str = "a #(touch canary) #{pid} #[fg=red] %H %% 'q' \"d\" $(touch canary) `touch canary` é \\;";

#[test]
fn paths_names_and_titles_are_never_expanded() {
    let caller = Caller::of("tmux");
    let place = caller.folder(HOSTILE);
    let work = caller.folder(&format!("{HOSTILE}/work {HOSTILE}"));
    let state = place.join("state;");
    // The binary's own path goes through tmux as well.
    let fairway = place.join("fairway;");
    std::os::unix::fs::symlink(FAIRWAY, &fairway).unwrap();
    let call = |args: &[&str], stdin: &str| {
        let mut command = caller.command(args);
        command.env("GC_EXEC_STATE_DIR", &state).env("FAIRWAY_BIN", &fairway).current_dir(&work);
        CommandOutput::from(given(command, stdin.as_bytes()).wait_with_output().unwrap())
    };
    let name = format!("{HOSTILE} name;");
    let transcript = work.join(format!("{HOSTILE}.log;"));
    let title = r"printf '\033]2;#(touch canary)\033\\\033k#(touch canary)\033\\'; pwd; exec cat";
    let start = json!({"command": title, "work_dir": work, "transcript": transcript});
    let report = call(&["start", &name], &start.to_string()).exits(0).json();
    let shown = format!("{}\n", work.display());
    eventually("it shows where it is", || {
        (call(&["peek", &name, "0"], "").exits(0).stdout.replace('\n', "") == shown.trim_end()).then_some(())
    });
    eventually("the transcript has it", || {
        fs::read_to_string(&transcript).ok()?.contains(shown.trim_end()).then_some(())
    });
    assert_eq!(call(&["is-running", &name], "").exits(0).stdout, "true\n");
    assert_eq!(call(&["list-running", "a #("], "").exits(0).stdout, format!("{name}\n"));
    call(&["nudge", &name], HOSTILE).exits(0);
    // A status line that is drawn expands what it is given.
    let socket = report["socket"].as_str().unwrap();
    let mut draw = caller.world.command("tmux");
    draw.args(["-S", socket, "display-message", "-p", "-t", "%0", "#{T:status-left} #{T:status-right} #{window_name}"]);
    assert!(draw.output().unwrap().status.success());
    call(&["stop", &name], "").exits(0);
    assert!(naming(caller.world.dir()).iter().all(|key| key.status() != ProcessStatus::Alive));
    let canaries =
        [&work, &place, &caller.world.root(), caller.world.dir(), Path::new("/")].map(|folder| folder.join("canary"));
    assert!(canaries.iter().all(|canary| !canary.exists()), "{canaries:?}");
    if let Some(far) =
        Path::new(socket).parent().filter(|far| far.starts_with("/tmp") && !far.starts_with(caller.world.dir()))
    {
        assert_eq!(fs::metadata(far).unwrap().permissions().mode() & 0o777, 0o700);
        fs::remove_dir_all(far).unwrap();
    }
}

#[test]
fn start_that_is_cut_off_leaves_nothing() {
    let caller = Caller::of("tmux");
    for start in [
        json!({"command": "sleep 300", "pre_start": ["sleep 20"]}),
        json!({"command": "sleep 300", "ready_prompt_prefix": "never"}),
        json!({"command": "setsid -f sleep 300; sleep 300", "session_setup": ["sleep 20"]}),
    ] {
        let mut command = caller.command(&["start", "x"]);
        command.process_group(0);
        let child = given(command, start.to_string().as_bytes());
        let group = Pid::from_raw(i32::try_from(child.id()).unwrap());
        let begun = |name: &str| caller.state.join("s-x").join(name).exists();
        let is_early = start.get("pre_start").is_some();
        eventually("it is under way", || begun(if is_early { "start.json" } else { "program" }).then_some(()));
        nix::sys::signal::killpg(group, Signal::SIGTERM).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert!(!ended.status.success(), "{ended:?}");
        assert_eq!(caller.said(&["is-running", "x"]), "false\n");
        assert_eq!(caller.said(&["list-running", ""]), "");
        assert!(!caller.state.join("s-x").exists(), "{start} {ended:?}");
        eventually("nothing runs", || naming(caller.world.dir()).is_empty().then_some(()));
    }
    caller.start("x", "exec cat", json!({}));
    caller.said(&["stop", "x"]);
}

#[test]
fn stop_ends_the_whole_tree() {
    let caller = Caller::of("tmux");
    let pids = caller.folder("out").join("pids");
    let tree = format!(
        r#"trap '' TERM HUP
        for kind in '' 'setsid -f' nohup; do $kind sh -c 'trap "" TERM HUP; echo $$ >>"$1"; while :; do sleep 1; done' sh '{}' & done
        wait"#,
        pids.display()
    );
    caller.start("x", &tree, json!({}));
    let read = || fs::read_to_string(&pids).unwrap_or_default();
    eventually("all are up", || (read().lines().count() == 3).then_some(()));
    let keys: Vec<_> =
        read().lines().map(|pid| fairway_core::os::process::ProcessKey::of(pid.parse().unwrap()).unwrap()).collect();
    // Panes that a person opened beside it go as well.
    tmux(&caller, &["split-window", "-t", "=s-x:", "cat"]);
    caller.said(&["stop", "x"]);
    assert!(keys.iter().all(|key| key.status() != ProcessStatus::Alive));
    eventually("the server is gone", || naming(&caller.state).is_empty().then_some(()));
}

#[test]
fn final_output_of_a_program_is_in_its_transcript() {
    let caller = Caller::of("tmux");
    let folder = caller.folder("out");
    for round in 0..8 {
        let transcript = folder.join(format!("t{round}"));
        let start = json!({"transcript": transcript, "lifecycle": "one_shot"});
        let report = caller.start("x", "seq 1 20000; echo the end", start);
        assert!(["ended", "running"].contains(&report["status"].as_str().unwrap()), "{report}");
        let all: String = (1..=20_000).map(|number| format!("{number}\r\n")).collect::<String>() + "the end\r\n";
        holds(&transcript, all.as_bytes());
        eventually("it has ended", || (caller.said(&["is-running", "x"]) == "false\n").then_some(()));
    }
    assert_eq!(caller.said(&["list-running", ""]), "");
    caller.said(&["stop", "x"]);
}

#[test]
fn state_directory_too_deep_for_a_socket_has_one_elsewhere() {
    let mut caller = Caller::of("tmux");
    caller.state = caller.world.dir().join("deep".repeat(30)).join("state");
    let report = caller.start("x", "exec cat", json!({}));
    let socket = Path::new(report["socket"].as_str().unwrap());
    assert!(!socket.starts_with(&caller.state) && socket.as_os_str().len() < 108, "{report}");
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    assert_eq!(caller.said(&["list-running", ""]), "x\n");
    caller.said(&["stop", "x"]);
    fs::remove_dir_all(socket.parent().unwrap()).unwrap();
}
