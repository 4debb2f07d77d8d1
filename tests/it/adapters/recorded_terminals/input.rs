//! Texts and keys that are typed into a session.

use super::*;

with_each! {
    texts_arrive_exactly_in_the_right_one_of_four
    paste_end_in_a_text_is_typed_as_text
    texts_sent_at_once_do_not_mix
    swallowed_enter_is_pressed_again
    program_that_reads_nothing_fails_its_own_nudge_only
    named_keys_arrive_as_their_sequences
}

fn texts_arrive_exactly_in_the_right_one_of_four(caller: &Caller) {
    let names = ["ab", "a-1", "a-10", "a"];
    let outs = readers(caller, &names[..3]);
    // None is taken for the one that is not there.
    assert_eq!(caller.said(&["is-running", "a"]), "false\n");
    assert_eq!(caller.said(&["peek", "a", "0"]), "");
    caller.call(&["nudge", "a"], "wrong").exits(0);
    for args in [&["stop", "a"][..], &["interrupt", "a"], &["send-keys", "a", "x"], &["clear-scrollback", "a"]] {
        caller.said(args);
    }
    let outs = [outs, readers(caller, &names[3..])].concat();
    for (name, out) in names.iter().zip(&outs) {
        let text = [name.as_bytes(), b": ", &payload(40_000)].concat();
        caller.call(&["nudge", name], &text).exits(0);
        holds(out, &with_enter(&text));
    }
    let big = payload(200_000);
    fs::write(&outs[1], "").unwrap();
    caller.call(&["nudge", "a-1"], &big).exits(0);
    eventually("all of it is there", || (fs::metadata(&outs[1]).unwrap().len() > 200_000).then_some(()));
    assert!(fs::read(&outs[1]).unwrap().ends_with(&with_enter(&big)));
    for (name, out) in names.iter().zip(&outs).filter(|(name, _)| **name != "a-1") {
        assert_eq!(fs::read(out).unwrap().len(), name.len() + 2 + 40_001, "{name} got what was another's");
    }
    caller.said(&["stop", "a-1"]);
    assert_eq!(caller.said(&["list-running", ""]), "a\na-10\nab\n");
    assert_eq!(caller.said(&["list-running", "a-1"]), "a-10\n");
    caller.said(&["stop", "a"]);
    assert_eq!(caller.said(&["list-running", "a"]), "a-10\nab\n");
    for name in names {
        caller.said(&["stop", name]);
    }
    assert!(!caller.world.root().join("canary").exists());
    nothing_is_left(caller);
}

fn paste_end_in_a_text_is_typed_as_text(caller: &Caller) {
    let out = caller.folder("out").join("x");
    let brackets = format!("printf '\\033[?2004h'; {}", reader(&out));
    caller.start("x", &brackets, json!({"ready_prompt_prefix": "ready"}));
    caller.call(&["nudge", "x"], b"one\x1b[20\x1b[201~1~\ntwo\0\x1b[200~;").exits(0);
    holds(&out, b"\x1b[200~one\ntwo;\x1b[201~\r");
    caller.said(&["stop", "x"]);
}

fn texts_sent_at_once_do_not_mix(caller: &Caller) {
    let outs = readers(caller, &["x"]);
    let texts: Vec<Vec<u8>> = [b'a', b'b', b'c'].map(|letter| vec![letter; 30_000]).to_vec();
    let children: Vec<_> = texts.iter().map(|text| caller.begin(&["nudge", "x"], text)).collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    eventually("all came", || (fs::metadata(&outs[0]).unwrap().len() >= 90_003).then_some(()));
    let found = fs::read(&outs[0]).unwrap();
    let mut parts: Vec<&[u8]> = found.split(|byte| *byte == b'\r').filter(|part| !part.is_empty()).collect();
    parts.sort_unstable();
    assert_eq!(parts, texts.iter().map(Vec::as_slice).collect::<Vec<_>>());
    caller.said(&["stop", "x"]);
}

/// Echoes what it gets and notes every Enter; answers from the `swallowed + 1`st on. It starts no process for a byte: where the answer
/// takes a second, Enter is pressed again as for a swallowed one.
fn busy(out: &Path, swallowed: u32) -> String {
    let out = out.display();
    format!(
        r#"stty raw -echo; printf 'ready\r\n'; enter=$(printf '\r'); export enter
        cat | bash -c 'n=0
        while IFS= read -rN1 byte; do
          if [ "$byte" = "$enter" ]; then
            n=$((n + 1)); printf . >>"{out}"
            if [ "$n" -gt {swallowed} ]; then printf "\r\033[Ksubmitted %s\r\n" "$n"; n=0; fi
          else printf %s "$byte"; fi
        done'"#
    )
}

fn swallowed_enter_is_pressed_again(caller: &Caller) {
    let folder = caller.folder("out");
    for (swallowed, presses) in [(0, "."), (1, ".."), (9, "...")] {
        let (name, out) = (format!("s{swallowed}"), folder.join(format!("s{swallowed}")));
        caller.start(&name, &busy(&out, swallowed), json!({"ready_prompt_prefix": "ready"}));
        caller.call(&["nudge", &name], "do it").exits(0);
        holds(&out, presses.as_bytes());
        caller.said(&["stop", &name]);
    }
    // A program that shows nothing gets exactly one, also for an empty text; and the first text goes with the start.
    let out = folder.join("quiet");
    let start = json!({"ready_prompt_prefix": "ready", "nudge": "first\nof all;"});
    caller.start("quiet", &format!("sleep 0.4; {}", reader(&out)), start);
    holds(&out, b"first\nof all;\r");
    caller.call(&["nudge", "quiet"], "").exits(0);
    holds(&out, b"first\nof all;\r\r");
    caller.said(&["stop", "quiet"]);
}

fn program_that_reads_nothing_fails_its_own_nudge_only(caller: &Caller) {
    caller.start("x", "stty raw -echo; sleep 300", json!({}));
    let begun = Instant::now();
    let run = caller.call(&["nudge", "x"], vec![b'x'; 300_000]).exits(1);
    assert!(run.stderr.contains("does not take its input"), "{run:?}");
    // The protocol's limit is 30 s.
    crate::common::soak::took(begun.elapsed(), ..Duration::from_secs(28), "the failed nudge");
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    caller.said(&["stop", "x"]);
    nothing_is_left(caller);
}

fn named_keys_arrive_as_their_sequences(caller: &Caller) {
    let outs = readers(caller, &["x"]);
    caller.said(&[
        "send-keys", "x", "y;", "Enter", "Up", "Left", "Escape", "Tab", "Space", "BSpace", "C-d", "-", "--", "é",
    ]);
    holds(&outs[0], "y;\r\x1b[A\x1b[D\x1b\t \x7f\x04---é".as_bytes());
    caller.said(&["send-keys", "x"]);
    caller.said(&["interrupt", "x"]);
    holds(&outs[0], "y;\r\x1b[A\x1b[D\x1b\t \x7f\x04---é\x03".as_bytes());
    caller.said(&["stop", "x"]);
    // The program's terminal modes change the bytes of arrow keys; the terminal decides whether Ctrl-C interrupts.
    let out = caller.folder("out").join("z");
    let arrows = format!("printf '\\033[?1h'; {}", reader(&out));
    caller.start("z", &arrows, json!({"ready_prompt_prefix": "ready"}));
    caller.said(&["send-keys", "z", "Up"]);
    holds(&out, b"\x1bOA");
    caller.said(&["stop", "z"]);
    caller.start("y", "trap 'echo got it' INT; while :; do sleep 1; done", json!({}));
    caller.said(&["interrupt", "y"]);
    eventually("it was interrupted", || caller.said(&["peek", "y", "0"]).contains("got it").then_some(()));
    assert_eq!(caller.said(&["is-running", "y"]), "true\n");
    caller.said(&["stop", "y"]);
}
