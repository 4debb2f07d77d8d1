//! The share of overlap in the hook after a tool call that names its file, with twenty lanes.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::program;

const LANES: usize = 20;
/// The files of each lane, in the two tables.
const FILES: [usize; 2] = [1000, 15000];
const ROUNDS: usize = 60;

/// Prints the tables.
pub fn report() {
    FILES.into_iter().for_each(table);
}

fn table(files: usize) {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("project");
    fs::create_dir(&root).unwrap();
    let run = |dir: &Path, program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).current_dir(dir).env("HOME", home.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env_remove("FAIRWAY_ROOT").stdin(Stdio::null()).stdout(Stdio::null());
        assert!(command.status().unwrap().success(), "{program} {args:?}");
    };
    let fairway = program();
    let fairway = fairway.to_str().unwrap();
    let text: String = (0..40).map(|line| format!("line {line}\n")).collect();
    for place in 0..files {
        let dir = root.join(format!("src/{}", place / 50));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(format!("f{place}.txt")), &text).unwrap();
    }
    for args in [&["init", "-q", "-b", "main"][..], &["config", "user.name", "b"], &["config", "user.email", "b@b"]] {
        run(&root, "git", args);
    }
    run(&root, fairway, &["init", "--quiet"]);
    run(&root, "git", &["add", "-A"]);
    run(&root, "git", &["commit", "-q", "-m", "begin"]);
    for lane in 0..LANES {
        let name = format!("lane{lane}");
        run(&root, fairway, &["lane", "add", &name, "--create-worktree", "--quiet"]);
        run(&root, fairway, &["session", "upsert", "--id", &name, "--role", "dev", "--lane", &name, "--quiet"]);
    }
    let tree = |lane: usize| root.join(format!(".fairway/worktrees/lane{lane}"));
    let file = |lane: usize, round: usize| {
        tree(lane).join(format!("src/{}/f{}.txt", round % 20, (round % 20) * 50 + lane % 3))
    };
    let hook = |lane: usize, tool: &str, file: &Path| {
        let payload = format!(
            r#"{{"session_id":"s{lane}","hook_event_name":"PostToolUse","tool_name":"{tool}","tool_input":{{"file_path":"{}"}},"tool_response":{{}},"cwd":"{}"}}"#,
            file.display(),
            tree(lane).display()
        );
        let mut command = Command::new(fairway);
        command.args(["hook", "claude", "PostToolUse"]).current_dir(tree(lane)).env("HOME", home.path());
        command.env("FAIRWAY_SESSION_ID", format!("lane{lane}")).stdin(Stdio::piped()).stdout(Stdio::null());
        let start = Instant::now();
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        start.elapsed()
    };
    let edit = |lane: usize, round: usize| {
        fs::write(file(lane, round), text.replace(&format!("line {}\n", lane + 1), &format!("lane {lane} {round}\n")))
            .unwrap();
    };
    for lane in 0..LANES {
        edit(lane, 0);
        hook(lane, "Edit", &file(lane, 0));
    }
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let lane = round % LANES;
        edit(lane, round);
        with.push(hook(lane, "Edit", &file(lane, round)));
        without.push(hook(lane, "Read", &file(lane, round)));
    }
    with.sort_unstable();
    without.sort_unstable();
    let ms = |span: Duration| span.as_secs_f64() * 1000.0;
    let (with_median, without_median) = (ms(with[ROUNDS / 2]), ms(without[ROUNDS / 2]));
    println!("| the hook after a tool call, {LANES} lanes of {files} files | measured | goal |\n|---|---|---|");
    println!("| overlap's share, median | {:.0} ms | ≤ 60 ms |", with_median - without_median);
    println!(
        "| the whole hook after a write: median, worst | {with_median:.0} ms, {:.0} ms | – |",
        ms(with[ROUNDS - 1])
    );
    println!("| the whole hook when nothing was written: median | {without_median:.0} ms | – |");
}
