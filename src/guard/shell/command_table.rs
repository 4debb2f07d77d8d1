//! The programs and their words: some run them, most do not.

use std::rc::Rc;

use super::{
    ShellAnalysis, Stdin,
    arg::{Arg, Expansion, base_name},
    inline_code, listing, nested_shell,
    place::Place,
    wrappers,
    written_words::written_words,
};

/// Programs that never run their words.
const DATA_PROGRAMS: &[&str] = &[
    "[",
    "ack",
    "ag",
    "basename",
    "bat",
    "bc",
    "bg",
    "break",
    "brew",
    "cat",
    "cd",
    "chdir",
    "chgrp",
    "chmod",
    "chown",
    "cksum",
    "clear",
    "cmp",
    "column",
    "comm",
    "continue",
    "cp",
    "curl",
    "cut",
    "date",
    "declare",
    "df",
    "diff",
    "dirname",
    "dirs",
    "disown",
    "du",
    "echo",
    "egrep",
    "exit",
    "expand",
    "export",
    "expr",
    "false",
    "fg",
    "fgrep",
    "file",
    "fmt",
    "fold",
    "free",
    "gh",
    "git",
    "grep",
    "groups",
    "gunzip",
    "gzip",
    "head",
    "hexdump",
    "hostname",
    "id",
    "jobs",
    "join",
    "jq",
    "kill",
    "killall",
    "less",
    "let",
    "ln",
    "local",
    "locale",
    "logger",
    "ls",
    "lsof",
    "man",
    "md5sum",
    "mkdir",
    "mktemp",
    "more",
    "mv",
    "nl",
    "notify-send",
    "nproc",
    "od",
    "paste",
    "pgrep",
    "pkill",
    "popd",
    "printenv",
    "printf",
    "ps",
    "pushd",
    "pwd",
    "read",
    "readlink",
    "readonly",
    "realpath",
    "return",
    "rev",
    "rg",
    "rm",
    "rmdir",
    "say",
    "seq",
    "set",
    "sha1sum",
    "sha256sum",
    "shift",
    "shuf",
    "sleep",
    "stat",
    "strings",
    "sum",
    "sync",
    "tac",
    "tail",
    "tee",
    "test",
    "touch",
    "tr",
    "tree",
    "true",
    "truncate",
    "tsort",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "uname",
    "unexpand",
    "uniq",
    "unset",
    "unzip",
    "uptime",
    "wait",
    "wc",
    "wget",
    "whatis",
    "whereis",
    "which",
    "who",
    "whoami",
    "xxd",
    "yes",
    "yq",
    "zcat",
    ":",
    "getopts",
    "alias",
    "unalias",
    "trap",
    "eval",
    "source",
    ".",
];

/// Editors, and others whose words are programs of a language of their own.
const UNRESOLVABLE_PROGRAMS: &[&str] = &[
    "at",
    "batch",
    "ed",
    "emacs",
    "emacsclient",
    "ex",
    "expect",
    "jshell",
    "nano",
    "nvim",
    "osascript",
    "parallel",
    "pwsh",
    "powershell",
    "red",
    "rvim",
    "rview",
    "screen",
    "vi",
    "view",
    "vim",
    "vimdiff",
    "wish",
    "wtype",
    "xdotool",
    "ydotool",
    "zenity",
];

/// Programs that write a file with a content of their words' choice.
const CONTENT_WRITERS: &[&str] = &[
    "tee", "dd", "rsync", "scp", "sort", "shuf", "split", "csplit", "uniq", "rename", "sponge", "curl", "wget", "find",
    "gfind", "patch",
];

/// Programs whose `-c` is shell text.
const DASH_C_PROGRAMS: &[&str] =
    &["su", "runuser", "script", "sg", "flock", "capsh", "newgrp", "rsh", "machinectl", "unshare"];

/// Whether a word is `-j` with a value that only the shell will know: one word is never another option.
fn is_number_of_jobs(word: &Arg) -> bool {
    let all = || word.candidates().is_some_and(|words| words.iter().all(|word| word.starts_with("-j")));
    word.head().starts_with("-j") && (word.is_single_word() || all())
}

impl ShellAnalysis {
    /// A command: its words, and where its input comes from.
    pub(super) fn analyze_command(&mut self, argv: Vec<Arg>, stdin: &Stdin) {
        let Some(first) = argv.first() else { return };
        if self.depth >= super::analysis::MAX_DEPTH || self.wrapper_depth > 24 {
            self.note_unresolved("the shell nesting is too deep");
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

    /// The input of a program that hands it to a shell, unless it is a terminal.
    pub(super) fn analyze_stdin(&mut self, name: &str, stdin: &Stdin) {
        match stdin {
            Stdin::Text(text) => self.analyze_nested(&text.clone()),
            Stdin::Lines(_) | Stdin::Other => {
                self.note_unresolved(&format!("a shell that {name} starts reads its program from another source"));
            }
            Stdin::Inherited => {}
        }
    }

    /// Arguments of an unknown program: one of them may be a text that it runs.
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

    /// The text behind `-c`.
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

    fn xargs(&mut self, argv: &[Arg], stdin: &Stdin) {
        let lines = match stdin {
            Stdin::Lines(lines) => Some(lines.clone()),
            _ => None,
        };
        let mut place = 1;
        let mut replaced = None;
        while let Some(arg) = argv.get(place) {
            let Some(text) = arg.text() else {
                self.note_unresolved("xargs runs an expansion");
                return;
            };
            if text == "--" {
                place += 1;
                break;
            }
            if !text.starts_with('-') || text == "-" {
                break;
            }
            place += 1;
            let value = |place: usize| argv.get(place).map(|value| value.text().unwrap_or_default().to_owned());
            if let Some(long) = text.strip_prefix("--") {
                if let Some((name, value)) = long.split_once('=') {
                    if name.starts_with("rep") {
                        replaced = Some(value.to_owned());
                    }
                } else if long.starts_with("rep") {
                    replaced = Some("{}".to_owned());
                } else if [
                    "arg-file",
                    "delimiter",
                    "max-args",
                    "max-procs",
                    "max-chars",
                    "process-slot-var",
                    "max-lines",
                ]
                .iter()
                .any(|known| known.starts_with(long))
                {
                    place += 1;
                }
                continue;
            }
            let chars: Vec<char> = text.chars().skip(1).collect();
            for (at, character) in chars.iter().enumerate() {
                let attached: String = chars.get(at + 1..).unwrap_or_default().iter().collect();
                match character {
                    'I' | 'J' | 'R' => {
                        replaced = if attached.is_empty() { value(place) } else { Some(attached.clone()) };
                        place += usize::from(attached.is_empty());
                        break;
                    }
                    'i' => {
                        replaced = Some(if attached.is_empty() { "{}".to_owned() } else { attached });
                        break;
                    }
                    'a' | 'd' | 'E' | 'L' | 'n' | 'P' | 's' | 'S' => {
                        place += usize::from(attached.is_empty());
                        break;
                    }
                    'e' | 'l' => break,
                    _ => {}
                }
            }
        }
        let rest = argv.get(place..).unwrap_or_default();
        if rest.is_empty() {
            return;
        }
        let mut inner: Vec<Arg> = rest
            .iter()
            .map(|arg| match arg.text() {
                Some(text) => {
                    let at = replaced
                        .iter()
                        .map(String::as_str)
                        .chain(["{}"])
                        .filter(|mark| !mark.is_empty())
                        .find_map(|mark| text.find(mark).map(|at| (at, mark)));
                    match (at, &lines) {
                        (None, _) => arg.clone(),
                        (Some((at, _)), None) => Arg::starting_with(text.get(..at).unwrap_or_default()),
                        (Some((_, mark)), Some(lines)) => {
                            Arg::one_of(lines.iter().map(|line| text.replace(mark, line)).collect(), Expansion::One)
                        }
                    }
                }
                None => arg.clone(),
            })
            .collect();
        if replaced.is_none() {
            inner.push(lines.map_or_else(Arg::anything, |lines| Arg::one_of(lines, Expansion::Many)));
        }
        self.wrapper_depth += 1;
        self.analyze_command(inner, &Stdin::Other);
        self.wrapper_depth -= 1;
    }

    fn find(&mut self, name: &str, argv: &[Arg]) {
        let is_fd = name.starts_with("fd");
        let runs = |word: &str| {
            if is_fd {
                matches!(word, "-x" | "-X") || word.starts_with("--exec")
            } else {
                matches!(word, "-exec" | "-execdir" | "-ok" | "-okdir")
            }
        };
        for (place, word) in argv.iter().enumerate().skip(1) {
            if word.may_split() {
                self.note_unresolved("find runs an expansion");
            }
            if !word.text().is_some_and(runs) {
                continue;
            }
            if word.head().contains('=') {
                self.note_unresolved("find runs a command from an option");
            }
            let rest = argv.get(place + 1..).unwrap_or_default();
            let found = listing::of_command(argv.get(..place).unwrap_or_default(), None);
            let inner: Vec<Arg> = rest
                .iter()
                .take_while(|word| !matches!(word.text(), Some(";")))
                .map(|word| match word.text().map(|text| (text, text.find('{'))) {
                    Some(("{}", _)) => match &found {
                        Some(found) => Arg::Unknown {
                            head: "./".to_owned(),
                            tail: String::new(),
                            form: Expansion::One,
                            words: Some(found.clone().into()),
                        },
                        None => Arg::starting_with("./"),
                    },
                    Some((_, Some(0))) => Arg::starting_with("./"),
                    Some((text, Some(at))) => Arg::starting_with(text.get(..at).unwrap_or_default()),
                    _ => word.clone(),
                })
                .collect();
            // A directory that is named like an option would be one.
            let odd = argv
                .iter()
                .skip(1)
                .take_while(|word| !word.head().starts_with('-'))
                .any(|word| word.text().is_none() && !word.head().starts_with(['/', '.']));
            if odd {
                let inner = inner
                    .iter()
                    .map(|word| if word.text().is_none() { Arg::anything() } else { word.clone() })
                    .collect();
                self.wrapper_depth += 1;
                self.analyze_command(inner, &Stdin::Inherited);
                self.wrapper_depth -= 1;
                continue;
            }
            self.wrapper_depth += 1;
            self.analyze_command(inner, &Stdin::Inherited);
            self.wrapper_depth -= 1;
        }
    }

    /// Our own commands run others.
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

    /// Files that a command writes, by their names, and those that it reads as its program.
    fn note_written_files(&mut self, name: &str, argv: &[Arg]) {
        let words = || argv.iter().skip(1).filter(|word| !word.head().starts_with('-'));
        match name {
            // A copy keeps its name in a directory, and a program under another name is that program still.
            "cp" | "mv" | "ln" | "install" => {
                let known: Vec<Arg> = words().cloned().collect();
                for word in &known {
                    self.note_written_file(word);
                }
                self.note_renamed_programs(&known);
                // What is written below a link that leads elsewhere is not written here.
                let leads = |word: &Arg| word.head().starts_with(['/', '~']) || word.head().starts_with("..");
                if name == "ln" && known.iter().rev().skip(1).any(leads) {
                    self.place = Rc::new(Place::lost());
                }
            }
            "git" if argv.iter().any(|word| word.text() == Some("mv")) => {
                words().for_each(|word| self.note_written_file(word));
            }
            "make" | "gmake" => {
                for file in ["Makefile", "makefile", "GNUmakefile"] {
                    self.files.executed.insert(file.to_owned());
                }
                words().for_each(|word| self.note_run_file(word));
            }
            "just" => {
                self.files.executed.insert("justfile".to_owned());
            }
            "npm" | "pnpm" | "yarn" | "bun" => {
                self.files.executed.insert("package.json".to_owned());
            }
            "run-parts" => self.note_run_unknown(),
            _ if CONTENT_WRITERS.contains(&name) => {
                // The name of what is fetched may be the address's own.
                let is_named_by_address = matches!(name, "curl" | "wget");
                let more =
                    words().filter(|_| is_named_by_address || matches!(name, "rename" | "rsync" | "scp")).cloned();
                for word in written_words(argv).into_iter().chain(more) {
                    self.note_written_file(&word);
                }
                self.files.writes_unknown |= matches!(name, "split" | "csplit" | "patch");
            }
            _ => {}
        }
    }

    /// Programs that are linked, copied or moved: called by their new name they do the same.
    fn note_renamed_programs(&mut self, words: &[Arg]) {
        for word in words {
            let program = match word {
                Arg::Known(text) => Some(base_name(text).to_owned()),
                // `$(which git)`
                Arg::Unknown { form: Expansion::One | Expansion::Any, head, tail, .. }
                    if head.is_empty() && tail.is_empty() =>
                {
                    None
                }
                Arg::Unknown { tail, .. } => Some(base_name(tail).to_owned()),
            };
            match program {
                Some(program) if !program.is_empty() && self.is_path_of_program(word, &program) => {
                    self.add_command(vec![Arg::known(program), Arg::anything()], false);
                }
                _ => {}
            }
        }
    }

    fn is_path_of_program(&self, word: &Arg, program: &str) -> bool {
        let head = word.head();
        head.starts_with('/')
            && (head.contains("/bin/")
                || head.contains("/sbin/")
                || head.contains("/libexec/")
                || head.contains("git-core"))
            && head.ends_with(program)
    }
}
