//! `fairway` inside a sandbox: the words go to the process outside, which answers for the session.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read, Write};

use crate::cli::exit::Exit;
use crate::hooks;
use fairway_actions::sessions::sandbox::calls_from_inside;
use fairway_core::wire::SandboxReply;

/// Commands that need no store.
const LOCAL: &[&str] = &["--help", "--version", "-V", "-h", "completions", "guide", "help", "man", "sandbox"];
/// The exit code by which a hook makes the provider deny a call.
const DENY: Exit = 2;
/// The command whose stdin is passed on.
const HOOK: &str = "hook";

/// Inside a sandbox, passes the command line to the process outside, which runs it for the session, prints the reply, and
/// returns the exit code. Returns `None` outside a sandbox, and for a command that needs no store and therefore runs inside.
pub fn call_outside(words: impl Iterator<Item = OsString>) -> Option<Exit> {
    if !calls_from_inside::is_inside() {
        return None;
    }
    let words: Vec<OsString> = words.collect();
    let word = |at: usize| words.get(at).and_then(|word: &OsString| word.to_str());
    let first = word(0);
    let is_hook = first == Some(HOOK);
    if first.is_none_or(|first| LOCAL.contains(&first)) || (is_hook && word(1).is_some_and(hooks::is_of_git)) {
        return None;
    }
    match call(&words, is_hook) {
        Ok(reply) => {
            let _ = io::stderr().write_all(reply.stderr.as_bytes());
            let _ = io::stdout().write_all(reply.stdout.as_bytes());
            // A hook that was refused is a denial, whatever the code.
            Some(if is_hook && reply.exit != 0 { DENY } else { reply.exit })
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: the process outside of the sandbox does not answer: {error}");
            Some(if is_hook { DENY } else { 7 })
        }
    }
}

fn call(words: &[OsString], is_hook: bool) -> io::Result<SandboxReply> {
    let utf8 = |word: &OsString| word.to_str().map(str::to_owned);
    let args: Option<Vec<String>> = words.iter().map(utf8).collect();
    let args = args.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a word is not valid UTF-8"))?;
    let mut stdin = String::new();
    if is_hook && !io::stdin().is_terminal() {
        io::stdin().lock().read_to_string(&mut stdin)?;
    }
    calls_from_inside::call(args, stdin)
}
