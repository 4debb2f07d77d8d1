//! Names that begin with one another: an operation on one session never touches the next.

use std::collections::BTreeSet;

use super::{
    call_result::{Said, Seen, Wrong, quoted},
    harness::{AGENT, Bench},
    input,
    probe_session::Session,
};

const TAGS: [&str; 4] = ["a", "ab", "a-1", "a-10"];
const OPERATIONS: &[&str] = &[
    "stop",
    "is-running",
    "list-running",
    "nudge",
    "send-keys",
    "interrupt",
    "set-meta",
    "get-meta",
    "peek",
    "process-alive",
];

pub(super) fn look(bench: &Bench) {
    if !bench.tries(OPERATIONS) {
        return;
    }
    let mut all = Vec::new();
    for tag in TAGS {
        let prompt = format!("this is {tag}.");
        let one = Session::with(bench, tag, &["--prompt", &prompt], &[]);
        match one.and_then(|one| one.start().map(|()| one)) {
            Ok(one) => all.push(one),
            Err(wrong) => {
                bench.probe("start", "names that begin with one another", || Err(wrong));
                return;
            }
        }
    }
    bench.probe("list-running", "exactly the running sessions of a prefix", || listed(bench, &all));
    bench.probe("nudge", "the right one of names that begin with one another", || nudged(bench, &all));
    bench.probe("send-keys", "the right one of names that begin with one another", || {
        reached(bench, "send-keys", &all, |name| {
            bench.call(&["send-keys", name, "Enter"], b"")?.ok().map(|_| "\n".to_owned())
        })
    });
    bench.probe("interrupt", "the right one of names that begin with one another", || interrupted(bench, &all));
    bench.probe("set-meta", "the right one of names that begin with one another", || kept(bench, &all));
    bench.probe("peek", "the right one of names that begin with one another", || peeked(bench, &all));
    bench.probe("process-alive", "not by the beginning of a session's name", || {
        bench.call(&["process-alive", &prefix(bench)], AGENT.as_bytes())?.says("false")
    });
    bench.probe("is-running", "not by the beginning of a session's name", || {
        bench.call(&["is-running", &prefix(bench)], b"")?.says("false")
    });
    bench.probe("stop", "the right one of names that begin with one another", || stopped(bench, &all));
    drop(all);
    bench.probe("list-running", "nothing, and exit code 0, when none runs", || {
        bench.call(&["list-running", &format!("{}-a", bench.base)], b"")?.says("")
    });
}

/// The beginning of every name here, which is no session's.
fn prefix(bench: &Bench) -> String {
    format!("{}-", bench.base)
}

fn names(said: &Said) -> Vec<String> {
    said.text().lines().map(str::to_owned).collect()
}

fn listed(bench: &Bench, all: &[Session<'_>]) -> Seen {
    let list = |prefix: &str, expected: &[&Session<'_>]| {
        let said = bench.call(&["list-running", prefix], b"")?.ok()?;
        let listed = names(&said);
        let found: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
        let wanted: BTreeSet<&str> = expected.iter().map(|one| one.name.as_str()).collect();
        if found == wanted && listed.len() == wanted.len() {
            return Ok(());
        }
        let wanted = wanted.into_iter().collect::<Vec<_>>().join(", ");
        Err(Wrong::differs(format!("for {}: {wanted}", quoted(prefix)), quoted(&said.text())))
    };
    for one in all {
        let begin: Vec<&Session<'_>> = all.iter().filter(|other| other.name.starts_with(&one.name)).collect();
        list(&one.name, &begin)?;
    }
    list(&format!("{}-a-1000", bench.base), &[])?;
    // Others may run, of whoever else uses the script.
    let every = names(&bench.call(&["list-running", ""], b"")?.ok()?);
    match all.iter().find(|one| !every.contains(&one.name)) {
        Some(one) => Err(Wrong::differs(format!("{} among all", one.name), every.join(", "))),
        None => Ok(()),
    }
}

/// Does something to names of which there is no session, then to each that is there, and demands that only that one gets
/// what it answers: the text that must arrive.
fn reached(
    bench: &Bench,
    operation: &'static str,
    all: &[Session<'_>],
    act: impl Fn(&str) -> Result<String, Wrong>,
) -> Seen {
    for name in [prefix(bench), format!("{}-a-", bench.base), format!("{}-A", bench.base)] {
        act(&name)?;
    }
    for one in all {
        let text = act(&one.name)?;
        input::arrives(bench, operation, one, &text)?;
    }
    untouched(all)
}

/// Nothing was typed into any of them that was not looked at.
fn untouched(all: &[Session<'_>]) -> Seen {
    for one in all {
        let unread = one.unread();
        if !unread.is_empty() {
            let text = String::from_utf8_lossy(&unread).into_owned();
            return Err(Wrong::differs(format!("nothing more in {}", one.name), quoted(&text)));
        }
    }
    Ok(())
}

fn nudged(bench: &Bench, all: &[Session<'_>]) -> Seen {
    reached(bench, "nudge", all, |name| {
        bench.call(&["nudge", name], name.as_bytes())?.ok().map(|_| format!("{name}\n"))
    })?;
    // The long one goes to the shortest name, which all the others begin with.
    let Some(first) = all.first() else { return Ok(()) };
    let text = input::payload();
    bench.call(&["nudge", &first.name], text.as_bytes())?.ok()?;
    input::arrives(bench, "nudge", first, &format!("{text}\n"))?;
    untouched(all)
}

fn interrupted(bench: &Bench, all: &[Session<'_>]) -> Seen {
    bench.call(&["interrupt", &prefix(bench)], b"")?.ok()?;
    for (number, one) in all.iter().enumerate() {
        let before: Vec<usize> = all.iter().map(Session::interrupts).collect();
        bench.call(&["interrupt", &one.name], b"")?.ok()?;
        let heard = || (Some(&one.interrupts()) > before.get(number)).then_some(());
        bench.comes("interrupt", "an interrupt arrives as INT", heard, || format!("none in {}", one.name))?;
        for (other, before) in all.iter().zip(&before).filter(|(other, _)| other.name != one.name) {
            if other.interrupts() != *before {
                return Err(Wrong::differs(
                    format!("an interrupt in {} alone", one.name),
                    format!("one in {}", other.name),
                ));
            }
        }
    }
    Ok(())
}

fn kept(bench: &Bench, all: &[Session<'_>]) -> Seen {
    bench.call(&["set-meta", &prefix(bench), "fw_names"], b"nobody's")?.ok()?;
    for one in all {
        bench.call(&["get-meta", &one.name, "fw_names"], b"")?.says("")?;
        bench.call(&["set-meta", &one.name, "fw_names"], one.name.as_bytes())?.ok()?;
    }
    all.iter().try_for_each(|one| bench.call(&["get-meta", &one.name, "fw_names"], b"")?.says(&one.name))
}

fn peeked(bench: &Bench, all: &[Session<'_>]) -> Seen {
    bench.call(&["peek", &prefix(bench), "0"], b"")?.says("")?;
    for (one, tag) in all.iter().zip(TAGS) {
        let text = format!("this is {tag}.");
        let said = || bench.call(&["peek", &one.name, "0"], b"").and_then(Said::ok).map(|said| said.text());
        let shows = || said().ok().filter(|seen| seen.contains(&text));
        bench.comes("peek", "peek shows what the program printed", shows, || {
            said().map_or_else(|_| String::new(), |it| quoted(&it))
        })?;
    }
    Ok(())
}

fn stopped(bench: &Bench, all: &[Session<'_>]) -> Seen {
    bench.call(&["stop", &prefix(bench)], b"")?.ok()?;
    for (number, one) in all.iter().enumerate() {
        one.stop()?;
        one.runs(false)?;
        for other in all.iter().skip(number + 1) {
            other.lives()?;
            other.runs(true)?;
        }
    }
    Ok(())
}
