//! `fairway trust`, and what is refused without it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{Sessions, text};

/// Each of these names a program or an environment.
const NAMING: &[&str] = &[
    "[providers.p]\ncommand = \"touch ../canary\"\n",
    "[roles.r]\ncommand = \"touch ../canary\"\n",
    "[providers.p]\nenv = { LD_PRELOAD = \"x\" }\n",
    "[roles.r]\npre_start = [\"touch ../canary\"]\n",
    "[roles.r]\nsession_setup = [\"touch ../canary\"]\n",
    "[roles.r]\nsession_setup = [\"./evil.sh\"]\n",
    "[roles.r]\nsession_live = [\"touch ../canary\"]\n",
    "[backends.shell]\nsocket = \"evil.sock\"\n",
    "[backends.b]\nscript = \"./evil.sh\"\n",
    "[sessions]\ndefault_backend = \"exec:./evil.sh\"\n",
];

#[test]
fn untrusted_configuration_runs_nothing() {
    let world = Sessions::new();
    let evil = world.root().join("evil.sh");
    fs::write(&evil, "#!/bin/sh\ntouch ../canary\n").unwrap();
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
    for file in [".fairway.toml", ".fairway/local.toml"] {
        let path = world.root().join(file);
        let own = fs::read(&path).ok();
        for text in NAMING {
            fs::write(&path, text).unwrap();
            let before = world.everything();
            for words in [&["--dry-run"][..], &[], &["--provider", "p"], &["--backend", "shell", "--", "true"]] {
                let run = world.run(["session", "launch", "--json", "--role", "r"].iter().chain(words));
                run.refuses(9, "untrusted");
            }
            assert_eq!(world.everything(), before, "{file}: {text}");
        }
        match own {
            Some(own) => fs::write(&path, own).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
    }
    // The queue works without.
    world.configure(NAMING[0]);
    world.run(["task", "add", "T-1", "one"]).exits(0);
    world.run(["claim"]).exits(0);
    // And a plain file needs no trust.
    world.configure("[project]\nname = \"x\"\n[claims]\nlease = \"1h\"\n[gates.done]\nrequire = []\n");
    world.launch(&["--role", "r", "--", "true"]);
}

#[test]
fn trust_covers_path_and_content_and_a_change_asks_again() {
    let world = Sessions::new();
    let script = world.root().join("tool.sh");
    let write = |path: &std::path::Path, text: &str| {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    write(&script, "#!/bin/sh\necho one\n");
    world.configure("[providers.p]\ncommand = \"./tool.sh\"\nenv = { API_TOKEN = \"hunter22\" }\n");
    let launch = || world.run(["session", "launch", "--json", "--role", "r", "--provider", "p"]);
    launch().refuses(9, "untrusted");
    let shown = world.run(["trust", "--show"]).exits(0);
    assert!(shown.stdout.contains("./tool.sh") && !shown.stdout.contains("hunter22"), "{shown:?}");
    launch().refuses(9, "untrusted");
    insta::assert_snapshot!(world.transcript(&["fairway trust", "fairway trust"]), @"
    $ fairway trust
    trusted [world]/project: .fairway.toml, tool.sh
    $ fairway trust
    unchanged: [world]/project is trusted already
    ");
    let records = fs::read_dir(world.dir().join("home/.local/state/fairway/trust")).unwrap();
    let record = records.flatten().find(|entry| entry.path().is_file()).unwrap();
    assert_eq!(record.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    launch().exits(0);
    // The script, the local file, and the file.
    write(&script, "#!/bin/sh\necho two\n");
    launch().refuses(9, "untrusted");
    world.run(["trust"]).exits(0);
    // A setup's script too.
    let (before, setup) =
        (fs::read_to_string(world.root().join(".fairway.toml")).unwrap(), world.root().join("setup.sh"));
    write(&setup, "#!/bin/sh\n");
    world.configure(&format!("{before}[roles.r]\nsession_setup = [\"./setup.sh\"]\n"));
    world.run(["trust"]).exits(0);
    launch().exits(0);
    write(&setup, "#!/bin/sh\n: more\n");
    launch().refuses(9, "untrusted");
    world.configure(&before);
    launch().refuses(9, "untrusted");
    world.run(["trust"]).exits(0);
    launch().exits(0);
    let local = world.root().join(".fairway/local.toml");
    fs::write(&local, "[claims]\nlease = \"1h\"\n").unwrap();
    launch().refuses(9, "untrusted");
    fs::remove_file(&local).unwrap();
    launch().exits(0);
    world.configure("[providers.p]\ncommand = \"./tool.sh --more\"\n");
    launch().refuses(9, "untrusted");
    world.run(["trust"]).exits(0);
    launch().exits(0);
    // A record that others could have written counts for nothing.
    fs::set_permissions(record.path(), fs::Permissions::from_mode(0o666)).unwrap();
    launch().refuses(9, "untrusted");
}

#[test]
fn clone_elsewhere_is_not_trusted() {
    let world = Sessions::new();
    world.configure("[providers.p]\ncommand = \"touch ../canary\"\n");
    world.run(["trust"]).exits(0);
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"];
        assert!(world.command("git").args(identity).args(args).output().unwrap().status.success(), "{args:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", ".fairway.toml"]);
    git(&["commit", "-q", "-m", "x"]);
    git(&["clone", "-q", ".", "../clone"]);
    let clone = world.dir().join("clone");
    let launch = ["session", "launch", "--json", "--role", "r", "--provider", "p"];
    let run = world.fairway(launch).current_dir(&clone).output().unwrap();
    crate::common::test_project::CommandOutput::from(run).refuses(9, "untrusted");
    assert!(!world.dir().join("canary").exists() && !clone.join(".fairway").exists());
}

#[test]
fn store_or_local_file_that_git_tracks_is_refused() {
    let world = Sessions::new();
    let git = |args: &[&str]| {
        assert!(world.command("git").args(args).output().unwrap().status.success(), "{args:?}");
    };
    git(&["init", "-q"]);
    let launch = || world.run(["session", "launch", "--json", "--role", "r", "--", "true"]);
    launch().exits(0);
    fs::write(world.root().join(".fairway/local.toml"), "").unwrap();
    for file in [".fairway/local.toml", ".fairway/fairway.db"] {
        git(&["add", "-f", file]);
        let error = launch().refuses(9, "untrusted").error();
        assert!(error["message"].as_str().unwrap().contains("is tracked by git"), "{error}");
        world.run(["trust", "--json"]).refuses(9, "untrusted");
        git(&["rm", "-q", "--cached", file]);
        launch().exits(0);
    }
    // A path that cannot be judged is not trusted.
    fs::write(world.root().join(".git/HEAD"), "garbage").unwrap();
    launch().refuses(9, "untrusted");
}

#[test]
fn script_that_a_tracked_store_names_is_not_run() {
    let world = Sessions::new();
    let canary = world.dir().join("canary");
    let script = world.script("planted", "#!/bin/sh\n: >\"${0%/*}/canary\"\necho false\n");
    world.run(["session", "upsert", "--id", "s1", "--role", "r", "--name", "s1"]).exits(0);
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let planted = "UPDATE agent_sessions SET backend = 'exec:planted', adapter_script = ?1, adapter_state = ?2";
    let state = world.dir().display().to_string();
    conn.execute(planted, (script.display().to_string(), state)).unwrap();
    drop(conn);
    for words in [&["init", "-q"][..], &["add", "-f", ".fairway/fairway.db"]] {
        assert!(world.command("git").args(words).output().unwrap().status.success());
    }
    world.run(["session", "peek", "s1", "--json"]).refuses(9, "untrusted");
    world.run(["session", "stop", "s1", "--json"]).refuses(9, "untrusted");
    let report = world.json(["session", "reconcile"]);
    assert!(text(&report["unknown"][0]["reason"]).contains("is tracked by git"), "{report}");
    assert!(!canary.exists());
}

#[test]
fn script_that_a_restored_store_names_needs_trust() {
    let world = Sessions::new();
    let canary = world.dir().join("canary");
    let script = world.script("planted", "#!/bin/sh\n: >\"${0%/*}/canary\"\necho false\n");
    world.run(["session", "upsert", "--id", "s1", "--role", "r", "--name", "s1"]).exits(0);
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let planted = "UPDATE agent_sessions SET backend = 'exec:planted', adapter_script = ?1, adapter_state = ?2";
    conn.execute(planted, (script.display().to_string(), world.dir().display().to_string())).unwrap();
    drop(conn);
    world.run(["backup", "../kept.db"]).exits(0);
    world.run(["restore", "../kept.db"]).exits(0);
    world.run(["session", "peek", "s1", "--json"]).refuses(9, "untrusted");
    world.run(["session", "stop", "s1", "--json"]).refuses(9, "untrusted");
    let report = world.json(["session", "reconcile"]);
    assert!(text(&report["unknown"][0]["reason"]).contains("neither trusted nor launched"), "{report}");
    assert!(!canary.exists());
    let shown = world.run(["trust", "--show"]).exits(0).stdout;
    assert!(shown.contains("script of a session") && shown.contains("planted"), "{shown}");
    assert!(world.run(["trust"]).exits(0).stdout.contains("planted"));
    world.json(["session", "reconcile"]);
    assert!(canary.exists());
}

/// Running sessions go on while the configuration is edited.
#[test]
fn script_that_was_launched_is_called_while_the_configuration_is_not_trusted() {
    let world = Sessions::new();
    let log = world.dir().join("log");
    let text = "#!/bin/sh\necho \"$1\" >>\"${0%/*}/log\"\ncase $1 in is-running) echo true;; esac\n";
    let own = world.root().join("own.sh");
    fs::write(&own, text.replace("${0%/*}", "${0%/*}/..")).unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
    let elsewhere = world.script("elsewhere.sh", text);
    world.configure("[backends.own]\nscript = \"./own.sh\"\n");
    world.run(["trust"]).exits(0);
    world.launch(&["--id", "s1", "--role", "r", "--backend", "own", "--", "true"]);
    world.launch(&["--id", "s2", "--role", "r", "--backend", &format!("exec:{}", elsewhere.display()), "--", "true"]);
    world.configure("[backends.own]\nscript = \"./own.sh\"\n[roles.r]\ncommand = \"x\"\n");
    for id in ["s1", "s2"] {
        fs::write(&log, "").unwrap();
        world.run(["session", "stop", id]).exits(0);
        assert!(fs::read_to_string(&log).unwrap().contains("stop"), "{id}");
    }
    // Its bytes are another matter.
    world.run(["trust"]).exits(0);
    world.configure("[backends.own]\nscript = \"./own.sh\"\n");
    world.run(["trust"]).exits(0);
    world.launch(&["--id", "s3", "--role", "r", "--backend", "own", "--", "true"]);
    fs::write(&own, format!("{text}# changed\n")).unwrap();
    world.run(["session", "stop", "s3", "--json"]).refuses(9, "untrusted");
    world.run(["trust"]).exits(0);
    world.run(["session", "stop", "s3"]).exits(0);
}

#[test]
fn script_that_others_can_write_is_refused() {
    let world = Sessions::new();
    let script = world.script("mine.sh", "#!/bin/sh\ntouch \"${0%/*}/canary\"\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o777)).unwrap();
    let backend = format!("exec:{}", script.display());
    for words in [&["--dry-run"][..], &[]] {
        let run = world.run(["session", "launch", "--json", "--role", "r", "--backend", &backend].iter().chain(words));
        run.refuses(9, "untrusted");
    }
    assert!(!world.dir().join("canary").exists());
}
