//! The analysis of a command by its program: some programs run their arguments as commands, most do not.

use super::arg::Arg;
use super::program_lists::{DASH_C_PROGRAMS, DATA_PROGRAMS, UNRESOLVABLE_PROGRAMS};
use super::{ShellAnalysis, Stdin, inline_code, nested_shell, wrappers};

/// Whether a word is `-j` with a value that only the shell will know: one word is never another option.
fn is_number_of_jobs(word: &Arg) -> bool {
    let all = || word.candidates().is_some_and(|words| words.iter().all(|word| word.starts_with("-j")));
    word.head().starts_with("-j") && (word.is_single_word() || all())
}

impl ShellAnalysis {
    /// Analyzes a command and its input, and the commands that it may run in turn.
    pub(super) fn analyze_command(&mut self, argv: Vec<Arg>, stdin: &Stdin) {
        let Some(first) = argv.first() else { return };
        if self.depth >= super::analysis::MAX_DEPTH || self.wrapper_depth > 24 {
            self.note_unresolved("the shell nesting is too deep");
            return;
        }
        if !self.spend(2 + 2 * argv.len()) {
            return;
        }
        if first.head().len() > 1 && first.head().starts_with('-') {
            // `time -o FILE …`, where the shell has no command of that name.
            let words = std::iter::once(Arg::known("time")).chain(argv).collect();
            return self.analyze_command(words, stdin);
        }
        let Some(name) = first.program() else {
            self.add_command(argv.clone(), true);
            self.note_unresolved("the name of a command is an expansion");
            return;
        };
        let is_text = DATA_PROGRAMS.contains(&name.as_str());
        self.add_command(argv.clone(), !is_text);
        self.analyze_program(&name, &argv, stdin);
    }

    fn analyze_program(&mut self, name: &str, argv: &[Arg], stdin: &Stdin) {
        if argv.first().is_some_and(|first| first.head().contains('/')) {
            self.note_run_file(argv.first().unwrap_or(&Arg::anything()));
        }
        self.note_written_files(name, argv);
        let is_plain = !wrappers::STARTS_SHELL.contains(&name) || wrappers::find(name).is_some();
        if !is_plain && (matches!(stdin, Stdin::Text(_)) || name != "ssh") {
            self.analyze_stdin(name, stdin);
        }
        if nested_shell::is_shell(name) {
            return self.analyze_shell(argv, stdin);
        }
        if let Some(wrapper) = wrappers::find(name) {
            self.analyze_arguments(argv);
            if DASH_C_PROGRAMS.contains(&name) {
                self.analyze_dash_c(argv);
            }
            return self.analyze_wrapped(wrapper, name, argv, stdin);
        }
        if inline_code::is_interpreter(name) {
            return self.interpreter(name, argv, stdin);
        }
        if self.analyze_builtin(name, argv) {
            return;
        }
        let words = argv.get(1..).unwrap_or_default();
        match name {
            "git" => self.analyze_git(argv),
            "xargs" | "gxargs" => self.xargs(argv, stdin),
            "find" | "gfind" | "fd" | "fdfind" => self.find(name, argv),
            "watch" => {
                let words: Vec<&Arg> = words.iter().skip_while(|word| word.head().starts_with('-')).collect();
                let texts: Option<Vec<&str>> = words.iter().map(|word| word.text()).collect();
                match texts {
                    Some(texts) => {
                        // The value of an option may be the first of them.
                        self.analyze_nested(&texts.join(" "));
                        self.analyze_nested(&texts.get(1..).unwrap_or_default().join(" "));
                    }
                    None => self.note_unresolved("watch runs an expansion"),
                }
            }
            "crontab" => {
                if !words.iter().all(|word| matches!(word.text(), Some("-l"))) || words.is_empty() {
                    self.note_unresolved("cannot determine what crontab runs");
                }
            }
            "make" | "gmake" | "just" | "ninja" | "rake" => {
                let odd = |word: &Arg| {
                    let head = word.head();
                    head.starts_with("--ev")
                        || head.starts_with("-E")
                        || head.contains("/dev/")
                        || head == "-"
                        || head.starts_with("-f-")
                        || head.starts_with("SHELL=")
                        || head.starts_with(".SHELLFLAGS")
                        || word.text().is_none() && word.may_be_option() && !is_number_of_jobs(word)
                };
                if words.iter().any(odd) {
                    self.note_unresolved(&format!("cannot determine what {name} runs"));
                }
                self.analyze_arguments(argv);
            }
            "tmux" | "zellij" => {
                let types = |word: &Arg| {
                    matches!(
                        word.text(),
                        Some(
                            "send-keys"
                                | "send"
                                | "send-prefix"
                                | "paste-buffer"
                                | "pasteb"
                                | "write"
                                | "write-chars"
                                | "pipe-pane"
                                | "bind-key"
                                | "bind"
                                | "source-file"
                                | "source"
                                | "set-hook"
                                | "run"
                                | "action"
                        )
                    ) || word.text().is_none()
                };
                if words.iter().any(types) {
                    self.note_unresolved(&format!("cannot determine what {name} types into another terminal"));
                }
                self.analyze_arguments(argv);
            }
            "gh" => {
                if words
                    .iter()
                    .any(|word| matches!(word.text(), Some("alias" | "extension" | "ext")) || word.may_split())
                {
                    self.note_unresolved("cannot determine what a command of gh runs");
                }
            }
            "fairway" => self.fairway(argv),
            "tar" | "gtar" | "bsdtar" => {
                let runs = |word: &Arg| {
                    word.text().is_none()
                        && ["--checkpoint", "--to-c", "--use", "-I", "-F", "--info"]
                            .iter()
                            .any(|start| word.head().starts_with(start))
                };
                if words.iter().any(runs) {
                    self.note_unresolved("tar runs an expansion");
                }
                self.option_text(
                    words,
                    &["--use-compress-program", "--to-command", "--info-script", "--rsh-command", "-I"],
                );
                self.analyze_arguments(argv);
            }
            _ if UNRESOLVABLE_PROGRAMS.contains(&name) => {
                if !words.iter().all(|word| matches!(word.text(), Some("--version" | "--help"))) || words.is_empty() {
                    self.note_unresolved(&format!("cannot determine what {name} runs"));
                }
            }
            _ if DASH_C_PROGRAMS.contains(&name) => {
                self.analyze_dash_c(argv);
                self.analyze_arguments(argv);
                // `flock FILE COMMAND…`
                if name == "flock" {
                    argv.iter()
                        .skip(2)
                        .filter(|word| word.head().contains('/'))
                        .for_each(|word| self.note_run_file(word));
                }
                for place in 2..argv.len().min(6) {
                    let shell =
                        argv.get(place).and_then(Arg::program).is_some_and(|name| nested_shell::is_shell(&name));
                    if shell {
                        self.wrapper_depth += 1;
                        self.analyze_shell(argv.get(place..).unwrap_or_default(), stdin);
                        self.wrapper_depth -= 1;
                    }
                }
                if name == "su"
                    && !words.iter().any(|word| word.head().starts_with("-c") || word.head().starts_with("--c"))
                {
                    self.note_unresolved("a shell reads its program from another source");
                }
            }
            "rg" | "bat" | "ag" | "ack" | "man" | "wget" => {
                self.option_text(words, &["--pre", "--pager", "--use-askpass", "--html"]);
                if name == "man" {
                    self.option_text(words, &["-P", "-H"]);
                }
            }
            "less" | "more" => {
                for word in words.iter().filter_map(Arg::text).filter(|word| word.starts_with('+')) {
                    if let Some((_, command)) = word.split_once(['!', '|', '#']) {
                        self.analyze_nested(command);
                    }
                }
            }
            "brew"
                if words
                    .first()
                    .is_some_and(|word| matches!(word.text(), None | Some("sh" | "ruby" | "irb" | "exec"))) =>
            {
                self.note_unresolved("cannot determine what brew runs");
            }
            _ if DATA_PROGRAMS.contains(&name) => {}
            _ => {
                self.analyze_arguments(argv);
                if let Stdin::Text(text) = stdin
                    && !matches!(name, "patch" | "apply_patch")
                {
                    // Many have a command that hands the rest of a line to a shell.
                    self.analyze_maybe(&text.clone());
                }
            }
        }
    }

    /// Analyzes the input of a program that passes it to a shell. Inherited input is taken for a terminal and ignored.
    pub(super) fn analyze_stdin(&mut self, name: &str, stdin: &Stdin) {
        match stdin {
            Stdin::Text(text) => self.analyze_nested(&text.clone()),
            Stdin::Lines(_) | Stdin::Other => {
                self.note_unresolved(&format!("a shell that {name} starts reads its program from another source"));
            }
            Stdin::Inherited => {}
        }
    }

    /// Analyzes the arguments of an unknown program: one of them may be a text that it runs.
    fn analyze_arguments(&mut self, argv: &[Arg]) {
        for word in argv.iter().skip(1) {
            if let Some(text) = word.text().filter(|text| text.contains([' ', '\t', '\n', ';', ',', ':', '='])) {
                self.analyze_maybe(text);
            }
        }
        // Some put their words together first.
        let words: Vec<&str> = argv.iter().skip(1).filter_map(Arg::text).collect();
        if words.len() > 1 && words.iter().any(|word| word.contains(' ')) {
            self.analyze_maybe(&words.join(" "));
        }
    }

    /// Analyzes the text behind `-c`.
    fn analyze_dash_c(&mut self, argv: &[Arg]) {
        for (place, word) in argv.iter().enumerate().skip(1) {
            let Some(text) = word.text() else {
                if word.may_be_option() {
                    self.note_unresolved("the command to run is an expansion");
                }
                continue;
            };
            if let Some((_, text)) = text.split_once('=').filter(|(name, _)| {
                name.len() > 3 && ("--command".starts_with(name) || "--session-command".starts_with(name))
            }) {
                self.analyze_nested(text);
            } else if text.len() > 3 && ("--command".starts_with(text) || "--session-command".starts_with(text)) {
                self.analyze_nested_arg(argv.get(place + 1));
            } else if let Some(cluster) = text.strip_prefix('-').filter(|cluster| !cluster.starts_with('-')) {
                match cluster.split_once('c') {
                    Some((_, "")) => self.analyze_nested_arg(argv.get(place + 1)),
                    Some((_, attached)) => {
                        self.analyze_maybe(attached);
                        self.analyze_nested_arg(argv.get(place + 1));
                    }
                    None => {}
                }
            }
        }
    }

    /// Analyzes a command of Fairway, which may run another.
    fn fairway(&mut self, argv: &[Arg]) {
        if argv.iter().skip(1).take(3).any(|word| word.text().is_none()) {
            self.note_unresolved("a command of fairway runs an expansion");
        }
        let says = |word: &str| argv.iter().skip(1).take(6).any(|arg| arg.text() == Some(word));
        if says("exec") && says("send-keys") {
            self.note_unresolved("cannot determine what is typed into another terminal");
        }
        if says("exec") && says("call") {
            self.note_unresolved("cannot determine what a document runs");
        }
        for (place, word) in argv.iter().enumerate() {
            match word.text() {
                Some("--") => {
                    self.wrapper_depth += 1;
                    self.analyze_command(argv.get(place + 1..).unwrap_or_default().to_vec(), &Stdin::Inherited);
                    self.wrapper_depth -= 1;
                    break;
                }
                Some("--shell") => self.analyze_nested_arg(argv.get(place + 1)),
                Some(text) => {
                    if let Some(text) = text.strip_prefix("--shell=") {
                        self.analyze_nested(text);
                    }
                }
                None if word.head().starts_with("--shell") => {
                    self.note_unresolved("the command to run is an expansion");
                }
                None => {}
            }
        }
        self.analyze_arguments(argv);
    }
}
