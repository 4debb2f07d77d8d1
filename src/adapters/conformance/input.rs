//! What is typed into a session: nudges of any text, keys, interrupts.

use super::{
    call_result::{Seen, Wrong, parting},
    harness::Bench,
    lifecycle::{at_once, started},
    probe_session::Session,
};
use crate::adapters::plumbing::probe_program::{self, noted};

/// The brackets around a paste.
const PASTE: &[u8] = b"\x1b[200~";
const PASTED: &[u8] = b"\x1b[201~";
/// How long a long nudge is, in bytes.
const LONG: usize = 40_000;

/// Lines that shells, multiplexers and editors would like to read.
const LINES: &[&str] = &[
    "- begins like a flag",
    r#"it's "quoted" $HOME ${HOME} $(id) `id` \ \\ \n ; & && || | < > * ? [a] {b,c} ! !! # ~ %"#,
    "^X ^[ #{pane_id} #(id) :kill-server C-c Enter",
    "  spaces at both ends  ",
    "",
    "grüße 漢字 🙂",
    "ends with;",
];

/// A long text of all that; it ends in `;`.
pub(super) fn payload() -> String {
    let round: String = LINES.iter().flat_map(|line| [line, "\n"]).collect();
    let mut text = round.repeat(LONG / round.len() + 1);
    text.push_str("the end;");
    text
}

pub(super) fn look(bench: &Bench) {
    if !bench.tries(&["nudge", "send-keys", "interrupt"]) {
        return;
    }
    bench.probe("nudge", "40 KB arrive byte for byte, submitted once", || long(bench));
    bench.probe("nudge", "two at once do not mix", || two(bench));
    bench.probe("nudge", "a text cannot end its own paste", || broken_out(bench));
    bench.probe("send-keys", "keys by their names, in their order", || keys(bench));
    bench.probe("interrupt", "INT reaches the program, which runs on", || interrupt(bench));
}

/// What was typed as the program means it: without the brackets of pastes; Enter is CR in a terminal.
fn meant(typed: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(typed.len());
    let mut rest = typed;
    while let Some((first, after)) = rest.split_first() {
        match [PASTE, PASTED].into_iter().find_map(|bracket| rest.strip_prefix(bracket)) {
            Some(after) => rest = after,
            None => {
                text.push(if *first == b'\r' { b'\n' } else { *first });
                rest = after;
            }
        }
    }
    text
}

/// Waits until exactly this text has been typed into a session since the last look.
///
/// # Errors
/// When something else was, or less.
pub(super) fn arrives(bench: &Bench, operation: &'static str, session: &Session<'_>, text: &str) -> Seen {
    let typed = |whole: usize| {
        let unread = session.unread();
        let text = meant(&unread);
        (text.len() >= whole && text.ends_with(b"\n")).then_some((unread.len(), text))
    };
    let so_far = || parting(text.as_bytes(), &meant(&session.unread()));
    let tell = || match so_far() {
        Wrong::Differs { expected, seen } => format!("{seen}, not {expected}"),
        _ => String::new(),
    };
    let (bytes, seen) = bench.comes(operation, "the text arrives, and is submitted", || typed(text.len()), tell)?;
    session.seen(bytes);
    if seen == text.as_bytes() { Ok(()) } else { Err(parting(text.as_bytes(), &seen)) }
}

fn long(bench: &Bench) -> Seen {
    let one = started(bench, "long")?;
    let text = payload();
    bench.call(&["nudge", &one.name], text.as_bytes())?.ok()?;
    arrives(bench, "nudge", &one, &format!("{text}\n"))?;
    bench.call(&["nudge", &one.name], b"short")?.ok()?;
    arrives(bench, "nudge", &one, "short\n")?;
    one.stop()
}

fn two(bench: &Bench) -> Seen {
    const COUNT: usize = 400;
    let one = started(bench, "both")?;
    let texts = ["first", "second"].map(|word| format!("{word} of two\n").repeat(COUNT) + word);
    let calls: Vec<_> =
        texts.iter().map(|text| (vec!["nudge", one.name.as_str()], text.clone().into_bytes())).collect();
    for said in at_once(bench, &calls)? {
        said.ok()?;
    }
    let [first, second] = texts;
    let whole = first.len() + second.len() + 2;
    let all = || Some(meant(&one.unread())).filter(|seen| seen.len() >= whole);
    let seen = bench.comes("nudge", "the text arrives, and is submitted", all, || {
        format!("{} of {whole} bytes", one.unread().len())
    })?;
    let orders = [format!("{first}\n{second}\n"), format!("{second}\n{first}\n")];
    if orders.iter().all(|order| order.as_bytes() != seen) {
        let [one_way, other_way] = &orders;
        let begun_alike = |order: &&String| order.as_bytes().first() == seen.first();
        let nearest = Some(other_way).filter(begun_alike).unwrap_or(one_way);
        return Err(parting(nearest.as_bytes(), &seen));
    }
    one.stop()
}

/// `ESC[201~` in a text would end a bracketed paste, and what follows would be typed.
fn broken_out(bench: &Bench) -> Seen {
    let one = started(bench, "bracket")?;
    let text = "before\u{1b}[201~after\u{1b}[20\u{1b}[201~1~end";
    bench.call(&["nudge", &one.name], text.as_bytes())?.ok()?;
    let ended = || Some(one.unread()).filter(|typed| typed.ends_with(b"\r") || typed.ends_with(b"\n"));
    let typed = bench.comes("nudge", "the text arrives, and is submitted", ended, || "it does not".to_owned())?;
    one.stop()?;
    let count = typed.windows(PASTED.len()).filter(|part| *part == PASTED).count();
    // Without brackets there is nothing to break out of.
    if !typed.starts_with(PASTE) || count == 1 {
        return Ok(());
    }
    Err(Wrong::differs("one end of the paste, behind the text", format!("{count} of them")))
}

fn keys(bench: &Bench) -> Seen {
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
    let one = started(bench, "keys")?;
    for (key, forms) in KEYS {
        bench.call(&["send-keys", &one.name, key], b"")?.ok()?;
        typed(bench, &one, key, forms)?;
    }
    bench.call(&["send-keys", &one.name, "2", "hello", "Space", ";", "Enter"], b"")?.ok()?;
    typed(bench, &one, "2 hello Space ; Enter", &[b"2hello ;\r", b"2hello ;\n"])?;
    one.stop()
}

/// Waits until one of these was typed, and nothing else.
fn typed(bench: &Bench, one: &Session<'_>, keys: &str, forms: &[&[u8]]) -> Seen {
    let whole = forms.iter().map(|form| form.len()).min().unwrap_or_default();
    let seen = || Some(one.unread()).filter(|typed| typed.len() >= whole);
    let found = bench
        .comes("send-keys", "a key that is pressed arrives", seen, || format!("{keys} gave {:?}", one.unread()))?;
    one.seen(found.len());
    if forms.contains(&found.as_slice()) {
        return Ok(());
    }
    let shown = |bytes: &[u8]| bytes.escape_ascii().to_string();
    Err(Wrong::differs(
        format!("{keys}: {}", forms.first().map_or_else(String::new, |form| shown(form))),
        shown(&found),
    ))
}

fn interrupt(bench: &Bench) -> Seen {
    let one = started(bench, "interrupt")?;
    if noted(one.folder(), probe_program::DEAF).as_deref() == Some(b"true") {
        return Err(Wrong::differs(
            "a program that is started with INT as usual",
            "INT is ignored or held back from the start",
        ));
    }
    bench.call(&["interrupt", &one.name], b"")?.ok()?;
    bench.comes(
        "interrupt",
        "an interrupt arrives as INT",
        || (one.interrupts() > 0).then_some(()),
        || "none came".to_owned(),
    )?;
    one.lives()?;
    one.runs(true)?;
    one.stop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_brackets_of_a_paste_are_not_its_text() {
        assert_eq!(meant(b"\x1b[200~a\rb\x1b[201~\r"), b"a\nb\n");
        assert_eq!(meant(b"\x1b[20x\x1b"), b"\x1b[20x\x1b");
        assert!(payload().len() > LONG && payload().ends_with(';'));
    }
}
