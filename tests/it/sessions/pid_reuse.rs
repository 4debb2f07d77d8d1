//! A pid that the kernel gives out again, in a pid namespace of its own where that can be forced.

use std::process::{Command, Stdio};

use crate::common::test_project::{CommandOutput, FAIRWAY};
use crate::common::{TestProject, require};

/// Starts a process, registers it, kills it, and starts others until one has its pid. `kill -0` then says that it lives.
const SCRIPT: &str = r#"
set -eu
fw() { "$FAIRWAY" --root "$ROOT" "$@"; }
sleep 600 & first=$!
fw session upsert --id s --role r --pid "$first" --quiet
fw session reconcile --json
kill -9 "$first"
wait "$first" || true
tries=0
while :; do
  echo $((first - 1)) >/proc/sys/kernel/ns_last_pid
  sleep 600 & second=$!
  [ "$second" != "$first" ] || break
  kill -9 "$second"
  wait "$second" || true
  tries=$((tries + 1))
  [ "$tries" -lt 200 ] || exit 99
done
kill -0 "$first"
fw session reconcile --json
kill -0 "$second"
kill -9 "$second"
"#;

/// A shell in a pid namespace with its own `/proc`; `None` where none can be made. In a changed root the root directory is
/// no mount point, so there `/proc` alone is made private.
fn namespace() -> Option<Command> {
    const OWN_PROC: &str = "mount --make-private /proc && mount -t proc proc /proc || exit 1\n";
    [
        (&["--pid", "--fork", "--mount-proc", "--kill-child"][..], ""),
        (&["-Ur", "--pid", "--fork", "--mount-proc", "--kill-child"], ""),
        (&["--pid", "--fork", "--kill-child", "--mount", "--propagation", "unchanged"], OWN_PROC),
    ]
    .into_iter()
    .find_map(|(flags, before)| {
        let shell = |script: &str| {
            let mut command = Command::new("unshare");
            command.args(flags).args(["/bin/sh", "-c", &format!("{before}{script}")]);
            command
        };
        let mut probe = shell("echo 100 >/proc/sys/kernel/ns_last_pid");
        let works = probe.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        works.then(|| shell(SCRIPT))
    })
}

#[test]
fn reused_pid_is_another_process() {
    let world = TestProject::new();
    let namespace = namespace();
    require::met(namespace.is_some(), "no pid namespace can be made: it needs root, or unprivileged user namespaces");
    let Some(mut command) = namespace else { return };
    let run: CommandOutput = command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("FAIRWAY", FAIRWAY)
        .env("ROOT", world.root())
        .stdin(Stdio::null())
        .output()
        .unwrap()
        .into();
    let run = run.exits(0);
    let reports: Vec<serde_json::Value> =
        run.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let [before, after] = reports.as_slice() else { panic!("{run:#?}") };
    assert_eq!((before["checked"].as_i64(), &before["stale"]), (Some(1), &serde_json::json!([])), "{run:#?}");
    assert!(after["stale"][0]["reason"].as_str().unwrap().ends_with("is another one now"), "{run:#?}");
}
