//! The sinks: how a notification leaves.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use super::document;
use crate::App;
use crate::core::trust;
use fairway_core::config::SinkSettings;
use fairway_core::domain::Refusal;
use fairway_core::domain::id::SinkName;
use fairway_core::domain::notification::{NotifySink, ReceiptState};
use fairway_core::env::{Env, vars};
use fairway_core::os::capture::{Call, capture};
use fairway_core::os::executable;
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::render::strip_controls;
use fairway_core::wire::{NotificationView, SentView};

/// The time limit of `notify-send`, and of the command of a sink.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest time that a delivery to a sink takes, including the time to kill a program that does not end.
pub(super) const LONGEST_DELIVERY: Duration = Duration::from_secs(20);
/// The longest text in an escape sequence, in characters.
const MAX_OSC_CHARS: usize = 240;

#[derive(Debug)]
pub(super) struct SinkError {
    /// The reason. It quotes no output of the program: an address in the output may be a secret.
    pub why: String,
    /// The program's output, for a person who tests the sink.
    pub output: Vec<u8>,
}

impl SinkError {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), output: Vec::new() }
    }
}

/// Sends a notification to a sink. The sinks `bell` and `osc` write to `terminal`, the terminal of the sender.
pub(super) fn deliver(
    app: &App,
    sink: &SinkSettings<'_>,
    notification: &NotificationView,
    terminal: Option<&mut dyn Write>,
) -> Result<(), SinkError> {
    match sink.way {
        NotifySink::Bell => write_terminal(terminal, b"\x07"),
        NotifySink::Osc => write_terminal(terminal, osc(&app.env, &notification.title, &notification.text).as_bytes()),
        NotifySink::Desktop => desktop(app, notification),
        NotifySink::Command => command(app, sink, notification),
    }
}

fn write_terminal(terminal: Option<&mut dyn Write>, bytes: &[u8]) -> Result<(), SinkError> {
    let terminal = terminal.ok_or_else(|| SinkError::new("there is no terminal"))?;
    let written = terminal.write_all(bytes).and_then(|()| terminal.flush());
    written.map_err(|error| SinkError::new(format!("the terminal cannot be written: {error}")))
}

/// The escape sequence for a message of the terminal: OSC 777 for those that know no OSC 9, else OSC 9. One of them, because some
/// know both and would show it twice. Tmux hands it on when its `allow-passthrough` is on.
fn osc(env: &Env, title: &str, text: &str) -> String {
    let clean = |text: &str| strip_controls(text).replace(';', ",").chars().take(MAX_OSC_CHARS).collect::<String>();
    let term = env.var(vars::TERM).unwrap_or_default();
    let knows_777 = term.starts_with("rxvt") || term.starts_with("foot") || env.var(vars::VTE_VERSION).is_some();
    let sequence = if knows_777 {
        format!("\x1b]777;notify;{};{}\x1b\\", clean(title), clean(text))
    } else {
        format!("\x1b]9;Fairway {}: {}\x1b\\", clean(title), clean(text))
    };
    if env.var(vars::TMUX).is_some() {
        return format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b"));
    }
    sequence
}

fn desktop(app: &App, notification: &NotificationView) -> Result<(), SinkError> {
    let path = app.env.var_os(vars::PATH).map(OsString::as_os_str);
    let program = executable::find("notify-send", path, &app.project.root)
        .ok_or_else(|| SinkError::new("notify-send is not in PATH"))?;
    // The body may have markup.
    let markup_free = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let body: Vec<String> = notification.text.lines().map(|line| markup_free(&strip_controls(line))).collect();
    let args = ["--app-name=Fairway".to_owned(), "--".to_owned(), strip_controls(&notification.title), body.join("\n")];
    run(app, &program, &args.map(OsString::from), b"")
}

fn command(app: &App, sink: &SinkSettings<'_>, notification: &NotificationView) -> Result<(), SinkError> {
    let text =
        sink.command.ok_or_else(|| SinkError::new(format!("notify.per_sink.{}.command is not set", sink.name)))?;
    let mut stdin = serde_json::to_vec(notification).map_err(|error| SinkError::new(error.to_string()))?;
    stdin.push(b'\n');
    let args = [OsString::from("-c"), OsString::from(text)];
    run(app, Path::new("/bin/sh"), &args, &stdin)
}

/// Runs a program in the root with the sender's environment, without the variables of a session.
fn run(app: &App, program: &Path, args: &[OsString], stdin: &[u8]) -> Result<(), SinkError> {
    let mut env: BTreeMap<OsString, OsString> = app.env.vars().clone();
    for name in vars::SESSION_IDENTITY {
        env.remove(&OsString::from(name));
    }
    env.insert(vars::FAIRWAY_ROOT.into(), PathBuf::clone(&app.project.root).into());
    let call = Call { program, args, env: &env, cwd: &app.project.root, stdin, limit: TIMEOUT, ends_group: true };
    let done = capture(&call).map_err(|error: io::Error| SinkError::new(format!("cannot be started: {error}")))?;
    let why = match done.exit {
        ExitReason::Code(0) => return Ok(()),
        ExitReason::Code(code) => format!("exit code {code}"),
        ExitReason::Signal(number) => format!("killed by signal {number}"),
        ExitReason::TimedOut => format!("took longer than {} s", TIMEOUT.as_secs()),
    };
    Err(SinkError { why, output: [done.stdout, done.stderr].concat() })
}

/// Sends a sample to a sink, also in the quiet window, and writes no receipt. Returns the result and the messages of the
/// sink's program.
///
/// # Errors
/// `usage` for a sink that is neither built in nor configured; `untrusted` for one that runs a program of the configuration.
pub fn test(app: &App, name: &SinkName, terminal: Option<&mut dyn Write>) -> Result<(SentView, Vec<u8>)> {
    let sink = app.settings.notify.sink(name);
    if sink.way == NotifySink::Command {
        if sink.command.is_none() {
            let why = format!("no sink '{name}': name {} or one of notify.per_sink", NotifySink::built_in().join(", "));
            return Err(Refusal::Usage { why }.into());
        }
        trust::require(app)?;
    }
    let document = document::of_test(app);
    let failure = deliver(app, &sink, &document, terminal).err();
    let state = if failure.is_none() { ReceiptState::Sent } else { ReceiptState::Failed };
    let (error, output) = failure.map(|failure| (failure.why, failure.output)).unzip();
    let view = SentView {
        sink: name.to_string(),
        state: state.as_str(),
        items: Vec::new(),
        title: document.title,
        attempt: 1,
        error,
        retry_at: None,
    };
    Ok((view, output.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(vars: &[(&str, &str)]) -> Env {
        let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Env::from_process().with_vars(&vars)
    }

    #[test]
    fn escape_sequence_is_the_one_that_the_terminal_knows_and_holds_no_control_characters() {
        let plain = [("TERM", "xterm-kitty"), ("TMUX", ""), ("VTE_VERSION", "")];
        let hostile = "a;b\u{1b}\\\u{7}c\u{9c}\u{202e}\nd";
        let sent = osc(&env(&plain), "p: approval", hostile);
        assert_eq!(sent, "\u{1b}]9;Fairway p: approval: a,b\\c d\u{1b}\\");
        for (name, value) in [("TERM", "foot-extra"), ("TERM", "rxvt-unicode-256color"), ("VTE_VERSION", "7800")] {
            let mut vars = plain.to_vec();
            vars.push((name, value));
            assert_eq!(osc(&env(&vars), "p;q", hostile), "\u{1b}]777;notify;p,q;a,b\\c d\u{1b}\\", "{name}");
        }
        let mut inside = plain.to_vec();
        inside.push(("TMUX", "/tmp/tmux-0/default,1,0"));
        let wrapped = osc(&env(&inside), "p", "x");
        assert_eq!(wrapped, "\u{1b}Ptmux;\u{1b}\u{1b}]9;Fairway p: x\u{1b}\u{1b}\\\u{1b}\\");
        assert!(osc(&env(&plain), "p", &"x".repeat(10_000)).len() < 400);
    }
}
