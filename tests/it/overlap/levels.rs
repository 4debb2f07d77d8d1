//! The levels of overlap, and what a look leaves as it was.

use std::fs;

use serde_json::json;

use super::{commit, lines, said, tree, with_lanes, write};
use crate::common::TestProject;

#[test]
fn pairs_are_judged_by_merge_and_by_lines_with_uncommitted_work() {
    let world = with_lanes(&["f", "g", "h"], &["api", "web", "doc"]);
    assert_eq!(said(&world, &[]), Vec::<String>::new());
    // Committed against uncommitted, in the same line; then lines next to each other; then lines far away.
    write(&world, "api", "f", &lines(&[(5, "api")]));
    commit(&world, &tree(&world, "api"), "api");
    write(&world, "web", "f", &lines(&[(5, "web")]));
    assert_eq!(said(&world, &[]), ["conflict api:web f"]);
    write(&world, "web", "g", &lines(&[(7, "web")]));
    write(&world, "doc", "g", &lines(&[(9, "doc")]));
    write(&world, "doc", "h", &lines(&[(1, "doc")]));
    write(&world, "api", "h", &lines(&[(4, "api")]));
    assert_eq!(said(&world, &[]), ["conflict api:web f", "adjacent doc:web g"]);
    // One lane, and the lines of both.
    let found = world.json(["overlap", "web"]);
    assert_eq!(found["overlaps"][0]["lane"], "web");
    assert_eq!(
        found["overlaps"][1]["files"],
        json!([{ "path": "g", "level": "adjacent", "lines": [[7, 9]], "in_list": false }])
    );
    assert_eq!(said(&world, &["doc"]), ["adjacent doc:web g"]);
    world.run(["overlap", "nobody", "--json"]).refuses(3, "not_found");
    // A change that is taken back is over; a new file on both sides is not.
    write(&world, "web", "f", &lines(&[]));
    write(&world, "doc", "g", &lines(&[]));
    write(&world, "doc", "new", "doc\n");
    write(&world, "api", "new", "api\n");
    assert_eq!(said(&world, &[]), ["conflict api:doc new"]);
    let kinds = world.run(["events", "--kind", "overlap.*"]).exits(0).stdout;
    assert_eq!((kinds.matches("overlap.found").count(), kinds.matches("overlap.cleared").count()), (3, 2), "{kinds}");
}

#[test]
fn entries_of_one_list_are_shown_and_not_told() {
    let world = with_lanes(&["f"], &["api", "web"]);
    let inserted = |line: usize, text: &str| lines(&[(line, &format!("{line}\n{text}"))]);
    for (lane, line) in [("api", 5), ("web", 6)] {
        world.run(["session", "upsert", "--id", lane, "--role", "worker", "--lane", lane]).exits(0);
        write(&world, lane, "f", &inserted(line, &format!("use crate::{lane};")));
    }
    assert_eq!(said(&world, &[]), ["adjacent api:web f"]);
    let found = world.json(["overlap"]);
    assert_eq!(found["overlaps"][0]["files"][0]["in_list"], true, "{found:#}");
    let shown = world.run(["overlap"]).exits(0).stdout;
    assert!(shown.contains("in a list, not told"), "{shown}");
    let told = || world.value("SELECT count(*) FROM messages WHERE source = 'overlap'");
    assert_eq!(told(), "0");
    assert_eq!(world.json(["status"])["needs_you"], json!([]));
    // Code beside it is told.
    write(&world, "web", "f", &inserted(6, "let web = 1;"));
    assert_eq!(said(&world, &[]), ["adjacent api:web f"]);
    assert_eq!(told(), "2");
    // What was not told is not told to be over.
    write(&world, "web", "f", &inserted(6, "use crate::web;"));
    assert_eq!(said(&world, &[]), ["adjacent api:web f"]);
    write(&world, "web", "f", &lines(&[]));
    assert_eq!(said(&world, &[]), Vec::<String>::new());
    let kinds = world.run(["events", "--kind", "overlap.*"]).exits(0).stdout;
    assert_eq!((kinds.matches("overlap.found").count(), kinds.matches("overlap.cleared").count()), (1, 0), "{kinds}");
}

#[test]
fn work_that_is_on_the_base_is_a_rebase_and_no_conflict_with_its_lane() {
    let world = with_lanes(&["f"], &["api", "web"]);
    write(&world, "api", "f", &lines(&[(5, "api")]));
    commit(&world, &tree(&world, "api"), "api");
    write(&world, "web", "f", &lines(&[(5, "web")]));
    assert_eq!(said(&world, &[]), ["conflict api:web f"]);
    world.git(&world.root(), &["merge", "--quiet", "--ff-only", "lane/api"]);
    assert_eq!(said(&world, &[]), ["rebase web:- f"]);
    let need = world.json(["status"])["needs_you"][0].clone();
    assert_eq!((&need["kind"], &need["lane"]), (&json!("overlap"), &json!("web")));
    let by_hand = format!("git -C {} merge main", tree(&world, "web").display());
    assert_eq!(need["commands"][1]["command"], by_hand);
    // A lane on top of the other one has its work already.
    write(&world, "web", "f", &lines(&[]));
    world.git(&tree(&world, "web"), &["merge", "--quiet", "lane/api"]);
    write(&world, "web", "f", &lines(&[(5, "api"), (6, "more")]));
    assert_eq!(said(&world, &[]), Vec::<String>::new());
}

#[test]
fn renamed_directory_conflicts_with_a_new_file_in_it() {
    let world = with_lanes(&["code.txt"], &["api", "web"]);
    for name in ["a", "b", "c"] {
        fs::create_dir_all(world.root().join("old")).unwrap();
        fs::write(world.root().join("old").join(name), lines(&[(1, name)])).unwrap();
    }
    commit(&world, &world.root(), "directory");
    for lane in ["api", "web"] {
        world.git(&tree(&world, lane), &["merge", "--quiet", "main"]);
    }
    world.git(&tree(&world, "api"), &["mv", "old", "new"]);
    write(&world, "web", "old/d", "web\n");
    assert_eq!(said(&world, &[]), ["conflict api:web new/d"]);
}

/// A session of the lane.
fn session(world: &TestProject, lane: &str) {
    world.run(["session", "upsert", "--id", &format!("s-{lane}"), "--role", "dev", "--lane", lane]).exits(0);
}

/// Claims A-1 in the lane api and B-1 in web, although their paths overlap.
fn claim_both(world: &TestProject) {
    fs::write(world.root().join(".fairway/local.toml"), "[claims]\npath_conflicts = \"warn\"\n").unwrap();
    for (lane, id) in [("api", "A-1"), ("web", "B-1")] {
        session(world, lane);
        world.run(["--session", &format!("s-{lane}"), "claim", id]).exits(0);
    }
}

#[test]
fn planned_overlap_is_told_of_claimed_tasks_until_both_have_written() {
    let world = with_lanes(&["f"], &["api", "web"]);
    for (id, lane) in [("A-1", "api"), ("B-1", "web")] {
        world.run(["task", "add", id, "x", "--lane", lane, "--path", "f*"]).exits(0);
    }
    claim_both(&world);
    assert_eq!(said(&world, &[]), ["planned api:web f*"]);
    assert_eq!(said(&world, &["B-1"]), ["planned api:web f*"]);
    write(&world, "api", "f", &lines(&[(5, "api")]));
    assert_eq!(said(&world, &[]), ["planned api:web f*"]);
    write(&world, "web", "f", &lines(&[(15, "web")]));
    assert_eq!(said(&world, &[]), Vec::<String>::new());
}

#[test]
fn look_changes_nothing_of_a_lane_and_waits_for_what_is_new() {
    let world = with_lanes(&["f"], &["api", "web"]);
    let root = world.root();
    let state = |lane: &str| {
        let tree = tree(&world, lane);
        let index = world.git(&tree, &["rev-parse", "--path-format=absolute", "--git-path", "index"]);
        let objects = world.git(&root, &["count-objects", "-v"]);
        let refs = world.git(&root, &["for-each-ref"]);
        let status = world.git(&tree, &["--no-optional-locks", "status", "--porcelain"]);
        (fs::read(index.trim()).unwrap(), objects, refs, status)
    };
    write(&world, "api", "f", &lines(&[(5, "api")]));
    write(&world, "api", "staged", "x\n");
    world.git(&tree(&world, "api"), &["add", "staged"]);
    write(&world, "web", "f", &lines(&[(5, "web")]));
    let before = ["api", "web"].map(state);
    assert_eq!(said(&world, &[]), ["conflict api:web f"]);
    assert_eq!(said(&world, &[]), ["conflict api:web f"]);
    assert!(["api", "web"].map(state) == before, "a look changed a lane");
    // Nothing is written again about what has not changed.
    let events = || world.run(["events"]).exits(0).stdout.lines().count();
    let count = events();
    said(&world, &[]);
    assert_eq!(events(), count);
    // `--wait` does not wait for a known overlap.
    world.run(["overlap", "--wait", "100ms", "--json"]).refuses(6, "nothing_arrived");
    let lane = world.json(["status"])["lanes"][0].clone();
    assert_eq!((&lane["diffstat"]["added"], &lane["diffstat"]["files"]), (&json!(2), &json!(2)));
}

#[test]
fn overlap_of_every_lane_is_as_recorded() {
    let world = with_lanes(&["f"], &["api", "web"]);
    write(&world, "api", "f", &lines(&[(5, "api")]));
    write(&world, "web", "f", &lines(&[(5, "web")]));
    let text = world.run(["overlap"]).exits(0).stdout;
    assert!(
        text.starts_with("✗ conflict api and web: a merge of the two conflicts, for 0s\n    f  lines 5\n"),
        "{text}"
    );
    assert!(text.contains("see the other change: fairway lane diff web\n"), "{text}");
    let quiet = TestProject::new();
    assert_eq!(quiet.run(["overlap"]).exits(0).stdout, "no overlap between 0 lanes\n");
}

#[test]
fn old_git_leaves_planned_overlap_and_doctor_says_so() {
    let mut world = with_lanes(&["f"], &["api", "web"]);
    for (id, lane) in [("A-1", "api"), ("B-1", "web")] {
        world.run(["task", "add", id, "x", "--lane", lane, "--path", "f"]).exits(0);
    }
    claim_both(&world);
    let bin = world.dir().join("old");
    fs::create_dir(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *version) echo git version 2.30.2;; *) PATH='{path}' exec git \"$@\";; esac\n"
    );
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    world.set("PATH", format!("{}:{path}", bin.display()));
    write(&world, "api", "f", &lines(&[(5, "api")]));
    let found = world.json(["overlap"]);
    assert_eq!(found["overlaps"][0]["level"], "planned");
    assert_eq!(found["problem"], "git 2.30 is too old: 2.39 or later is needed");
    let doctor = world.run(["doctor"]).stdout;
    assert!(doctor.contains("git 2.30 is too old"), "{doctor}");
}
