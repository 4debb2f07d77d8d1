//! Probes of the program's environment, directory and arguments: they must be exactly the given ones, with nothing from the
//! script's caller.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::call_result::{Deviation, ProbeResult, first_difference, quoted};
use super::harness::{Harness, PROBE_PROGRAM};
use super::probe_session::ProbeSession;
use crate::adapters::plumbing::probe_program::{self, read_record};
use crate::env::vars;
use crate::os::files;

/// The value of variables in the environment of a call. A program must not see it unless the variable was given to it.
const CALLER_VALUE: &str = "of-the-surroundings";

/// Values that shells, multiplexers and editors tend to interpret.
const VALUES: &[(&str, &str)] = &[
    ("PROBE_QUOTES", r#"it's "so" `id` $(id) $HOME ${HOME} \ \\ \n ; & | < > * ? ! # % ~"#),
    ("PROBE_LINES", "one\n two \n\n\tthree\n"),
    ("PROBE_SEMICOLON", "ends with;"),
    ("PROBE_UNICODE", "grüße 漢字 🙂 \u{a0}"),
    ("PROBE_FORMATS", "#(touch canary) #{session_name} #S ^X %%"),
    ("PROBE_EQUALS", "a=b==c"),
    ("PROBE_SPACES", "  both ends  "),
    ("PROBE_DASHES", "-- -n --help"),
    ("PROBE_CONTROLS", "\u{1}\u{1b}[31m\u{7f}\r"),
    ("probe_lower", "kept"),
];

/// The length of a long value, in bytes: longer than a multiplexer's command line.
const LONG_VALUE_BYTES: usize = 20_000;

pub(super) fn run(bench: &Harness) {
    if !bench.should_probe(&["start"]) {
        return;
    }
    bench.probe("start", "the environment is exactly the one given", || exact_values(bench));
    bench.probe("start", "an empty value unsets, and a given one goes before the surroundings'", || unset(bench));
    bench.probe("start", "FAIRWAY_* and GC_* of the surroundings are not handed on", || not_leaked(bench));
    bench.probe("start", "the surroundings are never those of an earlier call", || not_stale(bench));
    bench.probe("start", "the directory is exactly the one given", || directory(bench));
    bench.probe("start", "the words of the program arrive exactly", || arguments(bench));
    bench.probe("start", "the command is shell text", || shell_text(bench));
}

fn set_env(session: &mut ProbeSession<'_>, values: impl IntoIterator<Item = (&'static str, String)>) {
    let env = session.config.env.get_or_insert_default();
    env.extend(values.into_iter().map(|(name, value)| (name.to_owned(), value)));
}

fn exact_values(bench: &Harness) -> ProbeResult {
    let mut one = ProbeSession::of_probe(bench, "values")?;
    set_env(&mut one, VALUES.iter().map(|(name, value)| (*name, (*value).to_owned())));
    set_env(&mut one, [("PROBE_LONG", format!("{};", "x".repeat(LONG_VALUE_BYTES)))]);
    one.start()?;
    let seen = one.environment();
    for (name, value) in one.config.env.iter().flatten() {
        match seen.get(OsStr::new(name)) {
            Some(found) if found == value.as_bytes() => {}
            Some(found) => return Err(with_name(name, first_difference(value.as_bytes(), found))),
            None => return Err(Deviation::differs(format!("{name} is set"), "it is not")),
        }
    }
    check_not_executed(bench, &one)?;
    one.stop()
}

fn with_name(name: &str, wrong: Deviation) -> Deviation {
    match wrong {
        Deviation::Differs { expected, seen } => Deviation::differs(format!("{name}: {expected}"), seen),
        wrong => wrong,
    }
}

/// Checks that nothing in a value was run: the file that one of the values would create must not exist.
fn check_not_executed(bench: &Harness, one: &ProbeSession<'_>) -> ProbeResult {
    let places = [one.work_dir(), bench.dir().to_path_buf(), bench.dir().join("state")];
    match places.iter().find(|place| place.join("canary").exists()) {
        Some(place) => Err(Deviation::differs("nothing in a value is run", format!("it was, in {}", place.display()))),
        None => Ok(()),
    }
}

/// Starts a session by a call with these additional variables.
fn start_with_env(bench: &Harness, one: &ProbeSession<'_>, around: &[(&str, &str)]) -> ProbeResult {
    let adapter = bench.adapter.clone().with_env(around.iter().copied());
    one.call_start_with(&adapter)?.expect_success()?;
    one.wait_ready().map(drop)
}

fn unset(bench: &Harness) -> ProbeResult {
    let mut one = ProbeSession::of_probe(bench, "unset")?;
    let gone = ["PROBE_EMPTY", vars::FAIRWAY_SESSION_ID];
    set_env(&mut one, gone.map(|name| (name, String::new())));
    set_env(&mut one, [("PROBE_OVER", "inner".to_owned())]);
    start_with_env(
        bench,
        &one,
        &[("PROBE_EMPTY", CALLER_VALUE), (vars::FAIRWAY_SESSION_ID, CALLER_VALUE), ("PROBE_OVER", CALLER_VALUE)],
    )?;
    let seen = one.environment();
    for name in gone {
        if let Some(found) = seen.get(OsStr::new(name)) {
            return Err(Deviation::differs(format!("{name} is not set"), quoted(&String::from_utf8_lossy(found))));
        }
    }
    match seen.get(OsStr::new("PROBE_OVER")).map(Vec::as_slice) {
        Some(b"inner") => one.stop(),
        found => {
            let found = found.map(String::from_utf8_lossy).unwrap_or_default();
            Err(Deviation::differs("PROBE_OVER is \"inner\"", quoted(&found)))
        }
    }
}

fn not_leaked(bench: &Harness) -> ProbeResult {
    let one = ProbeSession::of_probe(bench, "leaks")?;
    let names = [
        vars::FAIRWAY_SESSION_ID,
        vars::FAIRWAY_RUN_ID,
        vars::FAIRWAY_TASK_ID,
        vars::FAIRWAY_ROLE,
        "GC_AGENT",
        "GC_SESSION_NAME",
        "GC_ALIAS",
    ];
    start_with_env(bench, &one, &names.map(|name| (name, CALLER_VALUE)))?;
    let leaked: Vec<String> = one
        .environment()
        .into_iter()
        .filter(|(_, value)| value == CALLER_VALUE.as_bytes())
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .collect();
    match leaked.as_slice() {
        [] => one.stop(),
        leaked => Err(Deviation::differs("none of them is set", leaked.join(", "))),
    }
}

/// A server that the first call has started must not pass its environment to the program of the second one.
fn not_stale(bench: &Harness) -> ProbeResult {
    const NAME: &str = "PROBE_AROUND";
    let first = ProbeSession::of_probe(bench, "first")?;
    start_with_env(bench, &first, &[(NAME, "first")])?;
    let second = ProbeSession::of_probe(bench, "second")?;
    start_with_env(bench, &second, &[(NAME, "second")])?;
    let seen = second.environment();
    first.stop()?;
    second.stop()?;
    match seen.get(OsStr::new(NAME)).map(Vec::as_slice) {
        Some(b"first") => {
            Err(Deviation::differs(format!("{NAME} is the second call's, or absent"), "it is the first's"))
        }
        _ => Ok(()),
    }
}

fn directory(bench: &Harness) -> ProbeResult {
    let mut one = ProbeSession::of_probe(bench, "directory")?;
    let place = one.work_dir().join("it's a #(touch canary) $HOME; é \"d\" %d #S");
    files::private_dir(&place).map_err(|error| Deviation::differs("a directory to work in", error.to_string()))?;
    one.config.work_dir = Some(place.display().to_string());
    one.start()?;
    let seen = read_record(one.output_dir(), probe_program::WORK_DIR_FILE).unwrap_or_default();
    check_not_executed(bench, &one)?;
    one.stop()?;
    if seen == place.as_os_str().as_bytes() {
        Ok(())
    } else {
        Err(first_difference(place.as_os_str().as_bytes(), &seen))
    }
}

fn arguments(bench: &Harness) -> ProbeResult {
    let given = ["a b", "$HOME", "; x;", "it's", "é\nx", "", "*", "--", "`id`", "\"", "\\", "#(touch canary)"];
    let mut one = ProbeSession::with_args(bench, "words", &[], &given)?;
    // The words are given in both forms, because a script may know only the text.
    let text = one.config.command.clone().unwrap_or_default();
    one.config.argv = shell_words::split(text.trim_start_matches("exec ")).ok();
    one.config.command = one.config.argv.as_ref().map(shell_words::join);
    one.start()?;
    let seen = read_record(one.output_dir(), probe_program::ARGS_FILE).unwrap_or_default();
    let expected: Vec<u8> = given.iter().flat_map(|word| [word.as_bytes(), &[0]].concat()).collect();
    check_not_executed(bench, &one)?;
    one.stop()?;
    if seen == expected { Ok(()) } else { Err(first_difference(&expected, &seen)) }
}

fn shell_text(bench: &Harness) -> ProbeResult {
    let agent = bench.dir().join("bin").join(PROBE_PROGRAM).display().to_string();
    let dir = bench.dir().join("p/text").display().to_string();
    let text =
        "A='x  y'\nif [ -n \"$PROBE_AGENT\" ]; then exec \"$PROBE_AGENT\" adapter probe \"$PROBE_AT\" -- \"$A\"; fi";
    let mut one = ProbeSession::of_shell(bench, "text", text)?;
    one.config
        .env
        .get_or_insert_default()
        .extend(BTreeMap::from([("PROBE_AGENT".to_owned(), agent), ("PROBE_AT".to_owned(), dir)]));
    one.start()?;
    let seen = read_record(one.output_dir(), probe_program::ARGS_FILE).unwrap_or_default();
    one.stop()?;
    if seen == b"x  y\0" { Ok(()) } else { Err(first_difference(b"x  y\0", &seen)) }
}
