//! The files that `packaging/release.sh` writes beside the archives, and the metadata that names them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use fairway_core::os::digest::sha256_hex;
use serde_json::{Value, json};

use super::root;
use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

const TARGETS: [&str; 2] = ["aarch64-unknown-linux-musl", "x86_64-unknown-linux-musl"];

fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

fn archive(target: &str) -> String {
    format!("fairway-{}-{target}.tar.gz", version())
}

/// A directory with the archives and packages of a release, as far as their names go.
fn release(world: &TestProject) -> Vec<String> {
    let debs = ["amd64", "arm64"].map(|machine| format!("fairway_{}-1_{machine}.deb", version()));
    let mut names: Vec<String> = TARGETS.map(archive).into_iter().chain(debs).collect();
    names.sort();
    for name in &names {
        fs::write(world.root().join(name), format!("bytes of {name}")).unwrap();
    }
    names
}

fn index(world: &TestProject, repository: Option<&str>) -> CommandOutput {
    let mut command = Command::new(root("packaging/release.sh"));
    command.arg("--index").env("FAIRWAY_RELEASE_FILES", world.root()).env_remove("FAIRWAY_REPOSITORY");
    command.envs(repository.map(|repository| ("FAIRWAY_REPOSITORY", repository))).env("SOURCE_DATE_EPOCH", "1");
    command.output().unwrap().into()
}

#[test]
fn checksums_manifest_formula_and_installer_name_the_release() {
    let world = TestProject::uninitialized();
    let names = release(&world);
    let text = |name: &str| fs::read_to_string(world.root().join(name)).unwrap();
    let digest = |name: &str| sha256_hex(format!("bytes of {name}").as_bytes());
    index(&world, Some("https://example.org/ann/fairway")).exits(0);

    let sums: Vec<String> = text("SHA256SUMS").lines().map(str::to_owned).collect();
    assert_eq!(sums, names.iter().map(|name| format!("{}  {name}", digest(name))).collect::<Vec<_>>());

    let manifest: Value = serde_json::from_str(&text("manifest.json")).unwrap();
    assert_eq!((&manifest["name"], &manifest["version"]), (&json!("fairway"), &json!(version())));
    let files = manifest["files"].as_array().unwrap();
    assert_eq!(files.len(), names.len());
    for (file, name) in files.iter().zip(&names) {
        let target = if name.contains("aarch64") || name.contains("arm64") { TARGETS[0] } else { TARGETS[1] };
        let size = format!("bytes of {name}").len();
        assert_eq!(file, &json!({ "name": name, "target": target, "size": size, "sha256": digest(name) }));
    }

    let formula = text("fairway.rb");
    assert!(!formula.contains('@'), "{formula}");
    for target in TARGETS {
        let url = format!("https://example.org/ann/fairway/releases/download/v{}/{}", version(), archive(target));
        assert!(formula.contains(&format!("url \"{url}\"\n    sha256 \"{}\"", digest(&archive(target)))), "{formula}");
    }
    assert!(text("install.sh").contains("default_repository=\"https://example.org/ann/fairway\"\n"));

    // Without the address: no formula, and an installer that asks for it.
    fs::remove_file(world.root().join("fairway.rb")).unwrap();
    let run = index(&world, None).exits(0);
    assert!(run.stdout.contains("no Homebrew formula") && !world.root().join("fairway.rb").exists(), "{run:?}");
    let mut installer = world.command("sh");
    let run: CommandOutput = installer.arg(world.root().join("install.sh")).output().unwrap().into();
    assert!(run.exits(1).stderr.contains("the repository is unknown"));
    index(&world, Some("file:///ann; rm -rf x")).exits(1);
}

/// `cargo binstall` finds an archive and the program in it by these templates.
#[test]
fn binstall_metadata_names_the_archives() {
    let manifest: toml::Table = fs::read_to_string(root("Cargo.toml")).unwrap().parse().unwrap();
    let metadata = &manifest["package"]["metadata"]["binstall"];
    for target in TARGETS {
        let expand = |key: &str| {
            let values = [
                ("repo", "https://example.org/ann/fairway"),
                ("name", "fairway"),
                ("version", version()),
                ("target", target),
                ("bin", "fairway"),
            ];
            let template = metadata[key].as_str().unwrap().to_owned();
            values.iter().fold(template, |text, (name, value)| text.replace(&format!("{{ {name} }}"), value))
        };
        let address = format!("https://example.org/ann/fairway/releases/download/v{}/{}", version(), archive(target));
        assert_eq!(expand("pkg-url"), address);
        assert_eq!(expand("bin-dir"), format!("fairway-{}-{target}/fairway", version()));
    }
    assert_eq!(metadata["pkg-fmt"].as_str(), Some("tgz"));
}

#[test]
fn version_is_cut_with_its_date_and_its_fixtures_once_every_change_is_on_its_page() {
    let world = TestProject::uninitialized();
    let write = |name: &str, text: &str| {
        let path = world.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    fs::create_dir_all(world.root().join("packaging")).unwrap();
    fs::copy(root("packaging/cut.sh"), world.root().join("packaging/cut.sh")).unwrap();
    write("Cargo.toml", "[package]\nversion = \"9.8.7\"\n");
    write("tests/fixtures/version-9.8/make.py", "import sys\nopen('made', 'w').write(sys.argv[1])\n");
    // The build is not of this test.
    write("bin/cargo", "#!/bin/sh\n");
    fs::set_permissions(world.root().join("bin/cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    world.git(&world.root(), &["init", "--quiet"]);
    let cut = |date: &[&str]| -> CommandOutput {
        let path = format!("{}:{}", world.root().join("bin").display(), std::env::var("PATH").unwrap());
        Command::new(world.root().join("packaging/cut.sh")).args(date).env("PATH", path).output().unwrap().into()
    };
    let page = |unreleased: &str| format!("## [Unreleased]\n\nLines.\n{unreleased}\n## [9.8.7]\n\n- all\n");
    write("CHANGELOG.md", &page("\n- one\n"));
    assert!(cut(&[]).exits(2).stderr.contains("the date is missing"));
    assert!(cut(&["2026-11-28"]).exits(1).stderr.contains("changes that are not on the page of 9.8.7"));
    write("CHANGELOG.md", &page(""));
    assert!(cut(&["2026-11-28"]).exits(0).stdout.contains("git tag v9.8.7"));
    let read = |name: &str| fs::read_to_string(world.root().join(name)).unwrap();
    assert!(read("CHANGELOG.md").ends_with("## [9.8.7] - 2026-11-28\n\n- all\n"));
    assert_eq!(read("made"), "target/debug/fairway");
}
