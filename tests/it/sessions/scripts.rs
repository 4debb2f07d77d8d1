//! Every shell script is clean and in one style.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("session-adapters");
    let found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!found.is_empty());
    found
}

/// Runs a tool over every script; where it is absent that is said, and under CI it is a failure.
fn clean(tool: &str, args: &[&str]) {
    match Command::new(tool).args(args).args(scripts()).output() {
        Ok(done) => assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout)),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "{tool}: {error}");
            eprintln!("skipped: there is no {tool}");
        }
    }
}

#[test]
fn shellcheck_finds_nothing() {
    clean("shellcheck", &["--enable=all"]);
}

#[test]
fn shfmt_changes_nothing() {
    clean("shfmt", &["-d", "-i", "2", "-ci"]);
}
