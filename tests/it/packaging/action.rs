//! The action `setup-fairway`: its scripts, run as a runner of GitHub runs them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use super::release_server::{ReleaseServer, archive};
use super::root;
use crate::common::test_project::{CommandOutput, FAIRWAY};
use crate::common::{TestProject, require};

/// A program that notes how it was called, and the file that it was given.
const GH: &str = "#!/bin/sh\nprintf '%s\\n' \"$*\" >>\"$GH_CALLS\"\ncat \"$5\" >>\"$GH_CALLS\"\n";

struct Runner {
    world: TestProject,
    dir: PathBuf,
}

impl Runner {
    fn new() -> Self {
        let world = TestProject::new();
        let dir = world.dir().join("runner");
        fs::create_dir_all(dir.join("bin")).unwrap();
        symlink(FAIRWAY, dir.join("bin/fairway")).unwrap();
        let gh = dir.join("bin/gh");
        fs::write(&gh, GH).unwrap();
        fs::set_permissions(&gh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        Self { world, dir }
    }

    fn script(&self, name: &str) -> Command {
        let mut command = self.world.command(root(".github/actions/setup-fairway").join(name));
        let path = format!("{}:{}", self.dir.join("bin").display(), std::env::var("PATH").unwrap());
        command.env("PATH", path).env("GITHUB_ACTION_PATH", root(".github/actions/setup-fairway"));
        for (name, file) in [
            ("GITHUB_STEP_SUMMARY", "summary"),
            ("GITHUB_OUTPUT", "output"),
            ("GITHUB_PATH", "path"),
            ("GH_CALLS", "calls"),
            ("RUNNER_TEMP", "temp"),
        ] {
            command.env(name, self.dir.join(file));
        }
        command
    }

    fn merge_ready(&self, task: &str, comment: &str) -> CommandOutput {
        let mut command = self.script("merge-ready.sh");
        command.env("TASK", task).env("BASE", "").env("DIRECTORY", self.world.root());
        command.env("COMMENT", comment).env("PULL_REQUEST", "7").output().unwrap().into()
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.dir.join(name)).unwrap_or_default()
    }
}

#[test]
fn gates_become_annotations_summary_output_and_comment() {
    let runner = Runner::new();
    let config = runner.world.root().join(".fairway.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}\n[gates.merge]\nrequire = [\"evidence\"]\n")).unwrap();
    runner.world.run(["task", "add", "T-1", "one"]).exits(0);
    runner.world.run(["claim", "T-1"]).exits(0);

    let blocked = runner.merge_ready("T-1", "true").exits(5);
    assert!(blocked.stdout.starts_with("::error title=Fairway%3A T-1 evidence_missing::"), "{blocked:?}");
    assert_eq!(runner.text("output"), "ready=false\n");
    let calls = runner.text("calls");
    assert!(
        calls.starts_with("pr comment 7 --body-file ") && calls.contains("--edit-last --create-if-none\n"),
        "{calls}"
    );
    assert!(calls.ends_with(&runner.text("summary")) && runner.text("summary").starts_with("### Fairway: "), "{calls}");

    runner.world.run(["evidence", "add", "T-1", "--result", "pass"]).exits(0);
    let ready = runner.merge_ready("T-1", "false").exits(0);
    assert!(ready.stdout.starts_with("::notice "), "{ready:?}");
    assert_eq!((runner.text("output").as_str(), runner.text("calls")), ("ready=false\nready=true\n", calls));

    // A branch's name is no flag, and an unknown task is a failure of its own.
    runner.merge_ready("--help", "true").exits(2);
    runner.merge_ready("T-9", "true").exits(3);
    assert_eq!(runner.text("output"), "ready=false\nready=true\n");
}

#[test]
fn pinned_release_is_installed_for_the_next_steps() {
    if !require::program("curl") {
        return;
    }
    let (runner, server) = (Runner::new(), ReleaseServer::start());
    let archive = server.publish("1.2.3", archive(&runner.world.root(), "1.2.3", "1.2.3", &["fairway.1"]));
    let install = |sha256: &str| -> CommandOutput {
        let mut command = runner.script("install.sh");
        command.env("VERSION", "1.2.3").env("REPOSITORY", &server.address).env("SHA256", sha256);
        command.output().unwrap().into()
    };
    install(&"0".repeat(64)).exits(1);
    assert!(runner.text("path").is_empty() && !runner.dir.join("temp/fairway").exists());
    for sha256 in [String::new(), fairway_core::os::digest::sha256_hex(&archive)] {
        install(&sha256).exits(0);
    }
    let bin = runner.dir.join("temp/fairway/bin");
    assert_eq!(runner.text("path"), format!("{0}\n{0}\n", bin.display()));
    assert_eq!(Command::new(bin.join("fairway")).output().unwrap().stdout, b"fairway 1.2.3\n");
}
