//! A queue of landings as the rules say and as it is: how often the queue waits for checks, and how long `land --queue` takes with a
//! check of two seconds. Twenty changes, two of which fail. Prints the table of BENCHMARKS.md: `cargo bench --bench landings`.
#![allow(
    dead_code,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs,
    reason = "a measuring program"
)]

#[path = "measure/mod.rs"]
mod measure;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use fairway_core::domain::rules::landing_batch::{BatchItem, BatchLimits, BatchQueue, BatchStep};
use measure::Build;
use tempfile::TempDir;

/// The number of changes.
const COUNT: usize = 20;
/// The changes that fail, by their places.
const BAD: [usize; 2] = [5, 13];
/// The length of a check, in seconds.
const CHECK: u32 = 2;
/// The limits in the table: batch and width.
const LIMITS: [(usize, usize); 5] = [(1, 1), (4, 1), (4, 2), (1, 4), (4, 4)];

fn main() {
    let build = Build::own();
    println!("| `batch` | `width` | waits by the rules | of {CHECK} s each | `land --queue` | its own share |");
    println!("|---|---|---|---|---|---|");
    for (batch, width) in LIMITS {
        let waits = waits(BatchLimits { batch, width });
        let project = queue(&build, batch, width);
        let start = Instant::now();
        let ended = build
            .fairway(project.path(), &["land", "--queue"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let took = start.elapsed().as_secs_f64();
        let told = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
        assert_eq!(ended.status.code(), Some(5), "the two that fail are sent back: {told}");
        let landed = git(project.path(), &["rev-list", "--count", "--first-parent", "main"]);
        assert_eq!(landed.trim(), (COUNT - BAD.len() + 1).to_string(), "{told}");
        let waited = f64::from(u32::try_from(waits).unwrap() * CHECK);
        let own = (took - waited) / f64::from(u32::try_from(COUNT).unwrap());
        println!("| {batch} | {width} | {waits} | {waited:.0} s | {took:.1} s | {own:.2} s a change |");
    }
}

/// How often the queue waits for checks, with the trials of the base alone.
fn waits(limits: BatchLimits) -> usize {
    let mut queue = BatchQueue::new(vec![BatchItem::default(); COUNT], limits);
    let (mut waits, mut is_base_known) = (0, false);
    loop {
        match queue.next_step() {
            BatchStep::Stack(place) => queue.stacked(place),
            BatchStep::Check(heights) => {
                waits += 1;
                let is_red = |height: &usize| queue.places().iter().take(*height).any(|place| BAD.contains(place));
                let (red, green): (Vec<usize>, Vec<usize>) = heights.into_iter().partition(is_red);
                if let Some(red) = red.first() {
                    waits += usize::from(!is_base_known);
                    is_base_known = true;
                    queue.failed(*red);
                }
                if let Some(green) = green.last() {
                    queue.passed(*green);
                }
            }
            BatchStep::Land(count) => {
                queue.landed(count);
                is_base_known = true;
            }
            BatchStep::SendBack(place) => queue.decided(place),
            BatchStep::Done => return waits,
        }
    }
}

/// A project with a task in review for each change, in a lane of its own. It is the user's home, too.
fn queue(build: &Build, batch: usize, width: usize) -> TempDir {
    let folder = tempfile::Builder::new().prefix("fairway-bench").tempdir().unwrap();
    let dir = folder.path();
    fs::write(dir.join(".gitignore"), "/.local/\n/.cache/\n/.config/\n").unwrap();
    git(dir, &["init", "--quiet", "--initial-branch=main"]);
    git(dir, &["config", "user.name", "Ann"]);
    git(dir, &["config", "user.email", "ann@example.com"]);
    assert_eq!(run(build, dir, &["init", "--quiet"]), Some(0));
    let file = dir.join(".fairway.toml");
    let text = fs::read_to_string(&file).unwrap_or_default();
    let check = format!("sleep {CHECK}; test -z \\\"$(ls bad-* 2>/dev/null)\\\"");
    let land = format!("[land]\nchecks = [\"{check}\"]\nretries = 0\nbatch = {batch}\nwidth = {width}\n");
    fs::write(&file, format!("{text}\n[gates.done]\nrequire = []\n[gates.merge]\nrequire = []\n{land}")).unwrap();
    git(dir, &["add", "--all"]);
    git(dir, &["commit", "--quiet", "--message=begin"]);
    assert_eq!(run(build, dir, &["trust"]), Some(0));
    for place in 0..COUNT {
        let (lane, task) = (format!("l{place}"), format!("T-{}", place + 1));
        assert_eq!(run(build, dir, &["lane", "add", &lane, "--create-worktree"]), Some(0));
        assert_eq!(run(build, dir, &["task", "add", &format!("Change {place}"), "--lane", &lane]), Some(0));
        assert_eq!(run(build, dir, &["claim", &task]), Some(0));
        let worktree = dir.join(".fairway/worktrees").join(&lane);
        let kind = if BAD.contains(&place) { "bad" } else { "good" };
        fs::write(worktree.join(format!("{kind}-{place}")), "x\n").unwrap();
        git(&worktree, &["add", "--all"]);
        git(&worktree, &["commit", "--quiet", "--message=work"]);
        let commit = git(&worktree, &["rev-parse", "HEAD"]);
        assert_eq!(run(build, dir, &["task", "submit", &task, "--commit", commit.trim()]), Some(0));
    }
    folder
}

fn run(build: &Build, dir: &Path, words: &[&str]) -> Option<i32> {
    build.fairway(dir, words).status().unwrap().code()
}

fn git(dir: &Path, words: &[&str]) -> String {
    let output = Command::new("git").args(words).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "git {words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}
