//! Programs that run their later words as a command.

use std::rc::Rc;

use super::arg::Arg;
use super::working_dir::Place;
use super::{ShellAnalysis, Stdin};

/// The command line of a wrapper.
pub(super) struct Wrapper {
    names: &'static [&'static str],
    /// Its short options with a value.
    short: &'static str,
    /// Its long options whose value is the next word.
    long: &'static [&'static str],
    /// How many words stand before the command.
    words: usize,
    /// Whether `NAME=VALUE` may stand before it.
    assigns: bool,
}

const fn wrapper(
    names: &'static [&'static str],
    short: &'static str,
    long: &'static [&'static str],
    words: usize,
    assigns: bool,
) -> Wrapper {
    Wrapper { names, short, long, words, assigns }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper(&["env", "genv"], "uCSP", &["unset", "chdir", "split-string", "argv0"], 0, true),
    wrapper(
        &["sudo"],
        "CDghprRtTuU",
        &[
            "close-from", "chdir", "group", "host", "prompt", "role", "chroot", "type", "command-timeout", "user",
            "other-user",
        ],
        0,
        true,
    ),
    wrapper(&["doas"], "Cu", &[], 0, true),
    wrapper(&["nice", "gnice"], "n", &["adjustment"], 0, false),
    wrapper(&["ionice"], "cnpPu", &["class", "classdata", "pid", "pgid", "uid"], 0, false),
    wrapper(
        &[
            "nohup", "setsid", "builtin", "busybox", "toybox", "noglob", "nocorrect", "-", "time", "gtime", "chronic",
            "unbuffer", "fakeroot", "eatmydata", "catchsegv", "linux32", "linux64", "coproc", "caffeinate", "ltrace",
            "strace", "xvfb-run", "dbus-run-session", "winpty", "stdbuf", "gstdbuf", "unshare", "nsenter", "setpriv",
            "systemd-run", "systemd-inhibit", "runuser", "torsocks", "proxychains", "proxychains4", "choom", "prlimit",
            "rlwrap", "cgexec", "firejail", "bwrap", "pkexec", "gosu", "su-exec", "chpst", "softlimit", "setuidgid",
            "envdir", "aoss", "padsp", "optirun", "primusrun", "faketime", "numactl", "perf", "valgrind", "heaptrack",
            "hyperfine", "entr", "ts", "ifne", "doppler", "op", "dotenv", "direnv", "uv", "poetry", "pipenv", "pdm",
            "hatch", "rye", "bundle", "npx", "bunx", "pnpx", "xargs-like",
        ],
        "foioeSGRwtmunpcpEP",
        &[],
        0,
        true,
    ),
    wrapper(&["timeout", "gtimeout"], "ks", &["kill-after", "signal"], 1, false),
    wrapper(&["chroot"], "", &["userspec", "groups"], 1, false),
    wrapper(&["taskset", "chrt", "setarch"], "", &[], 1, false),
    wrapper(&["command"], "", &[], 0, false),
    wrapper(&["exec"], "a", &[], 0, false),
    wrapper(&["repeat"], "", &[], 1, false),
];

/// Programs that start a shell when they are given no command.
pub(super) const STARTS_SHELL: &[&str] = &[
    "sudo", "doas", "unshare", "nsenter", "chroot", "setarch", "linux32", "linux64", "fakeroot", "runuser", "firejail",
    "script", "newgrp", "sg", "machinectl", "nix-shell", "ssh",
];

/// Wrappers whose own options are many: where their command begins is not worked out, every later word may begin it.
const FIRST_VAGUE_WRAPPER: &str = "stdbuf";

/// Devices behind an option that are no programs: what the wrapper prints goes there.
const OUTPUT_DEVICES: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

pub(super) fn find(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name))
}

/// Whether a program runs its arguments as a command. That command is then judged on its own.
pub(in crate::guard) fn runs_others(name: &str) -> bool {
    find(name).is_some()
        || super::nested_shell::is_shell(name)
        || matches!(name, "xargs" | "gxargs" | "watch" | "ssh" | "su" | "tmux" | "script" | "flock")
}

/// Whether the word is an option, possibly abbreviated, whose value is the next word.
fn takes_value(wrapper: &Wrapper, text: &str) -> bool {
    if let Some(long) = text.strip_prefix("--") {
        return !long.contains('=') && !long.is_empty() && wrapper.long.iter().any(|known| known.starts_with(long));
    }
    let chars = text.get(1..).unwrap_or_default();
    chars
        .chars()
        .position(|character| wrapper.short.contains(character))
        .is_some_and(|at| at + 1 == chars.chars().count())
}

impl ShellAnalysis {
    /// Analyzes the command that a wrapper runs, which begins behind the wrapper's own options. Where an unknown option may have
    /// taken the first word of the command, a shell among the next words counts as a command too.
    pub(super) fn analyze_wrapped(&mut self, wrapper: &Wrapper, name: &str, argv: &[Arg], stdin: &Stdin) {
        let group = wrapper.names;
        let is_vague = group.contains(&FIRST_VAGUE_WRAPPER) && group.len() > 4;
        let (mut place, mut words) = (1, wrapper.words);
        while let Some(arg) = argv.get(place) {
            let Some(text) = arg.text() else {
                // One word in the place of a word is a word; anything else may be the command itself.
                if words > 0 && arg.is_single_word() {
                    words -= 1;
                    place += 1;
                    continue;
                }
                break;
            };
            if name == "env" || name == "genv" {
                if let Some(split) = split_string(text, argv.get(place + 1)) {
                    // The words behind it go on with what it says.
                    match split.text() {
                        Some(text) if text.contains('\\') => {
                            self.note_unresolved("the text that env splits has escapes");
                        }
                        Some(text) => self.analyze_command_prefix(text),
                        None => self.note_unresolved("the text that env splits is an expansion"),
                    }
                }
                self.skips_git_hooks |= clears_environment(text, argv.get(place + 1));
                if matches!(text, "-C" | "--chdir") || text.starts_with("--chdir=") || text.starts_with("-C") {
                    self.place = Rc::new(Place::lost());
                }
            }
            if name == "command" && text.starts_with('-') && text.contains(['v', 'V']) {
                return;
            }
            if text == "--" {
                place += 1;
                break;
            }
            if text.starts_with('-') && text.len() > 1 {
                let skip = 1 + usize::from(!is_vague && takes_value(wrapper, text));
                if skip == 2 && argv.get(place + 1).is_some_and(|value| !value.is_single_word()) {
                    self.note_unresolved(&format!("{name} runs an expansion"));
                    return;
                }
                place += skip;
                let is_output = |next: &Arg| next.text().is_some_and(|text| OUTPUT_DEVICES.contains(&text));
                place += usize::from(is_vague && skip == 1 && argv.get(place).is_some_and(is_output));
                continue;
            }
            let is_assignment = text.split_once('=').is_some_and(|(variable, _)| {
                !variable.is_empty()
                    && variable.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
            });
            if wrapper.assigns && is_assignment {
                self.analyze_declaration(arg);
                place += 1;
                continue;
            }
            if words > 0 {
                words -= 1;
                place += 1;
                continue;
            }
            break;
        }
        // An option that is not known may have taken the word that looks like the command: each later one may be it too.
        let rest = argv.get(place..).unwrap_or_default();
        if let Some(Arg::Unknown { .. }) = rest.first() {
            self.note_unresolved(&format!("{name} runs an expansion"));
        }
        if rest.is_empty() && STARTS_SHELL.contains(&name) {
            self.analyze_stdin(name, stdin);
        }
        self.wrapper_depth += 1;
        self.analyze_command(rest.to_vec(), stdin);
        // A shell behind an option's value is a shell all the same.
        if is_vague || wrapper.words > 0 {
            for later in 1..rest.len().min(8) {
                let starts_shell =
                    rest.get(later).and_then(Arg::program).is_some_and(|name| super::nested_shell::is_shell(&name));
                if starts_shell {
                    self.analyze_command(rest.get(later..).unwrap_or_default().to_vec(), stdin);
                }
            }
        }
        self.wrapper_depth -= 1;
    }
}

/// Whether an option of `env` takes git's settings out of the environment.
fn clears_environment(text: &str, next: Option<&Arg>) -> bool {
    let is_git = |name: &str| name.starts_with("GIT_CONFIG");
    let long = |option: &str| text.len() > 3 && option.starts_with(text.split('=').next().unwrap_or(text));
    let short = text.strip_prefix('-').filter(|short| !short.starts_with('-'));
    long("--ignore-environment")
        || text == "-"
        || short.is_some_and(|short| short.split(['u', 'C', 'S']).next().is_some_and(|flags| flags.contains('i')))
        || long("--unset") && text.split_once('=').is_none_or(|(_, name)| is_git(name))
        || short.and_then(|short| short.split_once('u')).is_some_and(|(_, name)| {
            is_git(name) || name.is_empty() && next.is_none_or(|next| next.text().is_none_or(is_git))
        })
}

/// The text of `env -S`, when this is it.
fn split_string(text: &str, next: Option<&Arg>) -> Option<Arg> {
    if let Some(text) = text.strip_prefix("--split-string=") {
        return Some(Arg::known(text));
    }
    let is_long = text.len() > 3 && "--split-string".starts_with(text);
    let cluster = text.strip_prefix('-').filter(|cluster| !cluster.starts_with('-'));
    let rest = cluster
        .and_then(|cluster| cluster.split_once('S'))
        .filter(|(before, _)| before.chars().all(|character| matches!(character, 'i' | 'v' | '0')));
    match (rest, is_long) {
        (Some((_, attached)), _) if !attached.is_empty() => Some(Arg::known(attached)),
        (Some(_), _) | (None, true) => Some(next.cloned().unwrap_or_else(Arg::anything)),
        (None, false) => None,
    }
}
