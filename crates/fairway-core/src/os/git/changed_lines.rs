//! The paths and lines that one commit changes against another, and where an unchanged line is in the other one.

use std::iter::Peekable;
use std::time::Duration;

use super::command::{Git, GitError};
use crate::os::digest::sha256_hex;
use crate::os::exit_reason::ExitReason;

/// The time limit of a comparison.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The changed lines of a path with more hunks than this are not kept.
const MAX_HUNKS: usize = 2000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPath {
    /// The path; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// The letter of git: A, M, D or T. A rename is a deletion and an addition.
    pub letter: char,
    /// The number of added lines; `None` for a binary file.
    pub added: Option<u64>,
    /// The number of deleted lines; `None` for a binary file.
    pub deleted: Option<u64>,
    /// The changed lines, in order; `None` where they are not known: a binary file, or very many changes.
    pub hunks: Option<Vec<ChangedLines>>,
}

/// Adjoining changed lines of the older side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedLines {
    /// The first of them, from 1; of an insertion the line that it comes before.
    pub start: u64,
    /// The line after the last of them; `start` for an insertion.
    pub end: u64,
    /// The digest of the deleted and the added lines, by which the same change is recognized.
    pub digest: String,
    /// Whether all deleted and added lines are entries of a list that sorts or registers.
    pub is_list: bool,
}

/// The beginnings of lines that register something: imports, modules, entries of a text.
const LIST_STARTS: [&str; 18] = [
    "import ", "from ", "use ", "pub use ", "pub use ", "mod ", "pub mod ", "pub(crate) mod ", "pub(super) mod ",
    "#include", "require", "export ", "using ", "@import", "- ", "* ", "+ ", "| ",
];

/// Whether a line is an entry of a list: it registers something, or ends as an element does.
fn is_list_line(line: &str) -> bool {
    let line = line.trim();
    line.ends_with(',') || LIST_STARTS.iter().any(|start| line.starts_with(start))
}

/// Whether changed lines, each behind its sign, are entries of a list. Empty ones may lie between them.
fn is_list(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let changed = text.lines().filter_map(|line| line.get(1..)).filter(|line| !line.trim().is_empty());
    let mut changed = changed.peekable();
    changed.peek().is_some() && changed.all(is_list_line)
}

/// The arguments of the `git diff-tree` call whose output [`parse`] reads.
pub(super) fn arguments<'a>(from: &'a str, to: &'a str) -> [&'a str; 15] {
    [
        "diff-tree", "-r", "-z", "--raw", "--numstat", "-p", "-U0", "--no-renames", "--no-ext-diff", "--no-textconv",
        "--no-color", "--no-abbrev", "--src-prefix=a/", from, to,
    ]
}

/// Reads the output of a `git` call with [`arguments`]: the state of each file, then the number of its changed lines, then the
/// patch in the same order. `None` when the output has another form.
pub(super) fn parse(output: &[u8]) -> Option<Vec<ChangedPath>> {
    let mut rest = output;
    let mut files: Vec<ChangedPath> = Vec::new();
    while rest.first() == Some(&b':') {
        let (state, path) = (take_field(&mut rest)?, take_field(&mut rest)?);
        let letter = char::from(*state.rsplit(|byte| *byte == b' ').next()?.first()?);
        let path = String::from_utf8_lossy(path).into_owned();
        files.push(ChangedPath { path, letter, added: None, deleted: None, hunks: None });
    }
    for file in &mut files {
        let text = String::from_utf8_lossy(take_field(&mut rest)?).into_owned();
        let mut columns = text.splitn(3, '\t');
        (file.added, file.deleted) = (columns.next()?.parse().ok(), columns.next()?.parse().ok());
    }
    // Between the lists and the patch is one NUL.
    let rest = rest.strip_prefix(b"\0").unwrap_or(rest);
    let mut sections = Sections::new(rest);
    for file in &mut files {
        // The type of a file changes by a deletion and an addition.
        let count = if file.letter == 'T' { 2 } else { 1 };
        for _ in 0..count {
            let hunks = sections.next_hunks().ok()?;
            file.hunks = if count == 2 || file.added.is_none() { None } else { hunks };
        }
    }
    Some(files)
}

fn take_field<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let at = rest.iter().position(|byte| *byte == 0)?;
    let field = rest.get(..at)?;
    *rest = rest.get(at + 1..)?;
    Some(field)
}

type PatchLines<'a> = std::slice::Split<'a, u8, fn(&u8) -> bool>;

/// A patch has another form than git's.
struct UnknownForm;

/// The files' parts of a patch without context.
struct Sections<'a> {
    lines: Peekable<PatchLines<'a>>,
}

impl<'a> Sections<'a> {
    fn new(patch: &'a [u8]) -> Self {
        let is_newline: fn(&u8) -> bool = |byte| *byte == b'\n';
        Self { lines: patch.split(is_newline).peekable() }
    }

    /// The changed lines of the next file; `None` when there are too many.
    fn next_hunks(&mut self) -> Result<Option<Vec<ChangedLines>>, UnknownForm> {
        self.lines.next_if(|line| line.starts_with(b"diff --git ")).ok_or(UnknownForm)?;
        let mut hunks: Vec<(u64, u64, Vec<u8>)> = Vec::new();
        let mut is_too_many = false;
        // Content lines begin with a sign, so that none looks like a header.
        while let Some(line) = self.lines.next_if(|line| !line.starts_with(b"diff --git ")) {
            if line.starts_with(b"@@ -") {
                let (start, end) = range(line).ok_or(UnknownForm)?;
                is_too_many |= hunks.len() >= MAX_HUNKS;
                if !is_too_many {
                    hunks.push((start, end, Vec::new()));
                }
            } else if matches!(line.first(), Some(b'+' | b'-' | b'\\'))
                && let Some((_, _, text)) = hunks.last_mut()
            {
                text.extend_from_slice(line);
                text.push(b'\n');
            }
        }
        let digest = |text: &[u8]| sha256_hex(text).chars().take(12).collect();
        let changed = |(start, end, text): (u64, u64, Vec<u8>)| {
            let (digest, is_list) = (digest(&text), is_list(&text));
            ChangedLines { start, end, digest, is_list }
        };
        Ok((!is_too_many).then(|| hunks.into_iter().map(changed).collect()))
    }
}

/// The older side's lines in `@@ -START,COUNT +…`.
fn range(line: &[u8]) -> Option<(u64, u64)> {
    let (start, count, _) = hunk(&String::from_utf8_lossy(line))?;
    // An insertion names the line that it comes after.
    let start = if count == 0 { start + 1 } else { start };
    Some((start, start + count))
}

impl Git<'_> {
    /// The text of line number `line`, from 1, of a file in a commit. `None` when the file has no such line, and when git finds
    /// no such file. Bytes that are not UTF-8 are replaced.
    pub fn line_at(&self, commit: &str, path: &str, line: u64) -> Result<Option<String>, GitError> {
        let done = self.run(&["cat-file", "blob", &format!("{commit}:{path}")], TIMEOUT)?;
        if done.exit != ExitReason::Code(0) {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&done.stdout);
        let place = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        Ok(text.lines().nth(place).map(str::to_owned))
    }

    /// Returns where a line of commit `from` is in commit `to`: its path, which differs when the file was renamed, and its
    /// number. `None` when the line was changed or removed, and in a binary file that was changed.
    pub fn follow_line(
        &self,
        (from, path, line): (&str, &str, u64),
        to: &str,
    ) -> Result<Option<(String, u64)>, GitError> {
        let all = self.files_between(from, to, &[])?;
        let Some(file) =
            all.iter().find(|file| file.old_path.as_deref().unwrap_or(&file.path) == path && file.letter != 'A')
        else {
            return Ok(Some((path.to_owned(), line)));
        };
        if file.letter == 'D' || file.added.is_none() {
            return Ok(None);
        }
        let paths = [path.to_owned(), file.path.clone()];
        let patch = self.compare(&["-p", "-U0"], from, to, &paths)?;
        let patch = String::from_utf8_lossy(&patch);
        Ok(shifted(&patch, line).map(|line| (file.path.clone(), line)))
    }
}

/// The number of an unchanged line after the changes of a patch without context; `None` for a changed line.
fn shifted(patch: &str, line: u64) -> Option<u64> {
    let (mut before, mut after) = (0, 0);
    for (start, old, new) in patch.lines().filter_map(hunk) {
        // A hunk that only adds stands behind the line that it names.
        let first = if old == 0 { start + 1 } else { start };
        if line >= first && line < first + old {
            return None;
        }
        if line < first {
            break;
        }
        (before, after) = (before + old, after + new);
    }
    (line + after).checked_sub(before)
}

/// `@@ -START,COUNT +START,COUNT @@`: the older start and both counts.
fn hunk(line: &str) -> Option<(u64, u64, u64)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let pair = |side: &str| -> Option<(u64, u64)> {
        let (start, count) = side.split_once(',').unwrap_or((side, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let ((start, old), (_, new)) = (pair(old)?, pair(new)?);
    Some((start, old, new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_git_is_read_into_paths_and_lines() {
        let id = "0".repeat(40);
        let raw = |letter: &str, path: &str| format!(":100644 100644 {id} {id} {letter}\0{path}\0");
        let output = [
            raw("M", "a b"),
            raw("M", "bin"),
            raw("T", "link"),
            "2\t1\ta b\0-\t-\tbin\x001\t1\tlink\0\0".to_owned(),
            "diff --git a/a b b/a b\nindex 1..2 100644\n--- a/a b\n+++ b/a b\n@@ -3 +3,2 @@ fn x\n-old\n+diff --git\n+two\n"
                .to_owned(),
            "@@ -9,0 +11 @@\n+new\n\\ No newline at end of file\n".to_owned(),
            "diff --git a/bin b/bin\nBinary files a/bin and b/bin differ\n".to_owned(),
            "diff --git a/link b/link\n@@ -1 +0,0 @@\n-x\ndiff --git a/link b/link\n@@ -0,0 +1 @@\n+y\n".to_owned(),
        ]
        .concat();
        let files = parse(output.as_bytes()).unwrap();
        let seen: Vec<_> =
            files.iter().map(|file| (file.path.as_str(), file.letter, file.added, file.deleted)).collect();
        assert_eq!(seen, [("a b", 'M', Some(2), Some(1)), ("bin", 'M', None, None), ("link", 'T', Some(1), Some(1))]);
        let lines: Vec<_> = files[0].hunks.iter().flatten().map(|hunk| (hunk.start, hunk.end)).collect();
        assert_eq!(lines, [(3, 4), (10, 10)]);
        assert_eq!((&files[1].hunks, &files[2].hunks), (&None, &None));
        assert_eq!(parse(b""), Some(Vec::new()));
        assert_eq!(parse(b":100644 broken"), None);
    }

    #[test]
    fn changes_of_lists_consist_of_entries_alone() {
        for (text, expected) in [
            ("+use std::fs;\n", true),
            ("-import os\n+from os import path\n", true),
            ("+    \"click\",\n+\n+    \"jinja\",\n", true),
            ("+- A line of the changelog\n", true),
            ("+    let one = 1;\n", false),
            ("+use std::fs;\n+fn main() {}\n", false),
            ("+    one(two)\n", false),
            // Nothing tells that an empty line is one.
            ("+\n", false),
            ("", false),
        ] {
            assert_eq!(is_list(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn line_moves_with_the_changes_before_it_and_is_gone_within_one() {
        let patch = "@@ -0,0 +1,2 @@\n+a\n+b\n@@ -3 +5 @@\n-c\n+d\n@@ -5,2 +6,0 @@\n-e\n-f\n@@ -8,0 +8 @@\n+g\n";
        let lines: Vec<Option<u64>> = (1..=9).map(|line| shifted(patch, line)).collect();
        assert_eq!(lines, [Some(3), Some(4), None, Some(6), None, None, Some(7), Some(8), Some(10)]);
        assert_eq!(shifted("", 4), Some(4));
    }
}
