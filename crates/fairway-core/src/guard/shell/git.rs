//! The programs that git runs beside itself: aliases, hooks, editors, filters, other commands.

use super::ShellAnalysis;
use super::arg::Arg;
use super::git_commands::{is_own_command, takes_value};

/// Settings whose text git runs, or that change what it does elsewhere.
const EXECUTED_SETTINGS: &[&str] = &[
    "core.editor", "core.pager", "core.askpass", "core.gitproxy", "core.fsmonitor", "sequence.editor", "diff.external",
    "gpg.program", "gpg.ssh.program", "interactive.difffilter", "uploadpack.packobjectshook", "credential.helper",
];
const UNSAFE_SETTINGS: &[&str] = &[
    "include", "includeif", "push", "url", "remote", "branch", "protocol", "core.hookspath", "core.worktree", "hook",
    "help", "alias",
];
const EXECUTED_SETTING_SUFFIXES: &[&str] = &[
    "command", ".cmd", ".textconv", ".driver", ".clean", ".smudge", ".process", ".helper", ".program", ".tool",
    ".path", ".update", ".editor", ".receivepack", ".uploadpack", ".vcs", ".proxy",
];

/// The index of git's subcommand in `argv`, and whether the options before it are known. When one of them is an expansion, its
/// index is returned instead, with `false`. The index is out of bounds when there is no subcommand.
pub(in crate::guard) fn command_at(argv: &[Arg]) -> (usize, bool) {
    let (mut place, mut is_known) = (1, true);
    while let Some(arg) = argv.get(place) {
        match arg.text() {
            None => return (place, false),
            Some(text) if takes_value(text) => {
                is_known &= argv.get(place + 1).is_none_or(Arg::is_single_word);
                place += 2;
            }
            Some(text) if text.starts_with('-') => place += 1,
            Some(_) => break,
        }
    }
    (place, is_known)
}

/// Whether a setting names the directory of the hooks.
fn is_hooks_path(setting: &str) -> bool {
    setting.split('=').next().is_some_and(|key| key.eq_ignore_ascii_case("core.hookspath"))
}

/// Whether this command of git may push: it does, or it may be an alias.
fn may_push(command: &str) -> bool {
    matches!(command, "push" | "send-pack" | "subtree") || !is_own_command(command)
}

/// Splits a word of short options at `option`.
fn cluster_at<'a>(text: &'a str, option: &str) -> Option<(&'a str, &'a str)> {
    let cluster = text.strip_prefix('-').filter(|cluster| !cluster.starts_with('-'))?;
    cluster.split_once(option.strip_prefix('-')?)
}

/// Whether these words of `git config` set a program that git runs, or a file in which git finds such settings. `true` also when
/// the name of the setting is an expansion.
pub(super) fn sets_program(words: &[Arg]) -> bool {
    let plain = config_words(words);
    let [key, value, ..] = plain.as_slice() else { return false };
    let Some(key) = key.text().map(str::to_ascii_lowercase) else { return true };
    names_program(&key)
        || matches!(key.as_str(), "core.hookspath" | "core.worktree" | "core.attributesfile")
        || ["include.", "includeif."].iter().any(|section| key.starts_with(section))
        || key.starts_with("alias.") && value.text().is_none_or(|value| value.starts_with('!'))
}

/// Whether git runs the value of this setting.
fn names_program(key: &str) -> bool {
    EXECUTED_SETTINGS.contains(&key)
        || key.split('.').next() == Some("pager")
        || EXECUTED_SETTING_SUFFIXES.iter().any(|end| key.ends_with(end))
}

/// The key and the value that `git config` sets; empty when it only reads.
fn config_words(words: &[Arg]) -> Vec<&Arg> {
    const VALUED: &[&str] = &["-f", "--file", "--blob", "--type", "--default", "--comment", "--value", "--url"];
    let mut plain: Vec<&Arg> = Vec::new();
    let mut place = 0;
    while let Some(word) = words.get(place) {
        match word.text() {
            Some("-e" | "--edit" | "edit") => return Vec::new(),
            Some(text) if VALUED.contains(&text) => place += 1,
            Some(text) if text.starts_with('-') => {
                if matches!(
                    text,
                    "--get"
                        | "--get-all"
                        | "--get-regexp"
                        | "--list"
                        | "-l"
                        | "--get-urlmatch"
                        | "--unset"
                        | "--unset-all"
                ) {
                    return Vec::new();
                }
            }
            _ => plain.push(word),
        }
        place += 1;
    }
    match plain.first().and_then(|word| word.text()) {
        Some("get" | "list" | "unset") => return Vec::new(),
        Some("set" | "rename-section" | "remove-section") => {
            plain.remove(0);
        }
        _ => {}
    }
    plain
}

impl ShellAnalysis {
    /// Analyzes the other programs that a git command may run: aliases, editors, filters, transports.
    pub(super) fn analyze_git(&mut self, argv: &[Arg]) {
        let (at, _) = command_at(argv);
        for (place, arg) in argv.iter().enumerate().take(at).skip(1) {
            match arg.text() {
                Some("-c" | "--config-env") if argv.get(place + 1).is_some_and(|value| is_hooks_path(value.head())) => {
                    self.skips_git_hooks |= argv.get(at).and_then(Arg::text).is_none_or(may_push);
                    if let Some(value) = argv.get(place + 1) {
                        self.analyze_setting(value);
                    }
                }
                Some("-c") => {
                    if let Some(value) = argv.get(place + 1) {
                        self.analyze_setting(value);
                    }
                }
                Some("--config-env") => self.analyze_setting_value(argv.get(place + 1).map_or("", Arg::head), None),
                Some(text) => {
                    if let Some(value) = text.strip_prefix("--config-env=") {
                        self.analyze_setting_value(value, None);
                    }
                    if text.starts_with("--exec-path=") {
                        self.note_unknown_git_command();
                    }
                }
                None => {}
            }
        }
        let Some(command) = argv.get(at).and_then(Arg::text) else { return };
        let command = command.to_owned();
        let words = argv.get(at + 1..).unwrap_or_default();
        if !is_own_command(&command) {
            // It may be an alias of anything.
            self.note_unknown_git_command();
        }
        for word in words {
            if let Some((_, text)) = word.text().and_then(|text| text.split_once("ext::")) {
                self.analyze_nested(text);
            } else if word.text().is_none() && word.head().contains("ext::") {
                self.note_unresolved("git runs an expansion");
            }
        }
        match command.as_str() {
            "config" => self.analyze_git_config(words),
            "rebase" => self.option_text(words, &["-x", "--exec"]),
            "bisect" => self.analyze_after(words, "run"),
            "submodule" => self.analyze_after(words, "foreach"),
            "subtree" => {
                if let Some(at) = words.iter().position(|word| word.text() == Some("push")) {
                    let others =
                        words.iter().enumerate().filter(|(place, _)| *place != at).map(|(_, word)| word.clone());
                    let push = ["git", "push"].map(Arg::known).into_iter().chain(others).collect();
                    self.add_command(push, false);
                }
            }
            "for-each-repo" | "hook" | "shell" | "instaweb" | "daemon" | "citool" | "gui" | "send-email" | "p4"
            | "svn"
                if (command != "svn" || words.iter().any(|word| word.text() != Some("info"))) =>
            {
                self.note_unknown_git_command();
                for word in words {
                    self.analyze_deferred(word);
                }
            }
            "filter-branch" => {
                for word in words {
                    match word.text() {
                        Some(text) if !text.starts_with('-') => self.analyze_nested(text),
                        Some(_) => {}
                        None => self.note_unresolved("git runs an expansion"),
                    }
                }
            }
            "difftool" => self.option_text(words, &["-x", "--extcmd"]),
            "grep" => self.option_text(words, &["-O", "--open-files-in-pager"]),
            "clone" | "fetch" | "pull" | "ls-remote" | "push" | "fetch-pack" | "send-pack" | "archive" => {
                self.option_text(words, &["--upload-pack", "--receive-pack", "--exec"]);
                if command == "clone" {
                    self.option_text(words, &["-u"]);
                }
                let mut before = "";
                for word in words {
                    if matches!(before, "-c" | "--config") && command == "clone" {
                        self.analyze_setting(&word.clone());
                    }
                    if let Some(value) = word.text().and_then(|text| text.strip_prefix("--config=")) {
                        self.analyze_setting(&Arg::known(value));
                    }
                    before = word.text().unwrap_or_default();
                }
            }
            "remote" => {
                let is_mirror = words.iter().any(|word| word.head().starts_with("--m"));
                let is_odd = words.iter().any(Arg::may_split);
                if is_mirror || is_odd {
                    self.note_unknown_git_command();
                }
            }
            // A branch that is called so would make every push of it by name a forced one.
            "branch" | "checkout" | "switch" | "symbolic-ref" | "update-ref" | "worktree"
                if words.iter().any(|word| {
                    let head = word.head();
                    let glued =
                        head.starts_with('-') && (head.contains("=+") || !head.starts_with("--") && head.contains('+'));
                    glued || head.starts_with('+') || head.contains("/+") || head.contains("/-")
                }) =>
            {
                self.note_unknown_git_command();
            }
            _ => {}
        }
    }

    /// Notes that git may run any of its commands: an unknown alias or setting decides which.
    fn note_unknown_git_command(&mut self) {
        self.add_command(vec![Arg::known("git"), Arg::anything()], false);
    }

    /// Analyzes a setting of the form `KEY=VALUE`.
    fn analyze_setting(&mut self, word: &Arg) {
        match word {
            Arg::Known(text) => {
                let (key, value) = text.split_once('=').unwrap_or((text, "true"));
                self.analyze_setting_value(key, Some(&Arg::known(value)));
            }
            Arg::Unknown { head, .. } => match head.split_once('=') {
                Some((key, _)) => self.analyze_setting_value(key, None),
                None => self.note_unknown_git_command(),
            },
        }
    }

    fn analyze_setting_value(&mut self, key: &str, value: Option<&Arg>) {
        let key = key.to_ascii_lowercase();
        let text = value.and_then(Arg::text);
        if matches!(text, Some("" | "cat" | "true" | "false" | "less" | "less -R" | ":" | "/dev/null"))
            && !key.starts_with("alias.")
            && !key.starts_with("remote.")
            && !key.starts_with("push.")
        {
            return;
        }
        if key.starts_with("alias") {
            match text {
                Some(text) => match text.strip_prefix('!') {
                    Some(command) => self.analyze_command_prefix(command),
                    None => self.analyze_command_prefix(&format!("git {text}")),
                },
                None => self.note_unknown_git_command(),
            }
            self.note_unknown_git_command();
            return;
        }
        let section = key.split('.').next().unwrap_or_default();
        let runs = names_program(&key);
        let is_plain_remote =
            section == "remote" && [".url", ".fetch", ".tagopt", ".prune"].iter().any(|end| key.ends_with(end));
        let is_plain_branch = section == "branch" && !key.ends_with(".pushremote");
        let is_plain_push = matches!(key.as_str(), "push.autosetupremote" | "push.default" | "push.followtags");
        let changes = UNSAFE_SETTINGS.iter().any(|known| key == *known || section == *known);
        if runs {
            match text {
                Some(text) => self.analyze_command_prefix(text.strip_prefix('!').unwrap_or(text)),
                None => self.note_unknown_git_command(),
            }
        } else if changes && !(is_plain_remote || is_plain_branch || is_plain_push) {
            self.note_unknown_git_command();
        }
    }

    fn analyze_git_config(&mut self, words: &[Arg]) {
        let plain = config_words(words);
        if plain.iter().any(|word| word.may_split()) {
            self.note_unknown_git_command();
        }
        match plain.as_slice() {
            [] => {}
            [key] if key.text().is_some() => {}
            [key, rest @ ..] => match key.text() {
                Some(name) => self.analyze_setting_value(name, rest.first().copied()),
                None => self.note_unknown_git_command(),
            },
        }
    }

    /// Analyzes the values of these options, which the program runs as shell text.
    pub(super) fn option_text(&mut self, words: &[Arg], options: &[&str]) {
        for (place, word) in words.iter().enumerate() {
            for option in options {
                let is_long = option.starts_with("--");
                match word {
                    Arg::Known(text) => {
                        if text == option || is_long && text.len() > 3 && option.starts_with(text.as_str()) {
                            self.analyze_nested_arg(words.get(place + 1));
                        } else if let Some((_, value)) = text
                            .split_once('=')
                            .filter(|(name, _)| is_long && name.len() > 2 && option.starts_with(*name))
                        {
                            self.analyze_command_prefix(value);
                        } else if let Some((_, attached)) = cluster_at(text, option).filter(|_| !is_long) {
                            // `-x TEXT`, `-xTEXT`, `-ix TEXT`
                            match attached {
                                "" => self.analyze_nested_arg(words.get(place + 1)),
                                attached => self.analyze_command_prefix(attached),
                            }
                        }
                    }
                    Arg::Unknown { head, .. } => {
                        if is_long
                            && head.split_once('=').is_some_and(|(name, _)| name.len() > 2 && option.starts_with(name))
                        {
                            self.note_unresolved("git runs an expansion");
                        }
                    }
                }
            }
        }
    }

    /// Analyzes the command behind `word`, such as `run` of `git bisect`.
    fn analyze_after(&mut self, words: &[Arg], word: &str) {
        let Some(at) = words.iter().position(|arg| arg.text() == Some(word)) else {
            if words.iter().any(|word| word.text().is_none() && word.may_be_option()) {
                self.note_unknown_git_command();
            }
            return;
        };
        let rest: Vec<Arg> = words
            .get(at + 1..)
            .unwrap_or_default()
            .iter()
            .skip_while(|word| word.text().is_some_and(|text| text.starts_with('-')))
            .cloned()
            .collect();
        if let [Arg::Known(text)] = rest.as_slice() {
            let text = text.clone();
            self.analyze_nested(&text);
        }
        self.wrapper_depth += 1;
        self.analyze_command(rest, &super::Stdin::Inherited);
        self.wrapper_depth -= 1;
    }
}
