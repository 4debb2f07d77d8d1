//! `fairway task import` and `fairway task export`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::test_project::{CommandOutput, FAIRWAY};
use crate::common::{TestProject, soak};

const BACKLOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/backlog-677.jsonl");

#[test]
fn repeated_import_changes_nothing() {
    let world = TestProject::new();
    fs::write(
        world.root().join("tasks.jsonl"),
        r#"{"id": "A-1", "title": "a part", "parent": "A-2"}
{"id": "A-2", "title": "2024", "depends_on": ["A-1", "gone"], "colour": "red"}
"#,
    )
    .unwrap();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task import tasks.jsonl",
        "fairway task import tasks.jsonl",
        "fairway task import tasks.jsonl --quiet",
        "fairway task list",
        "fairway ready --why",
        "fairway task export --quiet",
        "fairway task export",
        "fairway task export --format yaml",
        "fairway task import nowhere.jsonl",
    ]), @r#"
    $ fairway task import tasks.jsonl
    imported 2 tasks (2 open)
    TASKS  NOTE                        FIRST
        1  depends on an unknown task  A-2: gone
        1  colour is ignored           A-2: red
    $ fairway task import tasks.jsonl
    imported 0 tasks; 2 tasks exist already, unchanged
    $ fairway task import tasks.jsonl --quiet
    $ fairway task list
    ID   P  STATUS  ROLE  LANE  HELD BY  TITLE
    A-1  2  todo    -     -     -        a part
    A-2  2  todo    -     -     -        2024
    $ fairway ready --why
    ID   TITLE  WHY NOT
    A-2  2024   A-1 is todo; gone is not in this store
    $ fairway task export --quiet
    A-1
    A-2
    $ fairway task export
    {"id":"A-1","title":"a part","body":"","status":"todo","role":null,"lane":null,"parent":"A-2","priority":2,"labels":[],"paths":[],"depends_on":[],"checks":[],"review_domains":[],"claim":null,"branch":null,"commit":null,"blocked_reason":null,"ready":true,"waiting_on":[],"created_at":"2026-01-01T00:00:02.000Z","updated_at":"2026-01-01T00:00:02.000Z","closed_at":null}
    {"id":"A-2","title":"2024","body":"","status":"todo","role":null,"lane":null,"parent":null,"priority":2,"labels":[],"paths":[],"depends_on":["A-1","gone"],"checks":[],"review_domains":[],"claim":null,"branch":null,"commit":null,"blocked_reason":null,"ready":false,"waiting_on":[{"code":"dep_open","id":"A-1","message":"A-1 is todo"},{"code":"dep_absent","id":"gone","message":"gone is not in this store"}],"created_at":"2026-01-01T00:00:02.000Z","updated_at":"2026-01-01T00:00:02.000Z","closed_at":null}
    $ fairway task export --format yaml
    error: invalid value 'yaml' for '--format <FORM>' [possible values: jsonl, agent-trace]
    hint: read the help: fairway task export --help
    [exit 2]
    $ fairway task import nowhere.jsonl
    error: the file cannot be read from nowhere.jsonl: No such file or directory (os error 2)
    hint: see which files there are: ls [world]/project
    [exit 2]
    "#);
}

/// The acceptance of `model.md`: 677 real tasks with what they point at.
#[test]
fn real_backlog_is_imported_completely() {
    let world = TestProject::new();
    let report = world.json(["task", "import", BACKLOG]);
    let all: Vec<Value> =
        fs::read_to_string(BACKLOG).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // Agents, convoys, rigs and messages are no work, as their type or a label says.
    let is_machinery = |kind: &str| matches!(kind, "agent" | "convoy" | "gt:agent" | "gt:message" | "gt:rig");
    let has = |line: &Value| {
        line["labels"].as_array().is_some_and(|all| all.iter().any(|one| is_machinery(one.as_str().unwrap())))
    };
    let is_work = |line: &Value| !is_machinery(line["issue_type"].as_str().unwrap()) && !has(line);
    let lines: Vec<Value> = all.iter().filter(|line| is_work(line)).cloned().collect();
    let skipped = all.len() - lines.len();
    assert_eq!((&report["imported"], &report["skipped"]), (&json!(lines.len()), &json!(skipped)));
    assert_eq!((all.len(), skipped), (677, 32));
    let known = |id: &Value| lines.iter().any(|line| line["id"] == *id);
    let links = |kinds: &[&str]| -> Vec<(Value, Value, Value)> {
        let all = lines.iter().flat_map(|line| line["dependencies"].as_array().cloned().unwrap_or_default());
        let wanted = all.filter(|link| kinds.contains(&link["type"].as_str().unwrap()));
        wanted.map(|link| (link["issue_id"].clone(), link["depends_on_id"].clone(), link["type"].clone())).collect()
    };
    let mut expected: Vec<_> = links(&["blocks", "parent-child"]).into_iter().filter(|(_, on, _)| !known(on)).collect();
    let absent = report["absent"].as_array().unwrap().iter();
    let mut absent: Vec<_> =
        absent.map(|one| (one["task_id"].clone(), one["depends_on"].clone(), one["type"].clone())).collect();
    for list in [&mut expected, &mut absent] {
        list.sort_by_key(|link| format!("{link:?}"));
    }
    assert_eq!(absent, expected);
    assert!(absent.len() > 200, "{}", absent.len());
    let ignored = report["ignored"].as_array().unwrap();
    let kinds = ignored.iter().map(|one| one["what"].as_str().unwrap()).filter(|what| *what != "the task");
    let kinds: Vec<&str> = kinds.collect();
    assert_eq!(kinds, ["discovered-from", "related"], "{ignored:?}");

    let tasks: Vec<Value> = world.json(["task", "export"]).as_array().unwrap().clone();
    assert_eq!(tasks.len(), lines.len());
    for line in &lines {
        let task = tasks.iter().find(|task| task["id"] == line["id"]).unwrap();
        let closed = line["status"] == "closed";
        let waits = matches!(line["status"].as_str(), Some("pinned" | "hooked"));
        assert_eq!(
            task["status"],
            if closed {
                "done"
            } else if waits {
                "blocked"
            } else {
                "todo"
            }
        );
        assert_eq!(task["title"], line["title"]);
        assert_eq!(task["priority"], line["priority"]);
        assert_eq!(task["body"], line.get("description").cloned().unwrap_or(json!("")));
        let millis = |time: &Value| time.as_str().unwrap().replace('Z', ".000Z");
        assert_eq!(task["created_at"], millis(&line["created_at"]));
        assert!(waits || task["updated_at"] == millis(&line["updated_at"]), "{task}");
        let labels = task["labels"].as_array().unwrap();
        assert!(labels.contains(&json!(format!("type:{}", line["issue_type"].as_str().unwrap()))));
        if closed {
            assert_eq!(task["closed_at"], millis(&line["closed_at"]));
        } else if !waits {
            assert!(labels.contains(&json!(format!("beads:{}", line["status"].as_str().unwrap()))));
            let waits = task["depends_on"]
                .as_array()
                .unwrap()
                .iter()
                .any(|on| !lines.iter().any(|line| line["id"] == *on && line["status"] == "closed"));
            assert_eq!(task["ready"], !waits, "{task}");
            assert_eq!(task["waiting_on"].as_array().unwrap().is_empty(), !waits, "{task}");
        }
    }
    let parents = tasks.iter().filter(|task| !task["parent"].is_null()).count();
    assert_eq!(parents, links(&["parent-child"]).len());

    let open = tasks.iter().filter(|task| task["status"] != "done").count();
    assert_eq!(report["open"], json!(open));
    let again = world.json(["task", "import", BACKLOG]);
    assert_eq!((&again["imported"], &again["unchanged"]), (&json!(0), &json!(lines.len())));
}

/// A dry run tells the same as the import, and writes nothing: not even a store.
#[test]
fn dry_run_reports_and_writes_nothing() {
    let world = TestProject::new();
    let mut planned = world.json(["task", "import", BACKLOG, "--dry-run"]);
    assert_eq!(world.json(["task", "list", "--all"]), json!([]));
    assert_eq!(world.run(["events", "--json"]).exits(0).stdout, "");
    assert_eq!(planned["dry_run"], true);
    planned["dry_run"] = json!(false);
    assert_eq!(world.json(["task", "import", BACKLOG]), planned);

    fs::write(
        world.root().join("more.jsonl"),
        r#"{"id": "A-1", "title": "one"}
{"id": "A-2", "title": "two", "status": "done"}
"#,
    )
    .unwrap();
    world.run(["task", "import", "more.jsonl"]).exits(0);
    world.run(["task", "add", "A-9", "removed here"]).exits(0);
    world.run(["task", "rm", "A-9"]).exits(0);
    let before = world.run(["events", "--json"]).stdout;
    fs::write(
        world.root().join("more.jsonl"),
        r#"{"id": "A-1", "title": "changed"}
{"id": "A-2", "title": "two", "status": "done"}
{"id": "A-3", "title": "new"}
{"id": "A-4", "title": "new and done", "status": "done", "depends_on": ["gone"], "parent": "lost"}
{"id": "A-9", "title": "back"}
"#,
    )
    .unwrap();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task import more.jsonl --dry-run",
        "fairway task import more.jsonl --dry-run --quiet",
    ]), @"
    $ fairway task import more.jsonl --dry-run
    would import 2 tasks (1 open); 2 tasks exist already, unchanged (1 different in the file); 1 skipped
    TASKS  NOTE                                       FIRST
        1  skipped: it was removed here               A-9
        2  is closed, with a link to an unknown task  A-4: gone
    $ fairway task import more.jsonl --dry-run --quiet
    A-3
    A-4
    ");
    assert_eq!(world.run(["events", "--json"]).stdout, before);
    assert_eq!(world.json(["task", "show", "A-1"])["title"], "one");
}

/// So is Markdown and YAML.
#[test]
fn file_without_tasks_is_refused() {
    let world = TestProject::new();
    for text in [
        "", "# Shop\n", "# Shop\n# A shop\n\n---\n", "[]", "{\"tasks\":[]}", "tasks: []\n", "- id: a\n",
        "# Shop\n\nA shop.\n",
    ] {
        let run = world.run_with_stdin(["task", "import", "-", "--json"], text.as_bytes());
        let error = run.refuses(2, "invalid_value").error();
        assert!(error["message"].as_str().unwrap().starts_with("the file has no tasks"), "{error}");
    }
}

/// Links that a closed task lacks stop nothing, and hundreds of them are one row.
#[test]
fn missing_ids_of_closed_tasks_are_one_note() {
    let world = TestProject::new();
    let run = world.run(["task", "import", BACKLOG]).exits(0);
    let report = TestProject::new().json(["task", "import", BACKLOG]);
    let open = report["open"].as_u64().unwrap();
    let imported = format!("imported {} tasks ({open} open", report["imported"]);
    assert!(run.stdout.starts_with(&imported), "{}", run.stdout);
    let notes: Vec<&str> = run.stderr.lines().collect();
    let closed = notes.iter().filter(|note| note.contains("is closed, with a link to an unknown task")).count();
    assert!(notes.len() <= 14 && closed == 1, "{notes:?}");
}

/// Export, import elsewhere, export: the same bytes. What is held comes in unheld, and says so.
#[test]
fn exported_tasks_are_the_same_after_an_import() {
    let (from, to) = (TestProject::new(), TestProject::new());
    from.run(["task", "import", BACKLOG]).exits(0);
    let odd = [
        "yes", "~", "0x1f", "1e3", "2024-01-01", "- a", "a: b", "# no", " padded ", "'", "\"", "\\n", "a\tb\nc", "|",
        ">", "*a", "&a", "!a", "%", "@", "`", "{", "[", "…", "a\u{2028}b", "\u{202e}x", "\u{feff}x", "null", ".inf",
        "\n\nx\n\n", "é👋",
    ];
    for (number, title) in odd.iter().enumerate() {
        let (id, body) = (format!("odd-{number}"), format!("--body={title}"));
        from.run(["task", "add", &id, "to be edited", &body, "--check", "a=b=c", "--review-domain", "data"]).exits(0);
        from.run(["task", "edit", &id, &format!("--title={title}")]).exits(0);
    }
    // An import claims anew what it blocks.
    for blocked in from.json(["task", "list", "--held"]).as_array().unwrap() {
        from.run(["release", blocked["id"].as_str().unwrap(), "--force", "--reason", "try"]).exits(0);
    }
    let exported = from.run(["task", "export"]).exits(0).stdout;
    to.run_with_stdin(["task", "import", "-"], exported.as_bytes()).exits(0);
    assert_eq!(to.run(["task", "export"]).stdout, exported);
}

#[test]
fn import_never_claims() {
    let (from, to) = (TestProject::new(), TestProject::new());
    for id in ["T-1", "T-2", "T-3"] {
        from.run(["task", "add", id, "t"]).exits(0);
        from.run(["claim", id]).exits(0);
    }
    from.run(["task", "block", "T-2", "--reason", "rain"]).exits(0);
    from.run(["task", "submit", "T-3"]).exits(0);
    let exported = from.run(["task", "export"]).exits(0).stdout;
    let report: Value = to.run_with_stdin(["task", "import", "-", "--json"], exported.as_bytes()).exits(0).json();
    assert_eq!(report["ignored"], json!([]));
    let person = from.json(["task", "show", "T-1"])["claim"]["claimant"].as_str().unwrap().to_owned();
    let reasons: Vec<&str> =
        report["blocked"].as_array().unwrap().iter().map(|one| one["reason"].as_str().unwrap()).collect();
    let reason = |status: &str, why: &str| format!("{status} by {person} in the imported file{why}");
    assert_eq!(reasons, [reason("in_progress", ""), reason("blocked", ": rain"), reason("review", "")]);
    // Nobody holds them, and nobody can take them by accident.
    let held = to.json(["task", "list", "--held"]);
    assert!(held.as_array().unwrap().iter().all(|task| task["claim"]["claimant"] == "import"), "{held}");
    assert_eq!(to.json(["ready"]), json!([]));
}

#[test]
fn imported_beads_issue_keeps_its_text() {
    let world = TestProject::new();
    let issue = json!({
        "id": "bd-1", "title": "t", "description": "what", "design": "how", "acceptance_criteria": "when", "notes": "also",
        "status": "in_progress", "issue_type": "bug", "assignee": "ann", "created_at": "2026-01-01T12:00:00+02:00",
        "dependencies": [
            { "issue_id": "bd-1", "depends_on_id": "bd-2", "type": "blocks" },
            { "issue_id": "bd-1", "depends_on_id": "bd-3", "type": "parent-child" },
            { "issue_id": "bd-1", "depends_on_id": "bd-4", "type": "related" },
        ],
    });
    let gone = json!({ "id": "bd-9", "title": "deleted", "status": "tombstone" });
    let report = world
        .run_with_stdin(["task", "import", "-", "--json"], format!("{issue}\n{gone}\n").as_bytes())
        .exits(0)
        .json();
    insta::assert_snapshot!(report, @r#"{"imported":1,"unchanged":0,"differing":0,"skipped":1,"open":1,"dry_run":false,"absent":[{"task_id":"bd-1","depends_on":"bd-2","type":"blocks"},{"task_id":"bd-1","depends_on":"bd-3","type":"parent-child"}],"ignored":[{"task_id":"bd-9","what":"the task","value":"it is deleted there"},{"task_id":"bd-1","what":"related","value":"bd-4"}],"blocked":[{"task_id":"bd-1","was":"in_progress","reason":"in_progress by ann in the imported file"}]}"#);
    let task = world.json(["task", "show", "bd-1"]);
    let body = "what\n\n## Design\n\nhow\n\n## Acceptance criteria\n\nwhen\n\n## Notes\n\nalso";
    assert_eq!((&task["body"], &task["labels"]), (&json!(body), &json!(["beads:in_progress", "type:bug"])));
    assert_eq!((&task["parent"], &task["depends_on"]), (&json!("bd-3"), &json!(["bd-2"])));
    assert_eq!(task["created_at"], "2026-01-01T10:00:00.000Z");
    let told: Vec<&str> =
        task["timeline"].as_array().unwrap().iter().map(|one| one["message"].as_str().unwrap()).collect();
    assert_eq!(told.len(), 3, "{told:?}");
}

/// What a backlog of another program holds besides plain rows: each case with what becomes of it, as `ID STATUS` of each task.
const ODD: [(&str, &str, &str); 31] = [
    ("empty label", r#"{"id":"b","title":"t","status":"closed","labels":[""," bug "]}"#, "b done"),
    ("null label", r#"{"id":"b","title":"t","labels":[null,"x"]}"#, "b todo"),
    ("label without a list", r#"{"id":"b","title":"t","labels":"x"}"#, "b todo"),
    ("long label", r#"{"id":"b","title":"t","labels":["LONG"]}"#, "b todo"),
    ("empty title", r#"{"id":"b","title":"","status":"cancelled"}"#, "b cancelled"),
    ("long title", r#"{"id":"b","title":"LONG"}"#, "b todo"),
    ("escape in a title", r#"{"id":"b","title":"a\u001b[2J"}"#, "b todo"),
    ("priority as text", r#"{"id":"b","title":"t","priority":"P1"}"#, "b todo"),
    ("priority that is no number", r#"{"id":"b","title":"t","priority":"high"}"#, "b todo"),
    ("priority out of range", r#"{"id":"b","title":"t","priority":9}"#, "b todo"),
    ("time since 1970", r#"{"id":"b","title":"t","created_at":1767225600,"updated_at":1767225600123}"#, "b todo"),
    ("no time", r#"{"id":"b","title":"t","created_at":"yesterday"}"#, "b todo"),
    ("number as id", r#"{"id":17,"title":"t"}"#, "t-17 todo"),
    ("id that begins with a digit", r#"{"id":"7x","title":"t","dependencies":["17"]}"#, "t-7x todo"),
    ("path outside", r#"{"id":"b","title":"t","paths":["../["]}"#, "b todo"),
    ("metadata without a value", r#"{"id":"b","title":"t","metadata":""}"#, "b todo"),
    (
        "link without a target",
        r#"{"id":"b","title":"t","dependencies":[{"type":"blocks"},{"id":"a","type":"blocks"}]}"#,
        "b todo",
    ),
    ("short link", r#"{"id":"b","title":"t","dependencies":[{"id":"a","type":"blocks"}]}"#, "b todo"),
    ("older record", r#"{"id":"a","title":"old","updated_at":"2025-01-01T00:00:00Z"}"#, ""),
    ("tombstone", r#"{"id":"b","title":"gone","status":"tombstone"}"#, ""),
    ("deleted", r#"{"id":"b","title":"gone","status":"deleted"}"#, ""),
    ("memory", r#"{"_type":"memory","key":"k","value":"v"}"#, ""),
    ("message", r#"{"id":"b","title":"mail","issue_type":"message"}"#, ""),
    ("patrol", r#"{"id":"b","title":"Witness Patrol","issue_type":"task","ephemeral":true}"#, ""),
    ("agent by its label", r#"{"id":"b","title":"crew","issue_type":"task","labels":["gt:agent"]}"#, ""),
    ("no task", "3", ""),
    ("no id", r#"{"title":"t"}"#, ""),
    ("link to itself", r#"{"id":"b","title":"t","parent":"b","depends_on":["b","a"]}"#, "b todo"),
    ("unknown lane", r#"{"id":"b","title":"t","lane":"gone"}"#, "b todo"),
    ("empty status", r#"{"id":"b","title":"t","status":" "}"#, "b todo"),
    ("half a character", r#"{"id":"b","title":"\ud83d"}"#, ""),
];

/// One odd record never refuses the others, wherever it stands; and a dry run says the same.
#[test]
fn odd_record_never_refuses_the_others() {
    let good = r#"{"id":"a","title":"real work","status":"open","updated_at":"2026-01-01T00:00:00Z"}"#;
    let mut said = String::new();
    for (about, odd, expected) in ODD {
        let odd = odd.replace("LONG", &"x".repeat(5_000));
        for text in [format!("{good}\n{odd}\n"), format!("[\n{odd},\n{good}]\n")] {
            let world = TestProject::new();
            let import = ["task", "import", "-"];
            let dry = world.run_with_stdin(import.iter().chain(&["--dry-run"]), text.as_bytes()).exits(0);
            let real = world.run_with_stdin(import, text.as_bytes()).exits(0);
            assert_eq!(
                dry.stdout.replacen("would import", "imported", 1) + &dry.stderr,
                real.stdout.clone() + &real.stderr
            );
            let tasks = world.json(["task", "list", "--all"]);
            let mut found: Vec<String> = tasks
                .as_array()
                .unwrap()
                .iter()
                .map(|task| format!("{} {}", task["id"].as_str().unwrap(), task["status"].as_str().unwrap()))
                .collect();
            found.sort();
            let wanted: Vec<&str> = ["a todo", expected].into_iter().filter(|one| !one.is_empty()).collect();
            assert_eq!(found, wanted, "{about}: {real:?}");
            assert_eq!(world.json(["task", "show", "a"])["title"], "real work");
            if text.starts_with('{') {
                said.push_str(&format!("{about}: {}{}", real.stdout, real.stderr.replace(&"x".repeat(100), "x")));
            }
        }
    }
    insta::assert_snapshot!(said, @r#"
    empty label: imported 2 tasks (1 open)
    null label: imported 2 tasks (2 open)
    label without a list: imported 2 tasks (2 open)
    long label: imported 2 tasks (2 open)
    TASKS  NOTE              FIRST
        1  label is ignored  b: xxxxxxxxxxxxxxxxxxxxx…
    empty title: imported 2 tasks (1 open)
    long title: imported 2 tasks (2 open)
    TASKS  NOTE              FIRST
        1  title is ignored  b: what exceeds 4096 bytes
    escape in a title: imported 2 tasks (2 open)
    TASKS  NOTE              FIRST
        1  title is ignored  b: control characters
    priority as text: imported 2 tasks (2 open)
    priority that is no number: imported 2 tasks (2 open)
    TASKS  NOTE                 FIRST
        1  priority is ignored  b: high
    priority out of range: imported 2 tasks (2 open)
    TASKS  NOTE                 FIRST
        1  priority is ignored  b: 9
    time since 1970: imported 2 tasks (2 open)
    no time: imported 2 tasks (2 open)
    TASKS  NOTE                   FIRST
        1  created_at is ignored  b: yesterday
    number as id: imported 2 tasks (2 open)
    TASKS  NOTE           FIRST
        1  id is ignored  t-17: 17
    id that begins with a digit: imported 2 tasks (2 open)
    TASKS  NOTE                        FIRST
        1  depends on an unknown task  t-7x: t-17
        1  id is ignored               t-7x: 7x
    path outside: imported 2 tasks (2 open)
    TASKS  NOTE             FIRST
        1  path is ignored  b: ../[
    metadata without a value: imported 2 tasks (2 open)
    TASKS  NOTE                 FIRST
        1  metadata is ignored  b: 
    link without a target: imported 2 tasks (2 open)
    TASKS  NOTE               FIRST
        1  a link is ignored  b: without a target
    short link: imported 2 tasks (2 open)
    older record: imported 1 task (1 open)
    TASKS  NOTE                        FIRST
        1  an older record is ignored  a: line 2
    tombstone: imported 1 task (1 open); 1 skipped
    TASKS  NOTE                          FIRST
        1  skipped: it is deleted there  b
    deleted: imported 1 task (1 open); 1 skipped
    TASKS  NOTE                          FIRST
        1  skipped: it is deleted there  b
    memory: imported 1 task (1 open); 1 skipped
    TASKS  NOTE                        FIRST
        1  skipped: memory is no work  line 2
    message: imported 1 task (1 open); 1 skipped
    TASKS  NOTE                         FIRST
        1  skipped: message is no work  b
    patrol: imported 1 task (1 open); 1 skipped
    TASKS  NOTE                           FIRST
        1  skipped: ephemeral is no work  b
    agent by its label: imported 1 task (1 open); 1 skipped
    TASKS  NOTE                       FIRST
        1  skipped: agent is no work  b
    no task: imported 1 task (1 open); 1 skipped
    TASKS  NOTE                           FIRST
        1  skipped: it is no JSON object  line 2
    no id: imported 1 task (1 open); 1 skipped
    TASKS  NOTE                    FIRST
        1  skipped: id is missing  line 2
    link to itself: imported 2 tasks (2 open)
    TASKS  NOTE                         FIRST
        1  a link to itself is ignored  b: b
    unknown lane: imported 2 tasks (2 open)
    TASKS  NOTE                        FIRST
        1  an unknown lane is ignored  b: gone
    empty status: imported 2 tasks (2 open)
    half a character: imported 1 task (1 open); 1 skipped
    TASKS  NOTE                                               FIRST
        1  skipped: unexpected end of hex escape (column 26)  line 2
    "#);
}

/// What is not to be worked on now comes in blocked, with the reason, and no claim or start can take it.
#[test]
fn what_must_not_be_worked_on_now_is_blocked() {
    let world = TestProject::new();
    let file = r#"{"id":"ab-1","title":"Later","status":"deferred","defer_until":"2999-06-01T00:00:00Z"}
{"id":"ab-2","title":"Held back","status":"blocked"}
{"id":"ab-3","title":"A standing note","status":"pinned"}
{"id":"ab-4","title":"Somebody is at it","status":"in_progress","assignee":"bo"}
{"id":"ab-5","title":"On a hook","status":"hooked","assignee":"bo"}
{"id":"ab-6","title":"Unknown here","status":"future"}
{"id":"ab-7","title":"Looked at","status":"in_review","owner":"ann"}
{"id":"ab-8","title":"Open, and deferred","status":"open","defer_until":"2999-06-01T00:00:00Z","owner":"ann"}
{"id":"ab-9","title":"Open again","status":"open","defer_until":"2020-06-01T00:00:00Z","owner":"ann"}
"#;
    fs::write(world.root().join("file.jsonl"), file).unwrap();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task import file.jsonl",
        "fairway ready",
        "fairway claim ab-4",
        "fairway task list",
        "fairway status",
        "fairway release ab-1 --force --reason now",
        "fairway claim ab-1",
    ]), @r#"
    $ fairway task import file.jsonl
    imported 9 tasks (9 open, 8 of these blocked)
    TASKS  NOTE                               FIRST
        2  blocked, since it was deferred     ab-1
        1  blocked, since it was blocked      ab-2
        1  blocked, since it was pinned       ab-3
        1  blocked, since it was in_progress  ab-4
        1  blocked, since it was hooked       ab-5
        1  blocked, since it was future       ab-6
        1  blocked, since it was in_review    ab-7
        3  owner is ignored                   ab-7: ann
        1  defer_until is ignored             ab-9: 2020-06-01T00:00:00Z
    $ fairway ready
    ID    P  STATUS  ROLE  LANE  HELD BY  TITLE
    ab-9  2  todo    -     -     -        Open again
    $ fairway claim ab-4
    error: ab-4 is claimed by import since 2026-01-01T00:00:02.000Z
    hint: to take over: fairway claim ab-4 --steal --reason TEXT
    [exit 4]
    $ fairway task list
    ID    P  STATUS   ROLE  LANE  HELD BY  TITLE
    ab-1  2  blocked  -     -     import   Later
    ab-2  2  blocked  -     -     import   Held back
    ab-3  2  blocked  -     -     import   A standing note
    ab-4  2  blocked  -     -     import   Somebody is at it
    ab-5  2  blocked  -     -     import   On a hook
    ab-6  2  blocked  -     -     import   Unknown here
    ab-7  2  blocked  -     -     import   Looked at
    ab-8  2  blocked  -     -     import   Open, and deferred
    ab-9  2  todo     -     -     -        Open again
    $ fairway status
    nothing needs you

    1 ready · 0 in progress · 8 blocked · 0 done
    $ fairway release ab-1 --force --reason now
    released ab-1: blocked → todo
    $ fairway claim ab-1
    claimed ab-1: Later
    "#);
    let reasons: Vec<Value> =
        (1..=8).map(|n| world.json(["task", "show", &format!("ab-{n}")])["blocked_reason"].clone()).collect();
    let deferred = "deferred until 2999-06-01T00:00:00Z in the imported file";
    assert_eq!(
        reasons,
        [
            json!(null),
            json!("blocked in the imported file"),
            json!("pinned in the imported file"),
            json!("in_progress by bo in the imported file"),
            json!("hooked by bo in the imported file"),
            json!("future in the imported file"),
            json!("in_review in the imported file"),
            json!(deferred),
        ]
    );
    let again = world.run(["task", "import", "file.jsonl", "--json"]).exits(0).json();
    assert_eq!((&again["imported"], &again["unchanged"]), (&json!(0), &json!(9)));
}

/// Of two records of one task the newer one counts, whichever comes first.
#[test]
fn newer_record_of_two_wins() {
    let old = r#"{"id":"ab-1","title":"Old","status":"open","updated_at":"2026-01-01T00:00:00Z"}"#;
    let new = r#"{"id":"ab-1","title":"New","status":"closed","updated_at":"2026-02-01T00:00:00Z"}"#;
    for text in [format!("{old}\n{new}\n"), format!("{new}\n{old}\n")] {
        let world = TestProject::new();
        world.run_with_stdin(["task", "import", "-"], text.as_bytes()).exits(0);
        let task = world.json(["task", "show", "ab-1"]);
        assert_eq!((&task["title"], &task["status"]), (&json!("New"), &json!("done")));
    }
}

/// A closed task waits for nothing: a cycle through one is cut there. A cycle of open tasks is refused, with its path.
#[test]
fn cycle_of_closed_tasks_is_cut() {
    let world = TestProject::new();
    let link = |on: &str, kind: &str| format!(r#"[{{"depends_on_id":"{on}","type":"{kind}"}}]"#);
    let row = |id: &str, status: &str, links: &str| {
        format!(r#"{{"id":"{id}","title":"t","status":"{status}","dependencies":{links}}}"#)
    };
    let rows = [
        row("ab-1", "closed", &link("ab-2", "blocks")),
        row("ab-2", "closed", &link("ab-1", "blocks")),
        row("ab-3", "open", &link("ab-4", "blocks")),
        row("ab-4", "closed", &link("ab-3", "blocks")),
        row("ab-5", "closed", &link("ab-5", "blocks")),
        row("ab-6", "closed", &link("ab-7", "parent-child")),
        row("ab-7", "closed", &link("ab-6", "parent-child")),
    ];
    let report = world.run_with_stdin(["task", "import", "-", "--json"], rows.join("\n").as_bytes()).exits(0).json();
    assert_eq!((&report["imported"], &report["ignored"].as_array().unwrap().len()), (&json!(7), &4));
    assert_eq!(world.json(["ready"])[0]["id"], "ab-3");
    let open = [row("x-1", "open", &link("x-2", "blocks")), row("x-2", "open", &link("x-1", "blocks"))].join("\n");
    world.run_with_stdin(["task", "import", "-", "--json"], open.as_bytes()).refuses(5, "cycle");
}

/// Thousands of equal notes are one row of the table.
#[test]
fn equal_notes_are_one_row() {
    let world = TestProject::new();
    let row =
        |n: usize| format!(r#"{{"id":"n-{n}","title":"t","owner":"ann","created_by":"ann","issue_type":"task"}}"#);
    let mut rows: Vec<String> = (0..1_300).map(row).collect();
    rows.push(r#"{"id":"n-x","title":"","labels":[null]}"#.to_owned());
    let run = world.run_with_stdin(["task", "import", "-"], rows.join("\n").as_bytes()).exits(0);
    assert_eq!(run.stdout, "imported 1301 tasks (1301 open)\n");
    assert_eq!(
        run.stderr,
        "TASKS  NOTE                   FIRST\n 1300  owner is ignored       n-0: ann\n 1300  created_by is ignored  n-0: ann\n"
    );
}

/// Backlogs in the shapes of public ones, of several trackers and of their versions: each with what is said of it. `ready` has what may be
/// claimed, and no other.
#[test]
fn backlogs_of_many_shapes_are_taken() {
    const BACKLOGS: [(&str, &str); 21] = [
        ("beads-first.jsonl", "imported 3 tasks (2 open, 1 of these blocked)"),
        ("beads-memories.jsonl", "imported 1 task (1 open); 2 skipped"),
        ("beads-newest.jsonl", "imported 3 tasks (3 open, 3 of these blocked)"),
        ("beads-tombstones.jsonl", "imported 1 task (1 open); 3 skipped"),
        ("bom-crlf.jsonl", "imported 2 tasks (1 open)"),
        ("escaped.jsonl", "imported 2 tasks (2 open); 1 skipped"),
        ("github.json", "imported 1 task (1 open); 4 skipped"),
        ("github.ndjson", "imported 1 task (1 open); 1 skipped"),
        ("labels.jsonl", "imported 4 tasks (3 open)"),
        ("list.json", "imported 2 tasks (2 open); 1 skipped"),
        ("loose-types.jsonl", "imported 2 tasks (2 open, 1 of these blocked); 7 skipped"),
        ("machinery.jsonl", "imported 2 tasks (2 open, 1 of these blocked); 6 skipped"),
        ("merged-twice.jsonl", "imported 3 tasks (2 open)"),
        ("mixed-prefixes.jsonl", "imported 6 tasks (6 open)"),
        ("one-task.json", "imported 1 task (1 open)"),
        ("other-words.jsonl", "imported 10 tasks (6 open, 4 of these blocked)"),
        ("own-export.jsonl", "imported 2 tasks (2 open, 2 of these blocked)"),
        ("sessions.jsonl", "imported 2 tasks (1 open)"),
        ("short-links.jsonl", "imported 2 tasks (2 open)"),
        ("tasks-object.json", "imported 2 tasks (1 open, 1 of these blocked)"),
        ("titles.jsonl", "imported 5 tasks (2 open, 1 of these blocked); 1 skipped"),
    ];
    let world = TestProject::new();
    for (name, said) in BACKLOGS {
        let file = format!("{}/tests/data/backlogs/{name}", env!("CARGO_MANIFEST_DIR"));
        let form = name.starts_with("github").then_some("--from=github");
        let import = ["task", "import", &file].into_iter().chain(form).collect::<Vec<_>>();
        let dry = world.run([&import[..], &["--dry-run"]].concat()).exits(0);
        let real = world.run(&import).exits(0);
        assert_eq!(real.stdout.trim_end(), said, "{name}: {real:?}");
        assert_eq!(
            (dry.stdout.replacen("would import", "imported", 1), dry.stderr),
            (real.stdout, real.stderr),
            "{name}"
        );
    }
    let ready = world.json(["ready"]);
    let ready: Vec<&str> = ready.as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect();
    let mut expected = "API-12 TW-1 a-b bd-1 cr-1 es-1 es-2 fk-2 fk-3 fk-4 gh-1 gh-1-2 ls-1 mb-1 mem-1 mf-501 no-2 one-1 ow-6 ow-9 t--n--1 t-1abc \
                        tw-2 web_ui-7f.2 wy-0a1 x-y"
        .split_whitespace()
        .collect::<Vec<_>>();
    let mut ready = ready;
    ready.sort_unstable();
    expected.sort_unstable();
    assert_eq!(ready, expected);
}

/// A damaged file comes in not at all; the sentence names the line.
#[test]
fn damaged_file_imports_nothing() {
    let world = TestProject::new();
    world.run(["task", "add", "--id", "old", "here before"]).exits(0);
    let before = world.run(["events", "--json"]).stdout;
    let good = "{\"id\":\"a\",\"title\":\"t\"}\n";
    let mut said = String::new();
    for line in ["{\"id\":\"b\",\"title\":", "not json", "<<<<<<< HEAD"] {
        let run = world.run_with_stdin(["task", "import", "-", "--json"], format!("{good}\n{line}\n").as_bytes());
        let error = run.refuses(2, "invalid_line").error();
        assert_eq!(error["details"]["line"], 3, "{error}");
        said.push_str(error["message"].as_str().unwrap());
        said.push('\n');
    }
    insta::assert_snapshot!(said, @r#"
    line 3: EOF while parsing a value (column 18)
    line 3: expected ident (column 2)
    line 3: expected value (column 1)
    "#);

    let circle = br#"{"id": "a", "title": "t", "depends_on": ["b"]}
{"id": "b", "title": "t", "depends_on": ["a"]}
"#;
    let error = world.run_with_stdin(["task", "import", "-", "--json"], circle).refuses(5, "cycle").error();
    assert_eq!(error["details"]["path"], json!(["a", "b", "a"]));
    let family = br#"{"id": "a", "title": "t", "parent": "b"}
{"id": "b", "title": "t", "parent": "a"}
"#;
    world.run_with_stdin(["task", "import", "-", "--json"], family).refuses(5, "cycle");
    world.run_with_stdin(["task", "import", "-", "--json"], b"\xff\xfe").refuses(2, "invalid_value");
    assert_eq!(world.run(["events", "--json"]).stdout, before);
}

/// A circle may close through tasks that were here before and waited for one that comes only now.
#[test]
fn cycle_through_existing_tasks_is_refused() {
    let world = TestProject::new();
    world
        .run_with_stdin(
            ["task", "import", "-"],
            br#"{"id": "a", "title": "t", "depends_on": ["b"]}
"#,
        )
        .exits(0);
    let error = world
        .run_with_stdin(
            ["task", "import", "-", "--json"],
            br#"{"id": "b", "title": "t", "depends_on": ["a"]}
"#,
        )
        .refuses(5, "cycle")
        .error();
    assert_eq!(error["details"]["path"], json!(["b", "a", "b"]));
    // And one that ends the wait does so.
    world
        .run_with_stdin(
            ["task", "import", "-"],
            br#"{"id": "b", "title": "t", "status": "done"}
"#,
        )
        .exits(0);
    assert_eq!(world.json(["task", "show", "a"])["ready"], true);
}

/// One chain of tasks: the graph is walked once, and without recursion. A stack of a mebibyte has no room for a call for
/// each of 4,000 tasks.
#[test]
fn long_dependency_chain_is_imported() {
    let count = if soak::is_on() { 20_000 } else { 4_000 };
    let world = TestProject::new();
    let lines: String = (0..count)
        .map(|n| {
            format!("{{\"id\":\"n{n}\",\"title\":\"t\",\"depends_on\":[\"n{}\"],\"parent\":\"n{}\"}}\n", n + 1, n + 1)
        })
        .collect();
    let file = world.root().join("chain.jsonl");
    fs::write(&file, lines).unwrap();
    let with_small_stack = |args: &[&str]| -> CommandOutput {
        let mut command = world.command("sh");
        command
            .args(["-c", "ulimit -s 1024; exec \"$@\"", "sh", FAIRWAY])
            .args(args)
            .arg("--json")
            .output()
            .unwrap()
            .into()
    };
    let report = with_small_stack(&["task", "import", file.to_str().unwrap()]).exits(0).json();
    assert_eq!(report["imported"], count);
    assert_eq!(report["absent"].as_array().unwrap().len(), 2);
    let tree = with_small_stack(&["task", "dep", "tree", "n0"]).exits(0).json();
    assert_eq!(tree["nodes"].as_array().unwrap().len(), count + 1);
    with_small_stack(&["task", "dep", "add", &format!("n{}", count - 1), "n0"]).refuses(5, "cycle");
    assert!(Path::new(&file).exists());
}
