//! What in a lane can make git run a program: each is planted, and every command that looks at a lane, as a person and from cron,
//! runs none of them. Git by itself runs each.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::TestProject;
use crate::common::terminal::at_terminal;
use crate::common::test_project::CommandOutput;

/// A lane in which programs are planted.
struct Lane {
    world: TestProject,
    tree: PathBuf,
    /// Gets a line from each program that runs.
    ran: PathBuf,
    program: String,
}

impl Lane {
    /// The lane `ui` with a commit, beside a base with another one, and the claimed task `T-1`.
    fn new() -> Self {
        let world = TestProject::with_git();
        let (root, ran) = (world.root(), world.dir().join("ran"));
        for (key, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
            world.git(&root, &["config", "--global", key, value]);
        }
        let program = world.dir().join("program.sh");
        // It answers what git waits for: nothing, so that git goes on or fails.
        fs::write(
            &program,
            format!("#!/bin/sh\necho \"$1\" >>'{}'\ntimeout 1 cat >/dev/null\nexit 1\n", ran.display()),
        )
        .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let program = program.to_str().unwrap().to_owned();
        for name in ["a.txt", "m.txt"] {
            fs::write(root.join(name), "one\n").unwrap();
        }
        world.git(&root, &["add", "--all"]);
        world.git(&root, &["commit", "--quiet", "--message=files"]);
        world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
        let tree = root.join(".fairway/worktrees/ui");
        let lane = Self { world, tree, ran, program };
        lane.commit(&root, "m.txt", "base\n");
        lane.commit(&lane.tree, "m.txt", "lane\n");
        lane.world.run(["task", "add", "T-1", "one", "--lane", "ui", "--check", "c=true"]).exits(0);
        lane.world.run(["claim", "T-1"]).exits(0);
        lane
    }

    fn commit(&self, dir: &Path, name: &str, text: &str) {
        fs::write(dir.join(name), text).unwrap();
        self.world.git(dir, &["add", "--all"]);
        self.world.git(dir, &["commit", "--quiet", &format!("--message={name}")]);
    }

    fn config(&self, dir: &Path, key: &str, value: &str) {
        self.world.git(dir, &["config", key, value]);
    }

    /// The program's command line with this word.
    fn program(&self, word: &str) -> String {
        format!("{} {word}", self.program)
    }

    /// Gives a file attributes, and a content of the same size, so that git has to read it.
    fn attribute(&self, attributes: &str) {
        self.commit(&self.tree, ".gitattributes", &format!("{attributes}\n"));
        fs::write(self.tree.join("a.txt"), "two\n").unwrap();
    }

    /// The words of the programs that ran since the last look.
    fn ran(&self) -> BTreeSet<String> {
        let text = fs::read_to_string(&self.ran).unwrap_or_default();
        let _ = fs::remove_file(&self.ran);
        text.lines().map(str::to_owned).collect()
    }

    /// Git by itself, in the lane.
    fn git(&self, args: &[&str]) -> CommandOutput {
        let mut git = self.world.command("git");
        git.args(args).current_dir(&self.tree).stdin(Stdio::null());
        git.output().unwrap().into()
    }

    /// The command with no more of an environment than cron gives.
    fn in_cron(&self, words: &[&str]) -> Command {
        let mut command = self.world.fairway(words);
        let home =
            command.get_envs().find(|(name, _)| *name == "HOME").and_then(|(_, value)| value).unwrap().to_owned();
        command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").current_dir(self.world.root());
        command
    }
}

/// A name in the guide's table, what plants it, and the command of git that runs it.
type Plant = (&'static str, fn(&Lane), &'static [&'static str]);

const PLANTS: [Plant; 15] = [
    (
        "filter.NAME.clean",
        |lane| {
            lane.attribute("a.txt filter=x");
            lane.config(&lane.tree, "filter.x.clean", &lane.program("x"));
        },
        &["status"],
    ),
    (
        "filter.NAME.process",
        |lane| {
            lane.attribute("a.txt filter=x");
            lane.config(&lane.tree, "filter.x.process", &lane.program("x"));
        },
        &["status"],
    ),
    (
        "config.worktree",
        |lane| {
            lane.attribute("a.txt filter=x");
            lane.config(&lane.tree, "extensions.worktreeConfig", "true");
            lane.world.git(&lane.tree, &["config", "--worktree", "filter.x.clean", &lane.program("x")]);
        },
        &["status"],
    ),
    (
        "include.path",
        |lane| {
            lane.attribute("a.txt filter=x");
            let file = lane.world.dir().join("included");
            fs::write(&file, format!("[filter \"x\"]\n\tclean = {}\n", lane.program("x"))).unwrap();
            lane.config(&lane.tree, "include.path", file.to_str().unwrap());
        },
        &["status"],
    ),
    ("core.fsmonitor", |lane| lane.config(&lane.tree, "core.fsmonitor", &lane.program("x")), &["status"]),
    (
        "core.hooksPath",
        |lane| {
            let hooks = lane.world.dir().join("hooks");
            fs::create_dir(&hooks).unwrap();
            for hook in ["post-index-change", "reference-transaction", "post-checkout", "post-merge", "pre-auto-gc"] {
                fs::write(hooks.join(hook), format!("#!/bin/sh\nexec {}\n", lane.program("x"))).unwrap();
                fs::set_permissions(hooks.join(hook), fs::Permissions::from_mode(0o755)).unwrap();
            }
            lane.config(&lane.tree, "core.hooksPath", hooks.to_str().unwrap());
            fs::write(lane.tree.join("a.txt"), "two\n").unwrap();
        },
        &["add", "--all"],
    ),
    (
        "diff.external",
        |lane| {
            fs::write(lane.tree.join("a.txt"), "two\n").unwrap();
            lane.config(&lane.tree, "diff.external", &lane.program("x"));
        },
        &["diff"],
    ),
    (
        "diff.NAME.command",
        |lane| {
            lane.attribute("a.txt diff=x");
            lane.config(&lane.tree, "diff.x.command", &lane.program("x"));
        },
        &["diff"],
    ),
    (
        "diff.NAME.textconv",
        |lane| {
            lane.attribute("a.txt diff=x");
            lane.config(&lane.tree, "diff.x.textconv", &lane.program("x"));
        },
        &["diff"],
    ),
    (
        "merge.NAME.driver",
        |lane| {
            lane.attribute("* merge=x");
            lane.world.git(&lane.tree, &["checkout", "--quiet", "--", "a.txt"]);
            lane.config(&lane.tree, "merge.x.driver", &lane.program("x"));
        },
        &["merge-tree", "--write-tree", "HEAD", "main"],
    ),
    (
        "gpg.program",
        |lane| {
            lane.config(&lane.tree, "commit.gpgSign", "true");
            lane.config(&lane.tree, "gpg.program", &lane.world.dir().join("program.sh").display().to_string());
        },
        &["commit", "--allow-empty", "--message=signed"],
    ),
    (
        "log.showSignature",
        |lane| {
            let source = lane.world.git(&lane.tree, &["cat-file", "commit", "HEAD"]);
            let (header, message) = source.split_once("\n\n").unwrap();
            let signed = format!(
                "{header}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n{message}\n"
            );
            let file = lane.world.dir().join("commit");
            fs::write(&file, signed).unwrap();
            let id = lane.world.git(&lane.tree, &["hash-object", "-t", "commit", "-w", file.to_str().unwrap()]);
            lane.world.git(&lane.tree, &["reset", "--quiet", "--hard", id.trim()]);
            lane.config(&lane.tree, "log.showSignature", "true");
            lane.config(&lane.tree, "gpg.program", &lane.world.dir().join("program.sh").display().to_string());
        },
        &["log", "-1"],
    ),
    (
        "a promisor remote",
        |lane| {
            let blob = lane.world.git(&lane.tree, &["rev-parse", "HEAD:m.txt"]).trim().to_owned();
            let common = lane.world.root().join(".git");
            fs::remove_file(common.join("objects").join(&blob[..2]).join(&blob[2..])).unwrap();
            fs::write(lane.tree.join("m.txt"), "new\n").unwrap();
            lane.config(&lane.tree, "core.repositoryFormatVersion", "1");
            lane.config(&lane.tree, "extensions.partialClone", "p");
            lane.config(&lane.tree, "remote.p.promisor", "true");
            lane.config(&lane.tree, "remote.p.url", &format!("ext::{}", lane.program("x")));
            lane.config(&lane.tree, "protocol.ext.allow", "always");
        },
        &["diff"],
    ),
    (
        "the settings of a submodule",
        |lane| {
            let sub = submodule(lane);
            lane.config(&sub, "filter.x.clean", &lane.program("x"));
            fs::write(sub.join("f.txt"), "two\n").unwrap();
        },
        &["status"],
    ),
    (
        "diff.submodule",
        |lane| {
            let sub = submodule(lane);
            lane.commit(&sub, "f.txt", "new\n");
            lane.config(&lane.tree, "diff.submodule", "diff");
            lane.config(&sub, "diff.external", &lane.program("x"));
        },
        &["diff"],
    ),
];

/// A repository in the lane that git takes for a submodule.
fn submodule(lane: &Lane) -> PathBuf {
    let sub = lane.tree.join("sub");
    fs::create_dir(&sub).unwrap();
    lane.world.git(&sub, &["init", "--quiet", "--initial-branch=main"]);
    lane.commit(&sub, ".gitattributes", "f.txt filter=x\n");
    lane.commit(&sub, "f.txt", "one\n");
    lane.world.git(&lane.tree, &["add", "sub"]);
    lane.world.git(&lane.tree, &["commit", "--quiet", "--message=sub"]);
    sub
}

/// The commands that look at a lane. The last ones change something.
const LOOKS: [&[&str]; 21] = [
    &["lane", "show", "ui"],
    &["lane", "list", "--git"],
    &["lane", "diff", "ui"],
    &["lane", "diff", "ui", "--stat"],
    &["lane", "diff", "ui", "--json"],
    &["lane", "diff", "ui", "--since", "1h"],
    &["lane", "sync", "ui", "--dry-run"],
    &["lane", "sync", "ui", "--rebase", "--dry-run"],
    &["lane", "prune", "--dry-run"],
    &["merge-ready", "T-1"],
    &["evidence", "run", "T-1", "--", "true"],
    &["land", "ui", "--dry-run"],
    &["overlap"],
    &["status"],
    &["doctor"],
    &["session", "reconcile"],
    &["lane", "add", "new", "--create-worktree"],
    &["lane", "sync", "ui"],
    &["release", "T-1"],
    &["lane", "rm", "ui"],
    &["land", "ui"],
];

/// Tries these plants. Each command runs as a person calls it and as cron does, before the next one.
fn no_look_runs(plants: impl Iterator<Item = Plant>) {
    for (name, plant, control) in plants {
        let lane = Lane::new();
        plant(&lane);
        lane.ran();
        for words in LOOKS {
            lane.in_cron(words).output().unwrap();
            assert_eq!(lane.ran(), BTreeSet::new(), "{name}: {words:?} from cron");
            lane.world.run(words);
            assert_eq!(lane.ran(), BTreeSet::new(), "{name}: {words:?}");
        }
        // Git by itself runs it.
        let lane = Lane::new();
        plant(&lane);
        lane.ran();
        let run = lane.git(control);
        assert!(!lane.ran().is_empty(), "{name}: {run:?}");
    }
}

#[test]
fn no_look_at_a_lane_runs_a_planted_filter_or_hook() {
    no_look_runs(PLANTS.into_iter().take(6));
}

#[test]
fn no_look_at_a_lane_runs_a_planted_program_for_differences_or_merges() {
    no_look_runs(PLANTS.into_iter().skip(6).take(4));
}

#[test]
fn no_look_at_a_lane_runs_a_planted_signer_remote_or_submodule() {
    no_look_runs(PLANTS.into_iter().skip(10));
}

#[test]
fn guide_names_what_can_make_git_run_a_program() {
    let guide = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/SECURITY.md")).unwrap();
    let table: String = guide.lines().filter(|line| line.starts_with("| ")).collect();
    for name in PLANTS.map(|(name, ..)| name).into_iter().chain(["core.pager"]) {
        assert!(table.contains(name), "{name}");
    }
}

#[test]
fn pager_and_filters_of_the_user_run_and_those_of_the_repository_do_not() {
    let lane = Lane::new();
    lane.attribute("a.txt filter=x");
    for name in ["core.pager", "pager.diff", "filter.x.clean"] {
        lane.config(&lane.world.root(), name, &lane.program("repository"));
    }
    lane.ran();
    let mut shown = lane.world.fairway(["lane", "diff", "ui"]);
    shown.env_remove("GIT_PAGER").env("PAGER", "cat");
    let screen = at_terminal(shown, &[]).screen;
    assert!(screen.contains("two"), "{screen}");
    assert_eq!(lane.ran(), BTreeSet::new());
    // A filter of the user's own configuration runs, with the user's program, which succeeds.
    let own = format!("echo own >>'{}'; cat", lane.ran.display());
    lane.world.git(&lane.world.root(), &["config", "--global", "filter.x.clean", &own]);
    lane.world.run(["lane", "show", "ui"]).exits(0);
    assert_eq!(lane.ran(), BTreeSet::from(["own".to_owned()]));
}
