//! The paths that a shell command writes to, as far as its usual writers go.

use super::shell::{FoundCommand, ShellAnalysis, arg::Arg};

/// Programs all of whose words are paths that they change.
const WRITE_ALL_ARGS: &[&str] = &[
    "tee", "touch", "rm", "mkdir", "rmdir", "truncate", "shred", "unlink", "mkfifo", "mknod", "ln", "mv", "link",
    "rename", "sponge", "csplit",
];
/// Programs whose last word is the path that they change.
const WRITE_LAST_ARG: &[&str] = &["cp", "install", "rsync", "scp"];
/// Programs that put another file in the place of each of their words, unless they only print it.
const COMPRESSORS: &[&str] =
    &["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "lzma", "zstd", "unzstd", "compress", "uncompress"];
/// Compilers and their like.
const COMPILERS: &[&str] = &[
    "gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "rustc", "go", "javac", "tsc", "esbuild", "ghc", "openssl",
    "pandoc",
];
/// Programs whose work is done in the directory that an option names.
const DIRECTORY_OPTION_PROGRAMS: &[&str] =
    &["make", "gmake", "npm", "pnpm", "yarn", "cargo", "cmake", "pip", "pip3", "ninja", "just", "cpio"];
/// Commands of git that change nothing in the directory.
const GIT_READ_COMMANDS: &[&str] = &[
    "blame",
    "cat-file",
    "describe",
    "diff",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
    "var",
    "version",
];
/// Programs whose words behind the first are paths that they change.
const WRITE_AFTER_FIRST_ARG: &[&str] = &["chmod", "chown", "chgrp", "setfacl"];

/// Every path that a text writes to, as words.
pub(super) fn written_paths(scan: &ShellAnalysis) -> Vec<Arg> {
    let mut paths: Vec<Arg> = scan.writes.clone();
    for seen in scan.commands.iter().filter(|seen| seen.is_sure) {
        paths.extend(command_targets(seen));
    }
    paths
}

/// Those of one command.
pub(super) fn command_targets(seen: &FoundCommand) -> Vec<Arg> {
    let Some(name) = seen.argv.first().and_then(Arg::program) else { return Vec::new() };
    let args = seen.argv.get(1..).unwrap_or_default();
    let mut over = false;
    let plain: Vec<&Arg> = args
        .iter()
        .filter(|arg| {
            let is_option = !over && arg.head().starts_with('-') && arg.head().len() > 1;
            over |= arg.text() == Some("--");
            !is_option
        })
        .collect();
    let behind = |options: &[&str]| -> Vec<Arg> {
        let mut found = Vec::new();
        for (place, arg) in args.iter().enumerate() {
            for option in options {
                let is_long = option.starts_with("--");
                match arg.head().strip_prefix(option) {
                    Some("") => found.extend(args.get(place + 1).cloned()),
                    Some(rest) if is_long => {
                        if let Some(rest) = rest.strip_prefix('=') {
                            found.push(with_head(arg, rest));
                        }
                    }
                    Some(rest) => found.push(with_head(arg, rest)),
                    None => {}
                }
            }
        }
        found
    };
    // The value of a short option, alone or behind others.
    let clustered = |valued: &str, wanted: char| -> Vec<Arg> {
        let mut found = Vec::new();
        for (place, arg) in args.iter().enumerate() {
            let Some(cluster) = arg.head().strip_prefix('-').filter(|cluster| !cluster.starts_with('-')) else {
                continue;
            };
            let Some(at) = cluster.find(|character| valued.contains(character)) else { continue };
            let (character, attached) =
                (cluster.get(at..=at).unwrap_or_default(), cluster.get(at + 1..).unwrap_or_default());
            if character.chars().eq([wanted]) {
                if attached.is_empty() && arg.text().is_some() {
                    found.extend(args.get(place + 1).cloned());
                } else {
                    found.push(with_head(arg, attached));
                }
            }
        }
        found
    };
    let name = name.as_str();
    let has = |start: &str| args.iter().any(|arg| arg.head().starts_with(start));
    if WRITE_ALL_ARGS.contains(&name) {
        return plain.into_iter().cloned().collect();
    }
    if WRITE_LAST_ARG.contains(&name) {
        if has("-t")
            || has("--target")
            || args.iter().any(Arg::may_split)
            || args
                .iter()
                .any(|arg| arg.head().starts_with('-') && !arg.head().starts_with("--") && arg.head().contains('t'))
        {
            let mut all: Vec<Arg> = plain.into_iter().cloned().collect();
            all.extend(behind(&["-t", "--target-directory"]));
            return all;
        }
        return plain.last().copied().cloned().into_iter().collect();
    }
    if WRITE_AFTER_FIRST_ARG.contains(&name) {
        return plain.into_iter().skip(1).cloned().collect();
    }
    match name {
        "dd" => args.iter().filter_map(|arg| arg.head().strip_prefix("of=").map(|rest| with_head(arg, rest))).collect(),
        "sed" | "gsed" | "perl" | "ruby" => {
            let in_place = args.iter().any(|arg| {
                let head = arg.head();
                head.starts_with("--in")
                    || head.starts_with('-') && !head.starts_with("--") && head.contains('i')
                    || arg.may_split()
            });
            let skip = usize::from(!has("-e") && !has("--expression") && !has("-pe") && !has("-f"));
            let scripts = behind(&["-e", "-f", "--expression", "--file"]);
            let files = plain.into_iter().skip(skip).filter(|word| !scripts.contains(*word));
            if in_place { files.cloned().collect() } else { Vec::new() }
        }
        "awk" | "gawk" => {
            let in_place = args.iter().any(|arg| arg.text() == Some("inplace"));
            if in_place { plain.into_iter().skip(2).cloned().collect() } else { Vec::new() }
        }
        "sort" => behind(&["-o", "--output"]),
        "uniq" | "split" => plain.into_iter().skip(1).cloned().collect(),
        "zip" | "script" => plain.into_iter().take(1).cloned().collect(),
        "ffmpeg" => plain.last().copied().cloned().into_iter().collect(),
        "yq" if has("-i") || has("--inplace") => plain.into_iter().skip(1).cloned().collect(),
        "mktemp" => {
            let mut found: Vec<Arg> = plain.into_iter().cloned().collect();
            found.extend(behind(&["-p", "--tmpdir"]));
            found
        }
        "curl" => {
            let valued = "AbcCdDeEFhHKmoPQrtTuUwxXyYz";
            let mut found = behind(&["--output", "--output-dir", "--dump-header", "--cookie-jar"]);
            for character in ['o', 'D', 'c'] {
                found.extend(clustered(valued, character));
            }
            found
        }
        "wget" => {
            let mut found = behind(&["--output-document", "--directory-prefix", "--output-file", "--append-output"]);
            for character in ['O', 'P', 'o', 'a'] {
                found.extend(clustered("aABDeIiloOPQRtTUwX", character));
            }
            found
        }
        "tar" | "gtar" | "bsdtar" => {
            let mut found = behind(&["--directory", "--one-top-level"]);
            found.extend(clustered("bfCgTXKNVLHFI", 'C'));
            // `tar czf FILE`: the characters' values stand behind them, in their order.
            let bare = args.first().and_then(Arg::text).filter(|text| !text.starts_with('-')).unwrap_or_default();
            let values = bare.chars().filter(|character| "bfCgTXKNVLHFI".contains(*character));
            let creates = bare.contains(['c', 'r', 'u', 'A'])
                || ["--create", "--append", "--update"].iter().any(|option| has(option))
                || args.iter().any(|arg| {
                    let head = arg.head();
                    head.starts_with('-') && !head.starts_with("--") && head.contains(['c', 'r', 'u', 'A'])
                });
            for (place, character) in values.enumerate() {
                if character == 'C' || character == 'f' && creates {
                    found.extend(args.get(place + 1).cloned());
                }
            }
            if creates {
                found.extend(clustered("bfCgTXKNVLHFI", 'f'));
                found.extend(behind(&["--file"]));
            }
            let absolute = bare.contains('P')
                || has("--absolute")
                || args.iter().any(|arg| {
                    let head = arg.head();
                    head.starts_with('-') && !head.starts_with("--") && head.contains('P')
                });
            if absolute {
                found.push(Arg::anything());
            }
            found
        }
        "unzip" => behind(&["-d"]),
        "git" => {
            let (at, _) = super::shell::git::command_at(&seen.argv);
            let command = seen.argv.get(at).and_then(Arg::text).unwrap_or_default();
            let words = seen.argv.get(at + 1..).unwrap_or_default();
            let is_path = |arg: &&Arg| {
                !arg.head().starts_with('-') && (arg.head().starts_with(['/', '.', '~']) || arg.text().is_none())
            };
            let mut found = Vec::new();
            if !GIT_READ_COMMANDS.contains(&command) {
                let before = seen.argv.get(1..at).unwrap_or_default();
                for (place, arg) in before.iter().enumerate() {
                    match arg.head() {
                        "-C" | "--work-tree" => found.extend(before.get(place + 1).cloned()),
                        head => found.extend(head.strip_prefix("--work-tree=").map(|rest| with_head(arg, rest))),
                    }
                }
            }
            match command {
                "clone" | "init" | "worktree" | "mv" | "rm" | "bundle" => {
                    found.extend(words.iter().filter(is_path).cloned());
                }
                "config" if has("--global") || has("--system") => found.push(Arg::starting_with("/")),
                "config" => found.extend(behind(&["-f", "--file"])),
                _ => found.extend(
                    behind(&["--output", "-o", "--output-directory"])
                        .into_iter()
                        .filter(|arg| arg.head().starts_with(['/', '.', '~']) || arg.text().is_none()),
                ),
            }
            found
        }
        "cargo" if plain.first().is_some_and(|word| matches!(word.text(), Some("new" | "init"))) => {
            plain.into_iter().skip(1).cloned().collect()
        }
        _ if COMPRESSORS.contains(&name) => {
            let prints = args.iter().any(|arg| {
                let head = arg.head();
                head.starts_with("--std")
                    || matches!(head, "--test" | "--list" | "--to-stdout")
                    || head.starts_with('-') && !head.starts_with("--") && head.contains(['c', 't', 'l'])
            });
            if prints { Vec::new() } else { plain.into_iter().cloned().collect() }
        }
        _ if COMPILERS.contains(&name) => {
            behind(&["-o", "--output", "--out-dir", "-out", "-d", "--outDir", "--outfile"])
        }
        _ if DIRECTORY_OPTION_PROGRAMS.contains(&name) => behind(&[
            "-C",
            "--directory",
            "--prefix",
            "--dir",
            "--cwd",
            "--target",
            "--target-dir",
            "--manifest-path",
            "-B",
            "-D",
            "-t",
        ]),
        "patch" | "apply_patch" => vec![Arg::anything()],
        "find" | "gfind" if has("-delete") || has("-fprint") || has("-fls") => {
            let mut found: Vec<Arg> =
                args.iter().take_while(|arg| !arg.head().starts_with(['-', '(', '!'])).cloned().collect();
            found.extend(behind(&["-fprint", "-fprint0", "-fls", "-fprintf"]));
            found
        }
        _ => Vec::new(),
    }
}

fn with_head(arg: &Arg, rest: &str) -> Arg {
    match arg {
        Arg::Known(_) => Arg::known(rest),
        Arg::Unknown { tail, form, .. } => Arg::Unknown { head: rest.to_owned(), tail: tail.clone(), form: *form },
    }
}

/// Every word of a text that may be a path.
pub(super) fn possible_paths(scan: &ShellAnalysis) -> Vec<Arg> {
    let mut words: Vec<Arg> = scan.writes.clone();
    for seen in scan.commands.iter().filter(|seen| seen.is_sure) {
        words.extend(seen.argv.iter().skip(1).cloned());
        words.extend(
            seen.argv.iter().skip(1).filter_map(|arg| arg.head().split_once('=').map(|(_, rest)| with_head(arg, rest))),
        );
    }
    words
}
