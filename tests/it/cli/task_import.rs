//! `fairway task import` and `fairway task export`.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::common::{
    TestProject, soak,
    test_project::{CommandOutput, FAIRWAY},
};

const BACKLOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/backlog-677.jsonl");

#[test]
fn repeated_import_changes_nothing() {
    let world = TestProject::new();
    fs::write(
        world.root().join("tasks.yaml"),
        "- id: A-1\n  title: a part\n  parent: A-2\n- id: A-2\n  title: 2024\n  depends_on: [A-1, gone]\n  colour: red\n",
    )
    .unwrap();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task import tasks.yaml",
        "fairway task import tasks.yaml",
        "fairway task import tasks.yaml --quiet",
        "fairway task list",
        "fairway ready --why",
        "fairway task export --quiet",
        "fairway task export",
        "fairway task export --format yaml",
        "fairway task export --format toml",
        "fairway task import nowhere.jsonl",
    ]), @r#"
    $ fairway task import tasks.yaml
    imported 2 tasks (2 open)
    A-2 depends on the unknown task gone
    A-2: colour is ignored: red
    $ fairway task import tasks.yaml
    imported 0 tasks; 2 tasks exist already, unchanged
    $ fairway task import tasks.yaml --quiet
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
    - id: A-1
      title: a part
      body: ""
      status: todo
      role: null
      lane: null
      parent: A-2
      priority: 2
      labels: []
      paths: []
      depends_on: []
      checks: []
      review_domains: []
      claim: null
      branch: null
      commit: null
      blocked_reason: null
      ready: true
      waiting_on: []
      created_at: "2026-01-01T00:00:02.000Z"
      updated_at: "2026-01-01T00:00:02.000Z"
      closed_at: null
    - id: A-2
      title: "2024"
      body: ""
      status: todo
      role: null
      lane: null
      parent: null
      priority: 2
      labels: []
      paths: []
      depends_on:
      - A-1
      - gone
      checks: []
      review_domains: []
      claim: null
      branch: null
      commit: null
      blocked_reason: null
      ready: false
      waiting_on:
      - code: dep_open
        id: A-1
        message: A-1 is todo
      - code: dep_absent
        id: gone
        message: gone is not in this store
      created_at: "2026-01-01T00:00:02.000Z"
      updated_at: "2026-01-01T00:00:02.000Z"
      closed_at: null
    $ fairway task export --format toml
    error: invalid value 'toml' for '--format <FORM>' [possible values: jsonl, yaml]
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
    assert_eq!((&report["imported"], &report["unchanged"]), (&json!(677), &json!(0)));

    let lines: Vec<Value> =
        fs::read_to_string(BACKLOG).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
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
    let kinds: Vec<&str> = ignored.iter().map(|one| one["what"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["discovered-from", "related"], "{ignored:?}");

    let tasks: Vec<Value> = world.json(["task", "export"]).as_array().unwrap().clone();
    assert_eq!(tasks.len(), 677);
    for line in &lines {
        let task = tasks.iter().find(|task| task["id"] == line["id"]).unwrap();
        let closed = line["status"] == "closed";
        assert_eq!(task["status"], if closed { "done" } else { "todo" });
        assert_eq!(task["title"], line["title"]);
        assert_eq!(task["priority"], line["priority"]);
        assert_eq!(task["body"], line.get("description").cloned().unwrap_or(json!("")));
        let millis = |time: &Value| time.as_str().unwrap().replace('Z', ".000Z");
        assert_eq!(task["created_at"], millis(&line["created_at"]));
        assert_eq!(task["updated_at"], millis(&line["updated_at"]));
        let labels = task["labels"].as_array().unwrap();
        assert!(labels.contains(&json!(format!("type:{}", line["issue_type"].as_str().unwrap()))));
        if closed {
            assert_eq!(task["closed_at"], millis(&line["closed_at"]));
        } else {
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

    let open = tasks.iter().filter(|task| task["status"] == "todo").count();
    assert_eq!((&report["open"], &report["skipped"]), (&json!(open), &json!(0)));
    let again = world.json(["task", "import", BACKLOG]);
    assert_eq!((&again["imported"], &again["unchanged"]), (&json!(0), &json!(677)));
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

    fs::write(world.root().join("more.yaml"), "- {id: A-1, title: one}\n- {id: A-2, title: two, status: done}\n")
        .unwrap();
    world.run(["task", "import", "more.yaml"]).exits(0);
    world.run(["task", "add", "A-9", "removed here"]).exits(0);
    world.run(["task", "rm", "A-9"]).exits(0);
    let before = world.run(["events", "--json"]).stdout;
    fs::write(
        world.root().join("more.yaml"),
        "- {id: A-1, title: changed}\n- {id: A-2, title: two, status: done}\n- {id: A-3, title: new}\n\
         - {id: A-4, title: new and done, status: done, depends_on: [gone], parent: lost}\n- {id: A-9, title: back}\n",
    )
    .unwrap();
    insta::assert_snapshot!(world.transcript(&[
        "fairway task import more.yaml --dry-run",
        "fairway task import more.yaml --dry-run --quiet",
    ]), @"
    $ fairway task import more.yaml --dry-run
    would import 2 tasks (1 open); 2 tasks exist already, unchanged (1 different in the file); 1 task skipped
    A-9: the task is ignored: it was removed here
    closed tasks have 2 links to unknown tasks; --json lists all
    $ fairway task import more.yaml --dry-run --quiet
    A-3
    A-4
    ");
    assert_eq!(world.run(["events", "--json"]).stdout, before);
    assert_eq!(world.json(["task", "show", "A-1"])["title"], "one");
}

/// A Markdown heading is a comment in YAML: such a file is read without an error, and has no task.
#[test]
fn file_without_tasks_is_refused() {
    let world = TestProject::new();
    for text in ["", "# Shop\n", "# Shop\n# A shop\n\n---\n", "[]", "{\"tasks\":[]}", "tasks: []\n"] {
        let run = world.run_with_stdin(["task", "import", "-", "--json"], text.as_bytes());
        let error = run.refuses(2, "invalid_value").error();
        assert!(error["message"].as_str().unwrap().starts_with("the file has no tasks"), "{error}");
    }
    world.run_with_stdin(["task", "import", "-", "--json"], b"# Shop\n\nA shop.\n").refuses(2, "invalid_line");
}

/// Links that a closed task lacks stop nothing: hundreds of them are one line, and those of open tasks are named.
#[test]
fn missing_ids_of_closed_tasks_are_one_note() {
    let world = TestProject::new();
    let run = world.run(["task", "import", BACKLOG]).exits(0);
    let report = TestProject::new().json(["task", "import", BACKLOG]);
    let open = report["open"].as_u64().unwrap();
    assert!(run.stdout.starts_with(&format!("imported 677 tasks ({open} open)")), "{}", run.stdout);
    let notes: Vec<&str> = run.stderr.lines().collect();
    assert!(notes.len() <= 14, "{notes:?}");
    assert!(notes.last().unwrap().contains("to unknown tasks; --json lists all"), "{notes:?}");
}

/// Export, import elsewhere, export: the same bytes. What is held comes in unheld, and says so.
#[test]
fn exported_tasks_are_the_same_after_an_import() {
    let (from, to, through_yaml) = (TestProject::new(), TestProject::new(), TestProject::new());
    from.run(["task", "import", BACKLOG]).exits(0);
    let odd = [
        "yes",
        "~",
        "0x1f",
        "1e3",
        "2024-01-01",
        "- a",
        "a: b",
        "# no",
        " padded ",
        "'",
        "\"",
        "\\n",
        "a\tb\nc",
        "|",
        ">",
        "*a",
        "&a",
        "!a",
        "%",
        "@",
        "`",
        "{",
        "[",
        "…",
        "a\u{2028}b",
        "\u{202e}x",
        "\u{feff}x",
        "null",
        ".inf",
        "\n\nx\n\n",
        "é👋",
    ];
    for (number, title) in odd.iter().enumerate() {
        let (id, body) = (format!("odd-{number}"), format!("--body={title}"));
        from.run(["task", "add", &id, "to be edited", &body, "--check", "a=b=c", "--review-domain", "data"]).exits(0);
        from.run(["task", "edit", &id, &format!("--title={title}")]).exits(0);
    }
    let exported = from.run(["task", "export"]).exits(0).stdout;
    to.run_with_stdin(["task", "import", "-"], exported.as_bytes()).exits(0);
    assert_eq!(to.run(["task", "export"]).stdout, exported);

    let yaml = from.run(["task", "export", "--format", "yaml"]).exits(0).stdout;
    through_yaml.run_with_stdin(["task", "import", "-"], yaml.as_bytes()).exits(0);
    let back = through_yaml.run(["task", "export"]).stdout;
    for (ours, theirs) in exported.lines().zip(back.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(back.len(), exported.len());
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
    let left_out: Vec<(&str, &str)> = report["ignored"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["task_id"].as_str().unwrap(), one["what"].as_str().unwrap()))
        .collect();
    assert_eq!(
        left_out,
        [
            ("T-1", "status"),
            ("T-1", "claim"),
            ("T-2", "status"),
            ("T-2", "claim"),
            ("T-2", "blocked_reason"),
            ("T-3", "status"),
            ("T-3", "claim"),
        ]
    );
    assert_eq!(to.json(["task", "list", "--held"]), json!([]));
    assert_eq!(to.json(["ready"]).as_array().unwrap().len(), 3);
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
    insta::assert_snapshot!(report, @r#"{"imported":1,"unchanged":0,"differing":0,"skipped":1,"open":1,"dry_run":false,"absent":[{"task_id":"bd-1","depends_on":"bd-2","type":"blocks"},{"task_id":"bd-1","depends_on":"bd-3","type":"parent-child"}],"ignored":[{"task_id":"bd-9","what":"status","value":"tombstone"},{"task_id":"bd-1","what":"related","value":"bd-4"},{"task_id":"bd-1","what":"assignee","value":"ann"}]}"#);
    insta::assert_snapshot!(world.redacted(&world.json(["task", "show", "bd-1"]).to_string()), @r#"{"id":"bd-1","title":"t","body":"what\n\n## Design\n\nhow\n\n## Acceptance criteria\n\nwhen\n\n## Notes\n\nalso","status":"todo","role":null,"lane":null,"parent":"bd-3","priority":2,"labels":["beads:in_progress","type:bug"],"paths":[],"depends_on":["bd-2"],"checks":[],"review_domains":[],"claim":null,"branch":null,"commit":null,"blocked_reason":null,"ready":false,"waiting_on":[{"code":"dep_absent","id":"bd-2","message":"bd-2 is not in this store"}],"created_at":"2026-01-01T10:00:00.000Z","updated_at":"2026-01-01T10:00:00.000Z","closed_at":null,"dependents":[],"checkpoint":null,"checkpoint_by":null,"landed_commit":null,"timeline":[{"seq":1,"at":"2026-01-01T00:00:02.000Z","kind":"task.imported","actor":"[user]","session_id":null,"message":"imported as todo"}]}"#);
}

/// One wrong line, and nothing comes in; the sentence names the line.
#[test]
fn broken_line_imports_nothing() {
    let world = TestProject::new();
    world.run(["task", "add", "--id", "old", "here before"]).exits(0);
    let before = world.run(["events", "--json"]).stdout;
    let good = "{\"id\":\"a\",\"title\":\"t\"}\n";
    let long = format!("{{\"id\":\"b\",\"title\":\"{}\"}}", "x".repeat(1 << 20));
    let cases = [
        "{\"id\":\"b\",\"title\":",
        "not json",
        "{\"id\":\"b\"}",
        "{\"title\":\"t\"}",
        "{\"id\":\"1\",\"title\":\"t\"}",
        "{\"id\":\"b\",\"title\":\"\"}",
        "{\"id\":\"b\",\"title\":\"a\\u001b[2J\"}",
        "{\"id\":\"b\",\"title\":\"a\\u0000\"}",
        long.as_str(),
        "{\"id\":\"a\",\"title\":\"again\"}",
        "{\"id\":\"b\",\"title\":\"t\",\"priority\":9}",
        "{\"id\":\"b\",\"title\":\"t\",\"priority\":\"high\"}",
        "{\"id\":\"b\",\"title\":\"t\",\"status\":\"maybe\"}",
        "{\"id\":\"b\",\"title\":\"t\",\"created_at\":\"yesterday\"}",
        "{\"id\":\"b\",\"title\":\"t\",\"paths\":[\"../[\"]}",
        "{\"id\":\"b\",\"title\":\"t\",\"labels\":\"x\"}",
    ];
    let mut said = String::new();
    for line in cases {
        let run = world.run_with_stdin(["task", "import", "-", "--json"], format!("{good}\n{line}\n").as_bytes());
        let error = run.refuses(2, "invalid_line").error();
        assert_eq!(error["details"]["line"], 3, "{error}");
        said.push_str(error["message"].as_str().unwrap());
        said.push('\n');
    }
    insta::assert_snapshot!(said, @r#"
    line 3: EOF while parsing a value (column 18)
    line 3: expected ident (column 2)
    line 3: title is missing
    line 3: id is missing
    line 3: task id '1' must start with a-z or A-Z and contain only a-z, A-Z, 0-9, '.', '_' and '-', at most 64 characters
    line 3: title must not be empty
    line 3: title contains the control character U+001B; only newline and tab are allowed
    line 3: title contains the control character U+0000; only newline and tab are allowed
    line 3: title is 1048576 bytes long; the limit is 4096
    line 3: a is on line 1 already
    line 3: priority 9 is not from 0 to 4
    line 3: invalid type: string "high", expected i64 (column 39)
    line 3: status 'maybe' is none of todo, in_progress, blocked, review, done, cancelled
    line 3: created_at 'yesterday' is not a time such as 2026-01-31T12:00:00Z
    line 3: path '../[' must be relative to the root and stay inside it
    line 3: invalid type: string "x", expected a sequence (column 34)
    "#);

    let circle = b"- {id: a, title: t, depends_on: [b]}\n- {id: b, title: t, depends_on: [a]}\n";
    let error = world.run_with_stdin(["task", "import", "-", "--json"], circle).refuses(5, "cycle").error();
    assert_eq!(error["details"]["path"], json!(["a", "b", "a"]));
    let family = b"- {id: a, title: t, parent: b}\n- {id: b, title: t, parent: a}\n";
    world.run_with_stdin(["task", "import", "-", "--json"], family).refuses(5, "cycle");
    let own = b"- {id: a, title: t, depends_on: [a]}\n";
    world.run_with_stdin(["task", "import", "-", "--json"], own).refuses(5, "cycle");
    let lanes = b"- {id: a, title: t, lane: ui}\n- {id: b, title: t, lane: api}\n";
    let error = world.run_with_stdin(["task", "import", "-", "--json"], lanes).refuses(3, "not_found").error();
    assert_eq!(error["details"]["ids"], json!(["api", "ui"]));
    world.run_with_stdin(["task", "import", "-", "--json"], b"\xff\xfe").refuses(2, "invalid_value");
    assert_eq!(world.run(["events", "--json"]).stdout, before);
}

/// A circle may close through tasks that were here before and waited for one that comes only now.
#[test]
fn cycle_through_existing_tasks_is_refused() {
    let world = TestProject::new();
    world.run_with_stdin(["task", "import", "-"], b"- {id: a, title: t, depends_on: [b]}\n").exits(0);
    let error = world
        .run_with_stdin(["task", "import", "-", "--json"], b"- {id: b, title: t, depends_on: [a]}\n")
        .refuses(5, "cycle")
        .error();
    assert_eq!(error["details"]["path"], json!(["b", "a", "b"]));
    // And one that ends the wait does so.
    world.run_with_stdin(["task", "import", "-"], b"- {id: b, title: t, status: done}\n").exits(0);
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
