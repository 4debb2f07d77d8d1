//! Probes of the values that are stored with a session.

use super::call_result::{Deviation, ProbeResult, first_difference};
use super::harness::Harness;
use super::lifecycle::start_session;
use super::probe_session::ProbeSession;
use crate::env::vars;

/// Values as they come back: callers remove the newlines at the end of an answer.
const VALUES: &[(&str, &str)] = &[
    ("fw_plain", "value"),
    ("fw_lines", "one\n\n two\n\tthree"),
    ("fw_spaces", "  both ends  "),
    ("fw_quotes", r#"it's "so" $HOME `id` \ \n ; # %s -n"#),
    ("fw_dash", "-n"),
    ("fw_unicode", "grüße 漢字 🙂"),
    ("GC_DRAIN", "1"),
];

pub(super) fn run(bench: &Harness) {
    if !bench.should_probe(&["set-meta", "get-meta", "remove-meta"]) {
        return;
    }
    bench.probe("get-meta", "nothing or the start environment, and the caller's run", || start_environment(bench));
    let one = start_session(bench, "meta");
    let with = |look: fn(&Harness, &ProbeSession<'_>) -> ProbeResult| match &one {
        Ok(one) => look(bench, one),
        Err(_) => Err(Deviation::differs("a session", "none could be started")),
    };
    bench.probe("set-meta", "what is set comes back byte for byte", || with(round_trip));
    bench.probe("set-meta", "a second value takes the first one's place", || with(replaced));
    bench.probe("get-meta", "empty when it was never set", || with(unset));
    bench.probe("remove-meta", "empty after it, and no failure when there was nothing", || with(removed));
    if let Ok(one) = &one {
        bench.probe("get-meta", "the next session of the name does not inherit", || not_inherited(bench, one));
    }
}

fn expect_value(bench: &Harness, name: &str, key: &str, expected: &str) -> ProbeResult {
    let said = bench.call(&["get-meta", name, key], b"")?.expect_success()?;
    let text = said.text();
    if text == expected { Ok(()) } else { Err(first_difference(expected.as_bytes(), text.as_bytes())) }
}

fn set(bench: &Harness, name: &str, key: &str, value: &str) -> ProbeResult {
    bench.call(&["set-meta", name, key], value.as_bytes())?.expect_success().map(drop)
}

fn start_environment(bench: &Harness) -> ProbeResult {
    let mut one = ProbeSession::of_probe(bench, "given")?;
    let env = one.config.env.get_or_insert_default();
    env.insert("PROBE_GIVEN".to_owned(), "it's\n given;".to_owned());
    env.insert("PROBE_GONE".to_owned(), String::new());
    env.insert(vars::FAIRWAY_RUN_ID.to_owned(), format!("run-of-{}", bench.name_prefix));
    one.start()?;
    expect_value(bench, &one.name, "PROBE_GONE", "")?;
    let run = format!("run-of-{}", bench.name_prefix);
    // By this value a caller tells its own session from another caller's of the same name. A script that does not answer it from
    // the environment gets it stored.
    let known = bench.call(&["get-meta", &one.name, vars::FAIRWAY_RUN_ID], b"")?.expect_success()?;
    if known.text().is_empty() {
        set(bench, &one.name, vars::FAIRWAY_RUN_ID, &run)?;
    }
    // A script may keep only a part of the environment: secrets need not outlive the start.
    let given = bench.call(&["get-meta", &one.name, "PROBE_GIVEN"], b"")?.expect_success()?;
    if !given.text().is_empty() {
        expect_value(bench, &one.name, "PROBE_GIVEN", "it's\n given;")?;
    }
    expect_value(bench, &one.name, vars::FAIRWAY_RUN_ID, &run)?;
    one.stop()
}

fn round_trip(bench: &Harness, one: &ProbeSession<'_>) -> ProbeResult {
    VALUES.iter().try_for_each(|(key, value)| set(bench, &one.name, key, value))?;
    VALUES.iter().try_for_each(|(key, value)| expect_value(bench, &one.name, key, value))?;
    let long = "0123456789".repeat(1_000);
    set(bench, &one.name, "fw_long", &long)?;
    expect_value(bench, &one.name, "fw_long", &long)
}

fn replaced(bench: &Harness, one: &ProbeSession<'_>) -> ProbeResult {
    for value in ["a longer first one", "second"] {
        set(bench, &one.name, "fw_again", value)?;
        expect_value(bench, &one.name, "fw_again", value)?;
    }
    Ok(())
}

fn unset(bench: &Harness, one: &ProbeSession<'_>) -> ProbeResult {
    set(bench, &one.name, "fw_prefix_long", "value")?;
    expect_value(bench, &one.name, "fw_prefix", "")?;
    expect_value(bench, &one.name, "fw_never", "")
}

fn removed(bench: &Harness, one: &ProbeSession<'_>) -> ProbeResult {
    set(bench, &one.name, "fw_short", "stays")?;
    set(bench, &one.name, "fw_shorter", "goes")?;
    for _ in 0..2 {
        bench.call(&["remove-meta", &one.name, "fw_shorter"], b"")?.expect_success()?;
    }
    expect_value(bench, &one.name, "fw_shorter", "")?;
    expect_value(bench, &one.name, "fw_short", "stays")
}

fn not_inherited(bench: &Harness, one: &ProbeSession<'_>) -> ProbeResult {
    set(bench, &one.name, "fw_heirloom", "of the first")?;
    one.stop()?;
    one.clear_output();
    one.start()?;
    expect_value(bench, &one.name, "fw_heirloom", "")?;
    one.stop()
}
