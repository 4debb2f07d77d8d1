//! The paths that a shell command writes to, as far as its usual writers go.

use super::shell::{Scan, Seen, arg::Arg};

/// Programs all of whose words are paths that they change.
const ALL: &[&str] = &[
    "tee", "touch", "rm", "mkdir", "rmdir", "truncate", "shred", "unlink", "mkfifo", "mknod", "ln", "mv", "link",
    "rename",
];
/// Programs whose last word is the path that they change.
const LAST: &[&str] = &["cp", "install", "rsync", "scp"];
/// Programs whose words behind the first are paths that they change.
const BUT_FIRST: &[&str] = &["chmod", "chown", "chgrp", "setfacl"];

/// Every path that a text writes to, as words.
pub(super) fn of(scan: &Scan) -> Vec<Arg> {
    let mut paths: Vec<Arg> = scan.writes.clone();
    for seen in scan.seen.iter().filter(|seen| seen.is_sure) {
        paths.extend(of_command(seen));
    }
    paths
}

/// Those of one command.
pub(super) fn of_command(seen: &Seen) -> Vec<Arg> {
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
    let name = name.as_str();
    let has = |start: &str| args.iter().any(|arg| arg.head().starts_with(start));
    if ALL.contains(&name) {
        return plain.into_iter().cloned().collect();
    }
    if LAST.contains(&name) {
        if has("-t")
            || has("--target")
            || args.iter().any(Arg::is_loose)
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
    if BUT_FIRST.contains(&name) {
        return plain.into_iter().skip(1).cloned().collect();
    }
    match name {
        "dd" => args.iter().filter_map(|arg| arg.head().strip_prefix("of=").map(|rest| with_head(arg, rest))).collect(),
        "sed" | "gsed" | "perl" | "ruby" => {
            let in_place = args.iter().any(|arg| {
                let head = arg.head();
                head.starts_with("--in")
                    || head.starts_with('-') && !head.starts_with("--") && head.contains('i')
                    || arg.is_loose()
            });
            let skip = usize::from(!has("-e") && !has("--expression") && !has("-pe") && !has("-f"));
            if in_place { plain.into_iter().skip(skip).cloned().collect() } else { Vec::new() }
        }
        "sort" => behind(&["-o", "--output"]),
        "curl" => behind(&["-o", "--output", "--output-dir", "-D", "--dump-header", "-c", "--cookie-jar"]),
        "wget" => behind(&["-O", "--output-document", "-P", "--directory-prefix", "-o", "--output-file"]),
        "tar" | "gtar" | "bsdtar" => {
            let mut found = behind(&["-C", "--directory", "-f", "--file", "--one-top-level"]);
            if has("-P") || has("--absolute") {
                found.push(Arg::anything());
            }
            found
        }
        "unzip" => behind(&["-d"]),
        "git" => {
            let (at, _) = super::shell::git::command_at(&seen.argv);
            match seen.argv.get(at).and_then(Arg::text) {
                Some("clone" | "init" | "worktree") => seen
                    .argv
                    .iter()
                    .skip(at + 1)
                    .filter(|arg| {
                        !arg.head().starts_with('-')
                            && (arg.head().starts_with(['/', '.', '~']) || arg.text().is_none())
                    })
                    .cloned()
                    .collect(),
                _ => behind(&["--output", "-o"]).into_iter().filter(|arg| arg.head().starts_with(['/', '.'])).collect(),
            }
        }
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
        Arg::Unsure { tail, form, .. } => Arg::Unsure { head: rest.to_owned(), tail: tail.clone(), form: *form },
    }
}

/// Every word of a text that may be a path.
pub(super) fn words(scan: &Scan) -> Vec<Arg> {
    let mut words: Vec<Arg> = scan.writes.clone();
    for seen in scan.seen.iter().filter(|seen| seen.is_sure) {
        words.extend(seen.argv.iter().skip(1).cloned());
        words.extend(
            seen.argv.iter().skip(1).filter_map(|arg| arg.head().split_once('=').map(|(_, rest)| with_head(arg, rest))),
        );
    }
    words
}
