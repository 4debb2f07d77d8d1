//! The board in a real browser, in one start of it: by keyboard alone, as wide as a phone, with hostile texts.

use super::*;
use crate::common::fixtures::{add_lane, discard_store};
use crate::common::require;
use crate::common::webdriver::{Chromium, ENTER, TAB};
use crate::hooks::{command, started};

const HOSTILE: &str = "<img src=x onerror='window.canary=1'><script>window.canary=1</script>";

/// Presses Tab until the focused element fulfils a condition.
fn tab_to(browser: &Chromium, condition: &str) {
    for _ in 0..200 {
        browser.press(TAB);
        if browser.run(&format!("const one = document.activeElement; return {condition}")) == json!(true) {
            return;
        }
    }
    panic!("no Tab leads to {condition}: {}", browser.run("return document.body.innerHTML"));
}

fn shows(browser: &Chromium, condition: &str) {
    eventually(condition, || (browser.run(&format!("return {condition}")) == json!(true)).then_some(()));
}

/// Clicks a button of an item as a person does, who is told to press again where the list has just moved.
fn click_in_list(browser: &Chromium, button: &str) {
    browser.click(button);
    if browser.run("return document.getElementById('result').textContent.includes('press again')") == json!(true) {
        // As long as the page counts as just moved.
        thread::sleep(Duration::from_millis(500));
        browser.click(button);
    }
}

#[test]
fn board_works_by_keyboard_on_a_phone_with_hostile_texts() {
    if !require::program("chromedriver") || !require::program("chromium") {
        return;
    }
    let world = TestProject::new();
    world.real_time();
    world.run(["hook", "install", "claude"]).exits(0);
    add_lane(&world, "api", None, None);
    for session in ["s1", "s2"] {
        world
            .run(["session", "upsert", "--id", session, "--role", "dev", "--lane", "api", "--provider", "claude"])
            .exits(0);
    }
    world.run(["task", "add", "T-1", HOSTILE]).exits(0);
    world.run(["--session", "s2", "claim", "T-1"]).exits(0);
    let server = Server::start(&world, &["--open"]);
    let browser = Chromium::start(&world);
    browser.resize(390, 844);
    browser.open(server.at["open_url"].as_str().unwrap());
    assert_eq!(browser.url(), format!("{}/", server.at["page"].as_str().unwrap()));
    shows(&browser, "document.getElementById('connection').textContent === 'live'");
    // A request of an agent, which waits for the answer, appears by itself.
    let run = run_of(&world, "s1");
    let mut payload = command("claude", "a", &format!("touch '{HOSTILE}'"));
    payload["hook_event_name"] = "PermissionRequest".into();
    let mut hook = world.fairway(["hook", "claude", "PermissionRequest"]);
    hook.env("FAIRWAY_SESSION_ID", "s1").env("FAIRWAY_RUN_ID", &run);
    let hook = started(hook, payload.to_string().as_bytes());
    shows(&browser, "document.querySelectorAll('#needs li').length === 1");
    assert_eq!(
        browser.run("return document.querySelector('#open pre').textContent"),
        json!(format!("touch '{HOSTILE}'"))
    );
    assert!(browser.run("return document.title").as_str().unwrap().starts_with("(1) "));
    assert!(browser.run("return document.getElementById('news').textContent").as_str().unwrap().contains("approval"));
    // Nothing is wider than the phone, and a thumb finds everything.
    assert_eq!(browser.run("return document.documentElement.scrollWidth <= innerWidth"), json!(true));
    let small = "return [...document.querySelectorAll('button, summary, textarea, .row')].filter((one) => one.checkVisibility()) \
                 .filter((one) => one.getBoundingClientRect().height < 44).map((one) => one.outerHTML)";
    assert_eq!(browser.run(small), json!([]));
    // A text that a person writes stays, with the focus, while its item changes.
    tab_to(&browser, "one.className === 'row' && one.textContent.includes('s2')");
    browser.press(ENTER);
    shows(&browser, "document.querySelector('#lane textarea') !== null");
    tab_to(&browser, "one.tagName === 'TEXTAREA' && one.closest('.session').textContent.includes('s2')");
    browser.press("run the te");
    world.run(["--session", "s2", "task", "block", "T-1", "--reason", "no key"]).exits(0);
    shows(&browser, "document.querySelector('#needs').textContent.includes('no key')");
    browser.press("sts");
    assert_eq!(browser.run("return document.activeElement.value"), json!("run the tests"));
    browser.press(TAB);
    browser.press(ENTER);
    shows(&browser, "!document.getElementById('result').hidden");
    assert_eq!(world.json(["outbox", "list", "--to-session", "s2"])[0]["content"], "run the tests");
    // The answer of a button reaches the agent that waits: on a phone, in the list.
    tab_to(&browser, "one.className === 'back'");
    browser.press(ENTER);
    tab_to(&browser, "one.className === 'allow' && one.closest('#needs') !== null");
    browser.press(ENTER);
    let answer = CommandOutput::from(hook.wait_with_output().unwrap()).exits(0);
    assert_eq!(answer.json()["hookSpecificOutput"]["decision"]["behavior"], "allow", "{answer:?}");
    shows(&browser, "document.getElementById('result').textContent.includes('allowed Bash of s1')");
    shows(&browser, "!document.querySelector('#needs').textContent.includes('approval')");
    // A refusal says why.
    click_in_list(&browser, "#needs a.row");
    browser.click("#open li.chosen summary");
    browser.run("document.querySelector('#open details[open] input[name=command]').value = 'fairway trust'");
    browser.run("document.querySelector('#open details[open] textarea').value = 'x'");
    browser.run("document.querySelector('#open details[open] button').click()");
    shows(&browser, "document.getElementById('result').textContent.includes('(invalid_value)')");
    let refused = browser.log();
    assert!(refused.len() == 1 && refused[0].contains("400"), "{refused:?}");
    // Nothing ran, and the policy had nothing to forbid.
    assert_eq!(browser.run("return window.canary ?? null"), Value::Null);
    assert_eq!(browser.run("return document.querySelectorAll('img, script:not([src])').length"), json!(0));
    // A page that is not current says so.
    assert_eq!(server.end().code, Some(0));
    shows(&browser, "document.getElementById('connection').textContent.includes('not current')");
}

/// What a person writes for a question stays when another one is asked, and cannot be sent any more. A structured agent is allowed
/// for good by a button that shows the agent's own rule.
#[test]
fn answer_is_locked_with_its_text_when_the_question_changes() {
    if !require::program("chromedriver") || !require::program("chromium") {
        return;
    }
    let world = TestProject::new();
    world.real_time();
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/acp_agent.py");
    configure(&world, &format!("[providers.fake.acp]\ncommand = [{agent:?}]"));
    world.run(["session", "launch", "--role", "dev", "--name", "q1", "--", "sleep", "300"]).exits(0);
    let ask = |question: &str| {
        let beat = ["session", "heartbeat", "q1", "--activity", "requires_action", "--waiting-for", question];
        world.run(beat).exits(0);
    };
    ask("may I run the tests?");
    let server = Server::start(&world, &["--open"]);
    let browser = Chromium::start(&world);
    browser.resize(1440, 900);
    browser.open(server.at["open_url"].as_str().unwrap());
    shows(&browser, "document.getElementById('connection').textContent === 'live'");
    // What needs a person first is open beside the list.
    assert_eq!(
        browser.run("return document.querySelector('#open li.chosen .asked').textContent"),
        json!("may I run the tests?")
    );
    tab_to(&browser, "one.tagName === 'TEXTAREA' && one.closest('#open') !== null");
    browser.press("yes, go on");
    ask("may I drop the database?");
    shows(&browser, "document.querySelector('#open li.kept') !== null");
    let locked = "#open li.kept.chosen";
    for (what, expected) in [
        ("textarea').value", json!("yes, go on")),
        ("textarea').readOnly", json!(true)),
        (".asked').textContent", json!("may I run the tests?")),
        ("form button').disabled", json!(true)),
    ] {
        assert_eq!(browser.run(&format!("return document.querySelector('{locked} {what}")), expected, "{what}");
    }
    let note = browser.run(&format!("return document.querySelector('{locked} [role=alert]').textContent"));
    assert!(note.as_str().unwrap().contains("nothing was sent"), "{note}");
    assert!(browser.run("return document.title").as_str().unwrap().starts_with("(1) "));
    // It stays while other things change, until the person has copied it.
    world.run(["session", "heartbeat", "q1", "--activity", "idle"]).exits(0);
    shows(&browser, "document.querySelectorAll('#needs li').length === 0");
    assert_eq!(browser.run(&format!("return document.querySelector('{locked} textarea').value")), json!("yes, go on"));
    browser.run(&format!("document.querySelector('{locked} > button').click()"));
    shows(&browser, "document.querySelector('#open li.kept') === null");
    world.run(["session", "launch", "--role", "dev", "--name", "a1", "--structured", "--provider", "fake"]).exits(0);
    world.run(["prompt", "a1", "RUN[[echo it ran]]"]).exits(0);
    let summary = "#open li.chosen summary[aria-label='allow it always… a1']";
    shows(&browser, &format!("document.querySelector(\"{summary}\") !== null"));
    browser.click(summary);
    assert_eq!(browser.run("return document.querySelector('#open details[open] .asked').textContent"), json!("Always"));
    let question = browser.run("return document.querySelector('#open details[open] .question').textContent");
    assert!(question.as_str().unwrap().contains("asks no more"), "{question}");
    click_in_list(&browser, "#open details[open] button");
    shows(&browser, "document.getElementById('result').textContent.includes('allowed Bash of a1')");
    let peek = || world.run(["session", "peek", "a1"]).exits(0).stdout;
    eventually("it runs", || peek().contains("[allowed always]\n  it ran\n").then_some(()));
    for session in ["q1", "a1"] {
        world.run(["session", "stop", session]).exits(0);
    }
}

#[test]
fn lane_opens_beside_the_list_with_its_live_screen() {
    if !require::program("chromedriver") || !require::program("chromium") {
        return;
    }
    let world = TestProject::new();
    world.real_time();
    let log = world.dir().join("log");
    fs::write(&log, "first line\n").unwrap();
    for lane in ["api", "docs"] {
        add_lane(&world, lane, None, None);
    }
    let tail = format!("exec tail -f '{}'", log.display());
    world
        .run(["session", "launch", "--role", "dev", "--lane", "api", "--name", "d1", "--", "sh", "-c", &tail])
        .exits(0);
    world.run(["session", "upsert", "--id", "d2", "--role", "dev", "--lane", "api"]).exits(0);
    let server = Server::start(&world, &["--open"]);
    let browser = Chromium::start(&world);
    browser.resize(1440, 900);
    browser.open(server.at["open_url"].as_str().unwrap());
    shows(&browser, "document.getElementById('connection').textContent === 'live'");
    // A row for each session, and one for a free lane. The first one is open beside the list, whose rows stay where they are.
    let place = "[...document.querySelectorAll('.list ul > li')].map((one) => one.dataset.key)";
    assert_eq!(browser.run(&format!("return {place}")), json!(["session:d1", "session:d2", "lane:docs"]));
    let screen = "document.querySelector('#lane pre[data-session=d1]')";
    shows(&browser, &format!("{screen}?.textContent === 'first line'"));
    let top = "return document.querySelector('[data-key=\"lane:docs\"]').getBoundingClientRect().top";
    let before = browser.run(top);
    browser.click("#free a.row");
    shows(&browser, "document.querySelector('#lane h2')?.textContent === 'docs'");
    assert_eq!(browser.run(top), before);
    browser.click("#work a.row");
    shows(&browser, &format!("{screen}?.textContent === 'first line'"));
    assert!(browser.url().ends_with("/#session%3Ad1"), "{}", browser.url());
    // The screen follows the output, of which no event tells.
    let print =
        |text: &str| fs::OpenOptions::new().append(true).open(&log).unwrap().write_all(text.as_bytes()).unwrap();
    let before = world.value("SELECT max(seq) FROM events");
    print(&format!("{HOSTILE}\n"));
    shows(&browser, &format!("{screen}.textContent === `first line\\n{}`", HOSTILE.replace('/', "\\/")));
    assert_eq!(world.value("SELECT max(seq) FROM events"), before);
    world.run(["session", "heartbeat", "d2", "--activity", "busy"]).exits(0);
    shows(&browser, "document.querySelector('#lane svg.strip rect.working title')?.textContent.startsWith('working')");
    // What a person writes there stays while rows change and come.
    let field = "#lane form:has(input[value=\"fairway prompt d1 TEXT\"]) textarea";
    browser.click(field);
    browser.press("run the tests");
    world.run(["session", "upsert", "--id", "d3", "--role", "dev", "--lane", "api"]).exits(0);
    shows(&browser, &format!("{place}.join() === 'session:d1,session:d2,session:d3,lane:docs'"));
    browser.press(" again");
    assert_eq!(browser.run("return document.activeElement.value"), json!("run the tests again"));
    browser.run(&format!("document.querySelector('{}').form.requestSubmit()", field.replace('\'', "\\'")));
    shows(&browser, "!document.getElementById('result').hidden");
    assert_eq!(world.json(["outbox", "list", "--to-session", "d1", "--all"])[0]["content"], "run the tests again");
    shows(
        &browser,
        "document.querySelector('#lane [aria-label=Messages]').textContent.includes('run the tests again')",
    );
    // A tab that a person has chosen stays, and the address keeps the lane open; a phone shows it instead of the list.
    browser.click("#lane label[for=tab-history]");
    world.run(["session", "heartbeat", "d2", "--activity", "idle"]).exits(0);
    shows(&browser, "document.querySelector('#work').textContent.includes('idle')");
    shows(&browser, "document.querySelector('#lane').textContent.includes('idle')");
    assert_eq!(browser.run("return document.getElementById('tab-history').checked"), json!(true));
    browser.resize(390, 844);
    browser.open(&browser.url());
    browser.run("location.reload()");
    shows(
        &browser,
        &format!(
            "{screen}?.textContent.startsWith('first line') && !document.querySelector('.list').checkVisibility()"
        ),
    );
    browser.click(".back");
    shows(
        &browser,
        "document.querySelector('.list').checkVisibility() && !document.querySelector('.open').checkVisibility()",
    );
    assert_eq!(browser.run("return window.canary ?? null"), Value::Null);
    assert_eq!(browser.log(), Vec::<String>::new());
    world.run(["session", "stop", "d1"]).exits(0);
}

#[test]
fn board_of_two_hundred_sessions_with_hostile_texts_fits_a_phone() {
    if !require::program("chromedriver") || !require::program("chromium") {
        return;
    }
    let world = TestProject::new();
    world.real_time();
    world.run(["session", "upsert", "--id", "s0", "--role", "dev"]).exits(0);
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    conn.execute_batch(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
         INSERT INTO lanes (name, status, created_at) SELECT 'lane-' || i, 'open', i FROM n;
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
         INSERT INTO agent_sessions (id, run_id, role, lane, provider, status, activity, host, started_at, last_heartbeat_at)
         SELECT 's-' || i, 'run-' || i, 'dev', iif(i <= 150, 'lane-' || (i % 20 + 1), NULL), 'acme', 'running',
             iif(i % 5 = 0, 'requires_action', 'busy'), 'elsewhere', i, i FROM n;
         INSERT INTO tasks (id, title, status, priority, lane, created_at, updated_at, claimant, claim_session, epoch, claimed_at,
             blocked_reason) SELECT 'T-' || substr(id, 3), 'x', iif(rowid % 7 = 0, 'review', iif(rowid % 7 = 1, 'blocked', 'in_progress')), 2, lane, 1, 1,
             id, id, 1, 1, iif(rowid % 7 = 1, 'x', NULL) FROM agent_sessions WHERE id LIKE 's-%';
         INSERT INTO claims (task_id, epoch, claimant, session_id, claimed_at) SELECT id, 1, claimant, claimant, 1 FROM tasks;
         INSERT INTO checkpoints (task_id, session_id, state, summary, created_at)
         SELECT id, claimant, 'active', 'x', 1 FROM tasks;
         INSERT INTO approvals (session_id, run_id, provider, tool, input, answerable, status, asked_at)
         SELECT id, run_id, 'acme', 'Bash', '{}', 1, 'pending', 1 FROM agent_sessions WHERE id IN ('s-1', 's-2');
         INSERT INTO exec_runs (id, session_id, status, command, cwd, background, max_output_bytes, recovery, host, boot_id,
             exit_code, error_message, actor, queued_at, started_at, finished_at, updated_at)
         SELECT '01900000-0000-7000-8000-000000000001', 's-1', 'failed', 'x', '/', 1, 1, 'lost', 'h', 'b', 1, 'x', 'me', n, n, n, n
             FROM (SELECT max(started_at) AS n FROM agent_sessions);
         INSERT INTO overlaps (lane_a, lane_b, level, files, since, told)
             VALUES ('lane-1', 'lane-2', 'conflict', '[[\"x\",\"conflict\",[]]]', 1, '[]');",
    )
    .unwrap();
    // One word that cannot be broken, markup, and what a person would not see.
    let text = format!("{HOSTILE}{}\u{202e}\u{200b}\u{1b}[31m'\"&amp;", "long".repeat(60));
    for update in [
        "UPDATE tasks SET title = ?1, blocked_reason = iif(status = 'blocked', ?1, NULL)",
        "UPDATE agent_sessions SET waiting_for = ?1, activity_source = ?1, activity_at = started_at WHERE id <> 's0'",
        "UPDATE checkpoints SET summary = ?1",
        "UPDATE approvals SET tool = ?1, input = json_object('command', ?1, ?1, ?1)",
        "UPDATE exec_runs SET command = ?1, error_message = ?1",
        "UPDATE overlaps SET files = json_array(json_array(?1, 'conflict', json('[]')))",
    ] {
        conn.execute(update, [&text]).unwrap();
    }
    drop(conn);
    let server = Server::start(&world, &["--open"]);
    let browser = Chromium::start(&world);
    browser.resize(390, 844);
    browser.open(server.at["open_url"].as_str().unwrap());
    shows(&browser, "document.getElementById('connection').textContent === 'live'");
    // Each session has its row, once: where it needs a person, or where it works.
    let sessions = "return new Set([...document.querySelectorAll('.list .more')].flatMap((one) => one.textContent.match(/s-?\\d+/) ?? [])).size";
    assert_eq!(browser.run(sessions), json!(201));
    assert!(browser.run("return document.querySelectorAll('#needs li').length").as_u64().unwrap() > 60);
    assert_eq!(browser.run("return document.documentElement.scrollWidth <= innerWidth"), json!(true));
    assert_eq!(browser.run("return window.canary ?? null"), Value::Null);
    assert_eq!(browser.run("return document.querySelectorAll('img, script:not([src])').length"), json!(0));
    // The first thing to decide is the first thing that the keyboard reaches, and its answer is acted on.
    tab_to(&browser, "one.className === 'row'");
    browser.press(ENTER);
    tab_to(&browser, "one.className === 'deny'");
    browser.press(ENTER);
    shows(&browser, "document.getElementById('result').textContent.includes('denied')");
    shows(
        &browser,
        "[...document.querySelectorAll('#needs .kind')].filter((one) => one.textContent === 'approval').length === 1",
    );
    // An event is one changed item, however many there are, and what a person types meanwhile stays.
    browser.run("location.hash = '#session:s-199'");
    tab_to(&browser, "one.tagName === 'TEXTAREA'");
    browser.press("go");
    world.run(["session", "heartbeat", "s-199", "--activity", "idle"]).exits(0);
    shows(&browser, "document.querySelector('#open li.chosen').textContent.includes('stopped')");
    assert_eq!(browser.run("return document.activeElement.value"), json!("go"));
    assert_eq!(browser.log(), Vec::<String>::new());
    drop(server);
    discard_store(&world);
}
