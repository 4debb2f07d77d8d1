//! The pages beside the board: tasks, reviews, a lane, usage and the search. What they show, and what their forms do.

use super::page_client::{Client, Page, encoded, open};
use super::*;
use crate::cli::land::{NO_GATES, commit, project, status};
use crate::common::fixtures::discard_store;

/// The paths of all pages beside the board.
const PAGES: &[&str] = &["/tasks", "/tasks?task=T-1", "/review", "/lane?name=ui", "/usage", "/search?q=x"];

/// A project in which a session has submitted the task T-1 of the lane `ui`.
pub(super) fn submitted_work(files: &[(&str, &str)]) -> TestProject {
    let world = project(NO_GATES);
    world.real_time();
    world.run(["lane", "add", "ui", "--create-worktree"]).exits(0);
    world.run(["session", "upsert", "--id", "dev", "--role", "dev", "--lane", "ui"]).exits(0);
    world.run(["task", "add", "T-1", "Fix the total", "--lane", "ui", "--label", "money", "--priority", "1"]).exits(0);
    world.run(["--session", "dev", "claim", "T-1"]).exits(0);
    let done = commit(&world, "ui", files);
    world.run(["--session", "dev", "task", "submit", "T-1", "--commit", &done]).exits(0);
    world
}

fn done(page: &Page) -> (String, String) {
    assert_eq!(page.status, 200, "{}", page.body);
    let text = |name: &str| page.json()[name].as_str().unwrap().to_owned();
    (text("command"), text("line"))
}

#[test]
fn tasks_are_in_the_column_of_their_state_and_the_address_filters_them() {
    let world = submitted_work(&[("ui.txt", "one\n")]);
    world.run(["task", "add", "T-2", "Later", "--priority", "4", "--role", "docs"]).exits(0);
    world.run(["task", "add", "T-3", "Waits", "--depends-on", "T-1"]).exits(0);
    world.run(["task", "add", "T-4", "Over"]).exits(0);
    world.run(["task", "cancel", "T-4", "--reason", "x"]).exits(0);
    let (_server, client) = open(&world, &[]);
    let columns = |path: &str| -> Vec<String> {
        let page = client.get(path);
        assert_eq!(page.status, 200, "{}", page.body);
        let columns = page.body.split("<section class=\"column\" aria-label=\"").skip(1);
        columns
            .map(|column| {
                let title = column.split('"').next().unwrap();
                let ids: Vec<&str> =
                    column.split("data-task=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
                format!("{title}: {}", ids.join(" "))
            })
            .collect()
    };
    assert_eq!(
        columns("/tasks"),
        ["ready: T-2", "waiting: T-3", "in progress: ", "blocked: ", "in review: T-1"].map(str::to_owned)
    );
    assert_eq!(columns("/tasks?closed=yes").last().unwrap(), "closed: T-4");
    for (query, ids) in [("lane=ui", "T-1"), ("label=money", "T-1"), ("q=LATER", "T-2"), ("role=docs", "T-2")] {
        let found = columns(&format!("/tasks?{query}")).concat();
        let ids_found = ["T-1", "T-2", "T-3"].iter().filter(|id| found.contains(**id)).count();
        assert!(found.contains(ids) && ids_found == 1, "{query}: {found}");
    }
    // A card says what it waits for, and leads to its task with the filter kept.
    let page = client.get("/tasks?q=w").body;
    assert!(page.contains("href=\"tasks?q=w&amp;task=T-3#task\"") && page.contains("waits for T-1"), "{page}");
    assert_eq!(client.get("/tasks?lane=none").status, 404);
    assert_eq!(client.get("/tasks?task=T-9").status, 404);
}

#[test]
fn forms_of_tasks_are_the_commands_of_the_command_line_and_say_them() {
    let world = world();
    let (_server, client) = open(&world, &[]);
    let add = [
        ("command", "fairway task add TITLE"),
        ("title", "Fix the total"),
        ("body", "a\r\nb"),
        ("priority", "0"),
        ("was_priority", "2"),
        ("labels", "money, later"),
    ];
    assert_eq!(
        done(&client.act(&add)),
        (
            "fairway task add 'Fix the total' --body 'a\nb' --priority 0 --label money --label later".to_owned(),
            "added T-1".to_owned()
        )
    );
    let task = world.json(["task", "show", "T-1"]);
    assert_eq!(
        (&task["body"], &task["priority"], &task["labels"]),
        (&json!("a\nb"), &json!(0), &json!(["later", "money"]))
    );
    assert_eq!(client.act(&[("command", "fairway task add TITLE"), ("title", " ")]).code(), (400, "usage".into()));
    // Only what was changed is written: another person may have changed the rest meanwhile.
    world.run(["task", "edit", "T-1", "--title", "Fix the sum"]).exits(0);
    let edit = [
        ("command", "fairway task edit T-1"),
        ("title", "Fix the total"),
        ("was_title", "Fix the total"),
        ("priority", "3"),
        ("was_priority", "0"),
    ];
    assert_eq!(done(&client.act(&edit)).0, "fairway task edit T-1 --priority 3");
    let task = world.json(["task", "show", "T-1"]);
    assert_eq!((&task["title"], &task["priority"]), (&json!("Fix the sum"), &json!(3)));
    // What a card that is dropped does.
    assert_eq!(done(&client.act(&[("command", "fairway task edit T-1 --priority 1")])).1, "edited T-1: priority");
    // A command about a claim is about the claim that was drawn.
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    let page = client.get("/tasks?task=T-1").body;
    let epoch = page.split("name=\"epoch\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let block = [("command", "fairway task block T-1 --force --reason TEXT"), ("text", "no key"), ("epoch", &epoch)];
    assert_eq!(done(&client.act(&block)).0, "fairway task block T-1 --force --reason 'no key'");
    let release = [
        ("command", "fairway release T-1 --force --reason TEXT"),
        ("text", "x"),
        ("confirm", "yes"),
        ("epoch", &epoch),
    ];
    assert_eq!(client.act(&release[..3]).code(), (404, "not_found".into()), "without the claim that was drawn");
    assert_eq!(done(&client.act(&release)).1, "released T-1: blocked → todo");
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    assert_eq!(client.act(&release).code(), (409, "stale_claim".into()));
    assert_eq!(status(&world, "T-1"), "in_progress");
    for other in ["fairway task rm T-1", "fairway task edit T-1 --body x", "fairway start T-1 -- sh -c true"] {
        assert_eq!(client.act(&[("command", other)]).code(), (400, "invalid_value".into()), "{other}");
    }
}

#[test]
fn agent_is_started_from_the_first_screen_or_its_task_with_the_chosen_provider() {
    let world = TestProject::new();
    world.real_time();
    configure(&world, "[providers.acme]\ncommand = \"sleep 300\"\n[providers.other]\ncommand = \"sleep 300\"");
    let (_server, client) = open(&world, &[]);
    // The first screen of a project asks what should be done; a task begins it.
    let page = client.get("/").body;
    for text in ["What should be done?", "<option value=\"acme\"", "value=\"fairway start TITLE\""] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let begin = [("command", "fairway start TITLE"), ("provider", "acme"), ("title", "Refactor")];
    assert_eq!(client.act(&begin).code(), (400, "invalid_value".into()), "one word is an id");
    world.run(["task", "add", "T-1", "Fix the total"]).exits(0);
    assert!(!client.get("/").body.contains("fairway start TITLE"));
    world.run(["lane", "add", "ui"]).exits(0);
    world.run(["task", "edit", "T-1", "--lane", "ui"]).exits(0);
    let page = client.get("/tasks?task=T-1").body;
    assert!(page.contains("<option value=\"acme\">acme</option>"), "{page}");
    let started = client.act(&[("command", "fairway start T-1"), ("provider", "acme")]);
    assert_eq!(done(&started).0, "fairway start T-1 --provider acme");
    let claim = world.json(["task", "show", "T-1"])["claim"].clone();
    let session = claim["session_id"].as_str().unwrap();
    assert_eq!(world.json(["session", "show", session])["provider"], "acme");
    world.run(["session", "stop", session]).exits(0);
}

#[test]
fn card_is_reviewed_commented_on_and_landed_without_the_script() {
    let world = submitted_work(&[("ui.txt", "one\ntwo\n")]);
    let (_server, client) = open(&world, &[]);
    let page = client.get("/review").body;
    for text in ["Fix the total", "<code>two</code>", "press its number", "Waits for you"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    // The number of a line opens a form below it.
    let link = page.split("href=\"").find(|rest| rest.contains("comment on line 2")).unwrap();
    let link = link.split('"').next().unwrap().replace("&amp;", "&");
    let opened = client.get(&format!("/{}", link.split('#').next().unwrap())).body;
    let field = |name: &str, after: &str| {
        let rest = opened.split(after).nth(1).unwrap_or_else(|| panic!("{after}: {opened}"));
        rest.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    let words = field("command", "id=\"here\"");
    assert_eq!(field("place", "id=\"here\""), "ui.txt:2");
    assert!(words.starts_with("fairway review comment T-1 FILE:LINE TEXT --commit "), "{words}");
    let comment =
        [("command", words.as_str()), ("place", "ui.txt:2"), ("text", "why two?"), ("back", "review?task=T-1")];
    let own = format!("origin: {}\r\n", client.origin);
    let answer = client.post_with("/act", &own, &comment).body;
    assert!(answer.contains("ui.txt:2 &#39;why two?&#39; --commit"), "{answer}");
    assert!(answer.contains("<a href=\"review?task=T-1\">go on</a>"), "{answer}");
    assert!(client.get("/review").body.contains("why two?"));
    // Where a form leads back to is an address of this site.
    for evil in ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/tasks"] {
        let fields = [("command", "fairway task add TITLE"), ("title", "x"), ("back", evil)];
        let answer = client.post_with("/act", &own, &fields).body;
        assert!(answer.contains("<a href=\"./\">go on</a>"), "{answer}");
    }
    let verdict = |word: &str| {
        let page = client.get("/review?task=T-1").body;
        let words = page.split("name=\"command\" value=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        words.filter(|words| words.contains(word)).map(str::to_owned).next().unwrap_or_else(|| panic!("{word}: {page}"))
    };
    let changes = verdict("--verdict changes");
    assert_eq!(client.act(&[("command", &changes)]).code(), (400, "usage".into()), "no notes");
    let asked = client.act(&[("command", &changes), ("text", "one is enough")]);
    assert!(done(&asked).0.ends_with("--notes 'one is enough'"), "{}", asked.body);
    assert_eq!(status(&world, "T-1"), "in_progress");
    assert!(client.get("/review").body.contains("No submitted task waits"));
    // The rework: only what is new is shown.
    let again = commit(&world, "ui", &[("ui.txt", "one\n2\n")]);
    world.run(["--session", "dev", "task", "submit", "T-1", "--commit", &again]).exits(0);
    let page = client.get("/review").body;
    assert!(page.contains("Only what is new") && page.matches("<tr class=\"added\">").count() == 1);
    let page = client.get("/review?all=yes").body;
    assert!(
        page.matches("<tr class=\"added\">").count() == 2
            && page.contains("href=\"review?task=T-1&amp;all=yes&amp;split=yes\"")
    );
    let page = client.get("/review?split=yes").body;
    assert!(page.contains("<td class=\"half deleted\"><code>two</code>") && page.contains("in one column"), "{page}");
    // Its row says what it is, who wrote it and how large it is.
    let row = page.split("class=\"row\" href=\"review?task=T-1\"").nth(1).unwrap().split("</a>").next().unwrap();
    assert!(row.contains("T-1 Fix the total") && row.contains(">dev<") && row.contains("<time "), "{row}");
    let approved = client.act(&[("command", &verdict("--verdict approve"))]);
    assert!(done(&approved).1.contains("approve"), "{}", approved.body);
    let land = [("command", "fairway land T-1"), ("confirm", "yes")];
    assert_eq!(client.act(&land[..1]).code(), (403, "not_confirmed".into()));
    assert!(done(&client.act(&land)).1.contains("landed"));
    assert_eq!(status(&world, "T-1"), "done");
}

#[test]
fn put_off_card_goes_behind_the_others() {
    let world = submitted_work(&[("ui.txt", "one\n")]);
    let (_server, client) = open(&world, &[]);
    let put_off = client.act(&[("command", "fairway review next --defer T-1")]);
    assert_eq!(done(&put_off).1, "put off T-1, until it is submitted again");
    assert_eq!(world.json(["review", "next"])["deferred"], json!(["T-1"]));
    assert!(client.get("/review").body.contains("put off"));
}

#[test]
fn lane_usage_and_search_show_what_the_commands_print() {
    let world = submitted_work(&[("ui.txt", "one\n")]);
    world.run([
        "--session", "dev", "evidence", "add", "T-1", "--kind", "tests", "--result", "pass", "--command", "make",
    ]);
    world.run(["prompt", "dev", "look at the total"]);
    world.run(["--session", "dev", "exec", "spawn", "--", "echo", "built"]).exits(0);
    let (_server, client) = open(&world, &[]);
    let lane = client.get("/lane?name=ui").body;
    for text in [
        "<code>one</code>",
        "claimed: make",
        "<code>echo built</code>",
        "look at the total",
        "Fix the total",
        "fairway prompt dev TEXT",
        "fairway review comment T-1 FILE:LINE TEXT --commit ",
    ] {
        assert!(lane.contains(text), "{text}: {lane}");
    }
    assert_eq!(client.get("/lane?name=none").status, 404);
    // A line of its commit can be commented on, one that is in no commit yet cannot.
    fs::write(world.root().join(".fairway/worktrees/ui/new.txt"), "later\n").unwrap();
    let lane = client.get("/lane?name=ui&at=ui.txt:1").body;
    assert!(lane.contains("id=\"here\"") && lane.contains("In no commit yet"), "{lane}");
    assert!(lane.contains("data-place=\"ui.txt:1\"") && !lane.contains("data-place=\"new.txt:1\""), "{lane}");
    assert!(client.get("/").body.contains(" data-lane=\"ui\">"));
    let usage = client.get("/usage?days=7").body;
    assert_eq!((usage.matches("<svg").count(), usage.matches("<rect").count()), (3, 21));
    assert!(usage.contains("nothing was reported") && !usage.contains("style="), "{usage}");
    let found = client.get("/search?q=TOTAL").body;
    assert!(found.contains("no hits"), "{found}");
    let found = client.get("/search?q=total").body;
    assert!(found.contains("Fix the <mark>total</mark>") && found.contains("href=\"tasks?task=T-1#task\""), "{found}");
}

#[test]
fn reader_of_the_pages_gets_no_form_and_no_stranger_gets_a_page() {
    let world = submitted_work(&[("ui.txt", "one\n")]);
    let (_server, client) = open(&world, &[]);
    let stranger = Client { cookie: String::new(), origin: client.origin.clone(), port: client.port };
    for path in PAGES {
        assert_eq!(stranger.get(path).status, 401, "{path}");
    }
    let reader = client.pair("read-only");
    for path in PAGES {
        let page = reader.get(path);
        assert_eq!(page.status, 200, "{path}: {}", page.body);
        assert!(!page.body.contains("method=\"post\"") && page.body.contains("may only look"), "{path}: {}", page.body);
        assert!(!page.body.contains("comment on line"), "{path}");
    }
    assert_eq!(reader.act(&[("command", "fairway land T-1"), ("confirm", "yes")]).code(), (403, "not_admitted".into()));
}

/// Texts that a browser must not take for markup, and what a person would not see.
const HOSTILE: &str =
    "\"'><script src=//evil>canary</script><img src=x onerror=canary()>&lt;\u{202e}\u{200b}\u{1b}[31m";

#[test]
fn hostile_text_is_shown_as_text_on_every_page() {
    let world = submitted_work(&[("ui.txt", &format!("{HOSTILE}\n"))]);
    world.run(["review", "comment", "T-1", "ui.txt:1", "x"]).exits(0);
    world.run(["review", "record", "T-1", "--verdict", "approve", "--notes", "x"]).exits(0);
    world.run(["--session", "dev", "evidence", "add", "T-1", "--kind", "tests", "--result", "pass", "--command", "x"]);
    world.run(["prompt", "dev", "x"]);
    // The commands refuse such a text in many places; the store may have it all the same.
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    for update in [
        "UPDATE tasks SET title = ?1, body = ?1",
        "UPDATE lanes SET title = ?1",
        "UPDATE review_comments SET content = ?1, reviewer = ?1",
        "UPDATE reviews SET notes = ?1, reviewer = ?1",
        "UPDATE evidence SET command = ?1",
        "UPDATE messages SET content = ?1",
    ] {
        assert!(conn.execute(update, [HOSTILE]).unwrap() > 0, "{update}");
    }
    drop(conn);
    let (_server, client) = open(&world, &[]);
    let query = encoded(HOSTILE);
    let paths = [
        "/tasks".to_owned(),
        "/tasks?task=T-1".to_owned(),
        format!("/tasks?q={query}&label={query}&group={query}"),
        "/review?task=T-1".to_owned(),
        format!("/review?task=T-1&at={query}"),
        "/lane?name=ui".to_owned(),
        "/usage".to_owned(),
        format!("/usage?days={query}"),
        "/search?q=canary".to_owned(),
        format!("/search?q={query}"),
    ];
    for path in paths {
        let page = client.get(&path);
        assert_eq!(page.status, 200, "{path}: {}", page.body);
        for live in ["<script src=//", "<img", "\u{202e}", "\u{200b}", "\u{1b}", "'><"] {
            assert!(!page.body.contains(live), "{live:?} in {path}: {}", page.body);
        }
        assert_eq!(page.body.matches("<script").count(), 1, "{path}");
    }
    let shown = client.get("/review?task=T-1").body;
    assert!(shown.matches("&lt;img src=x onerror=canary()&gt;&amp;lt;\\u{202e}\\u{200b}").count() >= 4, "{shown}");
    discard_store(&world);
}
