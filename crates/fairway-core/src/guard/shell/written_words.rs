//! The words of a command that its program writes.

use std::collections::HashSet;

use super::arg::Arg;
use super::git;
use super::writers::{READ_OPTIONS, WRITERS, Writer, WrittenWords};
use crate::guard::same_commands;

/// Commands of git that change nothing in the directory.
const GIT_READ_COMMANDS: &[&str] = &[
    "blame", "cat-file", "describe", "diff", "for-each-ref", "grep", "log", "ls-files", "ls-remote", "ls-tree",
    "merge-base", "rev-list", "rev-parse", "shortlog", "show", "show-ref", "status", "var", "version", "cherry",
    "reflog", "help", "name-rev", "check-ignore", "count-objects", "diff-tree", "whatchanged", "range-diff",
];

/// Commands of the `sqlite3` program that write the file behind them.
const WRITING_ORDERS: &[&str] = &[".output", ".once", ".backup", ".save", ".clone", ".log"];

/// Whether a command of git changes nothing in its directory.
pub(in crate::guard) fn is_git_read(command: &str) -> bool {
    GIT_READ_COMMANDS.contains(&command)
}

/// Whether a git command may change the repository: it is neither a reading command nor one that only lists. `true` also when the
/// subcommand is missing or an expansion.
pub(in crate::guard) fn git_writes(argv: &[Arg]) -> bool {
    let (at, _) = git::command_at(argv);
    let Some(command) = argv.get(at).and_then(Arg::text) else { return true };
    let words = argv.get(at + 1..).unwrap_or_default();
    let has = |names: &[&str]| words.iter().filter_map(Arg::text).any(|word| names.contains(&word));
    match command {
        "reflog" => has(&["expire", "delete"]),
        "branch" | "tag" | "remote" | "worktree" | "stash" | "notes" if words.is_empty() => false,
        _ if is_git_read(command) => false,
        _ => !has(&["-l", "--list", "list", "--get", "--get-all", "get", "--show-current", "-v", "-vv"]),
    }
}

/// The arguments that name a path which the command writes. Empty for a program that Fairway does not know.
pub(in crate::guard) fn written_words(argv: &[Arg]) -> Vec<Arg> {
    let Some(name) = argv.first().and_then(Arg::program) else { return Vec::new() };
    let name = same_commands::program(&name);
    let words = Words::of(argv);
    let mut found = match name {
        "sed" | "perl" | "ruby" => words.edited_in_place(),
        "tar" => words.of_tar(),
        "git" => words.of_git(argv),
        "patch" | "apply_patch" => words.of_patch(),
        "find" => words.of_find(),
        "yq" if words.has("-i") || words.has("--inplace") => words.plain().skip(1).cloned().collect(),
        "awk" | "gawk" if words.args.iter().any(|arg| arg.text() == Some("inplace")) => {
            words.plain().skip(2).cloned().collect()
        }
        "sqlite3" => words.of_database(),
        "xxd" => words.of_dump(),
        "ssh-keygen" => words.of_key_maker(),
        "dd" => words.args.iter().filter_map(|arg| Some(arg.with_head(arg.head().strip_prefix("of=")?))).collect(),
        _ => Vec::new(),
    };
    for writer in WRITERS.iter().filter(|writer| writer.is(name, argv)) {
        found.extend(words.of_writer(writer));
    }
    found
}

/// The part of a word that may be a path out of the current directory: the whole word, or the value of an option. `None` when
/// there is no such part.
pub(in crate::guard) fn leading_part(arg: &Arg) -> Option<Arg> {
    let head = arg.head();
    let leads = |text: &str| text.starts_with(['/', '~']) || text.starts_with("..") || text.contains("/..");
    // An address, a text, the label of a build system (`//lib:all`).
    let is_label = head.starts_with("//") && arg.text().is_some();
    if head.contains("://") || head.contains(char::is_whitespace) || is_label {
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
pub(in crate::guard) struct Words<'a> {
    pub args: &'a [Arg],
}

impl<'a> Words<'a> {
    pub(in crate::guard) fn of(argv: &'a [Arg]) -> Self {
        Self { args: argv.get(1..).unwrap_or_default() }
    }

    pub(in crate::guard) fn has(&self, start: &str) -> bool {
        self.args.iter().any(|arg| arg.head().starts_with(start))
    }

    /// Whether one of these letters stands behind a dash.
    fn has_letter(&self, letters: &[char]) -> bool {
        self.args.iter().any(|arg| {
            arg.head().strip_prefix('-').is_some_and(|short| !short.starts_with('-') && short.contains(letters))
        })
    }

    /// The arguments that are not options. Behind `--`, all are counted.
    pub(in crate::guard) fn plain(&self) -> impl Iterator<Item = &'a Arg> {
        let mut is_over = false;
        self.args.iter().filter(move |arg| {
            let is_option = !is_over && arg.head().starts_with('-') && arg.head().len() > 1;
            is_over |= arg.text() == Some("--");
            !is_option
        })
    }

    /// The values of these options: the next word, or the text that is attached to the option.
    pub(in crate::guard) fn behind(&self, options: &[&str]) -> Vec<Arg> {
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
        let has_target = writer.words == WrittenWords::LastOrTarget
            && (self.has("-t")
                || self.has("--target")
                || self.args.iter().any(Arg::may_split)
                || self.has_letter(&['t']));
        match writer.words {
            _ if has_target => found.extend(self.plain().cloned()),
            WrittenWords::All => found.extend(self.plain().cloned()),
            WrittenWords::BehindFirst => found.extend(self.plain().skip(1).cloned()),
            WrittenWords::First => found.extend(self.plain().take(1).cloned()),
            WrittenWords::Last | WrittenWords::LastOrTarget => found.extend(self.plain().last().cloned()),
            WrittenWords::None => {}
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
        let scripts: HashSet<Arg> = self.behind(&["-e", "-f", "--expression", "--file"]).into_iter().collect();
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
        let (at, _) = git::command_at(argv);
        let command = argv.get(at).and_then(Arg::text).unwrap_or_default();
        let words = argv.get(at + 1..).unwrap_or_default();
        let leads = |arg: &Arg| arg.head().starts_with(['/', '.', '~']) || arg.text().is_none();
        let mut found = Vec::new();
        if !is_git_read(command)
            && argv.iter().take(at).any(|arg| arg.head().starts_with("--work-tree") || arg.head() == "-C")
        {
            found.push(Arg::known("."));
        }
        match command {
            "clone" | "init" | "worktree" | "mv" | "rm" | "bundle" | "submodule" | "clean" | "archive" => {
                found.extend(words.iter().filter(|arg| !arg.head().starts_with('-') && leads(arg)).cloned());
            }
            "config" if self.has("--global") || self.has("--system") => found.push(Arg::known("/")),
            "config" => match self.behind(&["-f", "--file"]) {
                files if files.is_empty() && git::sets_program(words) => found.push(Arg::known(".git/config")),
                files => found.extend(files),
            },
            "checkout-index" => found.extend(self.behind(&["--prefix"])),
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
            ["select", "pragma", "explain", ".schema", ".tables", ".dump", ".mode"]
                .iter()
                .any(|start| sql.starts_with(start))
        };
        let mut orders = plain.peekable();
        let is_read = self.has("-readonly") || orders.peek().is_some() && orders.all(shows);
        let mut found: Vec<Arg> = file.filter(|_| !is_read).cloned().into_iter().collect();
        for order in self.plain().skip(1).filter_map(Arg::text).flat_map(str::lines) {
            let mut words = order.split_whitespace();
            if words.next().is_some_and(|verb| WRITING_ORDERS.contains(&verb)) {
                found.extend(words.last().map(|path| Arg::known(path.trim_matches(['\'', '"']))));
            }
        }
        found
    }

    /// The second file of `xxd`, behind options with a value.
    fn of_dump(&self) -> Vec<Arg> {
        let mut words = self.args.iter();
        let mut files = Vec::new();
        while let Some(word) = words.next() {
            match word.head() {
                "-c" | "-g" | "-l" | "-n" | "-o" | "-R" | "-s" | "-cols" | "-len" | "-seek" => drop(words.next()),
                head if head.starts_with('-') && head.len() > 1 => {}
                _ => files.push(word.clone()),
            }
        }
        files.into_iter().skip(1).collect()
    }

    /// The key that is made: an option that another use of the program reads.
    fn of_key_maker(&self) -> Vec<Arg> {
        let is_read = self.has_letter(&['l', 'y', 'B', 'F', 'H', 'L', 'e', 'Y']);
        if is_read { Vec::new() } else { self.clustered("bCfNtaIzrPVmnOsSDwE", 'f') }
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

    /// The paths out of the current directory that a container command may write: mounts that are not read-only, the target of
    /// `cp`, and output files.
    pub(in crate::guard) fn of_mounts(&self) -> Vec<Arg> {
        let mut found = Vec::new();
        for mount in self.behind(&["-v", "--volume", "--mount"]) {
            let source =
                mount.head().split(',').find_map(|part| part.strip_prefix("source=").or(part.strip_prefix("src=")));
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
        found.retain(|arg| leading_part(arg).is_some());
        found
    }
}
