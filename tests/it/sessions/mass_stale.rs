//! Twenty live sessions and everything that can go wrong with asking for them: none is marked, none is signalled.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::Sessions;

const SESSIONS: usize = 20;

/// A script whose questions are answered by what lies in `says`, a piece of shell; its sessions are `sleep`s.
const SCRIPT: &str = "#!/bin/sh\ncase $1 in start) cat >/dev/null; exit 0 ;; stop) exit 0 ;; esac\n\
     case $1 in is-running | list-running | process-alive | get-meta) . \"${0%/*}/says\" ;; *) exit 2 ;; esac\n";

struct Fleet {
    world: Sessions,
    script: PathBuf,
    programs: Vec<Child>,
}

impl Fleet {
    /// Twenty sessions that only their script can tell of.
    fn new() -> Self {
        let world = Sessions::new();
        let script = world.script("backend", SCRIPT);
        let sleep = || Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
        let this = Self { script, programs: (0..SESSIONS).map(|_| sleep()).collect(), world };
        this.says("case $1 in list-running) exit 2 ;; get-meta) exit 2 ;; *) echo true ;; esac");
        let backend = format!("exec:{}", this.script.display());
        for number in 0..SESSIONS {
            this.world.launch(&["--role", "r", "--name", &format!("s{number}"), "--backend", &backend, "--", "true"]);
        }
        this
    }

    fn says(&self, text: &str) {
        fs::write(self.world.dir().join("says"), text).unwrap();
    }

    fn state(&self) -> PathBuf {
        self.world.dir().join("home/.local/state/fairway/adapters")
    }

    /// Reconciles, and demands that nobody was marked.
    #[track_caller]
    fn assert_unchanged(&mut self, fault: &str) {
        let before = self.world.queue();
        let report = self.world.json(["session", "reconcile"]);
        assert_eq!(self.world.queue(), before, "{fault}");
        assert_eq!((count(&report["stale"]), count(&report["unknown"])), (0, SESSIONS), "{fault}: {report:#}");
        let live = self.world.rows("SELECT count(*) AS n FROM agent_sessions WHERE status = 'running'");
        assert_eq!(live[0]["n"], SESSIONS.to_string(), "{fault}");
        assert!(self.programs.iter_mut().all(|program| program.try_wait().unwrap().is_none()), "{fault}");
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for program in &mut self.programs {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

fn count(list: &Value) -> usize {
    list.as_array().unwrap().len()
}

#[test]
fn backend_errors_never_mark_sessions_stale() {
    let mut fleet = Fleet::new();
    for (fault, says) in [
        ("exit 1", "echo 'no server' >&2; exit 1"),
        ("exit 2", "exit 2"),
        ("exit 75", "exit 75"),
        ("rc 127", "exit 127"),
        ("garbage", "echo maybe"),
        ("another spelling", "case $1 in list-running) exit 2 ;; esac; echo FALSE"),
        ("nothing", "exit 0"),
        ("bytes", "printf 'fal\\377se'"),
        ("killed", "kill -9 $$"),
        ("an empty list and no answer", "case $1 in list-running) exit 0 ;; esac; exit 1"),
        ("a list of others and no answer", "case $1 in list-running) echo s; echo s1x; exit 0 ;; esac; exit 3"),
        (
            "a listed name of nobody knows whose run",
            "case $1 in list-running) for n in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do echo s$n-PROJECT; done ;; *) exit 1 ;; esac",
        ),
    ] {
        let name = fleet.world.backend_name("s0");
        fleet.says(&says.replace("PROJECT", name.trim_start_matches("s0-")));
        fleet.assert_unchanged(fault);
    }
    fleet.says("echo false");
    fs::set_permissions(&fleet.script, fs::Permissions::from_mode(0o777)).unwrap();
    fleet.assert_unchanged("a script that others can write to");
    fs::set_permissions(&fleet.script, fs::Permissions::from_mode(0o644)).unwrap();
    fleet.assert_unchanged("a script that cannot be run");
    fs::set_permissions(&fleet.script, fs::Permissions::from_mode(0o755)).unwrap();
    let text = fs::read(&fleet.script).unwrap();
    fs::write(&fleet.script, "#!/nowhere/sh\n").unwrap();
    fleet.assert_unchanged("a script without its interpreter");
    fs::write(&fleet.script, &text).unwrap();
    swap(&fleet.script.clone(), |_| fleet.assert_unchanged("a script that is gone"));
    swap(&fleet.state(), |_| fleet.assert_unchanged("a state folder that is gone"));
    // The control: the same sessions, and an answer.
    fleet.says("case $1 in list-running) exit 2 ;; esac; echo false");
    let report = fleet.world.json(["session", "reconcile"]);
    assert_eq!(count(&report["stale"]), SESSIONS, "{report:#}");
    assert!(fleet.programs.iter_mut().all(|program| program.try_wait().unwrap().is_none()));
}

/// Moves a path away while something is looked at.
fn swap(path: &Path, mut look: impl FnMut(&Path)) {
    let away = path.with_extension("away");
    fs::rename(path, &away).unwrap();
    look(path);
    fs::rename(&away, path).unwrap();
}

#[test]
fn hanging_script_is_asked_once() {
    let mut fleet = Fleet::new();
    let calls = fleet.world.dir().join("calls");
    fleet.says(&format!("echo \"$1\" >>'{}'; sleep 600", calls.display()));
    let began = std::time::Instant::now();
    fleet.assert_unchanged("a script that hangs");
    assert_eq!(fs::read_to_string(calls).unwrap().lines().count(), 1);
    // Its limit is 30 s; twenty of them would take ten minutes.
    crate::common::soak::took(began.elapsed(), ..std::time::Duration::from_secs(60), "one limit");
}

#[test]
fn list_is_asked_for_once_and_absence_from_it_is_confirmed() {
    let fleet = Fleet::new();
    let calls = fleet.world.dir().join("calls");
    fleet.says(&format!(
        "echo \"$1\" >>'{}'\ncase $1 in list-running) echo {} ;; is-running) case $2 in {}) echo true ;; *) echo false ;; esac ;; *) exit 2 ;; esac",
        calls.display(),
        fleet.world.backend_name("s0"),
        fleet.world.backend_name("s1"),
    ));
    let report = fleet.world.json(["session", "reconcile"]);
    // s0 is listed and s1 denies the list: the yes of a script without meta counts. The others confirm it.
    assert_eq!((count(&report["stale"]), count(&report["unknown"])), (SESSIONS - 2, 0), "{report:#}");
    let calls = fs::read_to_string(calls).unwrap();
    let of = |operation| calls.lines().filter(|call| *call == operation).count();
    assert_eq!((of("list-running"), of("is-running")), (1, SESSIONS - 1), "{calls}");
}
