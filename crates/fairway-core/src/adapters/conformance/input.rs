//! Probes of a session's input: texts of any kind, keys, interrupts.

use super::call_result::{Deviation, ProbeResult, first_difference};
use super::harness::Harness;
use super::lifecycle::{call_parallel, start_session};
use super::probe_session::ProbeSession;
use crate::adapters::plumbing::probe_program::{self, read_record};

/// The start and the end of a bracketed paste.
const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";
/// The length of a long nudge, in bytes.
const LONG_TEXT_BYTES: usize = 40_000;

/// Lines that shells, multiplexers and editors tend to interpret.
const TRICKY_LINES: &[&str] = &[
    "- begins like a flag",
    r#"it's "quoted" $HOME ${HOME} $(id) `id` \ \\ \n ; & && || | < > * ? [a] {b,c} ! !! # ~ %"#,
    "^X ^[ #{pane_id} #(id) :kill-server C-c Enter",
    "  spaces at both ends  ",
    "",
    "grüße 漢字 🙂",
    "ends with;",
];

/// A text of at least [`LONG_TEXT_BYTES`] that repeats [`TRICKY_LINES`] and ends with `;`.
pub(super) fn long_text() -> String {
    let round: String = TRICKY_LINES.iter().flat_map(|line| [line, "\n"]).collect();
    let mut text = round.repeat(LONG_TEXT_BYTES / round.len() + 1);
    text.push_str("the end;");
    text
}

pub(super) fn run(bench: &Harness) {
    if !bench.should_probe(&["nudge", "send-keys", "interrupt"]) {
        return;
    }
    bench.probe("nudge", "40 KB arrive byte for byte, submitted once", || long_nudge(bench));
    bench.probe("nudge", "two at once do not mix", || concurrent_nudges(bench));
    bench.probe("nudge", "a text cannot end its own paste", || paste_escape(bench));
    bench.probe("send-keys", "keys by their names, in their order", || key_names(bench));
    bench.probe("interrupt", "INT reaches the program, which runs on", || interrupt(bench));
}

/// The typed bytes as the program understands them: without the brackets of pastes, and with each CR (Enter) as a newline.
fn normalized(typed: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(typed.len());
    let mut rest = typed;
    while let Some((first, after)) = rest.split_first() {
        match [PASTE_START, PASTE_END].into_iter().find_map(|bracket| rest.strip_prefix(bracket)) {
            Some(after) => rest = after,
            None => {
                text.push(if *first == b'\r' { b'\n' } else { *first });
                rest = after;
            }
        }
    }
    text
}

/// Waits until new input has arrived at the program of a session, and requires that it is exactly `text`.
pub(super) fn expect_input(
    bench: &Harness,
    operation: &'static str,
    session: &ProbeSession<'_>,
    text: &str,
) -> ProbeResult {
    let typed = |whole: usize| {
        let unread = session.unread_input();
        let text = normalized(&unread);
        (text.len() >= whole && text.ends_with(b"\n")).then_some((unread.len(), text))
    };
    let so_far = || first_difference(text.as_bytes(), &normalized(&session.unread_input()));
    let tell = || match so_far() {
        Deviation::Differs { expected, seen } => format!("{seen}, not {expected}"),
        _ => String::new(),
    };
    let (bytes, seen) = bench.wait_for(operation, "the text arrives, and is submitted", || typed(text.len()), tell)?;
    session.mark_read(bytes);
    if seen == text.as_bytes() { Ok(()) } else { Err(first_difference(text.as_bytes(), &seen)) }
}

fn long_nudge(bench: &Harness) -> ProbeResult {
    let one = start_session(bench, "long")?;
    let text = long_text();
    bench.call(&["nudge", &one.name], text.as_bytes())?.expect_success()?;
    expect_input(bench, "nudge", &one, &format!("{text}\n"))?;
    bench.call(&["nudge", &one.name], b"short")?.expect_success()?;
    expect_input(bench, "nudge", &one, "short\n")?;
    one.stop()
}

fn concurrent_nudges(bench: &Harness) -> ProbeResult {
    const COUNT: usize = 400;
    let one = start_session(bench, "both")?;
    let texts = ["first", "second"].map(|word| format!("{word} of two\n").repeat(COUNT) + word);
    let calls: Vec<_> =
        texts.iter().map(|text| (vec!["nudge", one.name.as_str()], text.clone().into_bytes())).collect();
    for said in call_parallel(bench, &calls)? {
        said.expect_success()?;
    }
    let [first, second] = texts;
    let whole = first.len() + second.len() + 2;
    let all = || Some(normalized(&one.unread_input())).filter(|seen| seen.len() >= whole);
    let seen = bench.wait_for("nudge", "the text arrives, and is submitted", all, || {
        format!("{} of {whole} bytes", one.unread_input().len())
    })?;
    let orders = [format!("{first}\n{second}\n"), format!("{second}\n{first}\n")];
    if orders.iter().all(|order| order.as_bytes() != seen) {
        let [one_way, other_way] = &orders;
        let begun_alike = |order: &&String| order.as_bytes().first() == seen.first();
        let nearest = Some(other_way).filter(begun_alike).unwrap_or(one_way);
        return Err(first_difference(nearest.as_bytes(), &seen));
    }
    one.stop()
}

/// `ESC[201~` in a text would end a bracketed paste, and what follows would be typed.
fn paste_escape(bench: &Harness) -> ProbeResult {
    let one = start_session(bench, "bracket")?;
    let text = "before\u{1b}[201~after\u{1b}[20\u{1b}[201~1~end";
    bench.call(&["nudge", &one.name], text.as_bytes())?.expect_success()?;
    let ended = || Some(one.unread_input()).filter(|typed| typed.ends_with(b"\r") || typed.ends_with(b"\n"));
    let typed = bench.wait_for("nudge", "the text arrives, and is submitted", ended, || "it does not".to_owned())?;
    one.stop()?;
    let count = typed.windows(PASTE_END.len()).filter(|part| *part == PASTE_END).count();
    // Without brackets the text cannot break out of anything.
    if !typed.starts_with(PASTE_START) || count == 1 {
        return Ok(());
    }
    Err(Deviation::differs("one end of the paste, behind the text", format!("{count} of them")))
}

fn key_names(bench: &Harness) -> ProbeResult {
    const KEYS: &[(&str, &[&[u8]])] = &[
        ("y", &[b"y"]),
        ("Down", &[b"\x1b[B", b"\x1bOB"]),
        ("Up", &[b"\x1b[A", b"\x1bOA"]),
        ("Right", &[b"\x1b[C", b"\x1bOC"]),
        ("Left", &[b"\x1b[D", b"\x1bOD"]),
        ("Tab", &[b"\t"]),
        ("Space", &[b" "]),
        ("BSpace", &[b"\x7f", b"\x08"]),
        ("C-a", &[b"\x01"]),
        ("Escape", &[b"\x1b"]),
        ("Enter", &[b"\r", b"\n"]),
    ];
    let one = start_session(bench, "keys")?;
    for (key, forms) in KEYS {
        bench.call(&["send-keys", &one.name, key], b"")?.expect_success()?;
        expect_key(bench, &one, key, forms)?;
    }
    bench.call(&["send-keys", &one.name, "2", "hello", "Space", ";", "Enter"], b"")?.expect_success()?;
    expect_key(bench, &one, "2 hello Space ; Enter", &[b"2hello ;\r", b"2hello ;\n"])?;
    one.stop()
}

/// Waits for new input, and requires that it is exactly one of these forms.
fn expect_key(bench: &Harness, one: &ProbeSession<'_>, keys: &str, forms: &[&[u8]]) -> ProbeResult {
    let whole = forms.iter().map(|form| form.len()).min().unwrap_or_default();
    let seen = || Some(one.unread_input()).filter(|typed| typed.len() >= whole);
    let found = bench.wait_for("send-keys", "a key that is pressed arrives", seen, || {
        format!("{keys} gave {:?}", one.unread_input())
    })?;
    one.mark_read(found.len());
    if forms.contains(&found.as_slice()) {
        return Ok(());
    }
    let shown = |bytes: &[u8]| bytes.escape_ascii().to_string();
    Err(Deviation::differs(
        format!("{keys}: {}", forms.first().map_or_else(String::new, |form| shown(form))),
        shown(&found),
    ))
}

fn interrupt(bench: &Harness) -> ProbeResult {
    let one = start_session(bench, "interrupt")?;
    if read_record(one.output_dir(), probe_program::SIGINT_IGNORED_FILE).as_deref() == Some(b"true") {
        return Err(Deviation::differs(
            "a program that is started with INT as usual",
            "INT is ignored or held back from the start",
        ));
    }
    bench.call(&["interrupt", &one.name], b"")?.expect_success()?;
    bench.wait_for(
        "interrupt",
        "an interrupt arrives as INT",
        || (one.interrupt_count() > 0).then_some(()),
        || "none came".to_owned(),
    )?;
    one.expect_alive()?;
    one.expect_running(true)?;
    one.stop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paste_brackets_are_not_part_of_the_text() {
        assert_eq!(normalized(b"\x1b[200~a\rb\x1b[201~\r"), b"a\nb\n");
        assert_eq!(normalized(b"\x1b[20x\x1b"), b"\x1b[20x\x1b");
        assert!(long_text().len() > LONG_TEXT_BYTES && long_text().ends_with(';'));
    }
}
