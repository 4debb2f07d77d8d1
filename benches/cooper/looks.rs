//! The cost of `fairway overlap` with a hundred lanes of 3,400 files: the processor time of it and of the git that it runs.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

use super::program;

const LANES: usize = 100;
const FILES: usize = 3400;
/// How often each kind of look is measured, but the first.
const ROUNDS: usize = 7;

/// Prints the table.
pub fn report() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("project");
    let fairway = program();
    let run = |dir: &Path, program: &Path, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).current_dir(dir).env("HOME", home.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env_remove("FAIRWAY_ROOT").stdin(Stdio::null()).stdout(Stdio::null());
        assert!(command.status().unwrap().success(), "{args:?}");
    };
    let git = |dir: &Path, args: &[&str]| run(dir, Path::new("git"), args);
    let text: String = (0..60).map(|line| format!("line {line}\n")).collect();
    for place in 0..FILES {
        let dir = root.join(format!("src/{}", place / 40));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(format!("f{place}.txt")), &text).unwrap();
    }
    git(&root, &["init", "-q", "-b", "main"]);
    git(&root, &["config", "user.name", "b"]);
    git(&root, &["config", "user.email", "b@b"]);
    run(&root, &fairway, &["init", "--quiet"]);
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "-q", "-m", "begin"]);
    let tree = |lane: usize| root.join(format!(".fairway/worktrees/lane{lane}"));
    let edit = |lane: usize, word: &str| {
        let place = (lane % 80) * 40 + lane % 7;
        let file = tree(lane).join(format!("src/{}/f{place}.txt", place / 40));
        fs::write(file, text.replace(&format!("line {}\n", lane % 50), &format!("{word} {lane}\n"))).unwrap();
    };
    for lane in 0..LANES {
        run(&root, &fairway, &["lane", "add", &format!("lane{lane}"), "--create-worktree", "--quiet"]);
        edit(lane, "first");
        // Every other lane has committed its work.
        if lane % 2 == 0 {
            git(&tree(lane), &["commit", "-q", "-a", "-m", "work"]);
        }
    }
    let look = || {
        let (before, start) = (used(), Instant::now());
        run(&root, &fairway, &["overlap", "--json"]);
        (used().saturating_sub(before), start.elapsed())
    };
    let middle = |mut looks: Vec<(Duration, Duration)>| {
        looks.sort_unstable();
        looks[looks.len() / 2]
    };
    println!("| `fairway overlap`, {LANES} lanes of {FILES} files | processor time | goal | time |\n|---|---|---|---|");
    let row = |what: &str, (cpu, wall): (Duration, Duration), goal: &str| {
        println!("| {what} | {:.2} s | {goal} | {:.1} s |", cpu.as_secs_f64(), wall.as_secs_f64());
    };
    row("the first look", look(), "–");
    row("nothing has changed, median", middle((0..ROUNDS).map(|_| look()).collect()), "< 2 s");
    let after_edit = |round: usize| {
        edit(round, "second");
        look()
    };
    row("one lane was edited, median", middle((0..ROUNDS).map(after_edit).collect()), "–");
}

/// The processor time of the processes that have ended, with all that they ran.
fn used() -> Duration {
    let used = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    [used.user_time(), used.system_time()]
        .iter()
        .map(|time| Duration::from_micros(u64::try_from(time.tv_sec() * 1_000_000 + time.tv_usec()).unwrap()))
        .sum()
}
