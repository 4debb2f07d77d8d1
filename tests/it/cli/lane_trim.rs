//! `fairway lane trim` and `lane list --size`: what lanes take of the disk, and what of it can be made again.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::TestProject;
use crate::common::mount::Mount;

fn write(path: PathBuf, bytes: usize) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, vec![b'x'; bytes]).unwrap();
}

#[test]
fn what_can_be_made_again_goes_and_all_else_stays() {
    let world = TestProject::with_git();
    let root = world.root();
    write(root.join("target/kept.txt"), 1);
    fs::write(root.join(".gitignore"), "node_modules\ntarget/*\n.env\n").unwrap();
    world.git(&root, &["add", "--force", "target/kept.txt", ".gitignore"]);
    world.git(&root, &["commit", "--quiet", "--message=files"]);
    let settings = "[lanes]\nsetup = ['mkdir -p node_modules && touch node_modules/made']\n";
    fs::write(root.join(".fairway/local.toml"), settings).unwrap();
    for lane in ["api", "busy", "links"] {
        world.run(["lane", "add", lane, "--create-worktree"]).exits(0);
    }
    world.run(["lane", "trim", "--json"]).refuses(9, "untrusted");
    world.run(["trust"]).exits(0);
    let lane = |name: &str| root.join(".fairway/worktrees").join(name);
    let api = lane("api");
    world.run(["lane", "setup", "api"]).exits(0);
    write(api.join("node_modules/a/big"), 5 << 20);
    write(api.join("web/node_modules/b"), 1);
    write(api.join("target/out"), 1);
    write(api.join("lib/node_modules/c/.git/HEAD"), 1);
    write(api.join(".env"), 1);
    write(lane("busy").join("node_modules/d"), 1);
    fs::hard_link(api.join("node_modules/a/big"), lane("busy").join("node_modules/big")).unwrap();
    symlink(root.join("target"), lane("links").join("node_modules")).unwrap();
    let listed = world.json(["lane", "list", "--size"]);
    let sizes: Vec<u64> = listed.as_array().unwrap().iter().map(|one| one["bytes"].as_u64().unwrap()).collect();
    assert!(sizes[0] >= 5 << 20 && sizes[1] < 5 << 20, "a file with two names counts once: {sizes:?}");
    let mut spawn = world.fairway(["exec", "spawn", "--json", "--", "sleep", "600"]);
    let job: Value = serde_json::from_slice(&spawn.current_dir(lane("busy")).output().unwrap().stdout).unwrap();
    let id = job["run_id"].as_str().unwrap();
    let job = id[id.len() - 8..].to_owned();

    let before = |name: &str| lane(name).join("node_modules").symlink_metadata().is_ok();
    insta::assert_snapshot!(world.transcript(&["fairway lane trim --dry-run"]).replace(&job, "[job]"), @"
    $ fairway lane trim --dry-run
    would remove node_modules, web/node_modules from lane api (5 MiB)
    kept lane busy as it is: job [job] runs in its worktree
        fairway exec kill [job]
    ");
    assert!(before("api") && before("busy") && before("links"));
    let trimmed = world.json(["lane", "trim", "api", "busy", "links"]);
    assert_eq!(trimmed["trimmed"][0]["paths"], json!(["node_modules", "web/node_modules"]));
    assert_eq!(
        (trimmed["kept"][0]["lane"].as_str(), trimmed["kept"][0]["code"].as_str()),
        (Some("busy"), Some("running_job"))
    );
    assert!(!before("api") && before("busy") && before("links"));
    for path in ["target/out", "target/kept.txt", "lib/node_modules/c/.git/HEAD", ".env"] {
        assert!(Path::new(&api).join(path).exists(), "{path}");
    }
    let state = || world.json(["lane", "show", "api"])["lane"]["setup"]["state"].clone();
    assert_eq!(state(), "not_set_up");
    world.run(["lane", "setup", "api"]).exits(0);
    assert_eq!((state(), api.join("node_modules/made").exists()), (json!("ready"), true));
    let idle = || world.json(["lane", "trim", "api", "--idle", "3d"]);
    let kept = idle()["kept"][0].clone();
    assert_eq!((&kept["code"], &kept["command"]), (&json!("active"), &json!("fairway lane trim api")), "{kept}");
    world.advance_clock(3 * 24 * 60 * 60);
    assert_eq!(idle()["trimmed"][0]["paths"], json!(["node_modules"]));
    world.kill_jobs();
}

#[test]
fn nearly_full_disk_is_named_before_it_is_full() {
    let world = TestProject::with_git();
    let lanes = world.root().join(".fairway/worktrees");
    fs::create_dir(&lanes).unwrap();
    let Some(_mount) = Mount::tmpfs(&lanes, 1_024) else { return };
    world.run(["lane", "add", "api", "--create-worktree"]).exits(0);
    let is_low = || {
        let found = world.run(["doctor", "--json"]).json()["findings"].clone();
        found.as_array().unwrap().iter().any(|one| one["code"] == "lanes_space_low")
    };
    assert!(!is_low() && !world.run(["status"]).exits(0).stderr.contains("free for lanes"));
    // Less than twice the largest lane.
    write(lanes.join("api/large"), 400 << 10);
    assert!(is_low() && !world.run(["status"]).exits(0).stderr.contains("free for lanes"));
    write(lanes.join("ballast"), 580 << 10);
    let told = world.run(["status"]).exits(0).stderr;
    assert!(told.ends_with(" KiB are free for lanes: see fairway lane list --size, and fairway lane trim\n"), "{told}");
    assert!(is_low());
}
