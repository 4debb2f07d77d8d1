//! Entering our hooks into settings, on real files.

mod doctor;
mod lanes;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use serde_json::Value;

use crate::common::TestProject;
use crate::common::test_project::FAIRWAY;

const THEIRS: &str =
    "{\r\n\t\"model\": \"opus\", // the large one\r\n\t\"hooks\": {\"Stop\": [{\"hooks\": []}]},\r\n}\r\n";

fn settings(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn existing_settings_survive_install_and_uninstall() {
    let world = TestProject::new();
    for (provider, file) in
        [("claude", ".claude/settings.json"), ("codex", ".codex/hooks.json"), ("gemini", ".gemini/settings.json")]
    {
        let path = world.root().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, THEIRS).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let done = world.json(["hook", "install", provider]);
        assert_eq!((&done["changed"], &done["file"]), (&true.into(), &path.display().to_string().into()));
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with(
                "{\r\n\t\"model\": \"opus\", // the large one\r\n\t\"hooks\": {\"Stop\": [{\"hooks\": []}"
            )
        );
        assert!(
            text.contains(&format!("hook {provider} SessionStart")) || text.contains("\"SessionStart\"]"),
            "{text}"
        );
        assert!(text.contains(FAIRWAY), "{text}");
        let (mode, number) = (fs::metadata(&path).unwrap().mode() & 0o777, fs::metadata(&path).unwrap().ino());
        assert_eq!(mode, 0o640);
        assert_eq!(world.json(["hook", "install", provider])["changed"], false);
        assert_eq!(fs::metadata(&path).unwrap().ino(), number, "it was not written again");
        assert_eq!(world.json(["hook", "uninstall", provider])["changed"], true);
        assert_eq!(fs::read_to_string(&path).unwrap(), THEIRS);
    }
}

#[test]
fn uninstall_leaves_no_empty_directory_and_no_other_file_behind() {
    let world = TestProject::new();
    for provider in ["claude", "codex", "gemini"] {
        let dir = world.root().join(format!(".{provider}"));
        world.run(["hook", "install", provider]).exits(0);
        assert!(dir.is_dir());
        world.run(["hook", "uninstall", provider]).exits(0);
        assert!(!dir.exists(), "{provider}");
        world.run(["hook", "install", provider]).exits(0);
        fs::write(dir.join("notes.md"), "mine").unwrap();
        world.run(["hook", "uninstall", provider]).exits(0);
        assert_eq!(fs::read_to_string(dir.join("notes.md")).unwrap(), "mine");
    }
}

#[test]
fn created_settings_file_is_removed_on_uninstall() {
    let world = TestProject::new();
    let path = world.root().join(".claude/settings.json");
    world.run(["hook", "install", "claude"]).exits(0);
    let hooks = &settings(&path)["hooks"];
    let before_tool = &hooks["PreToolUse"][0]["hooks"][0];
    assert_eq!(before_tool["onFailure"], "block", "a hook that fails is a no");
    assert_eq!(before_tool["args"], serde_json::json!(["hook", "claude", "PreToolUse"]));
    for event in ["SessionStart", "Stop"] {
        let waits = &hooks[event][0]["hooks"][1];
        assert_eq!((&waits["asyncRewake"], &waits["args"][2]), (&true.into(), &"wait".into()), "{event}");
    }
    world.run(["hook", "uninstall", "claude"]).exits(0);
    assert!(!path.exists());
}

#[test]
fn link_stays_a_link_and_its_file_is_written() {
    let world = TestProject::new();
    let (real, link) = (world.dir().join("dotfiles.json"), world.root().join(".gemini/settings.json"));
    fs::write(&real, "{}").unwrap();
    fs::create_dir(world.root().join(".gemini")).unwrap();
    symlink("../../dotfiles.json", &link).unwrap();
    world.run(["hook", "install", "gemini"]).exits(0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(settings(&real)["hooks"]["BeforeTool"][0]["hooks"][0]["name"], "fairway");
    world.run(["hook", "uninstall", "gemini"]).exits(0);
    assert_eq!(fs::read_to_string(&real).unwrap(), "{}");
}

#[test]
fn dry_run_shows_the_lines_and_writes_nothing() {
    let world = TestProject::new();
    fs::create_dir(world.root().join(".codex")).unwrap();
    let path = world.root().join(".codex/hooks.json");
    fs::write(&path, "{\n  \"description\": \"mine\"\n}\n").unwrap();
    let shown = world.run(["hook", "install", "codex", "--dry-run"]).exits(0);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  \"description\": \"mine\"\n}\n");
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert_eq!(
        lines[2..6],
        ["@@ -1,3 +1,68 @@", " {", "-  \"description\": \"mine\"", "+  \"description\": \"mine\","]
    );
    world.run(["hook", "install", "codex"]).exits(0);
    let shown = world.run(["hook", "uninstall", "codex", "--dry-run"]).exits(0);
    assert!(shown.stdout.ends_with("-  }\n+  \"description\": \"mine\"\n }\n"), "{}", shown.stdout);
    assert!(fs::read_to_string(&path).unwrap().contains("fairway"));
}

#[test]
fn persons_settings_lie_where_the_vendor_looks() {
    let mut world = TestProject::uninitialized();
    for (provider, variable, moved, usual) in [
        ("claude", "CLAUDE_CONFIG_DIR", "settings.json", ".claude/settings.json"),
        ("codex", "CODEX_HOME", "hooks.json", ".codex/hooks.json"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json", ".gemini/settings.json"),
    ] {
        // Outside of any project too.
        let home = world.dir().join("home").join(usual);
        world.run(["hook", "install", provider, "--user", "--quiet"]).exits(0);
        assert!(home.is_file(), "{home:?}");
        let folder = world.dir().join(variable);
        world.set(variable, &folder);
        world.run(["hook", "install", provider, "--user", "--quiet"]).exits(0);
        assert!(folder.join(moved).is_file(), "{provider}");
    }
    world.run(["hook", "install", "claude", "--json"]).refuses(3, "no_project");
}

#[test]
fn unwritable_settings_stay_unchanged() {
    let world = TestProject::new();
    let folder = world.root().join(".claude");
    fs::create_dir(&folder).unwrap();
    let path = folder.join("settings.json");
    for text in ["{", "[]", "{\"hooks\": []}", "{\"hooks\": {}, \"hooks\": {}}", "{\"a\": 1, 'b': 2}", "\u{0}"] {
        fs::write(&path, text).unwrap();
        world.run(["hook", "install", "claude", "--json"]).refuses(2, "settings_invalid");
        world.run(["hook", "uninstall", "claude", "--json"]).refuses(2, "settings_invalid");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    fs::write(&path, b"{\"a\": \"\xff\"}").unwrap();
    world.run(["hook", "install", "claude", "--json"]).refuses(2, "settings_invalid");
    // A folder where the file should be.
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    world.run(["hook", "install", "claude", "--json"]).refuses(2, "settings_invalid");
    fs::remove_dir(&path).unwrap();
    symlink("settings.json", &path).unwrap();
    world.run(["hook", "install", "claude", "--json"]).refuses(1, "failure");
}

/// A vendor that does not load the file runs none of its hooks: that is said.
#[test]
fn settings_file_that_is_not_loaded_is_reported() {
    let world = TestProject::new();
    let folder = world.root().join(".claude");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("settings.json"), "{} // mine").unwrap();
    let run = world.run(["hook", "install", "claude"]).exits(0);
    assert!(run.stderr.contains("has comments or a trailing comma, and claude does not load such a file"), "{run:?}");
    assert_eq!(world.json(["hook", "install", "claude"])["loaded"], false);
    fs::write(folder.join("settings.json"), "{}").unwrap();
    assert_eq!(world.json(["hook", "install", "claude"])["loaded"], true);
}
