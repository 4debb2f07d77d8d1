//! Lanes whose worktree is on another host.

use serde_json::json;

use super::{NAME, foreign, is_on_server, own, refused, run, there, worlds};
use crate::common::TestProject;

/// A lane `cart` with a worktree, a claimed task and an open one, and a lane `free` that nothing uses.
fn fill(world: &TestProject) {
    for line in [
        "lane add cart --create-worktree",
        "lane add free --create-worktree",
        "task add T-1 one --lane cart",
        "task add T-2 two --lane cart",
        "claim T-1",
    ] {
        run(world, line).exits(0);
    }
}

/// The columns of both lanes. A store in a file lies beside the worktrees, so another host's are not there.
fn write(world: &TestProject, columns: &str) {
    let elsewhere = if is_on_server(world) || !columns.contains(NAME) {
        String::new()
    } else {
        ", worktree = '/srv/shop/.fairway/worktrees/' || name".to_owned()
    };
    world.write_rows(&format!("UPDATE lanes SET {columns}{elsewhere} WHERE name IN ('cart', 'free')"));
}

/// Where the worktrees of this host are.
fn put_back(world: &TestProject) {
    let dir = world.root().join(".fairway/worktrees").display().to_string();
    world.write_rows(&format!("UPDATE lanes SET worktree = '{dir}/' || name"));
    write(world, &own());
}

/// Each verb that touches a worktree, and the words of the command for the other host.
const VERBS: &[(&str, &str)] = &[
    ("lane diff cart", "lane diff cart"),
    ("lane sync cart", "lane sync cart"),
    ("lane repair cart", "lane repair cart"),
    ("lane rm free", "lane rm free"),
    ("lane close free --rm-worktree", "lane close free --rm-worktree"),
    ("overlap cart", "overlap cart"),
    ("evidence run T-1 -- true", "evidence run T-1 -- COMMAND"),
    ("merge-ready T-1", "merge-ready T-1"),
    ("done T-1", "done T-1"),
    ("task submit T-1 --commit abcdef0", "task submit T-1 --commit abcdef0"),
    ("land lane:cart --dry-run", "land lane:cart"),
    ("land T-1 --dry-run", "land T-1"),
    ("session launch --role dev --lane cart --dry-run -- true", "session launch --role dev --lane cart"),
    ("start T-2 --dry-run -- true", "start T-2"),
];

/// Those of them that change nothing in a lane without work, with their exit codes.
const HARMLESS: &[(&str, i32)] = &[
    ("lane diff cart", 0),
    ("lane sync cart", 0),
    ("lane repair cart", 0),
    ("overlap cart", 0),
    ("evidence run T-1 -- true", 0),
    ("merge-ready T-1", 5),
    ("start T-2 --dry-run -- true", 0),
    ("session launch --role dev --lane cart --dry-run -- true", 0),
];

#[test]
fn verb_that_needs_a_worktree_runs_on_its_host_alone() {
    for world in worlds() {
        fill(&world);
        let lane = world.json(["lane", "show", "cart"]);
        assert_eq!(lane["lane"]["host"], fairway_core::os::host::identity().name, "{lane}");
        // A row of an earlier version counts as local, as before.
        for columns in [own(), "host = NULL, host_id = NULL".to_owned()] {
            write(&world, &columns);
            for (line, exit) in HARMLESS {
                let ran = run(&world, line);
                assert_eq!(ran.code, Some(*exit), "{line} with {columns}: {ran:?}");
                assert!(!ran.stderr.contains("host"), "{line} with {columns}: {ran:?}");
            }
        }
        write(&world, &foreign());
        let before = (world.branches_and_worktrees(), run(&world, "events --json").exits(0).stdout);
        for (line, words) in VERBS {
            let error = refused(&world, line, "lane_elsewhere", words);
            let message = error["message"].as_str().unwrap();
            assert!(message.ends_with("is on the host build1, not on this one"), "{line}: {message}");
        }
        assert_eq!(before, (world.branches_and_worktrees(), run(&world, "events --json").exits(0).stdout));
        // The name is taken, wherever the worktree is.
        run(&world, "lane add cart --create-worktree --json").refuses(4, "exists");
        run(&world, "handoff create T-1 --to-lane free --summary s").exits(0);
        refused(&world, "handoff accept 1 --move --as qa", "lane_elsewhere", "handoff accept 1 --move");
        // Commands that need no worktree go on.
        run(&world, "handoff withdraw 1").exits(0);
        run(&world, "task submit T-1 --commit 0123456789012345678901234567890123456789").exits(0);
        put_back(&world);
        run(&world, "lane rm free").exits(0);
    }
}

#[test]
fn overviews_mark_a_worktree_of_another_host_and_never_call_it_gone() {
    for world in worlds() {
        fill(&world);
        write(&world, &foreign());
        for line in ["lane list", "lane list --git", "lane show cart"] {
            let shown = run(&world, line).exits(0).stdout;
            assert!(shown.contains("cart on build1") && !shown.contains("gone"), "{line}: {shown}");
        }
        assert_eq!(world.json(["lane", "list"])[0]["host"], NAME);
        let git = &world.json(["lane", "list", "--git"])[0]["git"];
        assert_eq!(git["problem"], "the worktree is on the host build1");
        assert_eq!(world.json(["status"])["lanes"][0]["host"], NAME);
        let context = world.fairway(["prime"]).env("FAIRWAY_LANE", "cart").output().unwrap();
        let context = String::from_utf8(context.stdout).unwrap();
        let told = context.contains("The worktree of the lane is on the host build1.");
        assert!(told && !context.contains("worktrees/cart"), "{context}");
        let codes = world.run(["doctor", "--quiet"]).stdout;
        assert!(!codes.contains("worktree_missing"), "{codes}");
        run(&world, "overlap").exits(0);
        run(&world, "task submit T-1 --commit 0123456789012345678901234567890123456789").exits(0);
        let left_out = run(&world, "land --all --dry-run").exits(0).stderr;
        let task = "task T-1 is left out: the worktree of the lane cart is on the host build1, not on this one";
        assert!(left_out.contains(task) && left_out.contains(&there(&world, "land T-1")), "{left_out}");
        run(&world, "lane open cart").exits(0);
        let before = world.branches_and_worktrees();
        run(&world, "lane close free").exits(0);
        let pruned = world.json(["lane", "prune"]);
        assert_eq!(pruned["removed"], json!([]), "{pruned}");
        let free = pruned["kept"].as_array().unwrap().iter().find(|one| one["lane"] == "free").unwrap();
        assert_eq!((&free["code"], &free["command"]), (&json!("lane_elsewhere"), &json!(there(&world, "lane prune"))));
        assert_eq!(world.branches_and_worktrees(), before);
        // A worktree that is named is of this host: so a lane of a host that is gone is used again.
        let dir = world.root().join(".fairway/worktrees/cart").display().to_string();
        run(&world, &format!("lane edit cart --worktree {dir}")).exits(0);
        assert_eq!(world.json(["lane", "list"])[0]["host"], fairway_core::os::host::identity().name);
        run(&world, "lane diff cart").exits(0);
        run(&world, "lane edit cart --worktree ''").exits(0);
        assert_eq!(world.json(["lane", "list"])[0]["host"], json!(null));
    }
}

/// Work that another host has begun, and not ended, is its own to complete.
#[cfg(feature = "postgres")]
#[test]
fn open_intent_and_landing_of_another_host_are_left_alone() {
    let Some(world) = worlds().into_iter().find(is_on_server) else { return };
    fill(&world);
    let plan = |name: &str| {
        let head = world.git(&world.root(), &["rev-parse", "HEAD"]);
        json!({
            "branch": format!("lane/{name}"), "commit": head.trim(), "worktree": format!("/srv/{name}"),
            "host": NAME, "host_id": super::ID,
        })
    };
    world.git(&world.root(), &["branch", "lane/new"]);
    world.write_rows(&format!(
        "INSERT INTO requests (id, words, created_at) VALUES ('lane new', '{}', 1); \
         INSERT INTO landings (commit_id, style, base, base_before, candidate, state, tasks, started_at, host, host_id) \
         VALUES ('c', 'merge', 'main', 'b', 'd', 'moving', '[]', 1, '{NAME}', '{}')",
        plan("new"),
        super::ID
    ));
    let open = |world: &TestProject| {
        let (server, schema) = world.on_server.clone().unwrap();
        let of_lane = server.query(&schema, "SELECT count(*) FROM requests WHERE id = 'lane new'");
        (of_lane, server.query(&schema, "SELECT state FROM landings WHERE ended_at IS NULL"))
    };
    let both = (vec!["1".to_owned()], vec!["moving".to_owned()]);
    assert_eq!(open(&world), both);
    let error = run(&world, "lane add new --create-worktree --json").refuses(4, "in_use").error();
    let complete = there(&world, "lane add new --create-worktree");
    assert!(error["hint"].as_str().unwrap().ends_with(&complete), "{error}");
    assert!(world.branches_and_worktrees().contains(&"lane/new".to_owned()));
    let found = world.json(["doctor"]);
    let fixes: Vec<_> = found["findings"].as_array().unwrap().iter().filter_map(|one| one["fix"].as_str()).collect();
    assert!(fixes.contains(&complete.as_str()), "{found}");
    assert!(!found.to_string().contains("landing_unfinished"), "{found}");
    let dir = world.root().join(".fairway/worktrees/cart");
    std::fs::write(dir.join("new.txt"), "new").unwrap();
    world.git(&dir, &["add", "."]);
    world.git(&dir, &["commit", "--quiet", "--message=work"]);
    for (name, value) in [("user.name", "a"), ("user.email", "a@b")] {
        world.git(&world.root(), &["config", name, value]);
    }
    world.git(&world.root(), &["add", "."]);
    // This repository has no remote.
    std::fs::write(world.root().join(".fairway/local.toml"), "[land]\nshared = false\n").unwrap();
    let landed = run(&world, "land lane:cart");
    assert_eq!(landed.code, Some(0), "{landed:?}");
    assert_eq!(open(&world), both);
}

/// Worktrees of a file's store stay with it, and are its host's from the move on.
#[cfg(feature = "postgres")]
#[test]
fn lanes_of_a_store_that_moves_to_a_server_are_of_the_host_that_moves_it() {
    let Some(server) = crate::common::postgres_server::shared() else { return };
    let world = TestProject::with_git();
    run(&world, "lane add cart --create-worktree").exits(0);
    run(&world, "lane add bare").exits(0);
    world.write_rows("UPDATE lanes SET host = NULL, host_id = NULL");
    let schema = format!("lanes_moved_{}", std::process::id());
    world.run(["store", "copy", "--yes", "--to", &server.address(&schema)]).exits(0);
    let lanes = world.json(["lane", "list"]);
    assert_eq!((&lanes[0]["host"], &lanes[1]["host"]), (&json!(null), &json!(fairway_core::os::host::identity().name)));
}

#[test]
fn launch_gives_a_lane_of_an_earlier_version_its_host() {
    let world = TestProject::with_git();
    world.real_time();
    run(&world, "lane add cart --create-worktree").exits(0);
    world.write_rows("UPDATE lanes SET host = NULL, host_id = NULL");
    run(&world, "session launch --role dev --lane cart --backend shell --name w -- true");
    assert_eq!(world.json(["lane", "list"])[0]["host"], fairway_core::os::host::identity().name);
    // With the worktree its host goes.
    run(&world, "session end w");
    run(&world, "lane close cart --rm-worktree").exits(0);
    assert_eq!(world.json(["lane", "list"])[0]["host"], json!(null));
}
