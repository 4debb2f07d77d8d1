//! Values that a session holds.

use super::{
    call_result::{Seen, Wrong, parting},
    harness::Bench,
    lifecycle::started,
    probe_session::Session,
};
use crate::env::vars;

/// Values as they come back: callers trim the newlines at the end of an answer.
const VALUES: &[(&str, &str)] = &[
    ("fw_plain", "value"),
    ("fw_lines", "one\n\n two\n\tthree"),
    ("fw_spaces", "  both ends  "),
    ("fw_quotes", r#"it's "so" $HOME `id` \ \n ; # %s -n"#),
    ("fw_dash", "-n"),
    ("fw_unicode", "grüße 漢字 🙂"),
    ("GC_DRAIN", "1"),
];

pub(super) fn look(bench: &Bench) {
    if !bench.tries(&["set-meta", "get-meta", "remove-meta"]) {
        return;
    }
    bench.probe("get-meta", "the start environment", || start_environment(bench));
    let one = started(bench, "meta");
    let with = |look: fn(&Bench, &Session<'_>) -> Seen| match &one {
        Ok(one) => look(bench, one),
        Err(_) => Err(Wrong::differs("a session", "none could be started")),
    };
    bench.probe("set-meta", "what is set comes back byte for byte", || with(round));
    bench.probe("set-meta", "a second value takes the first one's place", || with(replaced));
    bench.probe("get-meta", "empty when it was never set", || with(unset));
    bench.probe("remove-meta", "empty after it, and no failure when there was nothing", || with(removed));
    if let Ok(one) = &one {
        bench.probe("get-meta", "the next session of the name does not inherit", || inherited(bench, one));
    }
}

fn get(bench: &Bench, name: &str, key: &str, expected: &str) -> Seen {
    let said = bench.call(&["get-meta", name, key], b"")?.ok()?;
    let text = said.text();
    if text == expected { Ok(()) } else { Err(parting(expected.as_bytes(), text.as_bytes())) }
}

fn set(bench: &Bench, name: &str, key: &str, value: &str) -> Seen {
    bench.call(&["set-meta", name, key], value.as_bytes())?.ok().map(drop)
}

fn start_environment(bench: &Bench) -> Seen {
    let mut one = Session::of_probe(bench, "given")?;
    let env = one.config.env.get_or_insert_default();
    env.insert("PROBE_GIVEN".to_owned(), "it's\n given;".to_owned());
    env.insert("PROBE_GONE".to_owned(), String::new());
    env.insert(vars::FAIRWAY_RUN_ID.to_owned(), format!("run-of-{}", bench.base));
    one.start()?;
    get(bench, &one.name, "PROBE_GIVEN", "it's\n given;")?;
    get(bench, &one.name, "PROBE_GONE", "")?;
    // By this a caller tells its own session from another's of the same name.
    get(bench, &one.name, vars::FAIRWAY_RUN_ID, &format!("run-of-{}", bench.base))?;
    one.stop()
}

fn round(bench: &Bench, one: &Session<'_>) -> Seen {
    VALUES.iter().try_for_each(|(key, value)| set(bench, &one.name, key, value))?;
    VALUES.iter().try_for_each(|(key, value)| get(bench, &one.name, key, value))?;
    let long = "0123456789".repeat(1_000);
    set(bench, &one.name, "fw_long", &long)?;
    get(bench, &one.name, "fw_long", &long)
}

fn replaced(bench: &Bench, one: &Session<'_>) -> Seen {
    for value in ["a longer first one", "second"] {
        set(bench, &one.name, "fw_again", value)?;
        get(bench, &one.name, "fw_again", value)?;
    }
    Ok(())
}

fn unset(bench: &Bench, one: &Session<'_>) -> Seen {
    set(bench, &one.name, "fw_prefix_long", "value")?;
    get(bench, &one.name, "fw_prefix", "")?;
    get(bench, &one.name, "fw_never", "")
}

fn removed(bench: &Bench, one: &Session<'_>) -> Seen {
    set(bench, &one.name, "fw_short", "stays")?;
    set(bench, &one.name, "fw_shorter", "goes")?;
    for _ in 0..2 {
        bench.call(&["remove-meta", &one.name, "fw_shorter"], b"")?.ok()?;
    }
    get(bench, &one.name, "fw_shorter", "")?;
    get(bench, &one.name, "fw_short", "stays")
}

fn inherited(bench: &Bench, one: &Session<'_>) -> Seen {
    set(bench, &one.name, "fw_heirloom", "of the first")?;
    one.stop()?;
    one.forget();
    one.start()?;
    get(bench, &one.name, "fw_heirloom", "")?;
    one.stop()
}
