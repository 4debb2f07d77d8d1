//! The bridges in `examples/session-adapters/`: documented arguments and variables, and nothing else, reach the launch.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use fairway_core::os::user;

use super::{Sessions, eventually, text};
use crate::common::require;
use crate::common::test_project::{CommandOutput, FAIRWAY};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/session-adapters")
}

fn bridge(world: &Sessions, name: &str, args: &[&str], vars: &[(&str, &str)]) -> CommandOutput {
    let mut command = world.command(examples().join(name));
    command.args(args).env("FAIRWAY_BIN", FAIRWAY).envs(vars.iter().copied());
    command.output().unwrap().into()
}

/// The bridges that launch, and their backends.
const LAUNCHERS: [(&str, &str); 3] = [("shell.sh", "shell"), ("tmux.sh", "tmux"), ("zellij.sh", "zellij")];

/// A stand-in for fairway that writes its words and its stdin down, one a line.
fn stub(world: &Sessions) -> PathBuf {
    world.script("stub", "#!/bin/sh\nprintf '<%s>\\n' \"$@\"\n[ \"$1 $2\" = 'session show' ] || cat\n")
}

#[test]
fn bridge_passes_launch_arguments_exactly() {
    let world = Sessions::new();
    let stub = stub(&world).display().to_string();
    let odd = "say 'x' \"y\" $(touch canary) `id`; *\n--flag";
    for (name, backend) in LAUNCHERS {
        let run = bridge(&world, name, &["lead"], &[("FAIRWAY_BIN", &stub)]).exits(0);
        assert_eq!(run.stdout, format!("<session>\n<launch>\n<--role>\n<lead>\n<--backend>\n<{backend}>\n"));
        let vars = [
            ("FAIRWAY_BIN", &*stub),
            ("FAIRWAY_PROVIDER", "acme"),
            ("FAIRWAY_PROVIDER_COMMAND", odd),
            ("FAIRWAY_INITIAL_PROMPT", odd),
            ("FAIRWAY_TRANSCRIPT", "logs/a b.log"),
            ("FAIRWAY_LANE", "ui"),
            ("FAIRWAY_WORKTREE", "../w"),
            ("FAIRWAY_BRANCH", "topic"),
            ("FAIRWAY_ROLE", "somebody"),
            ("FAIRWAY_TASK_ID", "T-9"),
        ];
        let run = bridge(&world, name, &["lead", "PF-001"], &vars).exits(0);
        let mut words = vec!["session", "launch", "--role", "lead", "--backend", backend, "--task-id", "PF-001"];
        words.extend(["--provider", "acme", "--command", odd, "--lane", "ui", "--worktree", "../w"]);
        words.extend(["--branch", "topic", "--transcript", "logs/a b.log", "--prompt-file", "-"]);
        // The prompt comes through stdin, byte for byte.
        let told: String = words.iter().map(|word| format!("<{word}>\n")).collect();
        assert_eq!(run.stdout, told + odd, "{name}");
        for wrong in [&[][..], &["--role"], &["a", "b", "c"]] {
            bridge(&world, name, wrong, &[("FAIRWAY_BIN", &stub)]).exits(1);
        }
        assert!(bridge(&world, name, &["--help"], &[]).exits(0).stdout.contains("ROLE [TASK_ID]"));
    }
    assert!(!world.root().join("canary").exists());
}

#[test]
fn bridge_launches_and_a_refusal_is_its_exit_code() {
    let world = Sessions::new();
    world.run(["task", "add", "PF-001", "t"]).exits(0);
    // Whatever a name's script is, the bridge goes by the name.
    let shell = Path::new(env!("CARGO_MANIFEST_DIR")).join("session-adapters/shell.sh");
    let entry = |name: &str| format!("[backends.{name}]\nscript = \"{}\"\n", shell.display());
    world.configure(&format!("{}{}", entry("tmux"), entry("zellij")));
    world.run(["trust"]).exits(0);
    for (name, backend) in LAUNCHERS {
        let transcript = format!("logs/{backend}.log");
        let vars = [
            ("FAIRWAY_PROVIDER", "acme"),
            ("FAIRWAY_PROVIDER_COMMAND", "echo \"I am $FAIRWAY_ROLE on $FAIRWAY_TASK_ID\""),
            ("FAIRWAY_TRANSCRIPT", &*transcript),
        ];
        bridge(&world, name, &["orchestrator", "PF-001"], &vars).exits(0);
        let row = world.rows("SELECT * FROM agent_sessions ORDER BY started_at DESC LIMIT 1").pop().unwrap();
        assert_eq!(
            [&row["role"], &row["task_id"], &row["provider"], &row["backend"]],
            ["orchestrator", "PF-001", "acme", backend]
        );
        let written = world.root().join(&transcript);
        assert_eq!(row["transcript"], written.display().to_string());
        eventually("the transcript", || {
            let text = fs::read_to_string(&written).ok()?;
            text.contains("I am orchestrator on PF-001").then_some(())
        });
        bridge(&world, name, &["orchestrator", "PF-404"], &vars).exits(3);
    }
    // Nobody claimed anything.
    assert_eq!(world.rows("SELECT * FROM claims"), []);
}

#[test]
fn bridge_inherits_no_paths_of_the_outer_session() {
    let world = Sessions::new();
    for lane in ["ui", "api"] {
        world.run(["lane", "add", lane]).exits(0);
    }
    let odd = world.root().join("a \"b\" \\c.log").display().to_string();
    let root = world.root().display().to_string();
    let own = ["--id", "lead", "--role", "lead", "--lane", "ui", "--branch", "lane/ui", "--worktree", &root];
    world.run(["session", "upsert", "--transcript", &odd].iter().chain(&own)).exits(0);
    let around = [
        ("FAIRWAY_SESSION_ID", "lead"),
        ("FAIRWAY_LANE", "ui"),
        ("FAIRWAY_BRANCH", "lane/ui"),
        ("FAIRWAY_WORKTREE", &*root),
        ("FAIRWAY_TRANSCRIPT", &*odd),
        ("FAIRWAY_PROVIDER", "acme"),
        ("FAIRWAY_PROVIDER_COMMAND", "true"),
    ];
    let newest = || world.rows("SELECT * FROM agent_sessions ORDER BY started_at DESC LIMIT 1").pop().unwrap();
    bridge(&world, "shell.sh", &["backend"], &around).exits(0);
    let row = newest();
    assert_eq!([&row["lane"], &row["branch"], &row["provider"]], ["", "", "acme"]);
    assert_eq!(row["transcript"], format!("{root}/.fairway/transcripts/{}.log", row["id"]));
    // A value that the caller set is kept.
    let said = [&around[..], &[("FAIRWAY_LANE", "api"), ("FAIRWAY_TRANSCRIPT", "mine.log")]].concat();
    bridge(&world, "shell.sh", &["backend"], &said).exits(0);
    assert_eq!([&newest()["lane"], &newest()["transcript"]], ["api", &*format!("{root}/mine.log")]);
    // Without a session around it, the same values are somebody's words.
    bridge(&world, "shell.sh", &["backend"], &around[1..]).exits(0);
    assert_eq!([&newest()["lane"], &newest()["transcript"]], ["ui", &*odd]);
    bridge(&world, "shell.sh", &["backend"], &[("FAIRWAY_SESSION_ID", "nobody")]).exits(1);
}

/// A tmux server on a socket of its own, killed with the test.
struct Tmux(PathBuf);

impl Tmux {
    fn start(world: &Sessions, socket: &str, program: &str) -> Self {
        let this = Self(world.dir().join(socket));
        this.run(world, &["new-session", "-d", "-x", "80", "-y", "24", program]);
        this
    }

    #[track_caller]
    fn run(&self, world: &Sessions, args: &[&str]) -> String {
        let mut command = world.command("tmux");
        command.args(["-f", "/dev/null", "-S"]).arg(&self.0).args(args);
        let run: CommandOutput = command.output().unwrap().into();
        run.exits(0).stdout.trim().to_owned()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = Command::new("tmux").arg("-S").arg(&self.0).arg("kill-server").output();
    }
}

#[test]
fn existing_tmux_pane_is_adopted() {
    if !require::program("tmux") {
        return;
    }
    let mut world = Sessions::new();
    world.run(["task", "add", "PF-002", "t"]).exits(0);
    world.run(["session", "upsert", "--id", "lead", "--role", "lead"]).exits(0);
    let tmux = Tmux::start(&world, "it's #{pid} %d,x", "cat");
    tmux.run(&world, &["split-window", "sh"]);
    let panes = tmux.run(&world, &["list-panes", "-F", "#{pane_id} #{pane_pid}"]);
    let (pane, pid) = panes.lines().last().unwrap().split_once(' ').unwrap();
    let socket = tmux.0.display().to_string();
    // Called by an agent, in its session, which the pane is not.
    world.set("FAIRWAY_SESSION_ID", "lead");
    let inside = format!("{socket},123,0");
    let name = "it's #{pane_id} #[fg=red] ##[ #(touch canary) $(touch canary) %H %%.log";
    let vars = [
        ("FAIRWAY_TMUX_PANE", pane),
        ("TMUX", &*inside),
        ("FAIRWAY_PROVIDER", "acme"),
        ("FAIRWAY_TRANSCRIPT", name),
        ("FAIRWAY_BRANCH", "topic"),
    ];
    let run = bridge(&world, "tmux.sh", &["backend", "PF-002"], &vars).exits(0);
    let id = run.stdout.trim().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(run.stdout, format!("adopted {pane} as {id}\n"));
    let row = world.session(&id);
    for (column, value) in [
        ("role", "backend"),
        ("task_id", "PF-002"),
        ("provider", "acme"),
        ("backend", "tmux"),
        ("branch", "topic"),
        ("pane", pane),
        ("pid", pid),
        ("socket", &*socket),
        ("status", "running"),
        ("transcript", &*format!("{}/{name}", world.root().display())),
    ] {
        assert_eq!(row[column], value, "{column}");
    }
    assert_eq!(world.session("lead")["task_id"], "");
    let points = world.rows("SELECT * FROM checkpoints");
    assert_eq!((points.len(), &*points[0]["state"], &*points[0]["task_id"]), (1, "active", "PF-002"));
    assert_eq!(points[0]["session_id"], id, "it is the pane's session's");
    let event = world.rows("SELECT * FROM events WHERE kind = 'checkpoint.recorded'");
    assert_eq!(event[0]["run_id"], row["run_id"]);
    assert!(points[0]["summary"].contains(&id));
    tmux.run(&world, &["send-keys", "-t", pane, "echo a-$((40 + 2))-b", "Enter"]);
    let transcript = world.root().join(name);
    eventually("what the pane prints", || fs::read_to_string(&transcript).ok().filter(|text| text.contains("a-42-b")));
    assert_eq!(fs::metadata(&transcript).map(|data| data.mode() & 0o777).unwrap(), 0o600);
    assert!(!world.root().join("canary").exists() && !world.dir().join("canary").exists());

    // Once more, with the socket named: the same session, and the pipe stays.
    let again = [("FAIRWAY_TMUX_PANE", pane), ("FAIRWAY_TMUX_SOCKET", &*socket), ("TMUX", "/nowhere,1,0")];
    let run = bridge(&world, "tmux.sh", &["backend"], &again).exits(0);
    assert_eq!(run.stdout, format!("adopted {pane} as {id}\n"));
    assert!(run.stderr.contains("is piped already"), "{}", run.stderr);
    assert_eq!(world.session(&id)["transcript"], transcript.display().to_string());

    // Reconcile knows it by its process, which tmux named.
    assert_eq!(world.json(["session", "reconcile"])["stale"].as_array().unwrap().len(), 0);
    tmux.run(&world, &["kill-pane", "-t", pane]);
    let stale = eventually("the end of the pane's program", || {
        let report = world.json(["session", "reconcile"]);
        report["stale"].get(0).map(|found| text(&found["session_id"]))
    });
    assert_eq!(stale, id);

    let count = world.rows("SELECT id FROM agent_sessions").len();
    tmux.run(&world, &["set-option", "-g", "remain-on-exit", "on"]);
    tmux.run(&world, &["split-window", "true"]);
    let dead = eventually("a dead pane", || {
        let panes = tmux.run(&world, &["list-panes", "-F", "#{pane_dead} #{pane_id}"]);
        panes.lines().find_map(|line| line.strip_prefix("1 ").map(str::to_owned))
    });
    for (pane, why) in [
        (&*dead, "has ended"),
        ("%99", "there is no pane %99"),
        ("%", "a pane is named like %5"),
        ("5", "a pane is named like %5"),
        ("%5;", "a pane is named like %5"),
        ("lead", "a pane is named like %5"),
    ] {
        let vars = [("FAIRWAY_TMUX_PANE", pane), ("FAIRWAY_TMUX_SOCKET", &*socket)];
        let run = bridge(&world, "tmux.sh", &["backend"], &vars).exits(1);
        assert!(run.stderr.contains(why), "{pane}: {}", run.stderr);
    }
    let nowhere = [("FAIRWAY_TMUX_PANE", "%0"), ("FAIRWAY_TMUX_SOCKET", "/nowhere")];
    bridge(&world, "tmux.sh", &["backend"], &nowhere).exits(1);
    assert_eq!(world.rows("SELECT id FROM agent_sessions").len(), count);
}

/// With the real backends.
#[test]
fn bridge_launches_in_its_own_multiplexer() {
    let world = Sessions::new();
    let known = world.run(["adapter", "list", "--quiet"]).exits(0).stdout;
    for (name, backend) in LAUNCHERS {
        assert!(known.lines().any(|one| one == backend), "{backend} is not in {known:?}");
        if backend != "shell" && !require::program(backend) {
            continue;
        }
        let vars = [("FAIRWAY_PROVIDER_COMMAND", "echo moin; exec cat"), ("FAIRWAY_PROVIDER", "acme")];
        bridge(&world, name, &["backend"], &vars).exits(0);
        let row = world.rows("SELECT * FROM agent_sessions ORDER BY started_at DESC LIMIT 1").pop().unwrap();
        assert_eq!([&*row["backend"], &*row["status"]], [backend, "running"]);
        eventually("what it prints", || {
            world.run(["session", "peek", &row["id"]]).stdout.contains("moin").then_some(())
        });
        world.run(["session", "stop", &row["id"]]).exits(0);
    }
}

/// With the umask 002 a script of one's own has the mode 775. What anybody else can write stays refused, with what mends it.
#[test]
fn script_that_only_the_users_own_group_may_write_is_accepted() {
    let world = Sessions::new();
    let script = world.root().join("own.sh");
    let text = "#!/bin/sh\nd=$FAIRWAY_ADAPTER_STATE\ncase $1 in start) cat >/dev/null; echo \"$FAIRWAY_ROOT\" >\"$d/root\" ;; \
                is-running) echo true ;; stop) ;; *) exit 2 ;; esac\n";
    fs::write(&script, text).unwrap();
    let mode = |mode: u32| fs::set_permissions(&script, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o775);
    world.configure("[backends.own]\nscript = \"own.sh\"\n");
    let is_own = user::is_own_group(fs::metadata(&script).unwrap().gid());
    let group = world.run(["trust"]);
    if is_own {
        group.exits(0);
        world.launch(&["--role", "r", "--name", "a", "--backend", "own", "--", "true"]);
        let root = fs::read_to_string(world.dir().join("home/.local/state/fairway/adapters/root")).unwrap();
        assert_eq!(root, format!("{}\n", world.root().display()), "the script is told the root");
    } else {
        group.exits(9);
    }
    mode(0o777);
    let hint = format!("hint: take that right away: chmod go-w {}\n", script.display());
    let exec = format!("exec:{}", script.display());
    for command in [&["trust"][..], &["session", "launch", "--role", "x", "--backend", &exec, "--", "true"]] {
        let refused = world.run(command).exits(9);
        assert!(refused.stderr.ends_with(&hint), "{command:?}: {}", refused.stderr);
    }
    // No circle: what the hint says is enough.
    mode(0o755);
    world.run(["trust"]).exits(0);
    world.launch(&["--role", "r", "--name", "b", "--backend", "own", "--", "true"]);
}
