//! The paths that a shell command writes to.
//!
//! Three kinds of programs: readers, whose words are never written; writers, of whose words it is known which are written, so
//! that one that cannot be determined is a doubt; and all others. Of those any word counts that plainly leads elsewhere.

use std::rc::Rc;

use super::{
    same_commands,
    shell::{self, FoundCommand, Place, ShellAnalysis, Write, arg::Arg},
    writers::{READERS, READ_OPTIONS, Words, Writer, WRITERS, writes_elsewhere},
};

/// A path that may be written.
#[derive(Debug)]
pub(super) struct Target {
    /// The path.
    pub path: Arg,
    /// Where it is relative to.
    pub place: Rc<Place>,
    /// Whether it counts only if it plainly leads out of the worktree.
    pub is_loose: bool,
}

impl Target {
    /// A word of a command.
    pub fn of(path: Arg, seen: &FoundCommand) -> Self {
        Self { path, place: Rc::clone(&seen.place), is_loose: false }
    }
}

/// Commands of git that change nothing in the directory.
const GIT_READ_COMMANDS: &[&str] = &[
    "blame", "cat-file", "describe", "diff", "for-each-ref", "grep", "log", "ls-files", "ls-remote", "ls-tree", "merge-base",
    "rev-list", "rev-parse", "shortlog", "show", "show-ref", "status", "var", "version", "cherry", "reflog", "help", "name-rev",
    "check-ignore", "count-objects", "diff-tree", "whatchanged", "range-diff",
];

/// Every path that a text writes to.
pub(super) fn written_paths(scan: &ShellAnalysis) -> Vec<Target> {
    let target = |write: &Write| Target { path: write.path.clone(), place: Rc::clone(&write.place), is_loose: false };
    let mut targets: Vec<Target> = scan.writes.iter().map(target).collect();
    for seen in scan.commands.iter().filter(|seen| seen.is_sure) {
        targets.extend(command_targets(seen));
        targets.extend(other_targets(seen));
    }
    targets
}

/// The words of a command that its program is known to write.
pub(super) fn command_targets(seen: &FoundCommand) -> Vec<Target> {
    let place = working_place(seen);
    let target = |path| Target { path, place: Rc::clone(&place), is_loose: false };
    written_words(&seen.argv).into_iter().map(target).collect()
}

/// The words that a command writes, as far as its program is known.
pub(in crate::guard) fn written_words(argv: &[Arg]) -> Vec<Arg> {
    let Some(name) = argv.first().and_then(Arg::program) else { return Vec::new() };
    let name = same_commands::program(&name);
    let words = Command::of(argv);
    let mut found = match name {
        "sed" | "perl" | "ruby" => words.edited_in_place(),
        "tar" => words.of_tar(),
        "git" => words.of_git(argv),
        "patch" | "apply_patch" => words.of_patch(),
        "find" => words.of_find(),
        "yq" if words.has("-i") || words.has("--inplace") => words.plain().skip(1).cloned().collect(),
        "awk" | "gawk" if words.args.iter().any(|arg| arg.text() == Some("inplace")) => words.plain().skip(2).cloned().collect(),
        "sqlite3" => words.of_database(),
        "dd" => words.args.iter().filter_map(|arg| Some(arg.with_head(arg.head().strip_prefix("of=")?))).collect(),
        _ => Vec::new(),
    };
    for writer in WRITERS.iter().filter(|writer| writer.is(name, argv)) {
        found.extend(words.of_writer(writer));
    }
    found
}

/// Where a program works: some change their directory by an option.
fn working_place(seen: &FoundCommand) -> Rc<Place> {
    let options: &[&str] = match seen.argv.first().and_then(Arg::program).as_deref().map(same_commands::program) {
        Some("git") => &["-C", "--work-tree"],
        Some("make" | "ninja") => &["-C", "--directory"],
        _ => return Rc::clone(&seen.place),
    };
    let changes = Command::of(&seen.argv).behind(options);
    let start = Rc::clone(&seen.place);
    changes.iter().fold(start, |place, directory| Rc::new(place.changed_to(directory)))
}

/// What a program that is not known may write: itself where it runs, and each word that leads elsewhere.
fn other_targets(seen: &FoundCommand) -> Vec<Target> {
    let Some(name) = seen.argv.first().and_then(Arg::program) else { return Vec::new() };
    let name = same_commands::program(&name);
    let words = Command::of(&seen.argv);
    let target = |path: Arg| Target { path, place: Rc::clone(&seen.place), is_loose: true };
    let mut found = Vec::new();
    if writes_elsewhere(name, &seen.argv) {
        found.push(Target { path: Arg::known("/"), place: Rc::clone(&seen.place), is_loose: false });
    }
    if READERS.contains(&name) || shell::runs_others(name) {
        return found;
    }
    let (skip, is_git) = match name {
        "git" => (usize::MAX, true),
        "docker" | "podman" => (0, false),
        // The program itself is read.
        _ if shell::is_interpreter(name) => match words.args.iter().position(|arg| !arg.head().starts_with('-')) {
            Some(_) if words.args.iter().any(|arg| matches!(arg.text(), Some("-c" | "-e" | "-p" | "--eval"))) => return found,
            Some(_) if words.has("-m") => (0, false),
            Some(at) => (at + 1, false),
            None => return found,
        },
        _ => (0, false),
    };
    let reads = is_git && {
        let (at, _) = shell::git::command_at(&seen.argv);
        seen.argv.get(at).and_then(Arg::text).is_none_or(|command| GIT_READ_COMMANDS.contains(&command))
            || seen.argv.iter().take(at).any(|arg| matches!(arg.text(), Some("-C" | "--git-dir" | "--work-tree")))
    };
    if !reads && !WRITERS.iter().any(|writer| writer.is(name, &seen.argv) && writer.is_all()) {
        found.push(target(Arg::known(".")));
    }
    if matches!(name, "docker" | "podman") {
        found.extend(words.of_mounts().into_iter().map(target));
        return found;
    }
    if WRITERS.iter().any(|writer| writer.is(name, &seen.argv) && writer.reads_others) {
        return found;
    }
    let mut is_read = false;
    for arg in words.args.iter().skip(skip) {
        let was_read = std::mem::replace(&mut is_read, READ_OPTIONS.contains(&arg.head()));
        if was_read && !arg.head().starts_with('-') {
            continue;
        }
        found.extend(loose_path(arg).map(target));
    }
    found
}

/// The part of a word that may be a path elsewhere.
fn loose_path(arg: &Arg) -> Option<Arg> {
    let head = arg.head();
    let leads = |text: &str| text.starts_with(['/', '~']) || text.starts_with("..") || text.contains("/..");
    if head.contains("://") || head.contains(char::is_whitespace) {
        return None;
    }
    if let Some((name, value)) = head.split_once('=')
        && !READ_OPTIONS.contains(&name)
        && leads(value)
    {
        return Some(arg.with_head(value));
    }
    if let Some(option) = head.strip_prefix('-') {
        // `-o../x`
        let value = option.get(1..).filter(|_| option.starts_with(['o', 'O', 'd', 'D', 'C', 't', 'P']))?;
        return leads(value).then(|| arg.with_head(value));
    }
    (leads(head) || arg.text().is_none() && arg.candidates().is_some()).then(|| arg.clone())
}

/// The words of a command behind its program.
struct Command<'a> {
    args: &'a [Arg],
}

impl<'a> Command<'a> {
    fn of(argv: &'a [Arg]) -> Self {
        Self { args: argv.get(1..).unwrap_or_default() }
    }

    fn has(&self, start: &str) -> bool {
        self.args.iter().any(|arg| arg.head().starts_with(start))
    }

    /// Whether one of these letters stands behind a dash.
    fn has_letter(&self, letters: &[char]) -> bool {
        self.args.iter().any(|arg| {
            arg.head().strip_prefix('-').is_some_and(|short| !short.starts_with('-') && short.contains(letters))
        })
    }

    /// The words that are no options.
    fn plain(&self) -> impl Iterator<Item = &'a Arg> {
        let mut is_over = false;
        self.args.iter().filter(move |arg| {
            let is_option = !is_over && arg.head().starts_with('-') && arg.head().len() > 1;
            is_over |= arg.text() == Some("--");
            !is_option
        })
    }

    /// The values of these options: the next word, or what follows in the same one.
    fn behind(&self, options: &[&str]) -> Vec<Arg> {
        let mut found = Vec::new();
        for (place, arg) in self.args.iter().enumerate() {
            for option in options {
                match arg.head().strip_prefix(option) {
                    Some("") => found.extend(self.args.get(place + 1).cloned()),
                    Some(rest) if option.starts_with("--") || option.len() > 2 => {
                        found.extend(rest.strip_prefix('=').map(|rest| arg.with_head(rest)));
                    }
                    Some(rest) => found.push(arg.with_head(rest)),
                    None => {}
                }
            }
        }
        found
    }

    /// The value of a short option, alone or behind others that have none. `valued` are all that have one.
    fn clustered(&self, valued: &str, wanted: char) -> Vec<Arg> {
        let mut found = Vec::new();
        for (place, arg) in self.args.iter().enumerate() {
            let Some(cluster) = arg.head().strip_prefix('-').filter(|cluster| !cluster.starts_with('-')) else {
                continue;
            };
            let Some(at) = cluster.find(|character| valued.contains(character)) else { continue };
            let (character, attached) =
                (cluster.get(at..=at).unwrap_or_default(), cluster.get(at + 1..).unwrap_or_default());
            if character.chars().eq([wanted]) {
                if attached.is_empty() && arg.text().is_some() {
                    found.extend(self.args.get(place + 1).cloned());
                } else {
                    found.push(arg.with_head(attached));
                }
            }
        }
        found
    }

    fn of_writer(&self, writer: &Writer) -> Vec<Arg> {
        let mut found = self.behind(writer.options);
        for character in writer.letters.chars() {
            found.extend(self.clustered(writer.valued, character));
        }
        if !writer.unless.is_empty() && self.has_letter(&writer.unless.chars().collect::<Vec<_>>()) {
            return found;
        }
        let has_target = writer.words == Words::LastOrTarget
            && (self.has("-t") || self.has("--target") || self.args.iter().any(Arg::may_split) || self.has_letter(&['t']));
        match writer.words {
            _ if has_target => found.extend(self.plain().cloned()),
            Words::All => found.extend(self.plain().cloned()),
            Words::BehindFirst => found.extend(self.plain().skip(1).cloned()),
            Words::First => found.extend(self.plain().take(1).cloned()),
            Words::Last | Words::LastOrTarget => found.extend(self.plain().last().cloned()),
            Words::None => {}
        }
        found
    }

    fn edited_in_place(&self) -> Vec<Arg> {
        let is_in_place = self.has("--in") || self.has_letter(&['i']) || self.args.iter().any(Arg::may_split);
        if !is_in_place {
            return Vec::new();
        }
        let skip = usize::from(!self.has("-e") && !self.has("--expression") && !self.has("-pe") && !self.has("-f"));
        let has_pi = self.args.iter().any(|arg| {
            let head = arg.head();
            head.starts_with('-') && !head.starts_with("--") && head.contains('e')
        });
        let scripts = self.behind(&["-e", "-f", "--expression", "--file"]);
        let skip = if has_pi && skip == 1 { 1 } else { skip };
        self.plain().skip(skip).filter(|word| !scripts.contains(word)).cloned().collect()
    }

    fn of_tar(&self) -> Vec<Arg> {
        const VALUED: &str = "bfCgTXKNVLHFI";
        let mut found = self.behind(&["--directory", "--one-top-level"]);
        found.extend(self.clustered(VALUED, 'C'));
        // `tar czf FILE`: the letters' values stand behind them, in their order.
        let bare = self.args.first().and_then(Arg::text).filter(|text| !text.starts_with('-')).unwrap_or_default();
        let values = bare.chars().filter(|character| VALUED.contains(*character));
        let creates = bare.contains(['c', 'r', 'u', 'A'])
            || ["--create", "--append", "--update"].iter().any(|option| self.has(option))
            || self.has_letter(&['c', 'r', 'u', 'A']);
        for (place, character) in values.enumerate() {
            if character == 'C' || character == 'f' && creates {
                found.extend(self.args.get(place + 1).cloned());
            }
        }
        if creates {
            found.extend(self.clustered(VALUED, 'f'));
            found.extend(self.behind(&["--file"]));
        }
        if bare.contains('P') || self.has("--absolute") || self.has_letter(&['P']) {
            found.push(Arg::anything());
        }
        found
    }

    fn of_git(&self, argv: &[Arg]) -> Vec<Arg> {
        let (at, _) = shell::git::command_at(argv);
        let command = argv.get(at).and_then(Arg::text).unwrap_or_default();
        let words = argv.get(at + 1..).unwrap_or_default();
        let leads = |arg: &Arg| arg.head().starts_with(['/', '.', '~']) || arg.text().is_none();
        let mut found = Vec::new();
        if !GIT_READ_COMMANDS.contains(&command) && argv.iter().take(at).any(|arg| arg.head().starts_with("--work-tree") || arg.head() == "-C") {
            found.push(Arg::known("."));
        }
        match command {
            "clone" | "init" | "worktree" | "mv" | "rm" | "bundle" | "submodule" | "clean" | "archive" => {
                found.extend(words.iter().filter(|arg| !arg.head().starts_with('-') && leads(arg)).cloned());
            }
            "config" if self.has("--global") || self.has("--system") => found.push(Arg::known("/")),
            "config" => found.extend(self.behind(&["-f", "--file"])),
            _ => {}
        }
        let outputs = self.behind(&["--output", "-o", "--output-directory"]);
        found.extend(outputs.into_iter().filter(leads));
        found
    }

    /// The file of a database, unless all that is asked of it is to show something.
    fn of_database(&self) -> Vec<Arg> {
        let mut plain = self.plain();
        let file = plain.next();
        let shows = |sql: &Arg| {
            let sql = sql.head().trim_start().to_ascii_lowercase();
            ["select", "pragma", "explain", ".schema", ".tables", ".dump", ".mode"].iter().any(|start| sql.starts_with(start))
        };
        let mut orders = plain.peekable();
        let is_read = self.has("-readonly") || orders.peek().is_some() && orders.all(shows);
        file.filter(|_| !is_read).cloned().into_iter().collect()
    }

    /// A patch names its files itself: where it is applied they stay below, unless a directory is named.
    fn of_patch(&self) -> Vec<Arg> {
        let mut found = self.behind(&["-d", "--directory", "-o", "--output", "-r", "--reject-file"]);
        found.extend(self.plain().take(1).cloned());
        found.push(Arg::known("."));
        found
    }

    fn of_find(&self) -> Vec<Arg> {
        if !["-delete", "-fprint", "-fls"].iter().any(|option| self.has(option)) {
            return Vec::new();
        }
        let starts = self.args.iter().take_while(|arg| !arg.head().starts_with(['-', '(', '!']));
        let mut found: Vec<Arg> = if self.has("-delete") { starts.cloned().collect() } else { Vec::new() };
        found.extend(self.behind(&["-fprint", "-fprint0", "-fls", "-fprintf"]));
        found
    }

    /// The directories that a container sees, and what is copied out of one.
    fn of_mounts(&self) -> Vec<Arg> {
        let mut found = Vec::new();
        for mount in self.behind(&["-v", "--volume", "--mount"]) {
            let source = mount.head().split(',').find_map(|part| part.strip_prefix("source=").or(part.strip_prefix("src=")));
            let is_read_only = mount.head().ends_with(":ro") || mount.head().contains("readonly");
            let path = source.map(str::to_owned).or_else(|| {
                let from = mount.head().split(':').next().unwrap_or_default();
                from.starts_with(['/', '.', '~']).then(|| from.to_owned())
            });
            if let Some(path) = path.filter(|_| !is_read_only) {
                found.push(if mount.text().is_some() { Arg::known(path) } else { mount.clone() });
            }
        }
        if self.plain().next().and_then(Arg::text) == Some("cp") {
            found.extend(self.plain().last().filter(|arg| !arg.head().contains(':')).cloned());
        }
        found.extend(self.behind(&["-o", "--output", "--iidfile", "--cidfile"]));
        found.retain(|arg| loose_path(arg).is_some());
        found
    }
}

/// Every word of a text that may be a path.
pub(super) fn possible_paths(scan: &ShellAnalysis) -> Vec<Target> {
    let mut targets = Vec::new();
    for write in &scan.writes {
        targets.push(Target { path: write.path.clone(), place: Rc::clone(&write.place), is_loose: false });
    }
    for seen in scan.commands.iter().filter(|seen| seen.is_sure) {
        let values = seen.argv.iter().skip(1).filter_map(|arg| Some(arg.with_head(arg.head().split_once('=')?.1)));
        let words = seen.argv.iter().skip(1).cloned().chain(values);
        targets.extend(words.map(|path| Target { path, place: Rc::clone(&seen.place), is_loose: false }));
    }
    targets
}
