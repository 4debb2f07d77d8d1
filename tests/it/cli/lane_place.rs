//! Where the worktrees of lanes lie, as `[lanes] dir` says, and what walks into them.

use std::fs;
use std::path::{Path, PathBuf};

use super::land::{NO_GATES, project, status};
use crate::common::agent_programs::installed;
use crate::common::{TestProject, require};

/// Sets the directory for this machine, and trusts that.
fn set(world: &TestProject, dir: &str) {
    fs::write(world.root().join(".fairway/local.toml"), format!("[lanes]\ndir = '{dir}'\n")).unwrap();
    world.run(["trust"]).exits(0);
}

fn worktree(world: &TestProject, lane: &str) -> PathBuf {
    PathBuf::from(world.json(["lane", "show", lane])["lane"]["worktree"].as_str().unwrap())
}

#[test]
fn new_lanes_lie_where_the_setting_says_and_work_as_before() {
    let world = project(NO_GATES);
    let root = world.root();
    world.run(["lane", "add", "old", "--create-worktree"]).exits(0);
    fs::write(root.join(".fairway/local.toml"), "[lanes]\ndir = '../{project}.lanes'\n").unwrap();
    world.run(["lane", "add", "ui", "--create-worktree", "--json"]).refuses(9, "untrusted");
    set(&world, "lanes");
    let run = world.run(["lane", "add", "ui", "--create-worktree", "--json"]).refuses(2, "usage");
    assert!(
        run.stderr.contains("dir = '../{project}.lanes': fairway config edit") && !root.join("lanes").exists(),
        "{run:?}"
    );

    set(&world, "../{project}.lanes");
    let outside = world.dir().join("project.lanes");
    world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
    let task = world.json(["task", "add", "Work", "--lane", "ui"]);
    let dir = worktree(&world, "ui");
    assert_eq!((dir.as_path(), worktree(&world, "old")), (&*outside.join("ui"), root.join(".fairway/worktrees/old")));
    assert_eq!(world.git(&root, &["status", "--short"]), "");
    let task = task["id"].as_str().unwrap();
    fs::write(dir.join("ui.txt"), "ui\n").unwrap();
    world.git(&dir, &["add", "--all"]);
    world.git(&dir, &["commit", "--quiet", "--message=ui"]);
    for words in [&["claim", task][..], &["task", "submit", task]] {
        let run = world.fairway(words).current_dir(&dir).output().unwrap();
        assert!(run.status.success(), "{run:?}");
    }
    world.run(["land", task]).exits(0);
    assert_eq!((status(&world, task), dir.exists(), root.join("ui.txt").exists()), ("done".to_owned(), false, true));

    // An absolute directory; and the project moves away from its lanes.
    let far = world.dir().join("far");
    set(&world, far.to_str().unwrap());
    world.run(["lane", "add", "api", "--create-worktree"]).exits(0);
    let moved = world.dir().join("moved");
    fs::rename(&root, &moved).unwrap();
    for lane in ["api", "old"] {
        let run = world.fairway(["lane", "repair", lane]).current_dir(&moved).output().unwrap();
        assert!(run.status.success(), "{run:?}");
    }
    for dir in [far.join("api"), moved.join(".fairway/worktrees/old")] {
        assert_eq!(world.git(Path::new(&dir), &["status", "--short"]), "");
    }
    fs::rename(&moved, &root).unwrap();
}

#[test]
fn tools_that_walk_into_lanes_are_named_with_what_keeps_them_out() {
    let world = TestProject::with_git();
    let root = world.root();
    fs::write(root.join("package.json"), r#"{"devDependencies": {"prettier": "3", "vitest": "3"}}"#).unwrap();
    let walks = |world: &TestProject| {
        let found = world.run(["doctor", "--json"]).json()["findings"].clone();
        let found = found.as_array().unwrap().iter().filter(|one| one["code"] == "walks_into_lanes");
        found.map(|one| one["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(walks(&world), [""; 0], "there is no lane");
    let left = world.json(["setup", "--dry-run"])["left"].to_string();
    assert!(left.contains("keep prettier out of the lanes below .fairway: echo .fairway >>.prettierignore"), "{left}");
    world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
    let found = walks(&world);
    assert!(found.len() == 2 && found[1].starts_with("prettier looks at the files of lanes"), "{found:?}");
    fs::write(root.join(".prettierignore"), ".fairway\n").unwrap();
    assert_eq!(walks(&world).len(), 1);
}

/// Tools that look at every file: the file that makes one look into lanes, its own listing, and the file that `doctor` asks for.
const TOOLS: [(&str, [&str; 2], &str, [&str; 2]); 9] = [
    (
        "vitest",
        ["", ""],
        "vitest list --filesOnly",
        ["vitest.config.js", "export default { test: { exclude: ['**/.fairway/**'] } }"],
    ),
    (
        "jest",
        ["", ""],
        "jest --listTests",
        ["jest.config.js", "export default { modulePathIgnorePatterns: ['<rootDir>/.fairway/'] }"],
    ),
    (
        "eslint",
        ["eslint.config.js", "export default [{}]"],
        "eslint --format json .",
        ["eslint.config.js", "export default [{ ignores: ['.fairway/'] }, {}]"],
    ),
    ("prettier", ["", ""], "prettier --list-different .", [".prettierignore", ".fairway"]),
    ("biome", ["", ""], "biome lint --verbose .", ["biome.json", r#"{"files": {"includes": ["**", "!.fairway"]}}"#]),
    (
        "tsc",
        ["tsconfig.json", r#"{"include": ["**/*", ".*/**/*"]}"#],
        "tsc --listFilesOnly",
        ["tsconfig.json", r#"{"include": ["**/*", ".*/**/*"], "exclude": [".fairway"]}"#],
    ),
    (
        "pytest",
        ["pytest.ini", "[pytest]\nnorecursedirs = build"],
        "pytest-3 --collect-only -q -p no:cacheprovider",
        ["pytest.ini", "[pytest]\nnorecursedirs = build .fairway"],
    ),
    ("flake8", [".flake8", "[flake8]"], "flake8", [".flake8", "[flake8]\nextend-exclude = .fairway"]),
    (
        "cargo",
        ["Cargo.toml", "[workspace]\nmembers = ['*']\nexclude = ['.git', 'node_modules']"],
        "cargo metadata --no-deps --offline --format-version 1",
        ["Cargo.toml", "[workspace]\nmembers = ['*']\nexclude = ['.git', 'node_modules', '.fairway']"],
    ),
];

#[test]
fn real_tools_list_no_file_of_a_lane_once_their_settings_say_what_doctor_asks_for() {
    let Some(bin) = installed("npm-tools/node_modules/.bin", "vitest") else { return };
    if !["pytest-3", "flake8"].map(require::program).iter().all(|is_there| *is_there) {
        return;
    }
    let mut world = TestProject::with_git();
    let root = world.root();
    let path = std::env::var_os("PATH").unwrap();
    let dirs = std::iter::once(bin.clone()).chain(std::env::split_paths(&path));
    world.set("PATH", std::env::join_paths(dirs).unwrap());
    std::os::unix::fs::symlink(bin.parent().unwrap(), root.join("node_modules")).unwrap();
    let packages = r#"{"type": "module", "devDependencies": {"vitest": "5", "jest": "30", "eslint": "10", "prettier": "3", "@biomejs/biome": "2"}}"#;
    fs::create_dir_all(root.join("own/src")).unwrap();
    for (file, text) in [
        (".gitignore", "node_modules\n"),
        ("package.json", packages),
        ("own.test.js", "const  own = 1\n"),
        ("own.ts", "export const own = 1\n"),
        ("test_own.py", "import  os\ndef test_own(): pass\n"),
        ("own/Cargo.toml", "[package]\nname = 'own'\nversion = '0.1.0'\n"),
        ("own/src/lib.rs", ""),
    ] {
        fs::write(root.join(file), text).unwrap();
    }
    let write = |[file, text]: [&str; 2]| (!file.is_empty()).then(|| fs::write(root.join(file), text).unwrap());
    for (_, before, ..) in TOOLS {
        write(before);
    }
    world.git(&root, &["add", "--all"]);
    world.git(&root, &["commit", "--quiet", "--message=tools"]);
    world.run(["lane", "add", "walked", "--create-worktree"]).exits(0);
    let walkers = || {
        let found = world.run(["doctor", "--json"]).json()["findings"].clone();
        let found = found.as_array().unwrap().iter().filter(|one| one["code"] == "walks_into_lanes");
        found.map(|one| one["message"].as_str().unwrap().split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let listing = |words: &str| {
        let mut words = words.split(' ');
        let mut command = world.command(words.next().unwrap());
        for name in ["CARGO_HOME", "RUSTUP_HOME", "HOME"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        let done = command.args(words).env("PYTHONDONTWRITEBYTECODE", "1").output().unwrap();
        String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned()
    };
    assert_eq!(walkers(), TOOLS.map(|(name, ..)| name));
    for (name, _, words, after) in TOOLS {
        write(after);
        let listed = listing(words);
        assert!(listed.contains("own") && !listed.contains("/walked/"), "{name}: {listed}");
    }
    assert_eq!(walkers(), [""; 0]);
}
