//! The board in a real browser, in one start of it: by keyboard alone, as wide as a phone, with hostile texts.

use super::*;
use crate::{
    common::{
        fixtures::add_lane,
        require,
        webdriver::{Chromium, ENTER, TAB},
    },
    hooks::{command, started},
};

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
        browser.run("return document.querySelector('#needs pre').textContent"),
        json!(format!("touch '{HOSTILE}'"))
    );
    assert!(browser.run("return document.title").as_str().unwrap().starts_with("(1) "));
    assert!(browser.run("return document.getElementById('news').textContent").as_str().unwrap().contains("approval"));
    // Nothing is wider than the phone, and a thumb finds everything.
    assert_eq!(browser.run("return document.documentElement.scrollWidth <= innerWidth"), json!(true));
    let small = "return [...document.querySelectorAll('button, summary, textarea')].filter((one) => one.checkVisibility()) \
                 .filter((one) => one.getBoundingClientRect().height < 44).map((one) => one.outerHTML)";
    assert_eq!(browser.run(small), json!([]));
    // A text that a person writes stays, with the focus, while its item changes.
    tab_to(
        &browser,
        "one.tagName === 'SUMMARY' && one.textContent === 'prompt…' && one.closest('.session').textContent.includes('s2')",
    );
    browser.press(ENTER);
    tab_to(&browser, "one.tagName === 'TEXTAREA'");
    browser.press("run the te");
    world.run(["--session", "s2", "task", "block", "T-1", "--reason", "no key"]).exits(0);
    shows(&browser, "document.querySelector('#lanes').textContent.includes('no key')");
    browser.press("sts");
    assert_eq!(browser.run("return document.activeElement.value"), json!("run the tests"));
    browser.press(TAB);
    browser.press(ENTER);
    shows(&browser, "!document.getElementById('result').hidden");
    assert_eq!(world.json(["outbox", "list", "--to-session", "s2"])[0]["content"], "run the tests");
    // The answer of a button reaches the agent that waits.
    tab_to(&browser, "one.className === 'allow'");
    browser.press(ENTER);
    let answer = CommandOutput::from(hook.wait_with_output().unwrap()).exits(0);
    assert_eq!(answer.json()["hookSpecificOutput"]["decision"]["behavior"], "allow", "{answer:?}");
    shows(&browser, "document.getElementById('result').textContent.startsWith('allowed Bash of s1')");
    shows(&browser, "!document.querySelector('#needs').textContent.includes('approval')");
    // A refusal says why.
    browser.click("#needs summary");
    browser.run("document.querySelector('#needs details[open] input[name=command]').value = 'fairway trust'");
    browser.run("document.querySelector('#needs details[open] textarea').value = 'x'");
    browser.run("document.querySelector('#needs details[open] button').click()");
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
