//! Every script is linted and formatted.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Whether a tool is there. Where it is not, the test says so and passes; under CI it must be there.
fn there(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    assert!(found || std::env::var_os("CI").is_none(), "{tool} is missing; tests/run.sh installs it");
    if !found {
        println!("skipped: {tool} is not installed; tests/run.sh installs it");
    }
    found
}

fn scripts() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if fs::read(&path).unwrap().starts_with(b"#!") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in [".ci", "examples", "session-adapters", "tests", "benches"] {
        if root.join(folder).is_dir() {
            walk(&root.join(folder), &mut found);
        }
    }
    found.retain(|path| {
        let first = fs::read_to_string(path).unwrap_or_default();
        first.lines().next().is_some_and(|line| line.ends_with("sh"))
    });
    assert!(found.len() >= 5, "only {} scripts were found", found.len());
    found
}

#[test]
fn scripts_pass_shellcheck() {
    if there("shellcheck") {
        let output = Command::new("shellcheck").arg("--enable=all").args(scripts()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn scripts_are_formatted() {
    if there("shfmt") {
        let output = Command::new("shfmt").args(["-d", "-i", "2", "-ci"]).args(scripts()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}
