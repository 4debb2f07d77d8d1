//! The pages of tasks and reviews in a real browser: on a phone by what is written there, by keyboard, and with a mouse.

use super::pages::submitted_work;
use super::{axe, *};
use crate::cli::land::{NO_GATES, project, status};
use crate::common::require;
use crate::common::webdriver::{Chromium, ENTER, TAB};

fn shows(browser: &Chromium, condition: &str) {
    eventually(condition, || (browser.run(&format!("return {condition}")) == json!(true)).then_some(()));
}

/// Presses what is labelled so and can be seen: a person reads no more than that.
fn tap(browser: &Chromium, label: &str) {
    let found = format!(
        "const all = [...document.querySelectorAll('button, summary, a, label')].filter((one) => one.checkVisibility()); \
         const one = all.find((one) => one.textContent.trim() === {label}); \
         if (one) {{ one.scrollIntoView({{ block: 'center' }}); one.click(); }} return Boolean(one);",
        label = json!(label)
    );
    eventually(label, || (browser.run(&found) == json!(true)).then_some(()));
}

/// Presses what a selector finds and can be seen, and gives it the focus: in one step, because what is pressed may be drawn anew.
fn touch(browser: &Chromium, selector: &str) {
    let found = format!(
        "const one = [...document.querySelectorAll({})].find((one) => one.checkVisibility()); one?.click(); one?.focus(); \
         return Boolean(one)",
        json!(selector)
    );
    eventually(selector, || (browser.run(&found) == json!(true)).then_some(()));
}

fn says(browser: &Chromium, text: &str) {
    shows(browser, &format!("document.getElementById('result').textContent.includes({})", json!(text)));
}

/// Nothing is wider than the screen, and a thumb finds everything.
fn fits_a_thumb(browser: &Chromium) {
    assert_eq!(browser.run("return document.documentElement.scrollWidth <= innerWidth"), json!(true));
    let small = "return [...document.querySelectorAll('button, summary, textarea, select, nav a')]\
                 .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 44).map((one) => one.outerHTML)";
    assert_eq!(browser.run(small), json!([]));
}

#[test]
fn person_on_a_phone_reviews_comments_on_a_line_and_lands_by_what_is_written_there() {
    if !require::program("chromedriver") || !require::program("chromium") {
        return;
    }
    let long = format!("one\n{}\nthree\n", "a line that is wider than a phone ".repeat(10));
    let world = submitted_work(&[("ui.txt", &long)]);
    let server = Server::start(&world, &["--open"]);
    let browser = Chromium::start(&world);
    browser.resize(390, 844);
    browser.open(server.at["open_url"].as_str().unwrap());
    tap(&browser, "review");
    shows(&browser, "document.body.textContent.includes('press its number')");
    fits_a_thumb(&browser);
    tap(&browser, "2");
    shows(&browser, "document.activeElement.matches('.fresh textarea')");
    fits_a_thumb(&browser);
    browser.press("why so long?");
    tap(&browser, "comment");
    says(&browser, "commented on ui.txt:2 of T-1");
    shows(&browser, "document.querySelector('tr.note .comment') !== null");
    axe::check(&browser, server.at["page"].as_str().unwrap());
    browser.resize(390, 844);
    tap(&browser, "review");
    shows(&browser, "document.body.textContent.includes('why so long?')");
    // A verdict asks nothing, and is taken back where it is told.
    tap(&browser, "approve");
    says(&browser, "recorded review");
    tap(&browser, "undo");
    says(&browser, "took back the verdict 'approve' of T-1");
    assert_eq!(world.json(["review", "list", "T-1"]), json!([]));
    // A file that was viewed is folded until it changes.
    tap(&browser, "viewed");
    assert_eq!(browser.run("return document.querySelector('.file details').open"), json!(false));
    browser.run("location.reload()");
    shows(
        &browser,
        "document.querySelector('.viewed input')?.checked === true && !document.querySelector('.file details').open",
    );
    tap(&browser, "approve");
    says(&browser, "recorded review");
    // The card stays, so that it can be landed.
    shows(&browser, "document.querySelector('.findings').textContent.includes('approve')");
    tap(&browser, "close");
    tap(&browser, "land it…");
    fits_a_thumb(&browser);
    tap(&browser, "land it");
    says(&browser, "landed");
    assert_eq!(status(&world, "T-1"), "done");
    let comments = world.json(["review", "comments", "T-1", "--all"]);
    assert_eq!(comments[0]["text"], "why so long?");
    assert_eq!(browser.log(), Vec::<String>::new());
}

/// On the first screen: a task, an agent, a message to it, an answer to its question, and its end.
#[test]
fn person_on_a_phone_begins_a_project_by_what_is_written_there() {
    if !require::program("chromedriver") || !require::program("chromium") {
        return;
    }
    let world = project(NO_GATES);
    world.real_time();
    configure(&world, "[providers.acme]\ncommand = \"sleep 300\"");
    let server = Server::start(&world, &["--open"]);
    let browser = Chromium::start(&world);
    browser.resize(390, 844);
    browser.open(server.at["open_url"].as_str().unwrap());
    shows(&browser, "document.querySelector('#welcome h3').checkVisibility()");
    fits_a_thumb(&browser);
    browser.run("document.querySelector('#welcome select').value = 'acme'");
    touch(&browser, "#welcome input[name=title]");
    browser.press("Fix the total");
    tap(&browser, "start");
    says(&browser, "$ fairway start 'Fix the total' --provider acme");
    shows(&browser, "document.getElementById('welcome').hidden && document.querySelectorAll('#work li').length === 1");
    tap(&browser, "close");
    touch(&browser, "#work a.row");
    shows(&browser, "document.querySelector('#lane textarea') !== null");
    touch(&browser, "#lane textarea");
    browser.press("run the tests");
    tap(&browser, "send");
    says(&browser, "$ fairway prompt T-1-acme 'run the tests'");
    tap(&browser, "close");
    let ask = ["session", "heartbeat", "T-1-acme", "--activity", "requires_action", "--waiting-for", "which currency?"];
    world.run(ask).exits(0);
    touch(&browser, ".back");
    shows(&browser, "document.querySelectorAll('#needs li').length === 1");
    touch(&browser, "#needs a.row");
    touch(&browser, "#open li.chosen textarea");
    browser.press("euro");
    tap(&browser, "answer it");
    shows(&browser, "!document.getElementById('result').hidden");
    tap(&browser, "close");
    // What was asked is settled, so the list is shown again.
    shows(&browser, "document.querySelector('#work a.row')?.checkVisibility() === true");
    touch(&browser, "#work a.row");
    tap(&browser, "stop…");
    fits_a_thumb(&browser);
    tap(&browser, "stop");
    says(&browser, "$ fairway session stop T-1-acme");
    assert_eq!(browser.log(), Vec::<String>::new());
}

/// Presses Tab until the focused element fulfils a condition.
fn tab_to(browser: &Chromium, condition: &str) {
    for _ in 0..100 {
        browser.press(TAB);
        if browser.run(&format!("const one = document.activeElement; return {condition}")) == json!(true) {
            return;
        }
    }
    panic!("no Tab leads to {condition}: {}", browser.run("return document.body.innerHTML"));
}

#[test]
fn tasks_are_added_and_edited_by_keyboard_and_dragged_to_another_priority() {
    if !require::program("chromedriver") || !require::program("chromium") {
        return;
    }
    let world = world();
    world.run(["task", "add", "T-1", "Fix the total"]).exits(0);
    let server = Server::start(&world, &["--open"]);
    let browser = Chromium::start(&world);
    browser.open(server.at["open_url"].as_str().unwrap());
    browser.open(&format!("{}/tasks", server.at["page"].as_str().unwrap()));
    shows(&browser, "document.getElementById('connection').textContent === 'live'");
    tab_to(&browser, "one.tagName === 'SUMMARY' && one.textContent === '+ task'");
    browser.press(ENTER);
    tab_to(&browser, "one.name === 'title'");
    browser.press("Describe the cart");
    tab_to(&browser, "one.name === 'labels'");
    browser.press("docs");
    browser.press(ENTER);
    says(&browser, "$ fairway task add 'Describe the cart' --label docs\nadded T-2");
    shows(&browser, "document.getElementById('card-T-2') !== null");
    // What is added elsewhere appears by itself.
    world.run(["task", "add", "T-3", "Added by another"]).exits(0);
    shows(&browser, "document.getElementById('card-T-3') !== null");
    tab_to(&browser, "one.closest('#card-T-1') !== null");
    browser.press(ENTER);
    shows(&browser, "document.getElementById('task-title')?.textContent.includes('Fix the total') === true");
    tab_to(&browser, "one.tagName === 'SUMMARY' && one.textContent === 'edit…'");
    browser.press(ENTER);
    // A field that the Tab key reaches is selected: what is typed replaces it.
    tab_to(&browser, "one.name === 'title' && one.closest('#task') !== null");
    browser.press("Fix the total and the tax");
    browser.press(ENTER);
    says(&browser, "$ fairway task edit T-1 --title 'Fix the total and the tax'");
    assert_eq!(world.json(["task", "show", "T-1"])["title"], "Fix the total and the tax");
    // A mouse drags a card into a group that is empty.
    browser.run(
        "const [card, group] = [document.getElementById('card-T-1'), document.querySelector('ul[data-drop=\"--priority 0\"]')]; \
         const data = new DataTransfer(); const send = (to, kind) => to.dispatchEvent(new DragEvent(kind, \
         { bubbles: true, cancelable: true, dataTransfer: data })); \
         send(card, 'dragstart'); send(group, 'dragover'); send(group, 'drop'); send(card, 'dragend');",
    );
    says(&browser, "$ fairway task edit T-1 --priority 0\nedited T-1: priority");
    shows(&browser, "document.querySelector('ul[data-drop=\"--priority 0\"] #card-T-1') !== null");
    assert_eq!(world.json(["task", "show", "T-1"])["priority"], 0);
    browser.resize(390, 844);
    browser.open(&format!("{}/tasks?task=T-1", server.at["page"].as_str().unwrap()));
    fits_a_thumb(&browser);
    assert_eq!(browser.log(), Vec::<String>::new());
}

/// The first screen has at least fourteen rows on a desk, what needs a person first; on a phone its first item.
#[test]
fn first_screen_has_fourteen_rows_and_what_needs_a_person_first() {
    if !require::program("chromedriver") || !require::program("chromium") {
        return;
    }
    let world = world();
    for number in 1..=6 {
        world.run(["lane", "add", &format!("lane-{number}")]).exits(0);
    }
    world.run(["lane", "add", "at-rest"]).exits(0);
    for number in 1..=20 {
        let id = format!("q{number}");
        let activity: &[&str] =
            if number > 6 { &["busy"] } else { &["requires_action", "--waiting-for", "which currency?"] };
        world.run(["session", "upsert", "--id", &id, "--role", "dev", "--lane", &format!("lane-{}", number % 6 + 1)]);
        world.run([&["session", "heartbeat", &id, "--activity"], activity].concat());
    }
    let server = Server::start(&world, &["--open"]);
    let browser = Chromium::start(&world);
    browser.resize(1440, 900);
    browser.open(server.at["open_url"].as_str().unwrap());
    shows(&browser, "document.querySelectorAll('#needs li').length === 6");
    let key = |place: &str| browser.run(&format!("return {place}?.closest('li').dataset.key"));
    let first = world.json(["status"])["needs_you"][0]["id"].clone();
    assert_eq!(key("document.querySelector('.list a.row')"), first);
    assert_eq!(key("[...document.querySelectorAll('.list a.row')].at(-1)"), json!("lane:at-rest"));
    let seen = "return [...document.querySelectorAll('.list a.row')].filter((one) => one.getBoundingClientRect().bottom <= innerHeight).length";
    let rows = browser.run(seen).as_u64().unwrap();
    assert!(rows >= 14, "{rows} rows");
    // A row has two lines, and nothing to press but itself.
    let high = "return Math.max(...[...document.querySelectorAll('.list a.row')].map((one) => one.getBoundingClientRect().height))";
    assert!(browser.run(high).as_f64().unwrap() < 56.0, "{}", browser.run(high));
    assert_eq!(
        browser.run("return [...document.querySelectorAll('.list li button')].some((one) => one.checkVisibility())"),
        json!(false)
    );
    let open = "return document.querySelector('#open li.chosen .ask').getBoundingClientRect().top";
    assert!(browser.run(open).as_f64().unwrap() < 450.0, "what it asks is open beside the list");
    browser.resize(390, 844);
    let at = browser.run("return document.querySelector('#needs li').getBoundingClientRect().top");
    assert!(at.as_f64().unwrap() < 200.0, "{at}");
    assert_eq!(browser.run("return document.documentElement.scrollWidth <= innerWidth"), json!(true));
    // Keys: to the next row, to the field of its agent, and from there to the server; the palette finds a lane by its name.
    browser.resize(1440, 900);
    shows(&browser, "document.querySelector('.open').checkVisibility()");
    browser.press("j");
    shows(&browser, "document.querySelectorAll('.list a.row')[1].getAttribute('aria-current') === 'true'");
    shows(&browser, "document.querySelector('#lane textarea') !== null");
    browser.press("p");
    assert_eq!(browser.run("return document.activeElement.tagName"), json!("TEXTAREA"));
    browser.press("go on");
    let with_control = |key: &str| {
        let event = json!({ "key": key, "ctrlKey": true, "bubbles": true, "cancelable": true });
        browser.run(&format!("document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {event}))"));
    };
    with_control("Enter");
    says(&browser, "$ fairway prompt q");
    with_control("k");
    browser.press("at-rest");
    browser.press(ENTER);
    shows(&browser, "document.querySelector('#lane h2')?.textContent === 'at-rest'");
    browser.press("?");
    says(&browser, "next, previous row");
    assert_eq!(browser.log(), Vec::<String>::new());
}
