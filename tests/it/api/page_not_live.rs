//! The page in a real browser that may not be live: a proxy that fell silent, a server that was stopped, a store that vanished.

use std::time::Instant;

use super::*;
use crate::common::{require, unsteady_network::UnsteadyNetwork, webdriver::Chromium};

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
    browser.run("document.querySelector('#board textarea').value = 'go on'");
    browser.run("document.querySelector('#board form').requestSubmit()");
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
    shows(&browser, "document.getElementById('sessions').textContent.includes('Fix the total')");

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
