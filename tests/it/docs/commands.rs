//! Every command of the documentation runs, in the order of its page, and prints the output that the page shows.
//!
//! Each page has a project of its own: an empty git repository with Fairway's binary in PATH. Blocks are fenced as follows.
//!
//! - `console`: lines `$ COMMAND`, continued by `> ` lines, each followed by its output. The exit code must be 0, or N where
//!   the command ends in `# exit N`. `…` stands for any text, and on a line of its own for any lines.
//! - `sh`: a script. Every command must succeed; the output is not compared.
//! - `console no-run`, `sh no-run`: not run, for the reason in the comment above, and listed in [`NOT_RUN`].
//! - anything else, such as `toml` or `text`, is not a command.
//!
//! Times, ids, digests, process numbers, directories, user and host differ from run to run: both sides are normalised before
//! the comparison. `UPDATE_DOCS=1` writes the real output into the page where it differs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use regex::{Captures, Regex};

use super::markdown::{Block, Part, parts};
use super::{is_update, pages, root, text};
use crate::common::test_project::{CommandOutput, FAIRWAY};
use crate::common::{TestProject, require};

/// Blocks that cannot run here, by page and first line. Each has its reason on the page.
const NOT_RUN: &[(&str, &str)] = &[
    ("CONTRIBUTING.md", "cargo build"),
    ("CONTRIBUTING.md", "just accept"),
    ("README.md", "examples/quickstart/run.sh   # builds Fairway and shows a day on a small backlog, with comments"),
    (
        "README.md",
        "fairway setup                                    # connect this repository and your agents; asks first",
    ),
    ("docs/guides/tasks.md", "fairway task import --from github --dry-run"),
    (
        "README.md",
        "cargo install --path . --locked   # Linux, git, Rust 1.92 or newer, a C compiler; then: fairway setup",
    ),
    ("docs/guides/several-machines.md", "fairway store copy --to postgres://fairway@db.example/team"),
    ("docs/guides/several-machines.md", "git pull"),
    ("docs/guides/several-machines.md", "fairway host retire build1 --reason 'its disk died'"),
    ("docs/guides/several-machines.md", "fairway session relaunch cart-1 --here"),
    ("docs/guides/several-machines.md", "createuser --pwprompt fairway"),
    ("docs/guides/several-machines.md", "fairway store copy --to sqlite"),
    (
        "docs/guides/several-machines.md",
        "pg_dump --schema=fairway --file=team.sql 'host=db.example user=fairway dbname=team'",
    ),
    (
        "docs/guides/setup.md",
        "fairway setup                                   # shows the plan, asks, does it, checks it",
    ),
    (
        "docs/guides/setup.md",
        "mkdir -p ~/.local/share/bash-completion/completions ~/.local/share/zsh/site-functions ~/.config/fish/completions",
    ),
    ("docs/guides/setup.md", "sh install.sh                                    # the newest release, into ~/.local"),
    ("docs/integration/agents.md", "fairway trust"),
    ("docs/integration/releases.md", "just cut 2026-11-28"),
    ("docs/integration/releases.md", "FAIRWAY_REPOSITORY=https://github.com/OWNER/fairway just release"),
    ("docs/guides/board.md", "fairway serve --open                    # opens your browser"),
    ("docs/guides/board.md", "fairway device pair --name phone                    # full access, for 90 days"),
    (
        "docs/guides/board.md",
        "fairway serve --install                    # writes a systemd user unit and prints how to start it",
    ),
    ("docs/guides/sessions.md", "fairway start \"Fix the tax\" --provider opencode --structured"),
    ("docs/integration/backend-scripts.md", "tmux -S ~/.local/state/fairway/adapters/tmux.sock attach -t PANE"),
    ("docs/integration/worker-api.md", "fairway serve          # on .fairway/runtime/worker.sock"),
    ("docs/reference/backend-plumbing.md", "trap roll_back TERM"),
    ("docs/reference/json.md", "fairway task show T-1 --json > task.json"),
    (
        "examples/cron/README.md",
        "cp examples/cron/fairway-reconcile.service examples/cron/fairway-reconcile.timer ~/.config/systemd/user/",
    ),
    ("examples/exec/README.md", "examples/exec/dev-server.sh                            # with fairway in PATH"),
    (
        "examples/session-adapters/README.md",
        "export FAIRWAY_PROVIDER=claude FAIRWAY_PROVIDER_COMMAND=claude FAIRWAY_TRANSCRIPT=logs/lead.log",
    ),
    (
        "examples/session-adapters/README.md",
        "FAIRWAY_TMUX_PANE=%5 FAIRWAY_PROVIDER=claude fairway-scripts/bridges/tmux.sh backend PF-002",
    ),
    (
        "examples/watchers/README.md",
        "your-client | tee >(fairway-scripts/watchers/codex-app-server.py --role backend --task-id PF-001)",
    ),
    ("examples/worker-api/README.md", "$ fairway serve &"),
    ("docs/guides/troubleshooting.md", "$ fairway task list --debug"),
    ("docs/guides/troubleshooting.md", "export FAIRWAY_LOG=debug FAIRWAY_LOG_FILE=/tmp/fairway.log"),
];

macro_rules! run_pages {
    ($($name:ident: $page:literal),* $(,)?) => {
        /// The pages that have commands, each with a test.
        const PAGES: &[&str] = &[$($page),*];
        $(
            #[test]
            fn $name() {
                run_page($page);
            }
        )*
    };
}

run_pages! {
    getting_started: "docs/getting-started.md",
    tasks: "docs/guides/tasks.md",
    sessions: "docs/guides/sessions.md",
    work: "docs/guides/work.md",
    messages: "docs/guides/messages.md",
    review: "docs/guides/review.md",
    landing: "docs/guides/landing.md",
    board: "docs/guides/board.md",
    guard: "docs/guides/guard.md",
    jobs: "docs/guides/jobs.md",
    setup: "docs/guides/setup.md",
    several_machines: "docs/guides/several-machines.md",
    troubleshooting: "docs/guides/troubleshooting.md",
    backend_scripts: "docs/integration/backend-scripts.md",
    hooks: "docs/integration/hooks.md",
    mcp: "docs/integration/mcp.md",
    worker_api: "docs/integration/worker-api.md",
    lanes_example: "examples/lanes/README.md",
    forge_example: "examples/forge/README.md",
}

/// Runs the page's steps in one shell, so that variables and directories last. `$steps/N.cmd` is step N.
const DRIVER: &str = r#"
__n=0
while [ -e "$__steps/$__n.cmd" ]; do
  if [ -e "$__steps/$__n.strict" ]; then set -e; else set +e; fi
  source "$__steps/$__n.cmd" >"$__steps/$__n.out" 2>&1 </dev/null
  echo $? >"$__steps/$__n.rc"
  __n=$((__n + 1))
done
"#;

/// Ends what the page's commands left running.
const END: &str = r#"
for session in $(fairway session list --quiet 2>/dev/null); do fairway session stop "$session"; done
"#;

/// One command of a page.
struct Step {
    command: String,
    /// The exit code that must come; a script stops at its first failing command.
    exit: i32,
    is_script: bool,
    /// The expected output: the number of its first line on the page, and the lines. None is compared without it.
    output: Option<(usize, Vec<String>)>,
    /// For messages: the command's line on the page, from 1.
    line: usize,
}

/// The commands of a `console` block.
fn console_steps(page: &str, block: &Block) -> Vec<Step> {
    let exit_note = Regex::new(r"# exit (\d+)$").unwrap();
    let mut steps: Vec<Step> = Vec::new();
    let mut is_open = false;
    for (offset, line) in block.lines.iter().enumerate() {
        let number = block.start + offset;
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command: command.to_owned(),
                exit: 0,
                is_script: false,
                output: Some((number + 1, Vec::new())),
                line: number + 1,
            });
            is_open = true;
            continue;
        }
        let step = steps.last_mut().unwrap_or_else(|| panic!("{page}:{}: output before a command", number + 1));
        let (first, output) = step.output.as_mut().unwrap();
        if is_open && let Some(more) = line.strip_prefix("> ").or_else(|| (line == ">").then_some("")) {
            step.command.push('\n');
            step.command.push_str(more);
            *first = number + 1;
        } else {
            is_open = false;
            output.push(line.clone());
        }
    }
    for step in &mut steps {
        let first = step.command.lines().next().unwrap_or_default();
        if let Some(found) = exit_note.captures(first) {
            step.exit = found[1].parse().unwrap();
        }
    }
    steps
}

/// The steps of a page.
fn steps(page: &str, text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let script = |command: String, line| Step { command, exit: 0, is_script: true, output: None, line };
    for part in parts(page, text) {
        match part {
            Part::Hidden(command) => steps.push(script(command, 0)),
            Part::Block(block) => match block.info.as_str() {
                "console" => steps.extend(console_steps(page, &block)),
                "sh" => steps.push(script(block.lines.join("\n"), block.start + 1)),
                _ => {}
            },
        }
    }
    steps
}

/// Replaces the parts of an output that differ from run to run by the values that the documentation shows.
struct Normal {
    dir: String,
    user: String,
    jobs: BTreeMap<String, String>,
}

impl Normal {
    fn new(world: &TestProject) -> Self {
        Self {
            dir: world.dir().to_string_lossy().into_owned(),
            user: format!("{}@{}", fairway_core::os::user::name(), fairway_core::os::host::name()),
            jobs: BTreeMap::new(),
        }
    }

    /// The text as a page shows it.
    fn shown(&mut self, text: &str) -> String {
        const JOBS: &[&str] = &["8c1e03d4", "5f20a9b7", "c3d94e16", "0b7f6a52", "e41d8c09", "96a25bf3"];
        let mut text = text
            .replace(FAIRWAY, "/home/ann/.cargo/bin/fairway")
            .replace(&format!("{}/project", self.dir), "/home/ann/shop")
            .replace(&format!("{}/home", self.dir), "/home/ann")
            .replace(&format!("{}/tmp", self.dir), "/tmp")
            .replace(&self.dir, "/home/ann")
            .replace(&self.user, "ann@desk");
        for (pattern, to) in [
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "2026-01-07T10:02:11.480Z"),
            (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b", "2026-01-07 10:02:11"),
            (r"\b[0-9a-f]{64}\b", "9f2c41d07be8356a1c90e4f7b2d86a53e0714c98f3ab25d67e081b4c9a3f5d12"),
            (r"\b[0-9a-f]{40}\b", "4f0c1e92a7b3d8560e1f94c2b7a3d5e86f01c294"),
            (
                r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
                "0193b0c0-7e6a-7a5b-8c3d-aabb8c1e03d4",
            ),
        ] {
            text = Regex::new(pattern).unwrap().replace_all(&text, to).into_owned();
        }
        let job = Regex::new(r"(^|[^0-9a-f-])([0-9a-f]{8})\b").unwrap();
        let jobs = &mut self.jobs;
        job.replace_all(&text, |found: &Captures<'_>| {
            if JOBS.contains(&&found[2]) {
                return found[0].to_owned();
            }
            let next = JOBS[jobs.len() % JOBS.len()];
            format!("{}{}", &found[1], jobs.entry(found[2].to_owned()).or_insert_with(|| next.to_owned()))
        })
        .into_owned()
    }
}

/// The text for a comparison: without numbers that depend on the machine, and with one space for several.
fn comparable(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, to) in [
        (r"\b(pid|process|to) \d{2,}\b", "$1 N"),
        (r"\b([0-9a-f]{7}|[0-9a-f]{12})\b", "H"),
        (r"\b\d+(\.\d+)? ?(ms|s)\b", "T"),
        (r"\b\d+\.\d{3} s\b", "T"),
        (r"-{3,}", "---"),
        (r"[ \t]+", " "),
        (r" *\n", "\n"),
    ] {
        text = Regex::new(pattern).unwrap().replace_all(&text, to).into_owned();
    }
    text.trim_end().to_owned()
}

/// Whether an output is the expected one, where `…` stands for anything.
fn matches(expected: &[String], got: &str) -> bool {
    let mut pattern = String::from(r"\A");
    for (number, line) in comparable(&expected.join("\n")).lines().enumerate() {
        if line.trim() == "…" {
            pattern.push_str(if number == 0 { r"(?:[^\n]*(?:\n|\z))*?" } else { r"(?:\n[^\n]*)*?" });
            continue;
        }
        if number > 0 && !pattern.ends_with(r"\z))*?") {
            pattern.push_str(r"\n");
        }
        pattern.push_str(&regex::escape(line).replace('…', "[^\n]*"));
    }
    pattern.push_str(r"\z");
    Regex::new(&pattern).unwrap().is_match(&comparable(got))
}

/// A world for a page: a repository without commits, and the binary in PATH.
fn world() -> TestProject {
    let mut world = TestProject::uninitialized();
    let bin = world.dir().join("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(FAIRWAY, bin.join("fairway")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let home = world.dir().join("home");
    world
        .set("PATH", path)
        .set("GIT_CONFIG_NOSYSTEM", "1")
        .set("GIT_AUTHOR_DATE", "2026-01-07T10:00:00Z")
        .set("GIT_COMMITTER_DATE", "2026-01-07T10:00:00Z")
        .set("REPO", root())
        .set("XDG_STATE_HOME", home.join(".local/state"));
    world.real_time();
    fs::write(home.join(".gitconfig"), "[user]\nname = Ann\nemail = ann@example.com\n[init]\ndefaultBranch = main\n")
        .unwrap();
    world.git(&world.root(), &["init", "--quiet", "--initial-branch=main"]);
    world
}

#[track_caller]
fn run_page(page: &str) {
    if page == "docs/guides/guard.md" && !require::sandbox() {
        return;
    }
    let source = text(page);
    let steps = steps(page, &source);
    assert!(!steps.is_empty(), "{page} has no commands: take it from the list");
    let world = world();
    let dir = world.dir().join("steps");
    fs::create_dir(&dir).unwrap();
    for (number, step) in steps.iter().enumerate() {
        fs::write(dir.join(format!("{number}.cmd")), &step.command).unwrap();
        if step.is_script {
            fs::write(dir.join(format!("{number}.strict")), "").unwrap();
        }
    }
    let mut command = world.command("timeout");
    command.args(["--kill-after=1", "60", "bash", "-c", DRIVER]).env("__steps", &dir);
    let run = CommandOutput::from(command.output().unwrap());
    let _ = world.command("bash").args(["-c", END]).output().unwrap();
    let failures = compare(page, &source, &steps, &dir, &mut Normal::new(&world));
    assert!(failures.is_empty(), "{}\n{}{}", failures.join("\n\n"), run.stdout, run.stderr);
}

/// Compares each step's result with the page; rewrites the page's outputs when that is asked for.
fn compare(page: &str, source: &str, steps: &[Step], dir: &Path, normal: &mut Normal) -> Vec<String> {
    let mut lines: Vec<String> = source.lines().map(str::to_owned).collect();
    let (mut failures, mut changes) = (Vec::new(), Vec::new());
    for (number, step) in steps.iter().enumerate() {
        let read = |ending: &str| fs::read_to_string(dir.join(format!("{number}.{ending}")));
        let place = format!("{page}:{}: {}", step.line, step.command);
        let got = normal.shown(&read("out").unwrap_or_default());
        let Ok(code) = read("rc") else {
            failures.push(format!("{place}\nfailed, or did not end:\n{got}"));
            break;
        };
        if code.trim() != step.exit.to_string() {
            failures.push(format!("{place}\nexit {}, not {}:\n{got}", code.trim(), step.exit));
        }
        if let Some((first, expected)) = &step.output
            && !matches(expected, &got)
        {
            if is_update() {
                changes.push((*first, expected.len(), got));
            } else {
                failures.push(format!("{place}\nexpected:\n{}\ngot:\n{got}", expected.join("\n")));
            }
        }
    }
    for (first, count, got) in changes.into_iter().rev() {
        lines.splice(first..first + count, got.lines().map(|line| line.trim_end().to_owned()));
    }
    if is_update() {
        fs::write(root().join(page), lines.join("\n") + "\n").unwrap();
    }
    failures
}

/// The blocks that are not run are the listed ones; each says why.
#[test]
fn blocks_that_are_not_run_are_listed_with_a_reason() {
    let (mut found, mut without) = (Vec::new(), Vec::new());
    for page in pages() {
        for part in parts(&page, &text(&page)) {
            let Part::Block(block) = part else { continue };
            assert!(!block.info.is_empty(), "{page}:{}: the fence names no language", block.start);
            if !["sh no-run", "console no-run"].contains(&&*block.info) {
                assert!(!block.info.contains("no-run"), "{page}:{}: {}", block.start, block.info);
                continue;
            }
            if block.reason.is_none() {
                without.push(format!("{page}:{}", block.start));
            }
            found.push((page.clone(), block.lines[0].clone()));
        }
    }
    assert!(without.is_empty(), "no comment <!-- no-run: REASON --> above {without:?}");
    let mut listed: Vec<(String, String)> =
        NOT_RUN.iter().map(|(page, line)| ((*page).to_owned(), (*line).to_owned())).collect();
    found.sort();
    listed.sort();
    assert_eq!(found, listed);
}

/// Every page with commands has a test.
#[test]
fn every_page_with_commands_is_run() {
    let with: Vec<String> = pages().into_iter().filter(|page| !steps(page, &text(page)).is_empty()).collect();
    let mut listed: Vec<&str> = PAGES.to_vec();
    listed.sort_unstable();
    assert_eq!(with, listed);
}

/// The comparison can see a difference, and `…` covers no more than it should.
#[test]
fn wrong_output_of_a_documented_command_fails_the_test() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(matches(&lines("a  b\n…\nd"), "a b\nx\ny\nd\n"));
    assert!(matches(&lines("a …\nd"), "a whatever\nd\n"));
    assert!(matches(&lines("…\nd"), "x\ny\nd\n") && matches(&lines("…"), "x\ny\n") && matches(&lines("a\n…"), "a\n"));
    assert!(!matches(&lines("a\nd"), "a\nx\nd\n"));
    assert!(!matches(&lines("a …\nd"), "a\nb\nd\n"));
    assert!(!matches(&lines("a"), "") && !matches(&[], "a"));
}
