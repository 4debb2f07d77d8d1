//! Reconcile where nobody is logged in: `examples/cron/`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{Sessions, eventually, text};
use crate::common::require;
use crate::common::test_project::{CommandOutput, FAIRWAY};

fn example(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/cron").join(name)).unwrap()
}

/// The variables and the one command of the crontab, read as cron reads them.
fn crontab() -> (BTreeMap<String, String>, String) {
    let (mut vars, mut commands) = (BTreeMap::new(), Vec::new());
    let text = example("crontab");
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        match line.split_once('=') {
            Some((name, value)) if name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_') => {
                vars.insert(name.to_owned(), value.to_owned());
            }
            _ => commands.push(line),
        }
    }
    let [line] = commands[..] else { panic!("one command, not {commands:?}") };
    let mut rest = line;
    for (field, most) in ["minute", "hour", "day", "month", "weekday"].iter().zip([59, 23, 31, 12, 7]) {
        let (word, after) = rest.split_once(' ').unwrap();
        for one in word.split(',') {
            let (range, step) = one.split_once('/').unwrap_or((one, "1"));
            assert!(step.parse::<u32>().is_ok_and(|step| (1..=most).contains(&step)), "{field}: {word}");
            let in_range = |number: &str| number.parse::<u32>().is_ok_and(|number| number <= most);
            assert!(range == "*" || range.split('-').all(in_range), "{field}: {word}");
        }
        rest = after;
    }
    // cron makes a newline of it.
    assert!(!rest.contains('%'), "{rest}");
    (vars, rest.to_owned())
}

/// The crontab's command as cron would run it: nothing in the environment but what it says itself, in `/`.
fn as_cron(world: &Sessions, change: impl FnOnce(String) -> String) -> Command {
    let (mut vars, command) = crontab();
    assert_eq!(vars.insert("FAIRWAY".into(), FAIRWAY.into()).as_deref(), Some("/usr/local/bin/fairway"));
    assert_eq!(vars.insert("FAIRWAY_ROOT".into(), world.root().display().to_string()).as_deref(), Some("/srv/project"));
    let mut sh = Command::new("/bin/sh");
    // Closed, and not merely empty.
    sh.arg("-c").arg(format!("exec <&-; {}", change(command))).env_clear().envs(vars).current_dir("/");
    sh
}

#[track_caller]
fn ran(command: &mut Command) -> CommandOutput {
    command.output().unwrap().into()
}

fn with_a_dead_one() -> Sessions {
    let world = Sessions::new();
    world.run(["task", "add", "T-1", "t"]).exits(0);
    let mut child = Command::new("sleep").arg("300").spawn().unwrap();
    let pid = child.id().to_string();
    world.run(["session", "upsert", "--id", "gone", "--role", "r", "--task-id", "T-1", "--pid", &pid]).exits(0);
    world.run(["session", "upsert", "--id", "here", "--role", "r", "--pid", &std::process::id().to_string()]).exits(0);
    child.kill().unwrap();
    child.wait().unwrap();
    world
}

#[test]
fn crontab_command_works_in_a_bare_environment() {
    let world = with_a_dead_one();
    let queue = world.queue();
    let full = world.json(["session", "reconcile", "--dry-run"]);
    let bare =
        ran(&mut as_cron(&world, |command| format!("{} --dry-run", command.replace("--quiet", "--json")))).exits(0);
    assert_eq!(bare.json(), full);
    // A settled session is named, and no mail comes when none is.
    let run = ran(&mut as_cron(&world, |command| command)).exits(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("gone\n", ""));
    let run = ran(&mut as_cron(&world, |command| command)).exits(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    assert_eq!((&*world.session("gone")["status"], &*world.session("here")["status"]), ("stale", "running"));
    assert_eq!(world.queue(), queue);
}

#[test]
fn eight_parallel_reconciles_run_once() {
    let world = Sessions::new();
    let go = world.dir().join("go");
    // A backend that answers when the test says so: the one who asks it is at work until then.
    let script = format!(
        "#!/bin/sh\ncase $1 in\n  start) cat >/dev/null ;;\n  stop) ;;\n  is-running)\n    \
         [ -e '{ask}' ] || {{ printf 'true\\n'; exit 0; }}\n    printf 'x\\n' >>'{asked}'\n    \
         n=0\n    while [ ! -e '{go}' ] && [ \"$n\" -lt 500 ]; do sleep 0.05; n=$((n + 1)); done\n    \
         printf 'false\\n' ;;\n  *) exit 2 ;;\nesac\n",
        ask = world.dir().join("ask").display(),
        asked = world.dir().join("asked").display(),
        go = go.display(),
    );
    let backend = format!("exec:{}", world.script("slow.sh", &script).display());
    let id = text(&world.launch(&["--role", "r", "--backend", &backend, "--", "true"])["id"]);
    assert_eq!(world.session(&id)["status"], "running");
    fs::write(world.dir().join("ask"), "").unwrap();
    let mut runs: Vec<_> = (0..8)
        .map(|_| {
            let mut command = as_cron(&world, |command| command.replace("--quiet", "--json"));
            // The script is one that this user has launched; a test's home is not that of the passwd entry.
            command.env("HOME", world.dir().join("home"));
            Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
        })
        .collect();
    let mut told: Vec<Value> = Vec::new();
    eventually("seven that say so", || {
        for run in &mut runs {
            if run.as_mut().is_some_and(|run| run.try_wait().unwrap().is_some()) {
                let run: CommandOutput = run.take().unwrap().wait_with_output().unwrap().into();
                told.push(run.exits(0).json());
            }
        }
        (told.len() == 7).then_some(())
    });
    assert!(told.iter().all(|answer| answer["busy"] == true && answer["checked"] == 0), "{told:?}");
    fs::write(&go, "").unwrap();
    let last: CommandOutput = runs.into_iter().flatten().next().unwrap().wait_with_output().unwrap().into();
    let last = last.exits(0).json();
    assert_eq!((last.get("busy"), last["stale"].as_array().unwrap().len()), (None, 1));
    // Asked once, by the one.
    assert_eq!(fs::read_to_string(world.dir().join("asked")).unwrap(), "x\n");
    assert_eq!(world.session(&id)["status"], "stale");
}

#[test]
fn systemd_units_pass_verification() {
    let world = Sessions::new();
    let folder = world.dir().join("units");
    fs::create_dir(&folder).unwrap();
    let service = example("fairway-reconcile.service");
    let command = service.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let root = service.lines().find_map(|line| line.strip_prefix("Environment=FAIRWAY_ROOT=")).unwrap();
    // It is the crontab's command.
    let (vars, crons) = crontab();
    assert_eq!((command, root), (&*crons.replace("\"$FAIRWAY\"", &vars["FAIRWAY"]), &*vars["FAIRWAY_ROOT"]));
    let verify = |service: &str, timer: &str| {
        fs::write(folder.join("fairway-reconcile.service"), service).unwrap();
        fs::write(folder.join("fairway-reconcile.timer"), timer).unwrap();
        let mut command = Command::new("systemd-analyze");
        let units = [folder.join("fairway-reconcile.service"), folder.join("fairway-reconcile.timer")];
        command.arg("verify").args(&units).env("SYSTEMD_COLORS", "0").output()
    };
    let timer = example("fairway-reconcile.timer");
    assert!(timer.contains("OnUnitActiveSec=5min") && timer.contains("WantedBy=timers.target"));
    let there = service.replace(&vars["FAIRWAY"], FAIRWAY);
    if !require::program("systemd-analyze") {
        return;
    }
    let run = verify(&there, &timer).unwrap();
    // It says what it does not understand, about these two files; what the machine's own units lack is not ours.
    let ours = |run: std::process::Output| -> Vec<String> {
        let text = String::from_utf8_lossy(&run.stderr).into_owned();
        text.lines().filter(|line| line.contains("fairway-reconcile")).map(str::to_owned).collect()
    };
    assert_eq!(ours(run), Vec::<String>::new());
    for (wrong_service, wrong_timer) in [
        (there.replace("oneshot", "once"), timer.clone()),
        (there.clone(), timer.replace("OnUnitActiveSec=5min", "OnUnitActiveSec=often")),
        (there.replace("ExecStart", "ExecBegin"), timer.clone()),
    ] {
        assert_ne!(ours(verify(&wrong_service, &wrong_timer).unwrap()), Vec::<String>::new());
    }
}
