//! The output of usual commands: paths below a directory, or one plain word.

use super::arg::Arg;
use super::git;

/// Programs that hand on some of the lines that they read.
const FILTERS: &[&str] = &["head", "tail", "sort", "uniq", "grep", "egrep", "fgrep", "tac", "rg"];

/// Every line that a command may print, where `*` stands for any characters but a slash. `input` is the lines that it reads.
/// `None` when its output cannot be determined.
pub(super) fn of_command(argv: &[Arg], input: Option<&[String]>) -> Option<Vec<String>> {
    let name = argv.first()?.program()?;
    let args = argv.get(1..).unwrap_or_default();
    let has = |options: &[&str]| args.iter().any(|arg| arg.text().is_some_and(|text| options.contains(&text)));
    let letters = |letters: &[char]| {
        args.iter().any(|arg| {
            let short = arg.text().and_then(|text| text.strip_prefix('-'));
            short.is_some_and(|short| !short.starts_with('-') && short.contains(letters))
        })
    };
    let words = || args.iter().filter(|arg| !arg.head().starts_with('-'));
    let plain = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
    match name.as_str() {
        "find" | "gfind" => {
            let starts = args.iter().take_while(|arg| !arg.head().starts_with(['-', '(', '!']));
            if args.iter().any(|arg| arg.head().starts_with("-printf") || arg.head().starts_with("-exec")) {
                return None;
            }
            below(starts)
        }
        "fd" | "fdfind" => below(words().skip(1)),
        "ls" => {
            let found: Vec<&Arg> = words().collect();
            if letters(&['R', 'l', 's', 'i', 'g', 'n', 'o']) {
                return None;
            }
            if found.is_empty() {
                return plain(&["*"]);
            }
            // The names in a directory, or the files themselves.
            let mut all = found.iter().map(|word| word.candidates()).collect::<Option<Vec<_>>>()?.concat();
            all.push("*".to_owned());
            Some(all)
        }
        "seq" | "nproc" | "basename" | "echo" if name == "echo" => {
            let found: Option<Vec<_>> = words().map(Arg::candidates).collect();
            found.map(|found| found.concat())
        }
        "seq" | "nproc" | "basename" => plain(&["*"]),
        "date" => {
            let is_plain =
                |arg: &Arg| arg.text().is_some_and(|text| !text.contains(['/', 'D', 'x', 'c']) || has(&["-u"]));
            let formats = args.iter().filter(|arg| arg.head().starts_with('+'));
            let mut formats = formats.peekable();
            (formats.peek().is_some() && formats.all(is_plain)).then(|| vec!["*".to_owned()])
        }
        "pwd" => plain(&["."]),
        "mktemp" => temporary_file(args),
        "grep" | "egrep" | "fgrep" if letters(&['l', 'L']) || has(&["--files-with-matches"]) => {
            let skip = usize::from(!has(&["-e", "-f"]));
            let files: Vec<&Arg> = words().skip(skip).collect();
            if files.is_empty() { plain(&["./*"]) } else { below(files.into_iter()) }
        }
        "rg" if letters(&['l']) || has(&["--files", "--files-with-matches"]) => {
            let skip = usize::from(!has(&["--files", "-e"]));
            let files: Vec<&Arg> = words().skip(skip).collect();
            if files.is_empty() { plain(&["*"]) } else { below(files.into_iter()) }
        }
        "git" => {
            let (at, is_known) = git::command_at(argv);
            let words: Vec<&str> = argv.get(at..)?.iter().filter_map(Arg::text).collect();
            let is_here = is_known && !argv.iter().take(at).any(|arg| matches!(arg.head(), "-C" | "--work-tree"));
            match words.as_slice() {
                ["ls-files", ..] if is_here => plain(&["*"]),
                ["grep", rest @ ..] if is_here && prints_names_only(rest) => plain(&["*"]),
                ["diff", rest @ ..] if is_here && rest.contains(&"--name-only") => plain(&["*"]),
                ["rev-parse", "--show-toplevel"] if is_here => plain(&["*"]),
                // Wherever it lies, it is git's own.
                ["rev-parse", "--git-dir" | "--git-common-dir"] if is_here => plain(&[".git"]),
                ["rev-parse", "HEAD" | "--short" | "--abbrev-ref", ..]
                | ["branch", "--show-current"]
                | ["symbolic-ref", "--short", "HEAD"]
                | ["describe", ..] => plain(&["*"]),
                _ => None,
            }
        }
        _ if FILTERS.contains(&name.as_str()) && !letters(&['o']) => input.map(<[String]>::to_vec),
        _ => None,
    }
}

/// The file that `mktemp` makes, where it makes it below a directory that its words name.
fn temporary_file(args: &[Arg]) -> Option<Vec<String>> {
    let (mut directory, mut template) = (None, None);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.text()? {
            "-p" => directory = Some(words.next()?.text()?),
            "-d" | "-u" | "-q" | "-dq" | "-qd" | "--directory" | "--quiet" => {}
            text if text.starts_with("--tmpdir=") => directory = text.strip_prefix("--tmpdir="),
            text if text.starts_with('-') => return None,
            text => template = Some(text),
        }
    }
    let name = match template {
        Some(template) => template.replace("XXX", "*").replace('X', "*"),
        None => "*".to_owned(),
    };
    match (directory, template) {
        (Some(directory), _) => Some(vec![format!("{}/{name}", directory.trim_end_matches('/'))]),
        (None, Some(_)) => Some(vec![name]),
        (None, None) => None,
    }
}

/// Whether these words of `git grep` make it print the names of files and nothing else.
fn prints_names_only(words: &[&str]) -> bool {
    let is_sign = |word: &&str| matches!(*word, "-l" | "-L" | "--files-with-matches" | "--files-without-match");
    words.iter().take_while(|word| **word != "--").any(is_sign)
}

/// Paths below these, or below the current directory.
fn below<'a>(starts: impl Iterator<Item = &'a Arg>) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for start in starts {
        for word in start.candidates()? {
            all.push(format!("{}/*", word.trim_end_matches('/')));
            all.push(word);
        }
    }
    if all.is_empty() { Some(vec!["./*".to_owned()]) } else { Some(all) }
}

/// Every line that the text of a substitution may print, in the form of [`of_command`]. `None` unless it is a plain pipeline of
/// known commands.
pub(super) fn of_text(text: &str) -> Option<Vec<String>> {
    if text.contains(['$', '`', ';', '&', '<', '>', '(', ')', '{', '}', '\n', '\\', '~']) || text.contains("||") {
        return None;
    }
    let mut lines: Option<Vec<String>> = None;
    for stage in text.split('|') {
        let words: Vec<Arg> = shell_words::split(stage).ok()?.into_iter().map(Arg::Known).collect();
        lines = Some(of_command(&words, lines.as_deref())?);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_commands_print_paths_below_where_they_look() {
        let all = |text: &str| of_text(text).map(|lines| lines.join(" "));
        assert_eq!(all("find src -name '*.rs'").as_deref(), Some("src/* src"));
        assert_eq!(all("find /tmp ../x").as_deref(), Some("/tmp/* /tmp ../x/* ../x"));
        assert_eq!(all("grep -rl foo src | head -3").as_deref(), Some("src/* src"));
        assert_eq!(all("git ls-files '*.py'").as_deref(), Some("*"));
        assert_eq!(all("git grep -l foo").as_deref(), Some("*"));
        assert_eq!(all("date +%F").as_deref(), Some("*"));
        for text in [
            "cat list", "date +%D", "find . -printf /x", "git -C .. ls-files", "git grep foo", "cat x | sort",
            "ls; echo /x",
        ] {
            assert_eq!(all(text), None, "{text}");
        }
    }
}
