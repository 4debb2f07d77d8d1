//! Text that `tmux.sh` types arrives byte by byte, in the right session, once, and is submitted.

use std::fs;

use serde_json::json;

use super::shared_checks::{payload, reader, readers, with_enter};
use super::tmux::tmux;
use super::{Caller, eventually, holds};

#[test]
fn forty_kilobytes_arrive_exactly_in_the_right_one_of_four() {
    let caller = Caller::of("tmux");
    let names = ["a", "ab", "a-1", "a-10"];
    let outs = readers(&caller, &names);
    for (name, out) in names.iter().zip(&outs) {
        let text = [name.as_bytes(), b": ", &payload(40_000)].concat();
        caller.call(&["nudge", name], &text).exits(0);
        holds(out, &with_enter(&text));
    }
    let big = payload(200_000);
    fs::write(&outs[2], "").unwrap();
    caller.call(&["nudge", "a-1"], &big).exits(0);
    holds(&outs[2], &with_enter(&big));
    for (name, out) in names.iter().zip(&outs).filter(|(name, _)| **name != "a-1") {
        let found = fs::read(out).unwrap();
        assert_eq!(found.len(), name.len() + 2 + 40_001, "{name} got what was another's");
    }
    assert_eq!(tmux(&caller, &["list-buffers"]), "");
    // The control: keys lose the last semicolon.
    fs::write(&outs[0], "").unwrap();
    tmux(&caller, &["send-keys", "-t", "=s-a:", "-l", "x;"]);
    eventually("the keys came", || fs::read(&outs[0]).unwrap().ends_with(b"x").then_some(()));
    for name in names {
        caller.said(&["stop", name]);
    }
    assert!(!caller.world.root().join("canary").exists());
}

#[test]
fn paste_end_in_a_text_is_typed_as_text() {
    let caller = Caller::of("tmux");
    let out = caller.folder("out").join("x");
    let brackets = format!("printf '\\033[?2004h'; {}", reader(&out));
    caller.start("x", &brackets, json!({"ready_prompt_prefix": "ready"}));
    caller.call(&["nudge", "x"], b"one\x1b[20\x1b[201~1~\ntwo\0\x1b[200~;").exits(0);
    holds(&out, b"\x1b[200~one\ntwo;\x1b[201~\r");
    caller.said(&["stop", "x"]);
}

#[test]
fn texts_sent_at_once_do_not_mix() {
    let caller = Caller::of("tmux");
    let outs = readers(&caller, &["x"]);
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

#[test]
fn copy_mode_is_left_before_anything_is_typed() {
    let caller = Caller::of("tmux");
    let outs = readers(&caller, &["x"]);
    for mode in [&["copy-mode", "-t", "=s-x:"][..], &["clock-mode", "-t", "=s-x:"], &["choose-tree", "-t", "=s-x:"]] {
        fs::write(&outs[0], "").unwrap();
        tmux(&caller, mode);
        caller.call(&["nudge", "x"], "q j k").exits(0);
        eventually("it came", || fs::read(&outs[0]).unwrap().ends_with(b"q j k\r").then_some(()));
        tmux(&caller, mode);
        caller.said(&["send-keys", "x", "C-c"]);
        eventually("the key came", || fs::read(&outs[0]).unwrap().ends_with(b"\r\x03").then_some(()));
        assert_eq!(tmux(&caller, &["display-message", "-p", "-t", "=s-x:", "#{pane_mode}"]), "");
    }
    caller.said(&["stop", "x"]);
}

/// Echoes what it gets, clears its line at the `swallowed + 1`st Enter, and notes every Enter.
fn busy(out: &std::path::Path, swallowed: u32) -> String {
    let out = out.display();
    format!(
        r#"stty raw -echo; printf 'ready\r\n'; n=0
        while :; do
          byte=$(dd bs=1 count=1 2>/dev/null; printf x); byte=${{byte%x}}
          if [ "$byte" = "$(printf '\r')" ]; then
            n=$((n + 1)); printf . >>'{out}'
            if [ "$n" -gt {swallowed} ]; then printf '\r\033[Ksubmitted %s\r\n' "$n"; n=0; fi
          else printf '%s' "$byte"; fi
        done"#
    )
}

#[test]
fn swallowed_enter_is_repeated_only_where_output_is_shown() {
    let caller = Caller::of("tmux");
    let folder = caller.folder("out");
    for (swallowed, presses) in [(0, "."), (1, ".."), (9, "...")] {
        let (name, out) = (format!("s{swallowed}"), folder.join(format!("s{swallowed}")));
        caller.start(&name, &busy(&out, swallowed), json!({"ready_prompt_prefix": "ready"}));
        caller.call(&["nudge", &name], "do it").exits(0);
        holds(&out, presses.as_bytes());
        caller.said(&["stop", &name]);
    }
    // A program that shows nothing got exactly one in every other test of this file.
    let outs = readers(&caller, &["quiet"]);
    caller.call(&["nudge", "quiet"], "").exits(0);
    holds(&outs[0], b"\r");
    caller.said(&["stop", "quiet"]);
}

#[test]
fn first_nudge_is_sent_once_with_the_start() {
    let caller = Caller::of("tmux");
    let out = caller.folder("out").join("x");
    let start = json!({"ready_prompt_prefix": "ready", "nudge": "first\nof all;"});
    caller.start("x", &format!("sleep 0.4; {}", reader(&out)), start);
    holds(&out, b"first\nof all;\r");
    caller.said(&["stop", "x"]);
}
