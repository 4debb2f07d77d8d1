//! The cost of the guard: a line that is judged, in process and as a whole command, and the git hooks of a launched session.

#[path = "../../tests/it/guard/sample_rules.rs"]
mod sample_rules;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fairway_core::guard::{Effect, Rule, Rules};
use tempfile::TempDir;

use self::sample_rules::{judged, no_force_push};
use crate::measure::{Build, against, count, median, medians, ms, project, row, took};

const ROUNDS: usize = 200;

/// Lines of a day, from short to long.
const LINES: &[&str] = &[
    "ls",
    "cargo test --workspace 2>&1 | tail -20",
    "git add -A && git commit -m 'fix: the parser' && git push origin HEAD",
    "grep -rl old_name src | xargs sed -i 's/old_name/new_name/g'",
    "for f in src/*.test.js; do mv \"$f\" \"${f%.test.js}.spec.js\"; done",
    "cat > src/greet.rs <<'EOF'\npub fn greet(name: &str) -> String {\n    format!(\"Hello, {name}!\")\n}\nEOF",
];

/// What costs the most, put together to texts of these sizes.
const COMPLEX: &[&str] =
    &["e|", "*|", "x; ", "x || ", "cd a || env ", "cd a; ", "find . -exec ", "env ", "rm a ", "x 'a b' "];
const TEXT_BYTES: [usize; 4] = [16 << 10, 32 << 10, 48 << 10, 64 << 10];
const COMPLEX_ROUNDS: usize = 10;

const RULES: &str = r#"
[[guard.rules]]
name = "no-force-push"
tools = ["Bash"]
command = ["git", "push"]
flags = ["--force", "-f", "--force-with-lease"]
action = "deny"

[[guard.rules]]
name = "stay-in-lane"
tools = ["Bash", "Write", "Edit"]
outside = "worktree"
action = "deny"

[[guard.rules]]
name = "no-rewrite"
effect = "force-push"
action = "deny"
"#;

/// The rows of the guard.
pub fn rows(build: &Build, wanted: &dyn Fn(&str) -> bool) {
    if wanted("guard") {
        in_process();
        whole_commands(build);
    }
    if wanted("guard git hooks") {
        git_hooks(build);
    }
}

/// The rules of [`RULES`].
fn rules() -> Rules {
    let mut rules = no_force_push();
    let push = rules.rules[0].clone();
    let bare = Rule { command: Vec::new(), flags: Vec::new(), ..push };
    let outside = Rule { name: "stay-in-lane".into(), outside: true, ..bare.clone() };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let (command, flags) = Effect::ForcePush.command();
    let effect = Rule {
        name: "no-rewrite".into(),
        tools: Vec::new(),
        command: words(command),
        flags: words(flags),
        effect: Some(Effect::ForcePush),
        ..bare
    };
    rules.rules.extend([outside, effect]);
    rules
}

fn in_process() {
    let rules = rules();
    let mut spans = Vec::new();
    for _ in 0..ROUNDS {
        for line in LINES {
            let start = Instant::now();
            let judged = judged(&rules, line);
            spans.push(start.elapsed());
            assert!(judged.allowed, "{line}: {judged:?}");
        }
    }
    let worst = spans.iter().max().copied().unwrap_or_default();
    let figure = format!("{:.3} ms (worst {:.3} ms)", ms(median(spans)), ms(worst));
    row("a line of a day, judged by three rules, in process", &figure, "–");
    // Beyond the limit a text is denied before it is parsed: the most costly one is shorter than the longest.
    let longest = COMPLEX.iter().flat_map(|part| TEXT_BYTES.map(|bytes| part.repeat(bytes / part.len()))).map(|text| {
        let took = |_| {
            let start = Instant::now();
            judged(&rules, &text);
            start.elapsed()
        };
        median((0..COMPLEX_ROUNDS).map(took).collect())
    });
    let figure = format!("{:.0} ms", ms(longest.max().unwrap_or_default()));
    row("the most complex text of up to 64 KB, judged by three rules, in process", &figure, "≤ 50 ms");
}

/// A project with the rules and a session.
fn guarded(build: &Build) -> TempDir {
    let project = project(build, 10, 0);
    let config = project.path().join(".fairway.toml");
    fs::write(&config, fs::read_to_string(&config).unwrap() + RULES).unwrap();
    took(&mut build.fairway(project.path(), &["trust"]));
    took(&mut build.fairway(project.path(), &["session", "upsert", "--id", "s1", "--role", "r"]));
    project
}

fn check(build: &Build, project: &Path, line: &str) -> Command {
    let input = format!("{{\"command\": {line:?}}}");
    build.fairway(project, &["guard", "check", "--session", "s1", "--tool", "Bash", "--input", &input])
}

fn whole_commands(build: &Build) {
    let project = guarded(build);
    let (typical, path) = (LINES[2], project.path());
    let [ours, version] = medians(ROUNDS, [check(build, path, typical), build.fairway(path, &["--version"])]);
    against("`guard check` of a line of a day, against `--version`", ours, version, "–");
    let [long, empty] = [typical, "true"].map(|line| count(&check(build, path, line)));
    let figure = format!("{} ({long} against {empty})", long.saturating_sub(empty));
    row("instructions that a line of a day costs more than `true`, by `guard check`", &figure, "–");
}

/// A repository with a remote, and the environment of a session with the hooks.
struct Repository {
    project: TempDir,
    env: BTreeMap<OsString, OsString>,
}

impl Repository {
    fn new(build: &Build) -> Self {
        let project = guarded(build);
        let file = project.path().join("env");
        let this = Self { project, env: BTreeMap::new() };
        for words in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["init", "--quiet", "--bare", "remote.git"],
            &["remote", "add", "origin", "remote.git"],
            &["config", "user.name", "a"],
            &["config", "user.email", "a@b"],
            &["commit", "--quiet", "--allow-empty", "--message=one"],
            &["push", "--quiet", "--set-upstream", "origin", "main"],
        ] {
            took(&mut this.git(words, false));
        }
        let script = format!("env -0 >{0}.new; mv {0}.new {0}; exec sleep 600", file.display());
        let launch =
            ["session", "launch", "--role", "r", "--id", "s2", "--backend", "shell", "--", "sh", "-c", &script];
        took(&mut build.fairway(this.project.path(), &launch));
        let bytes = wait_for(&file);
        let pairs = bytes.split(|byte| *byte == 0).filter_map(|pair| {
            let at = pair.iter().position(|byte| *byte == b'=')?;
            Some((OsString::from_vec(pair[..at].to_vec()), OsString::from_vec(pair[at + 1..].to_vec())))
        });
        Self { env: pairs.collect(), ..this }
    }

    fn git(&self, words: &[&str], has_hooks: bool) -> Command {
        let mut git = Command::new("git");
        git.args(words).current_dir(self.project.path()).env_clear().envs(&self.env);
        git.env("HOME", self.project.path()).env("PATH", "/usr/bin:/bin");
        if !has_hooks {
            git.env_remove("GIT_CONFIG_COUNT");
        }
        git.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        git
    }
}

fn wait_for(file: &PathBuf) -> Vec<u8> {
    let start = Instant::now();
    loop {
        match fs::read(file) {
            Ok(bytes) => return bytes,
            Err(error) => assert!(start.elapsed() < Duration::from_secs(20), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Commits and pushes in turns, with the hooks and without.
fn git_hooks(build: &Build) {
    let repository = Repository::new(build);
    let mut spans: [Vec<Duration>; 4] = Default::default();
    for _ in 0..ROUNDS / 2 {
        for (at, has_hooks) in [(0, true), (1, false)] {
            let commit = ["commit", "--quiet", "--allow-empty", "--message=more"];
            spans[at].push(took(&mut repository.git(&commit, has_hooks)));
            spans[at + 2].push(took(&mut repository.git(&["push", "--quiet"], has_hooks)));
        }
    }
    took(&mut build.fairway(repository.project.path(), &["session", "stop", "s2"]));
    let [commit, bare_commit, push, bare_push] = spans.map(median);
    against("`git commit` with a session's hooks, against without", commit, bare_commit, "–");
    against("`git push` of a fast-forward with a session's hooks, against without", push, bare_push, "–");
}
