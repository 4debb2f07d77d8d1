//! The page in a real browser that may not be live: a proxy that fell silent, a server that was stopped, a store that vanished or was
//! restored, a host that slept.

use std::time::Instant;

use super::*;
use crate::common::require;
use crate::common::unsteady_network::UnsteadyNetwork;
use crate::common::webdriver::Chromium;

/// A page that is not live says so after this time at the latest, and a busy machine may take more besides.
const TOLD_WITHIN: Duration = Duration::from_secs(20);
const SLACK: Duration = Duration::from_secs(4);

fn shows(browser: &Chromium, condition: &str) {
    eventually(condition, || (browser.run(&format!("return {condition}")) == json!(true)).then_some(()));
}

fn is_live(browser: &Chromium) {
    shows(browser, "document.getElementById('connection').textContent === 'live'");
    assert_eq!(browser.run("return document.body.classList.contains('stale')"), json!(false));
    assert_eq!(browser.run("return document.title.startsWith('as of')"), json!(false));
}

/// The page becomes grey in time, says since when, and its buttons act no more.
fn is_not_live(browser: &Chromium, since: Instant) {
    shows(browser, "document.body.classList.contains('stale')");
    assert!(since.elapsed() < TOLD_WITHIN + SLACK, "{:?}", since.elapsed());
    let as_of = regex::Regex::new(r"^as of \d\d:\d\d:\d\d").unwrap();
    let title = browser.run("return document.title");
    let said = browser.run("return document.getElementById('connection').textContent");
    for text in [&title, &said] {
        assert!(as_of.is_match(text.as_str().unwrap()), "{title} {said}");
    }
    assert_eq!(browser.run("return getComputedStyle(document.getElementById('board')).filter"), json!("grayscale(1)"));
    browser.run("document.getElementById('result').textContent = ''");
    browser.run("document.querySelector('#open textarea').value = 'go on'");
    browser.run("document.querySelector('#open form').requestSubmit()");
    let answer = browser.run("return document.getElementById('result').textContent");
    assert!(answer.as_str().unwrap().contains("reload the page"), "{answer}");
}

#[test]
fn page_that_is_not_live_says_so_in_time_and_does_nothing() {
    if !require::program("chromedriver") || !require::program("chromium") {
        return;
    }
    let world = world();
    let server = Server::start(&world, &["--open"]);
    let network = UnsteadyNetwork::start(server.port());
    let by = format!("--host-resolver-rules=MAP *.localhost 127.0.0.1:{}", network.port());
    let browser = Chromium::start_with(&world, &[&by]);
    browser.open(server.at["open_url"].as_str().unwrap());
    is_live(&browser);

    let start = Instant::now();
    network.fall_silent();
    is_not_live(&browser, start);
    // The page connects again by itself, and misses nothing.
    world.run(["task", "add", "T-1", "Fix the total"]).exits(0);
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    network.half_open();
    is_live(&browser);
    shows(&browser, "document.getElementById('work').textContent.includes('Fix the total')");

    let start = Instant::now();
    server.signal(Signal::SIGSTOP);
    is_not_live(&browser, start);
    server.signal(Signal::SIGCONT);
    is_live(&browser);

    let (state, gone) = (world.root().join(".fairway"), world.root().join("gone"));
    let start = Instant::now();
    fs::rename(&state, &gone).unwrap();
    is_not_live(&browser, start);
    fs::rename(&gone, &state).unwrap();
    is_live(&browser);
    drop(browser);
    assert_eq!(server.end().code, Some(0));
}

/// While a host sleeps no timer runs, and no beat comes: when it wakes, the clock is far ahead, and what was sent before arrives.
#[test]
fn page_of_a_host_that_slept_is_not_live_until_the_server_has_proven_it() {
    if !require::program("chromedriver") || !require::program("chromium") {
        return;
    }
    let world = world();
    let server = Server::start(&world, &["--open"]);
    let browser = Chromium::start(&world);
    browser.open(server.at["open_url"].as_str().unwrap());
    is_live(&browser);
    let wakes_after = |hours: u32| {
        let ahead = format!("const now = Date.now.bind(Date); Date.now = () => now() + {hours} * 3600000;");
        browser.run(&ahead);
    };

    // The server is silent still. The page knows as soon as it is looked at.
    server.signal(Signal::SIGSTOP);
    wakes_after(8);
    let start = Instant::now();
    browser.run("document.dispatchEvent(new Event('visibilitychange'))");
    is_not_live(&browser, start);
    server.signal(Signal::SIGCONT);
    is_live(&browser);

    // A page that stands open hears of it with the next beat, which proves nothing by itself: the title says so until the page has
    // connected again.
    browser.run(
        "window.titles = []; new MutationObserver(() => window.titles.push(document.title))
             .observe(document.querySelector('title'), { childList: true, characterData: true, subtree: true })",
    );
    let start = Instant::now();
    wakes_after(8);
    shows(&browser, "window.titles.some((title) => title.startsWith('as of'))");
    assert!(start.elapsed() < TOLD_WITHIN + SLACK, "{:?}", start.elapsed());
    is_live(&browser);
    world.run(["task", "add", "T-1", "Fix the total"]).exits(0);
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    shows(&browser, "document.getElementById('work').textContent.includes('Fix the total')");
    drop(browser);
    assert_eq!(server.end().code, Some(0));
}

/// A restored store has another past: the page shows that one, or says that it is not current.
#[test]
fn page_of_a_restored_store_shows_it_or_is_not_live() {
    if !require::program("chromedriver") || !require::program("chromium") {
        return;
    }
    let world = world();
    world.run(["task", "add", "T-1", "Fix the total"]).exits(0);
    let copy = world.dir().join("copy.db").display().to_string();
    world.run(["backup", &copy]).exits(0);
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    let server = Server::start(&world, &["--open"]);
    let browser = Chromium::start(&world);
    browser.open(server.at["open_url"].as_str().unwrap());
    is_live(&browser);
    let shows_claim = "document.getElementById('work').textContent.includes('Fix the total')";
    shows(&browser, shows_claim);

    let start = Instant::now();
    world.run(["restore", &copy, "--yes"]).exits(0);
    let is_stale = "document.body.classList.contains('stale')";
    shows(&browser, &format!("!{shows_claim} || {is_stale}"));
    assert!(start.elapsed() < TOLD_WITHIN + SLACK, "{:?}", start.elapsed());
    // It goes on with what was restored.
    is_live(&browser);
    shows(&browser, &format!("!{shows_claim}"));
    world.run(["--session", "s1", "claim", "T-1"]).exits(0);
    shows(&browser, shows_claim);
    is_live(&browser);
    drop(browser);
    assert_eq!(server.end().code, Some(0));
}
