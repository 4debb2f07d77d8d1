//! Other shells, and what the shell itself runs: texts within texts.

use std::rc::Rc;

use super::arg::{Arg, Expansion, base_name};
use super::working_dir::Place;
use super::{ShellAnalysis, Stdin, Write};

/// Programs that read shell text.
const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "pdksh", "ash", "fish", "tcsh", "csh", "yash", "rbash",
    "posh", "rc", "oksh", "loksh", "hush", "elvish", "nu", "xonsh",
];

/// Variables whose text a program runs, whatever it says.
const EXECUTED_VARIABLES: &[&str] = &[
    "BASH_ENV", "PROMPT_COMMAND", "BASH_ALIASES", "BASH_CMDS", "LD_PRELOAD", "LD_AUDIT", "PERL5OPT", "PERL5DB",
    "RUBYOPT", "PYTHONSTARTUP", "PYTHONINSPECT", "ZDOTDIR", "LESSOPEN", "LESSCLOSE", "MAKEFLAGS", "MAKEFILES",
    "GNUMAKEFLAGS", "MFLAGS", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_EXEC_PATH", "TAR_OPTIONS",
    "PYTHONPATH_STARTUP", "INPUTRC",
];

/// Variables that name a directory to which programs write.
const TARGET_VARIABLES: &[&str] = &[
    "CARGO_TARGET_DIR", "CARGO_INSTALL_ROOT", "DESTDIR", "PREFIX", "GOBIN", "npm_config_prefix", "BUILD_DIR", "OUT_DIR",
];

/// Variables that name the directories and files that git writes.
const GIT_TARGET_VARIABLES: &[&str] =
    &["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"];

/// Ends of the names of variables whose text is run as a command.
const COMMAND_VARIABLE_SUFFIXES: &[&str] =
    &["_COMMAND", "PAGER", "EDITOR", "VISUAL", "BROWSER", "ASKPASS", "_SSH", "_RSH", "EXTERNAL_DIFF", "GIT_SSH"];

/// Files that common tools generate.
const KNOWN_SOURCED_FILES: &[&str] = &[
    "bin/activate", ".cargo/env", ".env", ".nvm/nvm.sh", "/nvm.sh", ".bashrc", ".bash_profile", ".profile", ".zshrc",
    ".zshenv", "/etc/profile", "conda.sh", ".sdkman/bin/sdkman-init.sh", ".asdf/asdf.sh", "venv/bin/activate",
    ".ghcup/env",
];

pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name.trim_start_matches('-'))
}

impl ShellAnalysis {
    /// Analyzes the call of a shell: the text behind `-c`, the file that it runs, or its input.
    pub(super) fn analyze_shell(&mut self, argv: &[Arg], stdin: &Stdin) {
        let (mut place, mut has_text, mut has_stdin) = (1, false, false);
        while let Some(arg) = argv.get(place) {
            let Some(text) = arg.text() else {
                if arg.may_be_option() {
                    self.note_unresolved("a shell runs an expansion");
                    return;
                }
                break;
            };
            if matches!(text, "--" | "-") {
                has_stdin |= text == "-" && argv.len() == place + 1;
                place += 1;
                break;
            }
            // An option without a letter: what follows may be an option too.
            if text == "+" {
                place += 1;
                continue;
            }
            if let Some(long) = text.strip_prefix("--") {
                if matches!(long, "version" | "help") {
                    return;
                }
                // Another shell's way to say -c.
                if long == "command" || long == "commands" || long == "init-command" {
                    has_text = true;
                } else if let Some((_, text)) = long.split_once('=').filter(|(name, _)| name.contains("command")) {
                    self.analyze_nested(text);
                    return;
                } else if matches!(long, "rcfile" | "init-file") {
                    if let Some(file) = argv.get(place + 1) {
                        self.note_run_file(file);
                    }
                    place += 1;
                }
                place += 1;
                continue;
            }
            let Some(cluster) = text.strip_prefix(['-', '+']).filter(|cluster| !cluster.is_empty()) else { break };
            if !cluster.chars().all(|character| character.is_ascii_alphabetic()) {
                self.note_unresolved("a shell has an unknown option");
                return;
            }
            has_text |= text.starts_with('-') && cluster.contains(['c', 'C']);
            has_stdin |= text.starts_with('-') && cluster.contains(['s', 'i']);
            place += 1;
            // `-o pipefail`, also at the end of `-euo`.
            if cluster.contains(['o', 'O']) {
                if argv.get(place).is_some_and(|value| !value.is_single_word()) {
                    self.note_unresolved("a shell runs an expansion");
                    return;
                }
                place += 1;
            }
        }
        match argv.get(place) {
            Some(arg) if has_text => match arg.text() {
                Some(text) => {
                    let text = text.to_owned();
                    self.analyze_nested(&text);
                }
                None => self.note_unresolved("a shell runs an expansion"),
            },
            Some(arg) if !has_stdin => self.note_run_file(arg),
            None if has_text => {}
            _ => match stdin {
                Stdin::Text(text) => self.analyze_nested(&text.clone()),
                Stdin::Inherited | Stdin::Lines(_) | Stdin::Other => {
                    self.note_unresolved("a shell reads its program from another source");
                }
            },
        }
    }

    /// Analyzes a shell text that another program runs.
    pub(super) fn analyze_nested(&mut self, text: &str) {
        self.wrapper_depth += 1;
        self.analyze(text);
        self.wrapper_depth -= 1;
    }

    /// Analyzes a shell text that another program runs; nothing when there is no `arg`. When `arg` is an expansion, the whole
    /// text is unresolved.
    pub(super) fn analyze_nested_arg(&mut self, arg: Option<&Arg>) {
        match arg {
            None => {}
            Some(Arg::Known(text)) => self.analyze_nested(&text.clone()),
            Some(Arg::Unknown { .. }) => self.note_unresolved("the command to run is an expansion"),
        }
    }

    /// Analyzes a command to which another program appends unknown arguments.
    pub(super) fn analyze_command_prefix(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.analyze_nested(&format!("{text} $__more"));
        }
    }

    /// Notes a file that a shell or an interpreter runs. Its content is not read. If the text also writes the file, the end of the
    /// analysis marks the text as unresolved, because it cannot be known what would run.
    pub(super) fn note_run_file(&mut self, arg: &Arg) {
        if arg.may_be_option() && arg.text().is_none() {
            self.note_unresolved("the file that is run is an expansion");
        }
        if ["/dev/", "/proc/"].iter().any(|start| arg.head().starts_with(start)) {
            self.note_unresolved("the program to run comes from another source");
        }
        match arg {
            Arg::Known(text) => {
                self.files.executed.insert(base_name(text).to_owned());
            }
            Arg::Unknown { tail, form: Expansion::One, .. } if tail.contains('/') => {
                self.files.executed.insert(base_name(tail).to_owned());
            }
            Arg::Unknown { .. } => self.note_run_unknown(),
        }
    }

    /// Notes that a file is run whose name cannot be determined.
    pub(super) fn note_run_unknown(&mut self) {
        self.files.runs_unknown = true;
    }

    /// Notes that the text writes this file. If the text also runs the file, the end of the analysis marks the text as unresolved,
    /// because it cannot be known what would run.
    pub(super) fn note_written_file(&mut self, arg: &Arg) {
        if self.is_tentative || arg.text() == Some("/dev/null") {
            return;
        }
        self.files.changes += 1;
        let text = known_end(arg);
        self.files.writes_git |= is_setting_of_git(arg);
        if arg.text().is_some() || text.contains('/') {
            self.files.written.insert(base_name(text).to_owned());
        }
    }

    /// Analyzes a builtin command of the shell. Returns `false` when `name` is no builtin, or this call of it has nothing to
    /// analyze.
    pub(super) fn analyze_builtin(&mut self, name: &str, argv: &[Arg]) -> bool {
        let words = argv.get(1..).unwrap_or_default();
        let options = || words.iter().filter_map(Arg::text).take_while(|word| word.starts_with('-'));
        let has = |character: char| options().any(|word| !word.starts_with("--") && word.contains(character));
        match name {
            "eval" => {
                let texts: Option<Vec<&str>> = words.iter().map(Arg::text).collect();
                match texts {
                    Some(texts) => {
                        let text = texts.join(" ");
                        self.analyze_nested(text.strip_prefix("-- ").unwrap_or(&text));
                    }
                    None => self.note_unresolved("eval runs an expansion"),
                }
            }
            "source" | "." => self.analyze_source(words),
            "trap" => {
                let first = words.iter().find(|word| !matches!(word.text(), Some("--" | "-l" | "-p")));
                let is_name = |text: &str| text == "-" || text.chars().all(|character| character.is_ascii_digit());
                if !first.and_then(Arg::text).is_some_and(is_name) {
                    self.analyze_nested_arg(first);
                }
            }
            "alias" => {
                if has('g') || has('s') {
                    self.note_unresolved("an alias is not a command");
                }
                for word in words {
                    match word.text() {
                        Some(text) => {
                            if let Some((_, value)) = text.split_once('=') {
                                self.analyze_command_prefix(value);
                            }
                        }
                        None => self.note_unresolved("an alias is an expansion"),
                    }
                }
            }
            "hash" if has('p') => self.note_unresolved("a command name is bound to another program"),
            "enable" if has('f') => self.note_unresolved("a command is loaded from a file"),
            "bind" | "complete" | "compgen" | "fc" | "zle" | "autoload" | "emulate" | "zmodload" | "sched" | "r" => {
                self.note_unresolved(&format!("cannot determine what {name} does"));
            }
            "history" if words.iter().any(|word| word.head().starts_with('-')) => {
                self.note_unresolved("cannot determine what history does");
            }
            "mapfile" | "readarray" => {
                let at = words.iter().position(|word| word.text().is_some_and(|text| text.starts_with("-C")));
                if let Some(at) = at {
                    match words.get(at).and_then(Arg::text).and_then(|text| text.strip_prefix("-C")) {
                        Some(text) if !text.is_empty() => self.analyze_command_prefix(text),
                        _ => match words.get(at + 1) {
                            Some(Arg::Known(text)) => self.analyze_command_prefix(&text.clone()),
                            _ => self.note_unresolved("the callback of mapfile is an expansion"),
                        },
                    }
                }
                for word in words {
                    self.analyze_deferred(word);
                }
            }
            "let" => {
                for word in words {
                    if let Some(text) = word.text() {
                        self.analyze_arithmetic(text);
                    }
                    self.analyze_deferred(word);
                }
            }
            "test" | "[" | "printf" | "unset" | "read" | "declare" | "typeset" | "local" | "export" | "readonly"
            | "getopts" | "wait" | "set" | "shift" | "return" | "exit" => {
                for word in words {
                    self.analyze_deferred(word);
                    let declares = matches!(name, "declare" | "typeset" | "local" | "export" | "readonly");
                    if declares {
                        self.analyze_declaration(word);
                    }
                }
                if name == "export" {
                    for word in words {
                        let head =
                            word.head().split_once('=').map(|(name, value)| (name.to_owned(), word.with_head(value)));
                        if let Some((name, value)) = head {
                            self.set_variable(&name, &value);
                        }
                    }
                }
                self.stops_on_failure |= name == "set" && has('e');
                let is_git = |word: &Arg| word.head().starts_with("GIT_CONFIG") || word.may_split();
                self.skips_git_hooks |= (name == "unset" || name == "export" && has('n')) && words.iter().any(is_git);
                if name == "export" && has('f') {
                    self.note_unresolved("a function is exported to other programs");
                }
            }
            "cd" | "pushd" | "popd" | "chdir" => {
                self.change_directory(name, words);
            }
            _ => return false,
        }
        true
    }

    fn change_directory(&mut self, name: &str, words: &[Arg]) {
        let before = Rc::clone(&self.place);
        if !self.spend(4 * self.place.size()) {
            return;
        }
        if name == "popd" {
            self.place = self.place_stack.pop().unwrap_or_else(|| Rc::new(Place::lost()));
            return;
        }
        let to = words.iter().find(|word| !matches!(word.text(), Some("-L" | "-P" | "-e" | "--" | "-n")));
        self.place = match to {
            Some(to) if to.text() == Some("-") && name != "pushd" => {
                self.previous_place.take().unwrap_or_else(|| Rc::new(Place::lost()))
            }
            // `cd` alone leads home, `~` and `$HOME` are not in the worktree.
            Some(to) if !to.head().starts_with(['-', '+']) => Rc::new(self.place.changed_to(to)),
            _ => Rc::new(Place::lost()),
        };
        if name == "pushd" {
            self.place_stack.push(Rc::clone(&before));
        }
        self.previous_place = Some(before);
    }

    fn analyze_source(&mut self, words: &[Arg]) {
        let Some(file) = words.iter().find(|word| word.text() != Some("--")) else { return };
        let tail = match file {
            Arg::Known(text) => text,
            Arg::Unknown { head, tail, .. } if head == "/" => tail,
            Arg::Unknown { tail, .. } => tail,
        };
        let is_usual = KNOWN_SOURCED_FILES.iter().any(|end| tail.ends_with(end))
            && file.is_single_word()
            && !file.head().starts_with("/dev/");
        if is_usual {
            self.note_run_file(&Arg::known(tail.clone()));
        } else {
            self.note_unresolved("cannot determine what a sourced file changes in the shell");
        }
    }

    /// Notes the assignment in a word of the form `NAME=VALUE`. Any other word is ignored.
    pub(super) fn analyze_declaration(&mut self, word: &Arg) {
        match word {
            Arg::Known(text) => {
                if let Some((name, value)) = text.split_once('=') {
                    self.note_assignment(name, &Arg::known(value));
                }
            }
            Arg::Unknown { head, .. } => {
                if let Some((name, value)) = head.split_once('=') {
                    self.note_assignment(name, &word.with_head(value));
                }
            }
        }
    }

    /// Notes that a variable is set: the values of some variables are run as programs, others name files that programs write.
    pub(super) fn note_assignment(&mut self, name: &str, value: &Arg) {
        self.analyze_deferred(value);
        let text = value.text();
        if text == Some("") {
            return;
        }
        let name = name.trim_end_matches('+');
        self.sets_path |= name == "PATH";
        if name == "CDPATH" {
            self.place = Rc::new(Place::lost());
        }
        if TARGET_VARIABLES.contains(&name) {
            self.writes.push(Write { path: value.clone(), place: Rc::clone(&self.place) });
        }
        if GIT_TARGET_VARIABLES.contains(&name) {
            self.git_directories.push(Write { path: value.clone(), place: Rc::clone(&self.place) });
        }
        if name.starts_with("GIT_TRACE") && value.head().starts_with('/') {
            self.writes.push(Write { path: value.clone(), place: Rc::clone(&self.place) });
        }
        // Whatever else the text says of it, it is not what it usually is.
        if matches!(name, "HOME" | "PWD") {
            self.trusted.home = false;
            let read_at_start =
                [".bashrc", ".profile", ".bash_profile", ".bash_login", ".zshrc", ".zshenv", ".gitconfig"];
            self.files.executed.extend(read_at_start.map(str::to_owned));
        }
        let is_command = COMMAND_VARIABLE_SUFFIXES.iter().any(|end| name.ends_with(end));
        let is_silenced = text == Some("/dev/null");
        let may_name_a_file = text.is_none_or(|text| text.contains(['/', '$', '`', ':']) || text.contains("require"));
        let is_run = EXECUTED_VARIABLES.contains(&name)
            || ["BASH_FUNC_", "GIT_CONFIG_KEY", "GIT_CONFIG_VALUE"].iter().any(|start| name.starts_with(start))
            || matches!(name, "GIT_CONFIG_GLOBAL" | "GIT_CONFIG_SYSTEM" | "GIT_CONFIG") && !is_silenced
            || matches!(name, "ENV" | "NODE_OPTIONS") && may_name_a_file;
        if is_run {
            self.note_unresolved(&format!("the variable {name} is set, and its value is executed"));
        } else if is_command {
            match text {
                // An editor gets the name of one file.
                Some(text) if name.ends_with("EDITOR") || name.ends_with("VISUAL") => {
                    self.analyze_nested(&format!("{text} \"$__more\""));
                }
                Some(text) => self.analyze_command_prefix(text),
                None => {
                    self.note_unresolved(&format!("the variable {name} is an expansion, and its value is executed"));
                }
            }
        } else if matches!(name, "PS0" | "PS1" | "PS2" | "PS4" | "PROMPT" | "SHELL") && text.is_none() {
            self.note_unresolved(&format!("the variable {name} is an expansion, and its value is executed"));
        } else if let Some(text) = text.filter(|text| text.contains(' ')) {
            self.analyze_maybe(text);
        }
    }
}

/// The part of a word that is known, up to its end.
const fn known_end(arg: &Arg) -> &String {
    match arg {
        Arg::Known(text) => text,
        Arg::Unknown { tail, .. } => tail,
    }
}

/// Whether a word names a file with settings or programs of git.
pub(super) fn is_setting_of_git(arg: &Arg) -> bool {
    let signs = ["git/hooks/", ".gitconfig", ".git/config", "/git/config", "git/info/attributes"];
    signs.iter().any(|sign| known_end(arg).contains(sign))
}
