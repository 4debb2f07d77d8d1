//! `screen.sh` and `zellij.sh`, whose programs have a recorded terminal of their own: one set of tests for both, with the real
//! multiplexer each.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use fairway::os::{
    process::{ProcessKey, ProcessStatus},
    process_tree,
};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use serde_json::{Value, json};

use super::{Caller, eventually, given, holds, naming, tmux::reader};
use crate::common::{
    concurrent_start::race,
    require,
    test_project::{CommandOutput, FAIRWAY},
};

macro_rules! with_each {
    ($($test:ident)*) => {
        mod screen {
            $(#[test]
            fn $test() {
                super::with("screen", super::$test);
            })*
        }
        mod zellij {
            $(#[test]
            fn $test() {
                super::with("zellij", super::$test);
            })*
        }
    };
}

with_each! {
    a_session_from_start_to_stop
    missing_sessions_and_unknown_operations_are_reported
    texts_arrive_exactly_in_the_right_one_of_four
    a_paste_cannot_be_broken_out_of
    two_texts_at_once_do_not_mix
    enter_is_pressed_again_when_it_was_swallowed
    a_program_that_reads_nothing_fails_the_nudge_and_only_that
    keys_by_their_names
    frozen_server_fails_calls_and_never_answers_false
    a_server_that_was_killed_takes_its_program_along
    the_end_of_a_program_is_the_end_of_its_server
    the_callers_locks_do_not_stay_in_the_server
    caller_environment_stays_out_of_program_and_server
    a_server_that_a_session_started_outlives_it
    a_start_that_is_cut_off_leaves_nothing
    stop_ends_the_whole_tree
    starts_at_once_under_one_name_and_under_many
    scrollback_is_seen_to_its_end_and_cleared
    attached_terminal_is_reported_and_sets_the_size
    a_state_folder_too_deep_for_a_socket_has_one_elsewhere
    another_scripts_sessions_are_not_its_own
    a_folder_of_sockets_that_is_named_is_used
}

fn with(backend: &str, test: impl FnOnce(&Caller)) {
    if require::program(backend) {
        test(&Caller::of(backend));
    }
}

fn backend(caller: &Caller) -> String {
    caller.script.file_stem().unwrap().to_string_lossy().into_owned()
}

fn pid(report: &Value) -> i32 {
    i32::try_from(report["pid"].as_i64().unwrap()).unwrap()
}

/// The server of a session: its root's ancestor that runs the multiplexer.
fn server(caller: &Caller, report: &Value) -> ProcessKey {
    let mut at = pid(report);
    loop {
        at = fairway::os::process::stat(at).unwrap().expect("an ancestor").parent;
        let name = fs::read_to_string(format!("/proc/{at}/comm")).unwrap();
        if name.trim() == backend(caller) {
            return ProcessKey::of(at).unwrap();
        }
    }
}

fn sockets(caller: &Caller) -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let Ok(data) = fs::symlink_metadata(&path) else { continue };
            if data.is_dir() {
                walk(&path, found);
            } else if !data.is_file() {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&caller.state, &mut found);
    found
}

/// Nothing of any session runs or lies about.
#[track_caller]
fn nothing_is_left(caller: &Caller) {
    eventually("nothing runs", || naming(&caller.state).is_empty().then_some(()));
    // A program that ended by itself is told as gone before its server has put its socket away.
    eventually("no socket lies about", || sockets(caller).is_empty().then_some(()));
}

fn called(command: Command, stdin: &[u8]) -> CommandOutput {
    given(command, stdin).wait_with_output().unwrap().into()
}

fn a_session_from_start_to_stop(caller: &Caller) {
    let name = "city/agent; touch x $(touch y) ^Z %n ..;";
    assert_eq!(caller.said(&["is-running", name]), "false\n");
    let work = caller.folder("work $HOME");
    let start = json!({"work_dir": work, "env": {"GC_GREETING": "hi there", "TMPDIR": ""}, "terminal": {"rows": 33, "cols": 177}});
    let command = r#"echo "$GC_GREETING [${TMPDIR-unset}]"; pwd; stty size; printf 'no newline   '; exec cat"#;
    let report = caller.start(name, command, start);
    assert_eq!((&report["session_name"], &report["status"]), (&json!(name), &json!("running")));
    assert!(
        report["pane"].is_string()
            && report["socket"]
                .as_str()
                .is_some_and(|folder| Path::new(folder).starts_with(caller.state.join(backend(caller)))),
        "{report}"
    );
    let key = ProcessKey::of(pid(&report)).unwrap();
    let server = server(caller, &report);
    let shown = format!("hi there [unset]\n{}\n33 177\nno newline\n", work.display());
    let seen = || caller.said(&["peek", name, "0"]);
    let came = fairway::os::poll_until::poll_until(Duration::from_secs(10), Duration::from_millis(20), || {
        (seen() == shown).then_some(())
    });
    assert!(came.is_some(), "{:?} is not {shown:?}", seen());
    assert_eq!(caller.said(&["peek", name, "2"]), "33 177\nno newline\n");
    assert_eq!(caller.said(&["peek", name, "-1"]), shown);
    // The transcript has every byte, from the first.
    let raw = format!("hi there [unset]\r\n{}\r\n33 177\r\nno newline   ", work.display());
    holds(Path::new(report["transcript"].as_str().unwrap()), raw.as_bytes());
    assert_eq!(fs::metadata(report["transcript"].as_str().unwrap()).unwrap().mode() & 0o777, 0o600);
    let folder = report["socket"].as_str().unwrap();
    assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);

    assert_eq!(caller.said(&["is-running", name]), "true\n");
    assert_eq!(caller.said(&["list-running", ""]), format!("{name}\n"));
    assert_eq!(caller.said(&["list-running", "city/"]), format!("{name}\n"));
    assert_eq!(caller.said(&["list-running", "city/*"]), "");
    assert_eq!(caller.call(&["process-alive", name], "nothing\ncat").exits(0).stdout, "true\n");
    assert_eq!(caller.call(&["process-alive", name], "ca\n").exits(0).stdout, "false\n");
    assert_eq!(caller.said(&["is-attached", name]), "false\n");
    assert!(caller.said(&["get-last-activity", name]).contains('T'));
    assert_eq!(caller.said(&["get-meta", name, "GC_GREETING"]), "hi there");
    caller.call(&["set-meta", name, "note"], "exact \n").exits(0);
    assert_eq!(caller.said(&["get-meta", name, "note"]), "exact \n");
    caller.said(&["remove-meta", name, "note"]);
    assert_eq!(caller.said(&["get-meta", name, "note"]), "");
    let again = caller.call(&["start", name], "{}").exits(1);
    assert!(again.stderr.contains("already exists"), "{again:?}");
    assert_eq!(caller.said(&["is-running", name]), "true\n");

    caller.said(&["stop", name]);
    assert_ne!(ProcessKey::of(pid(&report)), Some(key));
    assert_ne!(server.status(), ProcessStatus::Alive);
    assert_eq!(caller.said(&["is-running", name]), "false\n");
    assert_eq!(caller.said(&["list-running", ""]), "");
    caller.said(&["stop", name]);
    assert!(!work.join("x").exists() && !work.join("y").exists());
    nothing_is_left(caller);
    let left: Vec<_> = fs::read_dir(&caller.state).unwrap().flatten().map(|one| one.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("s-")), "{left:?}");
}

fn missing_sessions_and_unknown_operations_are_reported(caller: &Caller) {
    for (args, answer) in [
        (&["is-running", "x"][..], "false\n"),
        (&["process-alive", "x"], "false\n"),
        (&["is-attached", "x"], "false\n"),
        (&["stop", "x"], ""),
        (&["interrupt", "x"], ""),
        (&["nudge", "x"], ""),
        (&["send-keys", "x", "Enter"], ""),
        (&["set-meta", "x", "k"], ""),
        (&["get-meta", "x", "k"], ""),
        (&["remove-meta", "x", "k"], ""),
        (&["peek", "x", "0"], ""),
        (&["list-running", ""], ""),
        (&["list-running"], ""),
        (&["get-last-activity", "x"], ""),
        (&["clear-scrollback", "x"], ""),
        (&["check-image", "x"], ""),
    ] {
        assert_eq!(caller.said(args), answer, "{args:?}");
    }
    caller.call(&["attach", "x"], "").exits(1);
    let protocol: Value = serde_json::from_str(&caller.said(&["protocol"])).unwrap();
    assert_eq!(protocol["capabilities"], json!(["start-nudge", "ready", "report-attachment", "report-activity"]));
    for operation in ["provision", "exec", "stream", "watch-startup", "made-up", "-h"] {
        assert_eq!(caller.call(&[operation, "x"], "").exits(2).stdout, "");
    }
    for (args, stdin) in [
        (&[][..], ""),
        (&["start"], "{}"),
        (&["stop", ""], ""),
        (&["peek", "x", "many"], ""),
        (&["start", "x"], "no json"),
        (&["start", "x"], r#"{"work_dir":"/no/such/folder"}"#),
        (&["start", "x"], r#"{"argv":["no-such-program"]}"#),
        (&["start", "x"], r#"{"command":"echo so sorry; exit 3"}"#),
    ] {
        let run = caller.call(args, stdin).exits(1);
        assert!(!run.stderr.is_empty() && run.stdout.is_empty(), "{args:?}: {run:?}");
        assert_eq!(caller.said(&["is-running", "x"]), "false\n");
        assert_eq!(caller.said(&["list-running", ""]), "");
    }
    let run = caller.call(&["start", "x"], r#"{"command":"echo so sorry; exit 3"}"#).exits(1);
    assert!(run.stderr.contains("exit code 3") && run.stderr.contains("so sorry"), "{run:?}");
    // Without the multiplexer nothing is told, and nothing taken for gone.
    let mut command = caller.command(&["start", "x"]);
    command.env("PATH", caller.folder("empty"));
    called(command, b"{}").exits(1);
    nothing_is_left(caller);
}

/// Every byte that may be typed, shell's and multiplexers' own signs among them, to a length, with `;` at its end.
fn payload(length: usize) -> Vec<u8> {
    let signs = b"\"$HOME\" `touch canary` 'x' ^M ^@ #(touch canary) %1 \\;\n;\n $(touch canary) \\012\\";
    let unit: Vec<u8> = (1..=255).chain(signs.iter().copied()).collect();
    let mut text: Vec<u8> = unit.into_iter().cycle().take(length - 1).collect();
    text.push(b';');
    text
}

fn with_enter(text: &[u8]) -> Vec<u8> {
    [text, b"\r"].concat()
}

fn readers(caller: &Caller, names: &[&str]) -> Vec<PathBuf> {
    let folder = caller.folder("out");
    let one = |name: &&str| {
        let out = folder.join(name);
        caller.start(name, &reader(&out), json!({"ready_prompt_prefix": "ready"}));
        out
    };
    names.iter().map(one).collect()
}

fn texts_arrive_exactly_in_the_right_one_of_four(caller: &Caller) {
    let names = ["ab", "a-1", "a-10", "a"];
    let outs = readers(caller, &names[..3]);
    // None is taken for the one that is not there.
    assert_eq!(caller.said(&["is-running", "a"]), "false\n");
    assert_eq!(caller.said(&["peek", "a", "0"]), "");
    caller.call(&["nudge", "a"], "wrong").exits(0);
    for args in [&["stop", "a"][..], &["interrupt", "a"], &["send-keys", "a", "x"], &["clear-scrollback", "a"]] {
        caller.said(args);
    }
    let outs = [outs, readers(caller, &names[3..])].concat();
    for (name, out) in names.iter().zip(&outs) {
        let text = [name.as_bytes(), b": ", &payload(40_000)].concat();
        caller.call(&["nudge", name], &text).exits(0);
        holds(out, &with_enter(&text));
    }
    let big = payload(200_000);
    fs::write(&outs[1], "").unwrap();
    caller.call(&["nudge", "a-1"], &big).exits(0);
    eventually("all of it is there", || (fs::metadata(&outs[1]).unwrap().len() > 200_000).then_some(()));
    assert!(fs::read(&outs[1]).unwrap().ends_with(&with_enter(&big)));
    for (name, out) in names.iter().zip(&outs).filter(|(name, _)| **name != "a-1") {
        assert_eq!(fs::read(out).unwrap().len(), name.len() + 2 + 40_001, "{name} got what was another's");
    }
    caller.said(&["stop", "a-1"]);
    assert_eq!(caller.said(&["list-running", ""]), "a\na-10\nab\n");
    assert_eq!(caller.said(&["list-running", "a-1"]), "a-10\n");
    caller.said(&["stop", "a"]);
    assert_eq!(caller.said(&["list-running", "a"]), "a-10\nab\n");
    for name in names {
        caller.said(&["stop", name]);
    }
    assert!(!caller.world.root().join("canary").exists());
    nothing_is_left(caller);
}

fn a_paste_cannot_be_broken_out_of(caller: &Caller) {
    let out = caller.folder("out").join("x");
    let brackets = format!("printf '\\033[?2004h'; {}", reader(&out));
    caller.start("x", &brackets, json!({"ready_prompt_prefix": "ready"}));
    caller.call(&["nudge", "x"], b"one\x1b[20\x1b[201~1~\ntwo\0\x1b[200~;").exits(0);
    holds(&out, b"\x1b[200~one\ntwo;\x1b[201~\r");
    caller.said(&["stop", "x"]);
}

fn two_texts_at_once_do_not_mix(caller: &Caller) {
    let outs = readers(caller, &["x"]);
    let texts: Vec<Vec<u8>> = [b'a', b'b', b'c'].map(|letter| vec![letter; 30_000]).to_vec();
    let children: Vec<_> = texts.iter().map(|text| caller.begin(&["nudge", "x"], text)).collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    eventually("all came", || (fs::metadata(&outs[0]).unwrap().len() >= 90_003).then_some(()));
    let found = fs::read(&outs[0]).unwrap();
    let mut parts: Vec<&[u8]> = found.split(|byte| *byte == b'\r').filter(|part| !part.is_empty()).collect();
    parts.sort_unstable();
    assert_eq!(parts, texts.iter().map(Vec::as_slice).collect::<Vec<_>>());
    caller.said(&["stop", "x"]);
}

/// Echoes what it gets and notes every Enter; answers from the `swallowed + 1`st on.
fn busy(out: &Path, swallowed: u32) -> String {
    let out = out.display();
    format!(
        r#"stty raw -echo; printf 'ready\r\n'; n=0
        while :; do
          byte=$(dd bs=1 count=1 2>/dev/null; printf x); byte=${{byte%x}}
          if [ "$byte" = "$(printf '\r')" ]; then
            n=$((n + 1)); printf . >>'{out}'
            if [ "$n" -gt {swallowed} ]; then printf '\r\033[Ksubmitted %s\r\n' "$n"; n=0; fi
          else printf '%s' "$byte"; fi
        done"#
    )
}

fn enter_is_pressed_again_when_it_was_swallowed(caller: &Caller) {
    let folder = caller.folder("out");
    for (swallowed, presses) in [(0, "."), (1, ".."), (9, "...")] {
        let (name, out) = (format!("s{swallowed}"), folder.join(format!("s{swallowed}")));
        caller.start(&name, &busy(&out, swallowed), json!({"ready_prompt_prefix": "ready"}));
        caller.call(&["nudge", &name], "do it").exits(0);
        holds(&out, presses.as_bytes());
        caller.said(&["stop", &name]);
    }
    // A program that shows nothing gets exactly one, also for an empty text; and the first text goes with the start.
    let out = folder.join("quiet");
    let start = json!({"ready_prompt_prefix": "ready", "nudge": "first\nof all;"});
    caller.start("quiet", &format!("sleep 0.4; {}", reader(&out)), start);
    holds(&out, b"first\nof all;\r");
    caller.call(&["nudge", "quiet"], "").exits(0);
    holds(&out, b"first\nof all;\r\r");
    caller.said(&["stop", "quiet"]);
}

fn a_program_that_reads_nothing_fails_the_nudge_and_only_that(caller: &Caller) {
    caller.start("x", "stty raw -echo; sleep 300", json!({}));
    let begun = Instant::now();
    let run = caller.call(&["nudge", "x"], vec![b'x'; 300_000]).exits(1);
    assert!(run.stderr.contains("does not take its input"), "{run:?}");
    // The protocol's limit is 30 s.
    crate::common::soak::took(begun.elapsed(), ..Duration::from_secs(28), "the failed nudge");
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    caller.said(&["stop", "x"]);
    nothing_is_left(caller);
}

fn keys_by_their_names(caller: &Caller) {
    let outs = readers(caller, &["x"]);
    caller.said(&[
        "send-keys",
        "x",
        "y;",
        "Enter",
        "Up",
        "Left",
        "Escape",
        "Tab",
        "Space",
        "BSpace",
        "C-d",
        "-",
        "--",
        "é",
    ]);
    holds(&outs[0], "y;\r\x1b[A\x1b[D\x1b\t \x7f\x04---é".as_bytes());
    caller.said(&["send-keys", "x"]);
    caller.said(&["interrupt", "x"]);
    holds(&outs[0], "y;\r\x1b[A\x1b[D\x1b\t \x7f\x04---é\x03".as_bytes());
    caller.said(&["stop", "x"]);
    // What it asks of its terminal changes what arrows send; an interrupt is one where the terminal makes it so.
    let out = caller.folder("out").join("z");
    let arrows = format!("printf '\\033[?1h'; {}", reader(&out));
    caller.start("z", &arrows, json!({"ready_prompt_prefix": "ready"}));
    caller.said(&["send-keys", "z", "Up"]);
    holds(&out, b"\x1bOA");
    caller.said(&["stop", "z"]);
    caller.start("y", "trap 'echo got it' INT; while :; do sleep 1; done", json!({}));
    caller.said(&["interrupt", "y"]);
    eventually("it was interrupted", || caller.said(&["peek", "y", "0"]).contains("got it").then_some(()));
    assert_eq!(caller.said(&["is-running", "y"]), "true\n");
    caller.said(&["stop", "y"]);
}

fn frozen_server_fails_calls_and_never_answers_false(caller: &Caller) {
    let report = caller.start("x", "exec cat", json!({}));
    let server = server(caller, &report);
    server.signal(Signal::SIGSTOP).unwrap();
    let why = format!("{} did not answer", backend(caller));
    let mut asked = vec![&["is-attached", "x"][..], &["clear-scrollback", "x"], &["attach", "x"]];
    // What screen shows is known without it.
    if backend(caller) == "zellij" {
        asked.push(&["peek", "x", "0"]);
    }
    for args in asked {
        let begun = Instant::now();
        let run = caller.call(args, "").exits(1);
        let took = begun.elapsed();
        assert!(run.stdout.is_empty() && run.stderr.contains(&why), "{args:?}: {run:?}");
        crate::common::soak::took(took, ..Duration::from_millis(2_500), args[0]);
    }
    // What needs no server is answered, and what is typed needs none.
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    assert_eq!(caller.said(&["list-running", ""]), "x\n");
    assert_eq!(caller.call(&["process-alive", "x"], "cat").exits(0).stdout, "true\n");
    caller.call(&["nudge", "x"], "while frozen").exits(0);
    let again = caller.call(&["start", "x"], "{}").exits(1);
    assert!(again.stderr.contains("already exists"), "{again:?}");
    server.signal(Signal::SIGCONT).unwrap();
    assert_eq!(caller.said(&["is-attached", "x"]), "false\n", "nobody waits for an answer that did not come");
    eventually("it is shown", || caller.said(&["peek", "x", "0"]).contains("while frozen").then_some(()));
    // Frozen or not, stop leaves nothing.
    server.signal(Signal::SIGSTOP).unwrap();
    caller.said(&["stop", "x"]);
    assert_ne!(server.status(), ProcessStatus::Alive);
    nothing_is_left(caller);
}

fn a_server_that_was_killed_takes_its_program_along(caller: &Caller) {
    let transcript = caller.folder("out").join("t");
    let stubborn = "trap 'echo told' HUP; echo up; while :; do sleep 0.1; done";
    let report = caller.start("x", stubborn, json!({"transcript": transcript}));
    let root = ProcessKey::of(pid(&report)).unwrap();
    holds(&transcript, b"up\r\n");
    server(caller, &report).signal(Signal::SIGKILL).unwrap();
    eventually("it ends, told and then killed", || (root.status() != ProcessStatus::Alive).then_some(()));
    assert!(fs::read_to_string(&transcript).unwrap().contains("told"));
    assert_eq!(caller.said(&["is-running", "x"]), "false\n");
    assert_eq!(caller.said(&["list-running", ""]), "");
    caller.start("x", "exec cat", json!({}));
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    caller.said(&["stop", "x"]);
    nothing_is_left(caller);
}

fn the_end_of_a_program_is_the_end_of_its_server(caller: &Caller) {
    let folder = caller.folder("out");
    for round in 0..3 {
        let transcript = folder.join(format!("t{round}"));
        let start = json!({"transcript": transcript, "lifecycle": "one_shot"});
        let report = caller.start("x", "seq 1 20000; echo the end", start);
        assert!(["ended", "running"].contains(&report["status"].as_str().unwrap()), "{report}");
        let all: String = (1..=20_000).map(|number| format!("{number}\r\n")).collect::<String>() + "the end\r\n";
        holds(&transcript, all.as_bytes());
        eventually("it has ended", || (caller.said(&["is-running", "x"]) == "false\n").then_some(()));
    }
    nothing_is_left(caller);
    // What it printed can be read when it has ended.
    let start = json!({"command": "echo last words; sleep 0.5", "lifecycle": "one_shot"});
    caller.call(&["start", "y"], start.to_string()).exits(0);
    eventually("it has ended", || (caller.said(&["is-running", "y"]) == "false\n").then_some(()));
    assert_eq!(caller.said(&["peek", "y", "0"]).replace('\r', ""), "last words\n");
    nothing_is_left(caller);
    if backend(caller) == "zellij" {
        let folders = || fs::read_dir(caller.state.join("zellij")).unwrap().count();
        eventually("its folder is cleared away", || (folders() == 0).then_some(()));
    }
    caller.said(&["stop", "y"]);
}

fn the_callers_locks_do_not_stay_in_the_server(caller: &Caller) {
    let lock = caller.world.dir().join("lock");
    let start = caller.folder("configs").join("x");
    fs::write(&start, r#"{"command":"sleep 300"}"#).unwrap();
    let text = r#"exec 7>"$1"; flock -n 7 || exit 9; exec {high}>"$1.high"; flock -n "$high" || exit 9; exec "$2" start x <"$3""#;
    let command = caller.command(&[]);
    let env: Vec<_> = command.get_envs().map(|(name, value)| (name.to_owned(), value.unwrap().to_owned())).collect();
    let mut bash = Command::new("bash");
    bash.args(["-c", text, "bash"]).args([&lock, &caller.script, &start]).env_clear().envs(env);
    assert!(bash.stdout(Stdio::null()).status().unwrap().success());
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    for lock in [lock.clone(), lock.with_file_name("lock.high")] {
        let free = Command::new("flock").arg("-n").arg(&lock).arg("true").status().unwrap();
        assert!(free.success(), "{}", lock.display());
    }
    caller.said(&["stop", "x"]);
}

fn caller_environment_stays_out_of_program_and_server(caller: &Caller) {
    let mut command = caller.command(&["start", "x"]);
    for name in ["FAIRWAY_SESSION_ID", "FAIRWAY_LAUNCH", "TMUX", "STY", "WINDOW", "ZELLIJ", "ZELLIJ_SESSION_NAME"] {
        command.env(name, "surrounding");
    }
    command.env("OWN", "value").env("FAIRWAY_RUN_ID", "surrounding");
    let start = json!({"command": "env; exec cat", "env": {"BIG": "x".repeat(40_000)}});
    let report = called(command, start.to_string().as_bytes()).exits(0).json();
    let shown = eventually("it has printed", || {
        let shown = fs::read_to_string(caller.state.join("s-x/transcript")).unwrap_or_default().replace("\r\n", "\n");
        shown.contains("\nPATH=").then_some(shown)
    });
    let value = |name: &str| shown.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
    assert_eq!((value("OWN"), value("BIG").map(str::len)), (Some("value"), Some(40_000)));
    assert!(!shown.contains("surrounding") && value("TERM").is_some(), "{shown}");
    let pane = if backend(caller) == "screen" { ("STY", "WINDOW") } else { ("ZELLIJ_SESSION_NAME", "ZELLIJ_PANE_ID") };
    assert!(value(pane.0).is_some() && value(pane.1) == Some("0"), "{shown}");
    let ours: Vec<&str> = shown.lines().filter(|line| line.starts_with("FAIRWAY_")).collect();
    assert!(ours.len() == 1 && ours[0].starts_with("FAIRWAY_RUN_ID="), "{ours:?}");
    // Nor does the server carry anything of who started it.
    let around = fs::read(format!("/proc/{}/environ", server(caller, &report).pid)).unwrap();
    let around = String::from_utf8_lossy(&around).into_owned();
    assert!(!around.contains("surrounding"), "{around}");
    assert!(around.split('\0').any(|entry| entry == "FAIRWAY_RUN_ID=server"));
    caller.said(&["stop", "x"]);
}

fn a_server_that_a_session_started_outlives_it(caller: &Caller) {
    let inner = format!(
        r#"printf '%s' '{{"command":"sleep 300"}}' | FAIRWAY_BIN='{FAIRWAY}' FAIRWAY_ADAPTER_STATE='{}' '{}' start inner; exec sleep 300"#,
        caller.folder("inner").display(),
        caller.script.display(),
    );
    caller.start("outer", &inner, json!({}));
    let inside = |args: &[&str]| {
        let mut command = caller.command(args);
        command.env("FAIRWAY_ADAPTER_STATE", caller.folder("inner"));
        called(command, b"").exits(0).stdout
    };
    eventually("the inner one is up", || caller.said(&["peek", "outer", "0"]).contains("running").then_some(()));
    caller.said(&["stop", "outer"]);
    assert_eq!(inside(&["is-running", "inner"]), "true\n");
    assert_eq!(inside(&["peek", "inner", "0"]), "");
    inside(&["stop", "inner"]);
    assert_eq!(inside(&["is-running", "inner"]), "false\n");
}

fn a_start_that_is_cut_off_leaves_nothing(caller: &Caller) {
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
        killpg(group, Signal::SIGTERM).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert!(!ended.status.success(), "{ended:?}");
        assert_eq!(caller.said(&["is-running", "x"]), "false\n");
        assert_eq!(caller.said(&["list-running", ""]), "");
        assert!(!caller.state.join("s-x").exists(), "{start}");
        nothing_is_left(caller);
    }
    caller.start("x", "exec cat", json!({}));
    caller.said(&["stop", "x"]);
}

fn stop_ends_the_whole_tree(caller: &Caller) {
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
    let keys: Vec<_> = read().lines().map(|pid| ProcessKey::of(pid.parse().unwrap()).unwrap()).collect();
    caller.said(&["stop", "x"]);
    assert!(keys.iter().all(|key| key.status() != ProcessStatus::Alive));
    nothing_is_left(caller);
}

fn starts_at_once_under_one_name_and_under_many(caller: &Caller) {
    let configs = caller.folder("configs").join("x");
    fs::write(&configs, r#"{"command":"exec cat"}"#).unwrap();
    let start = |name: &str| {
        let mut command = caller.command(&["start", name]);
        command.stdin(fs::File::open(&configs).unwrap());
        command
    };
    let runs: Vec<CommandOutput> = race(4, |_| start("x")).into_iter().map(CommandOutput::from).collect();
    let (won, lost): (Vec<_>, Vec<_>) = runs.iter().partition(|run| run.code == Some(0));
    assert_eq!(won.len(), 1, "{runs:?}");
    assert!(lost.iter().all(|run| run.code == Some(1) && run.stderr.contains("already exists")), "{lost:?}");
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    let names = ["y1", "y2", "y3", "y4", "y5", "y6", "y7", "y8"];
    let runs: Vec<CommandOutput> = race(8, |at| start(names[at])).into_iter().map(CommandOutput::from).collect();
    assert!(runs.iter().all(|run| run.code == Some(0)), "{runs:?}");
    assert_eq!(caller.said(&["list-running", ""]), "x\ny1\ny2\ny3\ny4\ny5\ny6\ny7\ny8\n");
    assert_eq!(caller.said(&["list-running", "y3"]), "y3\n");
    let servers: BTreeSet<i32> = runs.iter().map(|run| server(caller, &run.json()).pid).collect();
    assert_eq!(servers.len(), 8, "each has its own");
    race(8, |at| caller.command(&["stop", names[at]]));
    assert_eq!(caller.said(&["list-running", ""]), "x\n");
    caller.said(&["stop", "x"]);
    nothing_is_left(caller);
}

fn scrollback_is_seen_to_its_end_and_cleared(caller: &Caller) {
    caller.start("x", "seq 1 3000; exec cat", json!({"terminal": {"rows": 20, "cols": 40}}));
    let all: String = (1..=3000).map(|number| format!("{number}\n")).collect();
    eventually("all is there", || (caller.said(&["peek", "x", "0"]) == all).then_some(()));
    assert_eq!(caller.said(&["peek", "x", "100"]).lines().next(), Some("2901"));
    caller.said(&["clear-scrollback", "x"]);
    let left = caller.said(&["peek", "x", "0"]);
    assert!(!left.contains("\n100\n") && left.lines().count() <= 20, "{left}");
    caller.call(&["nudge", "x"], "äöü 字 🦀").exits(0);
    eventually("letters of any kind", || caller.said(&["peek", "x", "1"]).contains("äöü 字 🦀").then_some(()));
    caller.said(&["stop", "x"]);
}

fn attached_terminal_is_reported_and_sets_the_size(caller: &Caller) {
    caller.start("x", "while :; do stty size; sleep 0.2; done", json!({"terminal": {"rows": 33, "cols": 99}}));
    eventually("the size asked for", || caller.said(&["peek", "x", "1"]).contains("33 99").then_some(()));
    let script = caller.script.display().to_string();
    let mut command = caller.command(&["attach", "x"]);
    let env: Vec<_> = command.get_envs().map(|(name, value)| (name.to_owned(), value.unwrap().to_owned())).collect();
    command = Command::new("script");
    command.args(["-qec", &format!("stty rows 21 cols 81; exec '{script}' attach x"), "/dev/null"]);
    command
        .env_clear()
        .envs(env)
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut person = command.spawn().unwrap();
    eventually("it is attached", || (caller.said(&["is-attached", "x"]) == "true\n").then_some(()));
    eventually("its size", || caller.said(&["peek", "x", "1"]).contains("21 81").then_some(()));
    // Who goes away leaves the session as it is.
    let key = ProcessKey::of(i32::try_from(person.id()).unwrap()).unwrap();
    key.signal(Signal::SIGTERM).unwrap();
    person.wait().unwrap();
    eventually("it is not attached", || (caller.said(&["is-attached", "x"]) == "false\n").then_some(()));
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    // Those who ask at the same time are all answered.
    let asked = race(6, |_| caller.command(&["is-attached", "x"]));
    assert!(asked.iter().all(|one| one.stdout == b"false\n"), "{asked:?}");
    caller.said(&["stop", "x"]);
    nothing_is_left(caller);
}

fn a_state_folder_too_deep_for_a_socket_has_one_elsewhere(caller: &Caller) {
    let state = caller.world.dir().join("deep $HOME ".repeat(12)).join("state");
    let call = |args: &[&str], stdin: &[u8]| {
        let mut command = caller.command(args);
        command.env("GC_EXEC_STATE_DIR", &state);
        called(command, stdin).exits(0).stdout
    };
    let report: Value = serde_json::from_str(&call(&["start", "x"], br#"{"command":"echo up; exec cat"}"#)).unwrap();
    let folder = Path::new(report["socket"].as_str().unwrap());
    assert!(folder.starts_with("/tmp") && folder.as_os_str().len() < 48, "{report}");
    assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(call(&["is-running", "x"], b""), "true\n");
    assert_eq!(call(&["peek", "x", "0"], b""), "up\n");
    let own = server(caller, &report);
    call(&["stop", "x"], b"");
    assert_ne!(own.status(), ProcessStatus::Alive);
    let _ = fs::remove_dir_all(folder.parent().unwrap());
}

fn another_scripts_sessions_are_not_its_own(caller: &Caller) {
    let other = caller.script.with_file_name("shell.sh");
    let call = |args: &[&str], stdin: &[u8]| {
        let mut command = caller.world.command(&other);
        command.args(args).env("FAIRWAY_BIN", FAIRWAY).env("GC_EXEC_STATE_DIR", &caller.state);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        called(command, stdin)
    };
    call(&["start", "theirs"], br#"{"command":"exec cat"}"#).exits(0);
    caller.start("ours", "exec cat", json!({}));
    assert_eq!(caller.said(&["list-running", ""]), "ours\n");
    assert_eq!(caller.said(&["is-running", "theirs"]), "false\n");
    let taken = caller.call(&["start", "theirs"], "{}").exits(1);
    assert!(taken.stderr.contains("already exists"), "{taken:?}");
    assert_eq!(call(&["is-running", "theirs"], b"").exits(0).stdout, "true\n");
    caller.said(&["stop", "ours"]);
    call(&["stop", "theirs"], b"").exits(0);
}

fn a_folder_of_sockets_that_is_named_is_used(caller: &Caller) {
    let folder = caller.folder("own");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let mut command = caller.command(&["start", "x"]);
    command.env("FAIRWAY_BACKEND_SOCKET", &folder);
    let report = called(command, br#"{"command":"echo up; exec cat"}"#).exits(0).json();
    assert_eq!(report["socket"], json!(folder));
    // Later calls find it again by themselves.
    eventually("it is shown", || (caller.said(&["peek", "x", "0"]) == "up\n").then_some(()));
    assert_eq!(caller.said(&["list-running", ""]), "x\n");
    caller.said(&["stop", "x"]);
    assert!(process_tree::with_env_entry("FAIRWAY_RUN_ID=nobody").unwrap().is_empty());
    eventually("nothing runs", || naming(caller.world.dir()).is_empty().then_some(()));
    let mut command = caller.command(&["start", "x"]);
    command.env("FAIRWAY_BACKEND_SOCKET", "relative/path");
    let run = called(command, b"{}").exits(1);
    assert!(run.stderr.contains("neither 'default' nor an absolute path"), "{run:?}");
    assert!(!caller.state.join("s-x").exists());
}
