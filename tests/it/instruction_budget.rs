//! The commands that people and agents call all day may not become slower unseen: the instructions of each, counted by valgrind
//! on the binary that the tests build, stay within 3 % of the budget in `tests/instruction_budgets.toml`.
//!
//! A binary executes the same instructions on the same store in every run, with the same ancestors. Another compiler or another C
//! library gives other counts: there the budgets of the newest entry hold within 15 %. `UPDATE_BUDGETS=1` writes the entry of this
//! machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fairway_core::os::poll_until::poll_until;
use serde_json::json;
use toml::{Table, Value};

use crate::common::test_project::FAIRWAY;
use crate::common::{TestProject, bulk_tasks, require};
use crate::hooks::event;

const BUDGETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/instruction_budgets.toml");
const UPDATE: &str = "UPDATE_BUDGETS";
/// By how much a count may differ from its budget, in percent: with the budgets of these tools, and with those of others.
const SAME_TOOLS: f64 = 3.0;
const OTHER_TOOLS: f64 = 15.0;
/// How often a hook is called: it denies after two seconds of real time, which valgrind may need on a busy machine.
const HOOK_ATTEMPTS: usize = 8;
/// A hook looks for its agent among its ancestors, as many as the tests happen to have. This call has none but a shell and the
/// process that adopts it.
const ORPHANED: &str =
    "(\"$@\" < \"$DIR/stdin\" > \"$DIR/stdout\"; echo $? > \"$DIR/code\"; mv \"$DIR/code\" \"$DIR/status\") &";
const RECORD: [&str; 7] = ["checkpoint", "record", "S-1", "--state", "active", "--summary", "as far as that"];
const HEADING: &str = "\
# Instructions of one call, counted by the test `instruction_budget` on the binary that the tests build, by compiler and C library.
# Where a count moves on purpose: UPDATE_BUDGETS=1 cargo nextest run -E 'test(/^instruction_budget::/)'
";

/// A store of two hundred tasks and a session, and a copy of the binary without its debugging information, which valgrind
/// would read at each start.
struct Counted {
    world: TestProject,
    binary: PathBuf,
}

impl Counted {
    fn new() -> Self {
        let world = TestProject::new();
        let binary = world.dir().join("fairway");
        assert!(Command::new("strip").arg("-o").arg(&binary).arg(FAIRWAY).status().unwrap().success());
        bulk_tasks::insert_ready_tasks(&world.store(), 200);
        world.hook("claude", &event("SessionStart", "agent", json!({ "source": "startup" }))).exits(0);
        Self { world, binary }
    }

    /// One more, with the claim and the record that the first counts leave: a hook's work depends on them.
    fn worked_on() -> Self {
        let counted = Self::new();
        counted.world.run(["claim", "S-1"]).exits(0);
        counted.world.run(RECORD).exits(0);
        counted
    }

    /// The instructions of one call of the binary; `None` when it fails, or denies.
    fn try_count(&self, words: &[&str], stdin: &str) -> Option<u64> {
        let (log, input) = (self.world.dir().join("valgrind.log"), self.world.dir().join("stdin"));
        fs::write(&input, stdin).unwrap();
        let status = self.world.dir().join("status");
        let _ = fs::remove_file(&status);
        let mut call = self.world.command("sh");
        call.args(["-c", ORPHANED, "sh", "valgrind", "--tool=cachegrind", "--cache-sim=no"])
            .arg("--cachegrind-out-file=/dev/null")
            .arg(format!("--log-file={}", log.display()))
            .arg(&self.binary)
            .args(words)
            .env("PATH", "/usr/bin:/bin")
            .env("DIR", self.world.dir());
        assert!(call.status().unwrap().success());
        let code = poll_until(Duration::from_secs(100), Duration::from_millis(20), || fs::read_to_string(&status).ok());
        let output = fs::read_to_string(self.world.dir().join("stdout")).unwrap();
        if code.expect("the call ends").trim() != "0" || output.contains("\"deny\"") {
            return None;
        }
        let text = fs::read_to_string(&log).unwrap();
        let number = text.lines().find_map(|line| line.split_once("refs:")).map(|(_, number)| number.replace(',', ""));
        Some(number.and_then(|number| number.trim().parse().ok()).unwrap_or_else(|| panic!("no count: {text}")))
    }

    fn count(&self, words: &[&str]) -> u64 {
        self.try_count(words, "").unwrap_or_else(|| panic!("{words:?} failed"))
    }
}

/// The compiler and the C library, which decide on a count together with the sources.
fn tools() -> String {
    let said = |program: &str, word: &str, places: usize| {
        let output = Command::new(program).arg(word).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.split_whitespace().take(places).collect::<Vec<_>>().join(" ")
    };
    format!("{}, {}", said("rustc", "--version", 2), said("getconf", "GNU_LIBC_VERSION", 2))
}

/// Replaces the entry of these tools. Entries are sorted, so that the last is the newest compiler.
fn update(mut budgets: Table, tools: &str, counts: &[(&str, u64)]) {
    budgets.remove(tools);
    let entry = counts.iter().map(|(name, count)| ((*name).to_owned(), Value::from(i64::try_from(*count).unwrap())));
    budgets.insert(tools.to_owned(), Value::Table(entry.collect()));
    fs::write(BUDGETS, format!("{HEADING}\n{}", toml::to_string(&budgets).unwrap())).unwrap();
}

fn read(path: &str) -> Table {
    let text = if Path::new(path).exists() { fs::read_to_string(path).unwrap() } else { String::new() };
    text.parse().unwrap()
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "a percentage of some millions")]
fn short_commands_keep_within_their_budgets_of_instructions() {
    if !require::program("valgrind") || !require::program("strip") {
        return;
    }
    let counted = Counted::new();
    let tool_call = event(
        "PreToolUse",
        "agent",
        json!({ "tool_name": "Bash", "tool_input": { "command": "cargo test" }, "tool_use_id": "t-1" }),
    );
    let mut counts = vec![
        ("--version", counted.count(&["--version"])),
        ("ready", counted.count(&["ready", "--limit", "20"])),
        ("claim", counted.count(&["claim", "S-1"])),
        ("checkpoint record", counted.count(&RECORD)),
    ];
    // A call that was cut off leaves its traces, and the next one then does something else. A hook writes a heartbeat when the
    // last one is old enough: each counted one does.
    let hook = |counted: &Counted| {
        counted.world.advance_clock(60);
        counted.try_count(&["hook", "claude", "PreToolUse"], &tool_call.to_string())
    };
    let hook = hook(&counted).or_else(|| (1..HOOK_ATTEMPTS).find_map(|_| hook(&Counted::worked_on())));
    if require::met(hook.is_some(), "the machine is too busy to count a hook within its limit of two seconds") {
        counts.extend(hook.map(|count| ("hook", count)));
    }
    let (budgets, tools) = (read(BUDGETS), tools());
    if std::env::var_os(UPDATE).is_some() {
        assert!(hook.is_some(), "no count of a hook to write down");
        update(budgets, &tools, &counts);
        return;
    }
    let newest = || budgets.iter().next_back().map(|(name, entry)| (name, entry, OTHER_TOOLS)).unwrap();
    let (name, entry, most) =
        budgets.get_key_value(&tools).map_or_else(newest, |(name, entry)| (name, entry, SAME_TOOLS));
    let mut wrong = Vec::new();
    for (command, count) in counts {
        let budget = entry[command].as_integer().unwrap();
        let percent = (count as f64 / budget as f64 - 1.0) * 100.0;
        let line = format!("{command}: {count} instructions, {percent:+.1} % of its budget of {budget}");
        println!("{line}");
        if percent.abs() > most {
            wrong.push(line);
        }
    }
    let wrong = wrong.join("\n");
    assert!(
        wrong.is_empty(),
        "more than {most} % from the budget for {name} (this is {tools}):\n{wrong}\n\
         find the cause with: valgrind --tool=callgrind target/debug/fairway …\n\
         or, if it is worth it, write the budgets anew: {UPDATE}=1"
    );
}
