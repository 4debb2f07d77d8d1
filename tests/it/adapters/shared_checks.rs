//! Programs, texts and checks that the tests of every multiplexer share.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Caller;

/// A program that takes every byte as it comes and shows nothing.
pub fn reader(out: &Path) -> String {
    format!("stty raw -echo; printf 'ready\\r\\n'; exec cat >>'{}'", out.display())
}

/// Every byte that may be typed, shell's and multiplexers' own signs among them, to a length, with `;` at its end.
pub fn payload(length: usize) -> Vec<u8> {
    let signs = b"\"$HOME\" `touch canary` 'x' ^M ^@ #(touch canary) %1 \\;\n;\n $(touch canary) \\012\\";
    let unit: Vec<u8> = (1..=255).chain(signs.iter().copied()).collect();
    let mut text: Vec<u8> = unit.into_iter().cycle().take(length - 1).collect();
    text.push(b';');
    text
}

pub fn with_enter(text: &[u8]) -> Vec<u8> {
    [text, b"\r"].concat()
}

pub fn readers(caller: &Caller, names: &[&str]) -> Vec<PathBuf> {
    let folder = caller.folder("out");
    let one = |name: &&str| {
        let out = folder.join(name);
        caller.start(name, &reader(&out), json!({"ready_prompt_prefix": "ready"}));
        out
    };
    names.iter().map(one).collect()
}

/// Operations on a session that is not there, unknown operations and invalid arguments have the answers of the protocol.
pub fn assert_missing_sessions_are_reported(caller: &Caller) {
    for (args, answer) in [
        (&["is-running", "x"][..], "false\n"),
        (&["process-alive", "x"], "false\n"),
        (&["is-attached", "x"], "false\n"),
        (&["stop", "x"], ""),
        (&["interrupt", "x"], ""),
        (&["nudge", "x"], ""),
        (&["send-keys", "x", "Enter"], ""),
        (&["set-meta", "x", "k"], ""),
        (&["get-meta", "x", "k"], ""),
        (&["remove-meta", "x", "k"], ""),
        (&["peek", "x", "0"], ""),
        (&["list-running", ""], ""),
        (&["list-running"], ""),
        (&["get-last-activity", "x"], ""),
        (&["clear-scrollback", "x"], ""),
        (&["check-image", "x"], ""),
    ] {
        assert_eq!(caller.said(args), answer, "{args:?}");
    }
    caller.call(&["attach", "x"], "").exits(1);
    let protocol: Value = serde_json::from_str(&caller.said(&["protocol"])).unwrap();
    assert_eq!(protocol["capabilities"], json!(["start-nudge", "ready", "report-attachment", "report-activity"]));
    for operation in ["provision", "exec", "stream", "watch-startup", "made-up", "-h"] {
        assert_eq!(caller.call(&[operation, "x"], "").exits(2).stdout, "");
    }
    for (args, stdin) in [
        (&[][..], ""),
        (&["start"], "{}"),
        (&["stop", ""], ""),
        (&["peek", "x", "many"], ""),
        (&["start", "x"], "no json"),
        (&["start", "x"], r#"{"work_dir":"/no/such/folder"}"#),
        (&["start", "x"], r#"{"argv":["no-such-program"]}"#),
        (&["start", "x"], r#"{"command":"echo so sorry; exit 3"}"#),
    ] {
        let run = caller.call(args, stdin).exits(1);
        assert!(!run.stderr.is_empty() && run.stdout.is_empty(), "{args:?}: {run:?}");
        assert_eq!(caller.said(&["is-running", "x"]), "false\n");
        assert_eq!(caller.said(&["list-running", ""]), "");
    }
    let run = caller.call(&["start", "x"], r#"{"command":"echo so sorry; exit 3"}"#).exits(1);
    assert!(run.stderr.contains("exit code 3") && run.stderr.contains("so sorry"), "{run:?}");
}
