//! The Debian package, of the binary under test: what it contains, and that its removal leaves nothing of it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::root;
use crate::common::test_project::{CommandOutput, FAIRWAY};
use crate::common::{TestProject, require};

/// The files and links below a directory, by their paths in it.
fn files(top: &Path) -> BTreeSet<String> {
    fn walk(dir: &Path, top: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.symlink_metadata().unwrap().is_dir() {
                walk(&path, top, found);
            } else {
                found.insert(path.strip_prefix(top).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    let mut found = BTreeSet::new();
    walk(top, top, &mut found);
    found
}

/// Makes the package; `None` where a program is missing.
fn package(world: &TestProject) -> Option<PathBuf> {
    if !require::program("dpkg-deb") || !require::program("strip") {
        return None;
    }
    let cargo_deb = Command::new(root("packaging/cargo-deb.sh")).output().unwrap();
    if !require::met(cargo_deb.status.success(), "cargo-deb is not installed; tests/run.sh installs it") {
        return None;
    }
    // A copy of the sources' metadata, so that no other test's build is touched.
    let dir = world.dir().join("package");
    for below in ["src", "target/debug", "target/release", "docs/reference"] {
        fs::create_dir_all(dir.join(below)).unwrap();
    }
    for name in ["Cargo.toml", "Cargo.lock", "LICENSE", "README.md", "CHANGELOG.md", "docs/reference/schemas.json"] {
        fs::copy(root(name), dir.join(name)).unwrap();
    }
    for name in ["src/main.rs", "src/lib.rs"] {
        fs::write(dir.join(name), "").unwrap();
    }
    for name in ["fairway-core", "fairway-actions"] {
        let (from, to) = (root("crates").join(name), dir.join("crates").join(name));
        fs::create_dir_all(to.join("src")).unwrap();
        fs::copy(from.join("Cargo.toml"), to.join("Cargo.toml")).unwrap();
        fs::write(to.join("src/lib.rs"), "").unwrap();
    }
    let binary = dir.join("target/release/fairway");
    let strip = Command::new("strip").arg("-o").arg(&binary).arg(FAIRWAY).status().unwrap();
    assert!(strip.success());
    let pages =
        Command::new(root("packaging/pages.sh")).arg(&binary).arg(dir.join("target/packages")).output().unwrap();
    assert!(pages.status.success(), "{pages:?}");
    let program = PathBuf::from(String::from_utf8(cargo_deb.stdout).unwrap().trim()).join("cargo-deb");
    let mut command = Command::new(program);
    command.args(["--no-build", "--no-strip", "--quiet", "--fast", "--output"]).arg(world.dir().join("fairway.deb"));
    let made = command.current_dir(&dir).env("CARGO_TARGET_DIR", dir.join("target")).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    Some(world.dir().join("fairway.deb"))
}

#[test]
fn package_is_installed_used_and_removed_with_every_file() {
    let world = TestProject::uninitialized();
    let Some(package) = package(&world) else { return };
    if !require::root() {
        return;
    }
    let top = world.dir().join("root");
    for below in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"] {
        fs::create_dir_all(top.join(below)).unwrap();
    }
    for file in ["status", "available"] {
        fs::write(top.join("var/lib/dpkg").join(file), "").unwrap();
    }
    let dpkg = |args: &[&str]| -> CommandOutput {
        let mut command = world.command("dpkg");
        command.arg("--root").arg(&top).args(["--force-depends", "--log=/dev/null"]).args(args);
        CommandOutput::from(command.output().unwrap()).exits(0)
    };
    let own = |top: &Path| -> BTreeSet<String> {
        files(top).into_iter().filter(|name| !name.starts_with("var/lib/dpkg/")).collect()
    };
    dpkg(&["--install", package.to_str().unwrap()]);

    let installed = own(&top);
    for name in [
        "usr/bin/fairway",
        "usr/share/bash-completion/completions/fairway",
        "usr/share/zsh/vendor-completions/_fairway",
        "usr/share/fish/vendor_completions.d/fairway.fish",
        "usr/share/man/man1/fairway.1.gz",
        "usr/share/man/man1/fairway-task-import.1.gz",
        "usr/share/doc/fairway/copyright",
    ] {
        assert!(installed.contains(name), "{name}: {installed:#?}");
    }
    // Where a machine keeps documentation away, as containers do, the package has it all the same.
    let contents = Command::new("dpkg-deb").arg("--contents").arg(&package).output().unwrap();
    let contents = String::from_utf8(contents.stdout).unwrap();
    assert!(contents.contains("./usr/share/doc/fairway/schemas.json\n"), "{contents}");
    let pages = installed.iter().filter(|name| name.starts_with("usr/share/man/man1/")).count();
    assert!(pages > 100, "{pages}");
    for name in &installed {
        let mode = top.join(name).metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, if name.starts_with("usr/bin/") { 0o755 } else { 0o644 }, "{name}");
    }
    let fields = Command::new("dpkg-deb").arg("--field").arg(&package).output().unwrap();
    let fields = String::from_utf8(fields.stdout).unwrap();
    for line in ["Package: fairway", "Depends: git", "Recommends: tmux"] {
        assert!(fields.lines().any(|found| found == line), "{fields}");
    }

    // A task is claimed with it; the project outlives the package.
    let program = top.join("usr/bin/fairway");
    for args in [&["init"][..], &["task", "add", "Fix the tax"], &["claim"]] {
        CommandOutput::from(world.command(&program).args(args).output().unwrap()).exits(0);
    }
    dpkg(&["--purge", "fairway"]);
    assert_eq!(own(&top), BTreeSet::new());
    assert_eq!(world.json(["task", "show", "T-1"])["status"], "in_progress");
}
