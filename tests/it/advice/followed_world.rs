//! A project with work of every kind that can be put back to its beginning, and what work is in it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use fairway_actions::sessions::report::telemetry::{Turn, Usage, report};
use fairway_core::domain::RunId;

use crate::common::TestProject;
use crate::common::test_project::{CommandOutput, FAIRWAY};
use crate::runtime::app;

pub(super) struct FollowedWorld {
    world: TestProject,
    bin: PathBuf,
}

/// What a person would miss: commits that a branch, a stash or a worktree has, the content of each file, and rows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Work {
    kept: BTreeSet<String>,
    rows: Vec<(&'static str, u64)>,
}

impl Work {
    /// What this has and a later one lacks.
    pub(super) fn lost_in(&self, later: &Self) -> Vec<String> {
        let files = self.kept.difference(&later.kept).cloned();
        let rows = self.rows.iter().zip(&later.rows).filter(|(before, after)| after.1 < before.1);
        files.chain(rows.map(|(before, after)| format!("rows of {}: {} of {}", before.0, after.1, before.1))).collect()
    }
}

const TABLES: [&str; 9] =
    ["tasks", "checkpoints", "evidence", "reviews", "review_comments", "handoffs", "messages", "events", "landings"];

impl FollowedWorld {
    /// Lanes: `cart` has a commit, `tax` a changed and a new file, `sub` work in its submodule, `put` a stash; T-1 is todo, T-2 of the
    /// lane cart, T-3 of tax, T-4 depends on T-1, T-5 is cancelled, T-6 is submitted work of cart; s1 lives, s2 is over.
    pub(super) fn new() -> Self {
        let world = TestProject::with_git();
        let bin = world.dir().join("bin");
        fs::create_dir(&bin).unwrap();
        symlink(FAIRWAY, bin.join("fairway")).unwrap();
        let library = world.dir().join("library");
        fs::create_dir(&library).unwrap();
        world.git(&library, &["init", "--quiet", "--initial-branch=main"]);
        fs::write(library.join("lib.txt"), "library\n").unwrap();
        world.git(&library, &["add", "."]);
        world.git(&library, &["commit", "--quiet", "--message=library"]);
        let this = Self { world, bin };
        for line in &super::cases::read().world {
            let made = this.sh(line);
            assert!(made.code == Some(0), "{line}: {made:?}");
        }
        this.world.add_session("s1");
        this.world.add_session("s2");
        // What T-2 has used counts where a case or the board has a budget.
        this.world.run(["session", "upsert", "--id", "s2", "--task-id", "T-2"]).exits(0);
        let usage = Usage { input_tokens: 110, cost_usd: Some(5.5), ..Usage::default() };
        let turn = Turn { at: this.world.now(), key: None, usage: Some(usage), tools: Vec::new() };
        report(&app(&this.world), &RunId::parse("run-s2"), &[turn]).unwrap();
        let made = this.sh("fairway session end s2 && rm -f ../tmp/fairway.log");
        assert!(made.code == Some(0), "{made:?}");
        this.keep();
        this
    }

    /// From now on this is the state to which `restore` goes back.
    pub(super) fn keep(&self) {
        self.copy("kept", "project home");
    }

    pub(super) fn restore(&self) {
        self.copy(".", "kept/project kept/home");
    }

    fn copy(&self, to: &str, from: &str) {
        let line = format!(
            "mkdir -p {to} && for one in {from}; do rm -rf {to}/${{one##*/}} && cp -a $one {to}/ || exit 1; done"
        );
        let mut command = self.world.command("sh");
        let done: CommandOutput = command.current_dir(self.world.dir()).args(["-c", &line]).output().unwrap().into();
        done.exits(0);
    }

    /// Runs a line as a person pastes it.
    pub(super) fn sh(&self, line: &str) -> CommandOutput {
        let path = format!("{}:{}", self.bin.display(), std::env::var("PATH").unwrap());
        let mut command = self.world.command("sh");
        command.args(["-e", "-c", line]).env("PATH", path);
        for (name, value) in [
            ("GIT_AUTHOR_NAME", "a"),
            ("GIT_AUTHOR_EMAIL", "a@b"),
            ("GIT_COMMITTER_NAME", "a"),
            ("GIT_COMMITTER_EMAIL", "a@b"),
            ("GIT_ALLOW_PROTOCOL", "file"),
            ("GIT_EDITOR", "sh -c 'echo saved >\"$1\"' sh"),
        ] {
            command.env(name, value);
        }
        command.output().unwrap().into()
    }

    pub(super) fn work(&self) -> Work {
        let (mut kept, mut repositories, mut paths) = (BTreeSet::new(), Vec::new(), String::new());
        let root = self.world.root();
        files(&root, &mut |path| {
            let shown = path.strip_prefix(&root).unwrap().to_str().unwrap();
            if shown.ends_with(".git/HEAD")
                || (shown.ends_with("/HEAD") && shown.contains("/modules/") && !shown.contains("/logs/"))
            {
                repositories.push(path.parent().unwrap().to_owned());
            }
            let is_own = shown.starts_with(".fairway/") && !shown.starts_with(".fairway/worktrees/");
            if !is_own && !shown.contains(".git/") && !shown.ends_with("/.git") {
                paths.push_str(&format!("{}\n", path.display()));
            }
        });
        fs::write(self.world.dir().join("paths"), paths).unwrap();
        let hashes = self.sh("git hash-object --no-filters --stdin-paths <../paths").exits(0).stdout;
        kept.extend(hashes.lines().map(str::to_owned));
        for repository in repositories {
            let git = format!("git --git-dir={}", repository.display());
            let tips = format!(
                "{{ {git} for-each-ref --format='%(objectname)'; {git} worktree list --porcelain | sed -n 's/^HEAD //p'; \
                 {git} stash list --format=%H; }} 2>/dev/null | grep -v '^0*$' | sort -u"
            );
            let objects = self.sh(&format!("{tips} | {git} rev-list --objects --stdin")).stdout;
            kept.extend(objects.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned));
        }
        let rows =
            TABLES.map(|table| (table, self.world.value(&format!("SELECT count(*) FROM {table}")).parse().unwrap()));
        Work { kept, rows: rows.to_vec() }
    }
}

fn files(dir: &Path, found: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files(&entry.path(), found);
        } else if kind.is_file() {
            found(&entry.path());
        }
    }
}
