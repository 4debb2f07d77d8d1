//! `fairway land` names the right cause: a filter, the base, a preparation or a flake is not the fault of a lane.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::land::{NO_GATES, commit, head, lane_dir, main_commit, project, status, submitted};
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, fixtures};

/// A project whose `[land]` has these lines, which a person trusts.
fn trusted(land: &str) -> TestProject {
    let world = project(&format!("{NO_GATES}[land]\n{land}\n"));
    world.run(["trust"]).exits(0);
    world
}

/// The lines of a file that a check of the test has written.
fn ran(world: &TestProject, name: &str) -> usize {
    fs::read_to_string(world.dir().join(name)).unwrap_or_default().lines().count()
}

/// The items of a kind that need a person.
fn needs(world: &TestProject, kind: &str) -> Vec<Value> {
    let board = world.json(["status"]);
    board["needs_you"].as_array().unwrap().iter().filter(|one| one["kind"] == kind).cloned().collect()
}

/// The file that a message names last in a line `see its output: less FILE`.
fn output(hint: &Value) -> String {
    let line = hint.as_str().unwrap().lines().next().unwrap();
    fs::read_to_string(line.strip_prefix("see its output: less ").unwrap()).unwrap()
}

/// A lane without a task, with a commit of these files.
fn lane(world: &TestProject, name: &str, files: &[(&str, &str)]) {
    world.run(["lane", "add", name, "--create-worktree"]).exits(0);
    commit(world, name, files);
}

/// The first landing of an answer.
fn first(answer: &Value) -> &Value {
    &answer["landings"][0]
}

/// A filter like that of Git LFS: the repository has another content than the worktree. It leaves a sign when it runs.
fn filter(world: &TestProject) -> (PathBuf, PathBuf) {
    let (script, sign) = (world.dir().join("filter.sh"), world.dir().join("filter-ran"));
    fs::write(&script, format!("#!/bin/sh\necho ran >>'{}'\ntr a-z A-Z\n", sign.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    (script, sign)
}

#[test]
fn lanes_with_filtered_files_land_when_their_work_is_committed_and_no_filter_of_the_repository_runs() {
    for scope in ["--local", "--global"] {
        let world = project(NO_GATES);
        let root = world.root();
        let (script, sign) = filter(&world);
        fs::write(root.join(".gitattributes"), "*.bin filter=big\n").unwrap();
        world.git(&root, &["add", "--all"]);
        world.git(&root, &["commit", "--quiet", "--message=attributes"]);
        world.git(&root, &["config", scope, "filter.big.clean", &script.display().to_string()]);
        for number in 1..=4 {
            let name = format!("l{number}");
            // Git compares the content of a file that is as young as the index.
            lane(&world, &name, &[(&format!("{name}.bin"), "raw\n")]);
            let _ = fs::remove_file(&sign);
            assert_eq!(world.json(["lane", "show", &name])["lane"]["git"]["changed_files"], 0, "{scope}");
            assert_eq!(first(&world.json(["land", &name, "--dry-run"]))["state"], "would_land", "{scope}");
            assert!(!sign.exists() || scope == "--global", "a filter of the repository ran");
            let landed = world.json(["land", &name]);
            assert_eq!(first(&landed)["state"], "landed", "{scope}: {landed:#}");
            assert!(!lane_dir(&world, &name).exists(), "{scope}: {landed:#}");
        }
        assert_eq!(world.git(&root, &["show", "main:l1.bin"]), "RAW\n");

        // Work that is not committed counts, also of the same size and second.
        lane(&world, "late", &[("late.bin", "raw\n")]);
        fs::write(lane_dir(&world, "late").join("late.bin"), "new\n").unwrap();
        let error = world.run(["land", "late", "--json"]).refuses(5, "unsaved_work").error();
        let message = error["message"].as_str().unwrap();
        let reason = "(late.bin; the filter of late.bin is the repository's and did not run)";
        assert_eq!(message.ends_with(reason), scope == "--local", "{message}");
        assert!(lane_dir(&world, "late").join("late.bin").exists());
    }
}

#[test]
fn diverged_base_is_never_rebased_and_the_landed_commit_stays() {
    let world = project(NO_GATES);
    let root = world.root();
    let remote = world.dir().join("remote.git");
    world.git(world.dir(), &["init", "--quiet", "--bare", "--initial-branch=main", &remote.display().to_string()]);
    world.git(&root, &["remote", "add", "origin", &remote.display().to_string()]);
    world.git(&root, &["push", "--quiet", "--set-upstream", "origin", "main"]);
    world.git(&root, &["config", "pull.rebase", "true"]);
    let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
    world.run(["land", &task]).exits(0);
    // Somebody else pushes.
    let other = world.dir().join("other");
    world.git(world.dir(), &["clone", "--quiet", &remote.display().to_string(), &other.display().to_string()]);
    fs::write(other.join("theirs.txt"), "theirs\n").unwrap();
    world.git(&other, &["add", "--all"]);
    let author = ["-c", "user.name=Bob", "-c", "user.email=bob@example.com"];
    world.git(&other, &[&author[..], &["commit", "--quiet", "--message=theirs"]].concat());
    world.git(&other, &["push", "--quiet"]);
    world.git(&root, &["fetch", "--quiet"]);

    lane(&world, "next", &[("next.txt", "next\n")]);
    let error = world.run(["land", "next", "--json"]).refuses(5, "base_behind").error();
    let hint = error["hint"].as_str().unwrap();
    assert!(!hint.contains("rebase"), "{hint}");
    let command = hint.split_once(": git ").unwrap().1;
    let words = shell_words::split(command).unwrap();
    world.git(&root, &words.iter().map(String::as_str).collect::<Vec<_>>());
    let landed = world.json(["task", "show", &task])["landed_commit"].as_str().unwrap().to_owned();
    world.git(&root, &["merge-base", "--is-ancestor", &landed, "main"]);
    world.run(["land", "next"]).exits(0);
}

#[test]
fn red_base_stops_the_queue_and_nobody_is_sent_back() {
    let world = project(NO_GATES);
    let log = world.dir().join("log");
    let text = fs::read_to_string(world.root().join(".fairway.toml")).unwrap();
    let check = format!("echo ran >>'{}'; echo RED-REASON; test ! -f red.txt", log.display());
    let text = format!("{text}[land]\nchecks = [\"{check}\"]\n");
    fs::write(world.root().join(".fairway.toml"), text).unwrap();
    world.run(["trust"]).exits(0);
    fs::write(world.root().join("red.txt"), "red\n").unwrap();
    world.git(&world.root(), &["add", "--all"]);
    world.git(&world.root(), &["commit", "--quiet", "--message=red"]);
    let tasks = ["one", "two", "three"].map(|name| submitted(&world, name, &[(&format!("{name}.txt"), "x\n")]));
    let before = main_commit(&world);

    let run = world.run(["land", "--queue", "--json"]).exits(5);
    let error = &run.json()["landings"][0]["error"];
    assert_eq!(error["code"], "land_base_red", "{run:?}");
    assert_eq!(run.json()["landings"].as_array().unwrap().len(), 1);
    assert!(run.stderr.contains("not tried: "), "{run:?}");
    assert!(output(&error["hint"]).contains("RED-REASON"));
    // Twice for the work and twice for the base: once, and once more.
    assert_eq!(ran(&world, "log"), 4);
    assert_eq!(tasks.each_ref().map(|task| status(&world, task)), ["review"; 3].map(str::to_owned));
    assert_eq!(world.value("SELECT count(*) FROM messages"), "0");
    assert_eq!(world.value("SELECT count(*) FROM evidence"), "0");
    let need = &needs(&world, "landing")[0];
    let line = need["line"].as_str().unwrap();
    assert!(line.starts_with("main alone fails the check 'echo ran"), "{line}");
    let event = world.json(["events", "--kind", "landing.stopped"]);
    assert_eq!((&event["data"]["base_commit"], &event["data"]["how"]), (&json!(before), &json!("exit 1")));
    // Named alone it is told the same, and a person may try each again.
    world.run(["land", &tasks[0], "--json"]).refuses(5, "land_base_red");

    // The base is mended.
    world.git(&world.root(), &["rm", "--quiet", "red.txt"]);
    world.git(&world.root(), &["commit", "--quiet", "--message=green"]);
    world.run(["land", "--queue"]).exits(0);
    assert_eq!(tasks.each_ref().map(|task| status(&world, task)), ["done"; 3].map(str::to_owned));
    assert_eq!(needs(&world, "landing"), Vec::<Value>::new());
}

#[test]
fn base_is_tried_once_for_all_that_fail_on_it_and_the_one_that_breaks_it_is_sent_back() {
    let world = project(NO_GATES);
    let log = world.dir().join("base-log");
    let check = format!("test -f one.txt -o -f two.txt || echo base >>'{}'; test ! -f bad.txt", log.display());
    let text = fs::read_to_string(world.root().join(".fairway.toml")).unwrap();
    fs::write(world.root().join(".fairway.toml"), format!("{text}[land]\nretries = 0\nchecks = [\"{check}\"]\n"))
        .unwrap();
    world.run(["trust"]).exits(0);
    world.git(&world.root(), &["commit", "--quiet", "--all", "--message=check"]);
    let one = submitted(&world, "one", &[("one.txt", "x\n"), ("bad.txt", "1\n")]);
    let two = submitted(&world, "two", &[("two.txt", "x\n"), ("bad.txt", "1\n")]);
    let run = world.run(["land", "--all", "--json"]).exits(5);
    for place in [0, 1] {
        assert_eq!(run.json()["landings"][place]["error"]["code"], "land_check_failed", "{run:?}");
    }
    assert_eq!([&one, &two].map(|task| status(&world, task)), ["in_progress", "in_progress"]);
    assert_eq!(ran(&world, "base-log"), 1);
}

#[test]
fn failing_preparation_is_no_check_and_stops_everything_unless_the_base_passes_it() {
    let world = trusted("prepare = [\"nosuchprogram-x\"]\nchecks = [\"true\"]");
    lane(&world, "x", &[("x.txt", "x\n")]);
    let task = submitted(&world, "y", &[("y.txt", "y\n")]);
    let error = world.run(["land", "x", "y", "--json"]).exits(5).json()["landings"][0]["error"].clone();
    assert_eq!(error["code"], "land_prepare_failed", "{error}");
    let message = error["message"].as_str().unwrap();
    let expected = "the preparation 'nosuchprogram-x' fails on main alone (exit 127); ";
    assert!(message.starts_with(expected) && !message.contains("check"), "{message}");
    assert!(output(&error["hint"]).contains("not found"));
    assert_eq!(status(&world, &task), "review");
    assert_eq!(world.value("SELECT count(*) FROM messages"), "0");
    assert_eq!(needs(&world, "landing").len(), 1);

    // Of one lane only: it does not land, the others do, and nobody is blamed.
    let world = trusted("prepare = [\"test ! -f broken.txt\"]\nchecks = [\"true\"]");
    let broken = submitted(&world, "broken", &[("broken.txt", "x\n")]);
    let good = submitted(&world, "good", &[("good.txt", "x\n")]);
    let run = world.run(["land", "--all"]).exits(5);
    assert!(run.stdout.contains("and passes on main alone; T-1 is not sent back\n"), "{run:?}");
    assert_eq!([&broken, &good].map(|task| status(&world, task)), ["review", "done"]);
    assert_eq!(needs(&world, "landing"), Vec::<Value>::new());
}

#[test]
fn missing_program_of_a_check_blames_nobody_unless_the_work_took_it_away() {
    let world = trusted("checks = [\"nosuchprogram-y\"]");
    lane(&world, "x", &[("x.txt", "x\n")]);
    world.run(["land", "x", "--json"]).refuses(5, "land_program_missing");
    assert_eq!(needs(&world, "landing").len(), 1);

    // The check of a task concerns that task alone.
    let world = project(NO_GATES);
    let task = submitted(&world, "own", &[("own.txt", "x\n")]);
    world.run(["task", "edit", &task, "--check", "own=nosuchprogram-z"]).exits(0);
    let good = submitted(&world, "good", &[("good.txt", "x\n")]);
    let run = world.run(["land", "--all"]).exits(5);
    assert!(run.stdout.contains("the check 'nosuchprogram-z' finds no program (exit 127)"), "{run:?}");
    assert_eq!([&task, &good].map(|task| status(&world, task)), ["review", "done"]);

    let world = trusted("checks = [\"./check.sh\"]");
    fs::write(world.root().join("check.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(world.root().join("check.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    world.git(&world.root(), &["add", "check.sh"]);
    world.git(&world.root(), &["commit", "--quiet", "--message=check"]);
    world.run(["lane", "add", "gone", "--create-worktree"]).exits(0);
    fs::remove_file(lane_dir(&world, "gone").join("check.sh")).unwrap();
    commit(&world, "gone", &[]);
    world.run(["land", "gone", "--json"]).refuses(5, "land_check_failed");
}

#[test]
fn flaky_check_lands_the_second_time_and_its_evidence_says_so() {
    for retries in [1, 0] {
        let world = project(NO_GATES);
        let mark = world.dir().join("mark");
        let check = format!("test -f '{0}' || {{ touch '{0}'; echo FIRST; exit 3; }}", mark.display());
        let file = world.root().join(".fairway.toml");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{text}[land]\nretries = {retries}\nchecks = [\"{check}\"]\n")).unwrap();
        world.run(["trust"]).exits(0);
        world.git(&world.root(), &["commit", "--quiet", "--all", "--message=check"]);
        let task = submitted(&world, "ui", &[("ui.txt", "ui\n")]);
        if retries == 0 {
            // The base passes by then.
            world.run(["land", &task, "--json"]).refuses(5, "land_check_failed");
            continue;
        }
        let landed = world.json(["land", &task]);
        assert_eq!((&first(&landed)["state"], &first(&landed)["checks"][0]["flaky"]), (&json!("landed"), &json!(true)));
        let number = first(&landed)["checks"][0]["evidence"][0].to_string();
        let shown = world.run(["evidence", "show", &number]).exits(0).stdout;
        assert!(shown.contains("flaky: on the merged tree of main: exit 0 after exit 3"), "{shown}");
        assert!(shown.contains("FIRST") && shown.contains("pass"), "{shown}");
    }
}

#[test]
fn output_of_a_failed_check_is_kept_without_a_task_and_the_merged_tree_can_be_had() {
    let world = trusted("checks = [\"echo UNIQUE-REASON; test ! -f one.txt -o ! -f two.txt\"]");
    lane(&world, "one", &[("one.txt", "1\n")]);
    lane(&world, "two", &[("two.txt", "2\n")]);
    world.run(["land", "one"]).exits(0);
    let error = world.run(["land", "two", "--json"]).refuses(5, "land_check_failed").error();
    assert!(output(&error["hint"]).contains("UNIQUE-REASON"), "{error}");
    assert_eq!(fs::read_to_string(error["details"]["output"].as_str().unwrap()).unwrap(), output(&error["hint"]));
    let candidate = error["details"]["candidate"].as_str().unwrap();
    let command = "bring main in: fairway lane sync two --merge";
    assert_eq!(error["hint"].as_str().unwrap().lines().nth(1), Some(command));
    let told = world.value("SELECT content FROM messages WHERE to_lane = 'two'");
    assert!(told.contains("\n  UNIQUE-REASON\n") && told.ends_with(&format!("\nNext, {command}")), "{told}");
    // Of another lane, or none at all.
    let other = head(&world, &lane_dir(&world, "two"));
    let error = world.run(["lane", "sync", "two", "--onto", &other, "--json"]).refuses(3, "not_found").error();
    assert_eq!(
        error["message"],
        format!("{other} is no candidate of a landing of the lane two, or git has removed it")
    );
    assert_eq!(error["hint"], "bring in the base: fairway lane sync two --merge");
    let plan = world.json(["lane", "sync", "two", "--onto", &candidate[..12], "--dry-run"]);
    assert_eq!((&plan["how"], head(&world, &lane_dir(&world, "two"))), (&json!("merge"), other));
    // It is the very tree that was checked, and no commit of a landing.
    world.run(["lane", "sync", "two", "--onto", &candidate[..12]]).exits(0);
    let dir = lane_dir(&world, "two");
    assert_eq!(world.git(&dir, &["diff", "--name-only", candidate, "HEAD"]), "");
    assert!(!world.git(&dir, &["log", "-1", "--format=%B"]).contains("Fairway-Lane"));
    assert!(dir.join("one.txt").exists() && dir.join("two.txt").exists());
    // A lane that has the base is told nothing of it.
    let error = world.run(["land", "two", "--json"]).refuses(5, "land_check_failed").error();
    assert_eq!(error["hint"].as_str().unwrap().lines().count(), 1, "{error}");
}

#[test]
fn pointer_to_a_commit_of_a_submodule_lands_only_when_others_can_get_it() {
    let world = project(NO_GATES);
    let root = world.root();
    let module = world.dir().join("module");
    fs::create_dir(&module).unwrap();
    world.git(&module, &["init", "--quiet", "--initial-branch=main"]);
    world.git(&module, &["commit", "--quiet", "--allow-empty", "--message=module"]);
    world.git(&root, &["submodule", "--quiet", "add", &module.display().to_string(), "sub"]);
    world.git(&root, &["commit", "--quiet", "--message=sub"]);
    world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
    let dir = lane_dir(&world, "ui");
    world.git(&dir, &["submodule", "--quiet", "update", "--init"]);
    world.git(&dir.join("sub"), &["commit", "--quiet", "--allow-empty", "--message=only here"]);
    let only = head(&world, &dir.join("sub"));
    commit(&world, "ui", &[]);
    let before = main_commit(&world);
    world.run(["land", "ui", "--dry-run", "--json"]).refuses(5, "submodule_commit_missing");
    let error = world.run(["land", "ui", "--json"]).refuses(5, "submodule_commit_missing").error();
    assert_eq!((&error["details"]["path"], &error["details"]["commit"]), (&json!("sub"), &json!(only)));
    assert_eq!((main_commit(&world), world.git(&root, &["status", "--porcelain"])), (before, String::new()));
    let command = error["hint"].as_str().unwrap().strip_prefix("push the commit: git ").unwrap();
    let words = shell_words::split(command).unwrap();
    world.git(&root, &words.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(first(&world.json(["land", "ui"]))["state"], "landed");

    // The checkout of the base has it.
    world.run(["lane", "add", "two", "--create-worktree"]).exits(0);
    let dir = lane_dir(&world, "two");
    world.git(&root.join("sub"), &["commit", "--quiet", "--allow-empty", "--message=of the base"]);
    let new = head(&world, &root.join("sub"));
    world.git(&dir, &["update-index", "--cacheinfo", &format!("160000,{new},sub")]);
    world.git(&dir, &["commit", "--quiet", "--message=pointer"]);
    assert_eq!(first(&world.json(["land", "two"]))["state"], "landed");
}

#[test]
fn init_in_a_worktree_of_a_bare_repository_is_refused_until_the_project_is_in_it() {
    let world = TestProject::with_git();
    let home = world.dir().join("p");
    fs::create_dir(&home).unwrap();
    world.git(&home, &["clone", "--quiet", "--bare", &world.root().display().to_string(), ".bare"]);
    let tree = home.join("main");
    world.git(&home.join(".bare"), &["worktree", "add", "--quiet", &tree.display().to_string(), "main"]);
    let run = |args: &[&str]| -> CommandOutput { world.fairway(args).current_dir(&tree).output().unwrap().into() };
    let error = run(&["init", "--json"]).refuses(5, "no_worktree").error();
    assert!(!home.join(".fairway.toml").exists() && !home.join(".fairway").exists());
    let command = error["hint"].as_str().unwrap().split_once(": ").unwrap().1;
    let echo = command.strip_suffix(" && fairway init").unwrap();
    let done = world.command("sh").args(["-c", echo]).current_dir(&tree).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    run(&["init"]).exits(0);
    run(&["lane", "add", "q", "--create-worktree"]).exits(0);
    assert!(home.join(".fairway/worktrees/q/code.txt").exists());
}

#[test]
fn lane_whose_worktree_is_gone_is_unknown_and_land_says_what_lands() {
    let world = project(NO_GATES);
    lane(&world, "x", &[("x.txt", "x\n")]);
    lane(&world, "y", &[("y.txt", "y\n")]);
    let dir = lane_dir(&world, "x");
    fs::remove_dir_all(&dir).unwrap();
    let shown = world.run(["overlap"]).exits(0).stdout;
    assert!(shown.contains(&format!("x: cannot be judged: its worktree {} does not exist", dir.display())), "{shown}");
    let found = world.json(["overlap"]);
    assert_eq!(found["problem"], Value::Null, "{found:#}");
    let note = format!(
        "the worktree {} of the lane x does not exist: {} of lane/x lands",
        dir.display(),
        &world.git(&world.root(), &["rev-parse", "lane/x"])[..12]
    );
    for words in [&["land", "x", "--dry-run"][..], &["land", "x"]] {
        let run = world.run(words).exits(0);
        assert!(run.stderr.contains(&note), "{run:?}");
    }
    assert!(world.root().join("x.txt").exists());
}

/// What the sessions of a lane were told of landings, the oldest first.
fn told(world: &TestProject, recipient: &str) -> Vec<String> {
    let query = format!(
        "SELECT coalesce(json_group_array(content), '[]') FROM (SELECT content FROM messages WHERE to_session = '{recipient}' OR \
         to_lane = '{recipient}' ORDER BY id)"
    );
    serde_json::from_str(&world.value(&query)).unwrap()
}

#[test]
fn other_half_of_a_pair_is_found_among_all_that_landed_since_and_only_its_author_is_told() {
    let world = project(NO_GATES);
    let (file, log) = (world.root().join(".fairway.toml"), world.dir().join("log"));
    let check = format!("echo ran >>'{}'; test ! -f bad.txt && test ! -f api.txt -o ! -f ui.txt", log.display());
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}[land]\nretries = 0\nchecks = [\"{check}\"]\n")).unwrap();
    world.run(["trust"]).exits(0);
    world.git(&world.root(), &["commit", "--quiet", "--all", "--message=check"]);
    let names: Vec<String> = (1..=5).map(|number| format!("l{number}")).collect();
    for name in ["ui", "bad"].into_iter().chain(names.iter().map(String::as_str)) {
        world.run(["lane", "add", name, "--create-worktree"]).exits(0);
    }
    let api = submitted(&world, "api", &[("api.txt", "api\n")]);
    // The one that breaks it is older than the last landings.
    world.run(["land", &api]).exits(0);
    for name in &names {
        commit(&world, name, &[(&format!("{name}.txt"), "x\n")]);
        world.run(["land", name]).exits(0);
    }
    let landed = world.json(["task", "show", &api])["landed_commit"].as_str().unwrap().to_owned();
    let task = world.json(["task", "add", "Work on ui", "--lane", "ui"])["id"].as_str().unwrap().to_owned();
    world.run(["claim", &task]).exits(0);
    let tip = commit(&world, "ui", &[("ui.txt", "ui\n")]);
    world.run(["task", "submit", &task, "--commit", &tip]).exits(0);

    let short = &landed[..12];
    let runs = format!("main without it: passes; alone: passes; with {api}: fails; {api} without it: passes");
    // It is looked for without a session that could be told, too.
    for has_sessions in [false, true] {
        if has_sessions {
            fixtures::add_session(&world, "s-api", "worker", Some("api"));
            fixtures::add_session(&world, "s-l5", "worker", Some("l5"));
        }
        world.run(["task", "submit", &task, "--commit", &tip]).exits(0);
        let error = world.run(["land", &task, "--json"]).refuses(5, "land_check_failed").error();
        let message = error["message"].as_str().unwrap();
        assert!(message.ends_with(&format!(" (exit 1); {runs}")), "{message}");
        let half = json!({ "of": api, "lane": "api", "commit": landed });
        let details = &error["details"];
        assert_eq!((&details["fails_with"], &details["fails_with_all"]), (&half, &json!([half])));
        assert_eq!(details["runs"][1], json!({ "with": [api], "has_work": true, "passes": false }));
        assert_eq!(details["landed_since"].as_array().unwrap().len(), 6);
        // The result stays on the task.
        let event = world.run(["events", "--kind", "task.sent_back", "--json"]).exits(0).stdout;
        assert!(event.lines().last().unwrap().contains(&runs), "{event}");
    }
    assert_eq!(told(&world, "s-l5"), Vec::<String>::new());
    let [of_api] = &told(&world, "s-api")[..] else { panic!("{:?}", told(&world, "s-api")) };
    let expected =
        format!("The work of your lane api landed in main as {short}. {task} was sent back: together they fail");
    assert!(of_api.starts_with(&expected) && of_api.ends_with("\nSee it: fairway lane diff ui"), "{of_api}");
    assert!(of_api.contains(&format!("\nWhat was run on {task}: {runs}.\n")), "{of_api}");
    let of_ui = told(&world, "ui");
    let last = of_ui.last().unwrap();
    let end = format!("\nWhat was run: {runs}.\n{api} is: git diff ");
    assert!(last.contains(&end) && last.ends_with(" --merge"), "{of_ui:?}");
    assert_eq!((of_ui.len(), last.matches("Next, ").count()), (2, 1), "{of_ui:?}");

    // Work that is broken by itself is no half of anything: one more check, and only its own author is told.
    commit(&world, "bad", &[("bad.txt", "x\n")]);
    let ran_before = ran(&world, "log");
    let error = world.run(["land", "bad", "--json"]).refuses(5, "land_check_failed").error();
    assert!(error["message"].as_str().unwrap().ends_with("; main without it: passes; alone: fails"), "{error:#}");
    assert_eq!((&error["details"]["fails_with"], &error["details"]["fails_alone"]), (&Value::Null, &json!(true)));
    // The merged tree, the base, and the work without what landed since.
    assert_eq!(ran(&world, "log") - ran_before, 3);
    assert_eq!((told(&world, "s-api").len(), told(&world, "s-l5").len()), (1, 0));
    assert!(told(&world, "bad").last().unwrap().contains("\nNext, see all of its output: less "));

    // Nothing has changed: the queue says that it does not try again.
    world.run(["task", "submit", &task, "--commit", &tip]).exits(0);
    let again = world.run(["land", "--queue"]).exits(0).stdout;
    let reason = "was sent back at this commit and base, and is not tried again until one of them changes";
    assert!(again.contains(&format!("skipped {task} (lane ui): {task} {reason}")), "{again}");
}
