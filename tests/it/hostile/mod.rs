//! Hostile input: one corpus, into every text of every verb. Each is refused in one sentence and writes nothing, or is stored
//! as it is and printed safely. Nothing of it is ever run.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;

use crate::common::TestProject;
use crate::common::command_table::{COMMANDS, PLUMBING, TEXT_PLACEHOLDER, parsed_commands};
use crate::common::store_watch::StoreWatch;
use crate::common::test_project::CommandOutput;

/// Exits that are somebody's fault or a rule's no: everything documented but 1, 7, 8 and 9.
const ORDERLY: &[i32] = &[0, 2, 3, 4, 5, 6];
/// Stands in calls for a path of the caller's own: there `../` leads where it leads.
const OWN_PATH: &str = "./x{}";

/// The corpus by what each text is after.
fn classes() -> Vec<Vec<String>> {
    let mut classes: Vec<Vec<String>> = Vec::new();
    for line in include_str!("corpus.txt").lines() {
        if line.starts_with("## ") {
            classes.push(Vec::new());
        } else if !line.starts_with('#') {
            classes.last_mut().unwrap().push(serde_json::from_str(line).unwrap());
        }
    }
    classes.push(vec!["x".repeat(100_000), "🦀".repeat(20_000)]);
    classes
}

fn corpus() -> Vec<String> {
    classes().into_iter().flatten().collect()
}

/// The texts of the `number`th call: something of every class, and over any five calls all of it. `HOSTILE_ALL=1` gives all of
/// it to every call, which takes minutes.
fn dealt(number: usize) -> Vec<String> {
    let share = if std::env::var_os("HOSTILE_ALL").is_some() { 1 } else { 5 };
    let of_class = |class: Vec<String>| {
        let of = class.len().min(share);
        class.into_iter().enumerate().filter(move |(at, _)| (at + number).is_multiple_of(of)).map(|(_, text)| text)
    };
    // No program can be given a NUL in an argument.
    classes().into_iter().flat_map(of_class).filter(|text| !text.contains('\0')).collect()
}

/// Whether text would do something to a terminal.
fn is_tame(text: &str) -> bool {
    !text.chars().any(|letter| {
        letter.is_control() && letter != '\n' && letter != '\t'
            || matches!(letter, '\u{200B}' | '\u{2060}' | '\u{E0001}'..='\u{E007F}')
            || matches!(letter, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}')
    })
}

#[track_caller]
fn check_run(run: &CommandOutput, what: &str) {
    assert!(run.code.is_some_and(|code| ORDERLY.contains(&code)), "{what}: {run:?}");
    check_words(run, what);
}

/// The output is safe for a terminal, and a refusal is one sentence and perhaps a hint.
#[track_caller]
fn check_words(run: &CommandOutput, what: &str) {
    let code = run.code.unwrap_or_else(|| panic!("{what}: ended by a signal: {run:?}"));
    assert!(is_tame(&run.stdout) && is_tame(&run.stderr), "{what}: {run:?}");
    if code != 0 {
        let lines: Vec<&str> = run.stderr.lines().collect();
        // The hostile text may be the word `--json`.
        let first = lines.first().copied().unwrap_or_default();
        assert!(first.starts_with("error: ") || first.starts_with("{\"error\":"), "{what}: {run:?}");
        assert!(lines.iter().skip(1).all(|line| line.starts_with("hint: ")), "{what}: {run:?}");
        assert!(run.stderr.chars().count() < 2_000, "{what}: {} bytes", run.stderr.len());
    }
}

#[test]
fn every_verb_has_its_row() {
    let rows: Vec<&str> = COMMANDS.iter().map(|verb| verb.path).collect();
    for verb in parsed_commands() {
        assert!(rows.contains(&verb.as_str()), "'{verb}' has no row in tests/it/common/command_table.rs");
    }
    // No help shows `session nudge`; scripts may still call it.
    assert_eq!(rows.len(), parsed_commands().len() + 1, "a row without its verb");
    // That its call succeeds shows `docs::schemas::every_verb_prints_a_document_as_its_schema_says`.
}

/// Into how many tests the calls are dealt, so that they run beside one another and none is slow.
const PARTS: usize = 6;

/// The corpus into every text, a part of the calls a test.
fn every_text(part: usize) {
    let furnished = TestProject::populated();
    let calls = COMMANDS.iter().flat_map(|verb| verb.texts.iter().map(move |call| (verb, call)));
    let mut failed = Vec::new();
    for (number, (verb, call)) in calls.enumerate().skip(part).step_by(PARTS) {
        // Every call is made before the test fails, so that one run tells them all.
        let tried = AssertUnwindSafe(|| every_text_of(&furnished.ready_for(verb), call, &dealt(number)));
        if catch_unwind(tried).is_err() {
            failed.push(call);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn hostile_text_is_data_in_every_command_1() {
    every_text(0);
}

#[test]
fn hostile_text_is_data_in_every_command_2() {
    every_text(1);
}

#[test]
fn hostile_text_is_data_in_every_command_3() {
    every_text(2);
}

#[test]
fn hostile_text_is_data_in_every_command_4() {
    every_text(3);
}

#[test]
fn hostile_text_is_data_in_every_command_5() {
    every_text(4);
}

#[test]
fn hostile_text_is_data_in_every_command_6() {
    every_text(5);
}

fn every_text_of(world: &TestProject, call: &str, corpus: &[String]) {
    let mut store = StoreWatch::new(world.store());
    for (number, text) in corpus.iter().enumerate() {
        if call.contains(OWN_PATH) && text.contains("../") {
            continue;
        }
        let words = call.split(' ').map(|word| match word {
            TEXT_PLACEHOLDER => text.clone(),
            word => word.replace("{n}", &number.to_string()).replace(TEXT_PLACEHOLDER, text),
        });
        let what = format!("{call} with {:?}", text.chars().take(40).collect::<String>());
        let run = world.run(words);
        match (call.split(' ').next(), run.code) {
            // The report is the result.
            (Some(first), Some(5))
                if (first == "merge-ready" || call.starts_with("task merge-check ")) && !run.stdout.is_empty() =>
            {
                assert!(is_tame(&run.stdout), "{what}: {run:?}");
            }
            // A prompt that waits says why before it gives up.
            (_, Some(6)) if call.contains("--wait-ack") => {
                let is_note = |line: &&str| line.starts_with("prompt ") && line.contains(" waits: ");
                let lines: Vec<&str> = run.stderr.lines().skip_while(is_note).collect();
                let refusal = CommandOutput { code: run.code, stdout: run.stdout.clone(), stderr: lines.join("\n") };
                check_run(&refusal, &what);
            }
            // A file that is no store is refused as everywhere.
            (Some("restore"), Some(1)) => check_words(&run, &what),
            _ => check_run(&run, &what),
        }
        let has_changed = store.has_changed();
        // A prompt that is not acknowledged in time exits 6, and goes on waiting.
        let is_waiting_prompt = run.code == Some(6) && call.contains("--wait-ack");
        if run.code != Some(0) && !is_waiting_prompt {
            assert!(!has_changed, "{what}: exit {:?}, and yet something was written", run.code);
        }
    }
    no_canary(world);
}

/// The plumbing of scripts: a name may be anything, and there is nothing of it yet.
#[test]
fn plumbing_with_names_of_every_kind() {
    let world = TestProject::uninitialized();
    world.real_time();
    for text in corpus().iter().filter(|text| !text.contains('\0')) {
        let what = format!("{:?}", text.chars().take(40).collect::<String>());
        for call in PLUMBING.iter().filter(|call| !(call.contains(OWN_PATH) && text.contains("../"))) {
            let run = world.run(call.split(' ').map(|word| word.replace(TEXT_PLACEHOLDER, text)));
            let code = run.code.unwrap_or(-1);
            assert!([0, 1, 2].contains(&code), "{call} with {what}: {run:?}");
            check_words(&run, &format!("{call} with {what}"));
        }
        // And once more when there is something of that name.
        let name = [["--"], [text.as_str()]].concat();
        let call = |verb: &'static str| ["adapter", verb].into_iter().chain(name.clone());
        let unpacked = world.run_with_stdin(call("unpack"), br#"{"argv":["echo","hi"]}"#);
        if unpacked.code == Some(0) {
            assert_eq!(world.run(call("run")).exits(0).stdout, "hi\n", "{what}");
            assert_eq!(world.run(call("alive")).exits(0).stdout, "false\n", "{what}");
            world.run(call("peek")).exits(0);
            world.run(call("kill-tree")).exits(0);
        } else {
            check_words(&unpacked.exits(2), &what);
        }
    }
    no_canary(&world);
}

/// The control: with a shell between us and the text the canaries come, so their absence says something.
#[test]
fn shell_would_run_the_corpus() {
    let world = TestProject::uninitialized();
    let mut ran = 0;
    for text in corpus().iter().filter(|text| text.contains("touch") && !text.contains('\0')) {
        world.command("sh").args(["-c", &format!("echo {text}")]).output().unwrap();
        ran += usize::from(fs::remove_file(world.root().join("canary")).is_ok());
    }
    assert!(ran >= 4, "{ran}");
}

#[track_caller]
fn no_canary(world: &TestProject) {
    fn walk(folder: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            assert_ne!(entry.file_name(), "canary", "{}", entry.path().display());
            if entry.file_type().unwrap().is_dir() {
                walk(&entry.path());
            }
        }
    }
    walk(world.dir());
}

/// Free text that is kept is kept byte by byte, and every verb that prints it does so safely.
#[test]
fn stored_texts_are_unchanged() {
    let world = TestProject::new();
    let mut kept = 0;
    for (number, text) in corpus().iter().enumerate().filter(|(_, text)| !text.contains('\0')) {
        let id = format!("K-{number}");
        let added = world.run(["task", "add", &id, "t", &format!("--body={text}"), "--check", "a=true"]);
        check_run(&added, &id);
        if added.code == Some(0) && text != "-" {
            kept += 1;
            assert_eq!(world.json(["task", "show", &id])["body"], **text);
            for words in
                [vec!["task", "show", &id], vec!["claim", &id], vec!["release", &id, "--force", "--reason", text]]
            {
                check_run(&world.run(words), &id);
            }
        }
    }
    assert!(kept > 25, "{kept}");
    for words in [vec!["task", "list"], vec!["ready"], vec!["events"], vec!["task", "export"]] {
        let run = world.run(&words).exits(0);
        // An export is for programs: JSON escapes control characters, and keep the rest as it is.
        assert!(words.contains(&"export") || is_tame(&run.stdout), "{words:?}");
    }
    no_canary(&world);
}

/// Texts that are written with the records on a task, and by sessions and messages, and every verb that prints them.
#[test]
fn records_are_kept_as_they_are() {
    /// A noun's field, the call that writes it, the call whose document has it, and where.
    const FIELDS: &[(&str, &str, &str)] = &[
        ("checkpoint record T-2 --state active --summary={}", "checkpoint latest T-2", "/summary"),
        ("checkpoint record T-2 --state active --summary s --owner={}", "checkpoint latest T-2", "/owner"),
        ("checkpoint record T-2 --state active --summary s --artifact={}", "checkpoint latest T-2", ""),
        ("evidence add T-2 --result pass --summary={}", "evidence list T-2", "/{last}/summary"),
        ("evidence add T-2 --result pass --command={}", "evidence list T-2", "/{last}/command"),
        ("evidence run T-2 -- true {}", "evidence list T-2", ""),
        ("handoff create T-3 --to qa --summary={}", "handoff list --task T-3", "/{last}/summary"),
        ("handoff create T-3 --to qa --summary s --payload={}", "handoff list --task T-3", "/{last}/payload"),
        ("review record T-2 --domain d --verdict changes --notes={}", "review list T-2", "/{last}/notes"),
        ("review record T-2 --domain d --verdict changes --reviewer={}", "review list T-2", "/{last}/reviewer"),
        ("session upsert --id s1 --name={}", "session show s1", "/session_name"),
        ("session upsert --id s1 --external-session-id={}", "session show s1", "/external_session_id"),
        ("session upsert --id s1 --branch={}", "session show s1", "/branch"),
        ("session upsert --id s1 --transcript=d/{}", "session show s1", ""),
        ("session heartbeat s1 --activity requires_action --waiting-for={}", "session show s1", "/waiting_for"),
        ("message send --to-session s1 -- {}", "events", ""),
        ("lane edit ui --title={}", "lane show ui", "/lane/title"),
        ("task edit T-3 --check a={}", "task show T-3", "/checks/0/command"),
        ("task edit T-3 --path={}", "task show T-3", "/paths/0"),
    ];
    const PRINTED: &[&str] = &[
        "checkpoint list T-2", "checkpoint latest T-2", "checkpoint overdue", "checkpoint show 1", "evidence list T-2",
        "evidence show 1", "handoff list", "review list T-2", "session list", "session show s1", "session status s1",
        "session reconcile --dry-run", "explain task T-2", "explain task T-3", "explain session s1", "lane list",
        "lane show ui", "inbox --session s1 --ack", "task show T-2", "task show T-3", "merge-ready T-2", "events",
    ];
    let world = TestProject::populated();
    let mut kept = 0;
    for (number, text) in corpus().iter().enumerate().filter(|(_, text)| !text.contains('\0') && *text != "-") {
        for (write, read, place) in FIELDS.iter().skip(number % 3).step_by(3) {
            let what = format!("{write} with {:?}", text.chars().take(40).collect::<String>());
            let run = world.run(write.split(' ').map(|word| word.replace(TEXT_PLACEHOLDER, text)));
            check_run(&run, &what);
            if run.code == Some(0) && !place.is_empty() && !text.is_empty() {
                let document = world.json(read.split(' '));
                let last = document.as_array().map_or(0, |list| list.len().saturating_sub(1));
                let found = document.pointer(&place.replace("{last}", &last.to_string()));
                assert_eq!(found.and_then(|value| value.as_str()), Some(text.as_str()), "{what}");
                kept += 1;
            }
        }
    }
    assert!(kept > 60, "{kept}");
    for read in PRINTED {
        let run = world.run(read.split(' '));
        assert!(is_tame(&run.stdout) && is_tame(&run.stderr), "{read}: {run:?}");
        let run = world.run(read.split(' ').chain(["--json"]));
        assert!(is_tame(&run.stdout) && is_tame(&run.stderr), "{read} --json: {run:?}");
        for document in run.stdout.lines() {
            serde_json::from_str::<serde_json::Value>(document).unwrap();
        }
    }
    no_canary(&world);
}

/// A verb that repeats a value does so safely in JSON too, and where ids alone are printed.
#[test]
fn json_and_ids_are_safe_too() {
    let world = TestProject::populated();
    for (number, text) in corpus().iter().enumerate().filter(|(_, text)| !text.contains(['\0', '/'])) {
        let (file, task) = (format!("./f{number}{text}"), format!("--title={text}"));
        for (words, is_json) in [
            (vec!["backup", file.as_str(), "--quiet"], false),
            (vec!["backup", &file, "--json"], true),
            (vec!["restore", &file, "--quiet"], false),
            (vec!["task", "show", "--json", "--", text], true),
            (vec!["session", "show", "--json", "--", text], true),
            (vec!["task", "edit", "T-1", "--json", &task], true),
        ] {
            let run = world.run(&words);
            let what =
                format!("{:?}", words.iter().map(|word| word.chars().take(40).collect()).collect::<Vec<String>>());
            assert!(is_tame(&run.stdout) && is_tame(&run.stderr), "{what}: {run:?}");
            if is_json {
                if run.code == Some(0) {
                    run.json()
                } else {
                    run.error()
                };
            }
        }
    }
    no_canary(&world);
}

/// Names that go to git, as arguments of its own.
#[test]
fn hostile_branch_names_reach_git_as_data() {
    let world = TestProject::with_git();
    let corpus = corpus();
    for call in ["--branch", "--base", "--worktree"] {
        for (number, text) in corpus.iter().enumerate().filter(|(_, text)| !text.contains('\0')) {
            let (name, said) = (format!("l{number}"), format!("{call}={text}"));
            let run = world.run(["lane", "add", &name, "--create-worktree", &said]);
            let what = format!("{call} {:?}", text.chars().take(40).collect::<String>());
            // A name that nothing is wrong with, but that the file system does not take, is git's own no.
            if run.code == Some(7) {
                assert!(run.stderr.starts_with("error: git "), "{what}: {run:?}");
            } else {
                check_run(&run, &what);
            }
            if run.code == Some(0) {
                world.run(["lane", "rm", &name]).exits(0);
            }
        }
    }
    assert_eq!(world.branches_and_worktrees(), ["main", "worktree [world]/project"]);
    no_canary(&world);
}

/// Variables are words too.
#[test]
fn hostile_values_of_variables_are_data_or_refused() {
    let furnished = TestProject::populated();
    for name in [
        "FAIRWAY_ROLE", "FAIRWAY_LANE", "FAIRWAY_TASK_ID", "FAIRWAY_SESSION_ID", "FAIRWAY_TASKS_PREFIX",
        "FAIRWAY_CLAIMS_LEASE", "FAIRWAY_RUN_ID", "FAIRWAY_ROOT", "FAIRWAY_ADAPTER_STATE", "XDG_STATE_HOME", "COLUMNS",
    ] {
        for text in corpus().iter().filter(|text| !text.contains('\0') && !text.is_empty()) {
            let mut command = furnished.fairway(["claim", "T-4"]);
            let run: CommandOutput = command.env(name, text).output().unwrap().into();
            check_run(&run, &format!("{name}={:?}", text.chars().take(40).collect::<String>()));
            if run.code == Some(0) {
                furnished.run(["release", "T-4", "--force", "--reason", "again"]).exits(0);
            }
        }
    }
    no_canary(&furnished);
}

/// Files and stdin may hold what no argument can: NUL, a megabyte, bytes that are no text.
#[test]
fn hostile_input_files_are_data_or_refused() {
    let world = TestProject::populated();
    let before = world.all_rows();
    let megabyte = vec![b'x'; 1 << 20];
    let contents: [&[u8]; 5] = [b"a\0b", &megabyte, b"\xff\xfe\xfd", b"\xed\xa0\x80", b"\x1b[2J"];
    for content in contents {
        fs::write(world.root().join("hostile"), content).unwrap();
        check_run(&world.run(["task", "add", "H-1", "t", "--body-file", "hostile"]).exits(2), "--body-file");
        check_run(&world.run_with_stdin(["task", "add", "H-1", "t", "--body", "-"], content).exits(2), "--body -");
        check_run(&world.run_with_stdin(["task", "import", "-"], content).exits(2), "import");
        let title = serde_json::json!([{ "id": "H-1", "title": String::from_utf8_lossy(content) }]).to_string();
        let run = world.run_with_stdin(["task", "import", "-"], title.as_bytes());
        check_run(&run, "import of a title");
        if run.code == Some(0) {
            // What is no text, and each control character, became the letter for that; what is too long was cut.
            let shown = world.json(["task", "show", "H-1"]);
            let title = shown["title"].as_str().unwrap();
            assert!(
                title.len() <= 4096 && !title.contains(char::is_control),
                "{:?}",
                title.chars().take(40).collect::<String>()
            );
            let conn = rusqlite::Connection::open(world.store()).unwrap();
            conn.execute_batch("DELETE FROM events WHERE task_id = 'H-1'; DELETE FROM tasks WHERE id = 'H-1'").unwrap();
        }
    }
    for file in ["/dev/null", "/proc/self/mem", ".", "/nowhere/x"] {
        check_run(&world.run(["task", "import", file]), file);
    }
    let rows = |content: &[String]| content.len();
    assert_eq!(rows(&world.all_rows()), rows(&before));
}

#[test]
fn non_utf8_arguments_are_refused() {
    let furnished = TestProject::populated();
    let before = furnished.all_rows();
    for verb in COMMANDS {
        // Help is given whatever stands behind it.
        let good = || verb.good.split(' ').filter(|word| *word != "--help");
        let mut command: Command = furnished.fairway(good());
        let run: CommandOutput = command.arg(OsStr::from_bytes(b"\xff\xfe")).output().unwrap().into();
        check_run(&run.exits(2), verb.path);
        let mut command: Command = furnished.fairway(["--json"].into_iter().chain(good()));
        let run: CommandOutput = command.arg(OsStr::from_bytes(b"--\xff")).output().unwrap().into();
        assert_eq!(run.refuses(2, "usage").stderr.lines().count(), 1, "{}", verb.path);
    }
    assert!(furnished.all_rows() == before);
}

#[test]
fn misspelled_commands_get_suggestions() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway tsk list",
        "fairway task lst",
        "fairway task list --lmit 3",
        "fairway task list --limit",
        "fairway task list --limit x",
        "fairway task",
        "fairway",
        "fairway task show",
        "fairway task show T-1 T-2",
        "fairway lane add x --wip 1 --wip 2",
        "fairway claim T-1 --steal",
        "fairway completions bsh",
        "fairway --json tsk",
        "fairway task list --lmit --json",
    ]), @r#"
    $ fairway tsk list
    error: unknown command 'tsk'
    hint: did you mean task: fairway task --help
    [exit 2]
    $ fairway task lst
    error: unknown command 'lst'
    hint: did you mean list: fairway task list --help
    [exit 2]
    $ fairway task list --lmit 3
    error: unexpected argument '--lmit' found
    hint: did you mean --limit: fairway task list --help
    [exit 2]
    $ fairway task list --limit
    error: a value is required for '--limit <N>' but none was supplied
    hint: read the help: fairway task list --help
    [exit 2]
    $ fairway task list --limit x
    error: invalid value 'x' for '--limit <N>': invalid digit found in string
    hint: read the help: fairway task list --help
    [exit 2]
    $ fairway task
    error: a command is missing
    hint: list the commands: fairway task --help
    [exit 2]
    $ fairway
    nothing needs you

    0 ready · 0 in progress · 0 done
    $ fairway task show
    error: the following required arguments were not provided: <ID>
    hint: write it as: fairway task show <ID>
    [exit 2]
    $ fairway task show T-1 T-2
    error: unexpected argument 'T-2' found
    hint: write it as: fairway task show <ID>
    [exit 2]
    $ fairway lane add x --wip 1 --wip 2
    error: the argument '--wip <N>' cannot be used multiple times
    hint: write it as: fairway lane add <NAME>
    [exit 2]
    $ fairway claim T-1 --steal
    error: the following required arguments were not provided: --reason <TEXT>
    hint: write it as: fairway claim --steal --reason <TEXT> <ID>
    [exit 2]
    $ fairway completions bsh
    error: invalid value 'bsh' for '<SHELL>' [possible values: bash, elvish, fish, powershell, zsh]
    hint: read the help: fairway completions --help
    [exit 2]
    $ fairway --json tsk
    {"error":{"code":"usage","kind":"usage","message":"unknown command 'tsk'","hint":"did you mean task: fairway task --help","retryable":false,"details":null}}
    [exit 2]
    $ fairway task list --lmit --json
    {"error":{"code":"usage","kind":"usage","message":"unexpected argument '--lmit' found","hint":"did you mean --limit: fairway task list --help","retryable":false,"details":null}}
    [exit 2]
    "#);
}
