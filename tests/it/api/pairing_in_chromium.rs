//! Pairing in a real browser, as wide as a phone, by what the page says.

use super::*;
use crate::common::require;
use crate::common::webdriver::Chromium;

#[test]
fn phone_is_paired_by_a_typed_code_and_sees_the_board_until_it_is_revoked() {
    if !require::program("chromedriver") || !require::program("chromium") {
        return;
    }
    let world = world();
    let server = Server::start(&world, &["--http"]);
    let (port, origin) = (server.port().to_string(), server.at["page"].as_str().unwrap().to_owned());
    let browser = Chromium::start(&world);
    browser.resize(390, 844);
    let shows = |condition: &str| {
        eventually(condition, || (browser.run(&format!("return {condition}")) == json!(true)).then_some(()));
    };
    let live = "document.getElementById('connection')?.textContent === 'live'";
    // Without a key the page leads to the form.
    browser.open(&format!("{origin}/"));
    browser.run("[...document.links].find((one) => one.textContent.includes('pair this browser')).click()");
    shows("document.querySelector('h1').textContent === 'Pair this browser'");
    assert_eq!(browser.run("return document.documentElement.scrollWidth <= innerWidth"), json!(true));
    let code = world.json(["device", "pair"])["code"].as_str().unwrap().to_lowercase();
    browser.click("input[name=code]");
    browser.press(&code);
    browser.click("input[name=name]");
    browser.press("phone");
    browser.click("form button");
    shows(live);
    // It pairs another one.
    browser.run("document.querySelector('footer details').open = true");
    browser.click("footer button[value=read-only]");
    shows("document.querySelector('strong.code')?.textContent.length === 9");
    assert_eq!(server.end().code, Some(0));
    let server = Server::start(&world, &["--http", &port]);
    browser.open(&format!("{origin}/tasks"));
    browser.open(&format!("{origin}/"));
    shows(live);
    world.run(["device", "revoke", "phone"]).exits(0);
    shows("document.getElementById('connection').textContent.includes('not paired any more')");
    assert_eq!(server.end().code, Some(0));
}
