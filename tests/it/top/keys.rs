//! Keys that run commands, in a real terminal.

use serde_json::Value;

use super::tmux::Window;
use crate::sessions::{Sessions, eventually};

/// Records a permission request as a hook does.
fn ask(world: &Sessions, command: &str) -> i64 {
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let input = serde_json::json!({ "command": command }).to_string();
    let now = fairway_core::env::Clock::from_setting(None).now().millis();
    conn.execute(
        "INSERT INTO approvals (session_id, run_id, provider, tool, input, answerable, status, asked_at) \
         SELECT id, run_id, 'acme', 'Bash', ?1, 1, 'pending', ?2 FROM agent_sessions WHERE id = 'ada'",
        (&input, now),
    )
    .unwrap();
    let id = conn.last_insert_rowid();
    crate::common::fixtures::await_answer(world, id);
    conn.execute(
        "INSERT INTO events (at, kind, session_id, run_id, actor, data) SELECT ?2, 'approval.asked', id, run_id, id, \
         json_object('id', ?1, 'provider', 'acme', 'tool', 'Bash') FROM agent_sessions WHERE id = 'ada'",
        (id, now),
    )
    .unwrap();
    // Another change wakes who waits.
    world.run(["session", "heartbeat", "ada"]).exits(0);
    id
}

fn status(world: &Sessions, id: i64) -> Value {
    let all = world.json(["approvals", "list", "--all"]);
    all.as_array().unwrap().iter().find(|one| one["id"] == id).unwrap()["status"].clone()
}

#[test]
fn permission_request_is_answered_after_its_whole_text_was_shown() {
    let world = Sessions::new();
    world.run(["session", "upsert", "--id", "ada", "--role", "dev"]).exits(0);
    let long: String = (0..40).map(|number| format!("echo line {number}\n")).collect();
    let (first, second) = (ask(&world, "git push origin lane/cart"), ask(&world, &long));
    let window = Window::open(&world, 80, 24);
    window.types("fairway top");
    let board = window.shows("NEEDS YOU (2)");
    let row = board.lines().find(|line| line.contains("git push")).unwrap();
    assert!(row.contains("approval · ada") || board.contains("approval · ada"), "{board}");
    assert!(row.contains("›! Bash") && board.contains("a allow it   d deny it"), "{board}");

    // One that is answered elsewhere is asked no more, and its key answers nothing else.
    window.press(&["a"]);
    let dialog = window.shows("ALLOW IT?");
    assert!(dialog.contains("command: git push origin lane/cart"), "{dialog}");
    assert!(dialog.contains("a again: allow it"), "{dialog}");
    world.run(["approvals", "answer", &first.to_string(), "deny"]).exits(0);
    window.shows(&format!("approval {first} is no longer open"));
    window.shows("NEEDS YOU (1)");
    assert_eq!(status(&world, second), "pending");

    // A long one is read to its end first.
    window.press(&["d"]);
    window.shows("more below: Space");
    window.press(&["d"]);
    window.shows("read to the end first");
    assert_eq!(status(&world, second), "pending");
    window.press(&["G"]);
    window.until("the end is shown", |screen| screen.contains("line 39") && !screen.contains("more below"));
    window.press(&["d"]);
    window.shows("nothing needs you");
    assert_eq!(status(&world, second), "denied");
    window.press(&["q"]);
    window.is_sane();
}

#[test]
fn prompt_release_filter_and_refusals_are_those_of_the_commands() {
    let world = Sessions::new();
    world.run(["lane", "add", "cart"]).exits(0);
    for (session, task) in [("ada", "T-1"), ("bob", "T-2")] {
        world.run(["task", "add", task, "Some work"]).exits(0);
        world.run(["session", "upsert", "--id", session, "--role", "dev", "--lane", "cart"]).exits(0);
        world.run(["--session", session, "claim", task]).exits(0);
    }
    let window = Window::open(&world, 100, 24);
    window.types("fairway top");
    window.shows("AT WORK (2)");
    window.press(&["/"]);
    window.types("bob");
    window.until("only bob", |screen| screen.contains("filter: bob") && !screen.contains("ada"));

    // The prompt's text is in no argument list; pasted text presses no key.
    window.press(&["p"]);
    window.shows("prompt it: text");
    window.press(&["-l", "please run $(the) 'tests' q"]);
    window.press(&["Enter"]);
    eventually("the prompt is there", || {
        let sent = format!("{:?}", world.rows("SELECT * FROM messages"));
        sent.contains("please run $(the) 'tests' q").then_some(())
    });

    // The release of another's claim wants a reason; an empty one does nothing.
    window.press(&["r"]);
    window.shows("release: reason");
    window.press(&["Enter"]);
    window.shows("nothing was typed; nothing was done");
    window.press(&["r"]);
    window.shows("release: reason");
    window.types("gone home");
    window.shows("released T-2");
    assert_eq!(world.json(["task", "show", "T-2"])["status"], "todo");

    // Without a terminal to attach to, Enter explains. A refusal is shown, and the board goes on.
    window.press(&["Enter"]);
    window.shows("fairway explain session bob");
    window.press(&["q"]);
    window.press(&["O"]);
    window.types("T-99");
    window.shows("reopen a closed task: reason");
    window.types("too early");
    let refused = world.run(["task", "reopen", "T-99", "--reason", "too early"]).stderr;
    window.shows(refused.lines().next().unwrap().trim_start_matches("error: "));
    window.press(&["?"]);
    let keys = window.shows("reopen a closed task");
    assert!(keys.contains("p       prompt it") && !keys.contains("attach"), "{keys}");
    // The first leaves the list of keys, the second the filter.
    window.press(&["Escape"]);
    window.shows("filter: bob");
    window.press(&["Escape"]);
    window.until("everything again", |screen| screen.contains("ada") && !screen.contains("filter:"));
    window.press(&["q"]);
    window.is_sane();
}

#[test]
fn diff_new_task_its_priority_and_a_start_are_keys_away() {
    let mut world = Sessions::with_git();
    world.set("FAIRWAY_SESSIONS_DEFAULT_BACKEND", "shell");
    std::fs::create_dir(world.dir().join("bin")).unwrap();
    world.script("bin/claude", "#!/bin/sh\nexec sleep 600\n");
    world.script("bin/ed-it", "#!/bin/sh\nprintf 'edits %s in %s\\n' \"${1##*/}\" \"${PWD##*/}\"\nread -r _\n");
    world.run(["lane", "add", "cart", "--create-worktree"]).exits(0);
    std::fs::write(world.root().join(".fairway/worktrees/cart/total.txt"), "eleven\n").unwrap();
    let window = Window::open(&world, 100, 24);
    window.types(&format!("PATH={}:$PATH EDITOR=ed-it fairway top", world.dir().join("bin").display()));
    window.shows("FREE LANES (1)");
    window.press(&["3"]);
    window.until("the diff", |screen| screen.contains("+eleven") && screen.contains("fairway lane diff cart"));
    window.press(&["q"]);
    // The editor has the terminal until it ends.
    window.press(&["o"]);
    window.shows("edits cart in cart");
    window.press(&["Enter"]);
    window.shows("FREE LANES (1)");

    // Without a ready task nothing is started.
    window.press(&["N"]);
    window.shows("no task is ready");
    window.press(&["n"]);
    window.shows("new task: title");
    window.types("Fix the total");
    window.shows("1 ready");
    // A row's further keys work in their list, and what was done is taken back.
    window.press(&["g"]);
    window.shows("›· T-1 Fix the total");
    window.press(&["?"]);
    window.shows("P       change its priority");
    window.press(&["P"]);
    window.shows("change its priority: priority, 0 to 4");
    window.types("0");
    window.shows("u takes it back");
    assert_eq!(world.json(["task", "show", "T-1"])["priority"], 0);
    window.press(&["u"]);
    eventually("it is taken back", || (world.json(["task", "show", "T-1"])["priority"] == 2).then_some(()));
    window.press(&["N"]);
    window.shows("Start an agent on T-1: Fix the total?");
    window.press(&["n"]);
    window.shows("nothing was done");
    assert_eq!(world.json(["task", "show", "T-1"])["status"], "todo");
    window.press(&["N"]);
    window.shows("Start an agent on T-1");
    window.press(&["y"]);
    window.until("the agent", |screen| screen.contains("T-1-claude") && screen.contains("AT WORK (1)"));
    assert_eq!(world.json(["task", "show", "T-1"])["claimant"]["session_id"], "T-1-claude");
    window.shows("started T-1-claude");
    window.press(&["q"]);
    window.is_sane();
    world.run(["session", "stop", "--all"]).exits(0);
}
