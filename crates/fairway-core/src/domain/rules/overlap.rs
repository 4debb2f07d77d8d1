//! Whether the changes of two lanes can collide, by their paths and lines.

use std::collections::BTreeMap;

use crate::domain::overlap::{LineRange, OverlapFile, OverlapLevel, SnapshotPath};

/// Changed lines that lie at most so many unchanged lines apart are close to each other.
const MAX_GAP: u64 = 1;

/// The beginnings of the names of files to which each work adds a line.
const CHANGELOGS: [&str; 5] = ["changelog", "changes", "history", "news", "release"];

/// Whether a merge of the two changes can conflict: they share a path, a path of one is a directory of the other's, or one of
/// them has deleted or renamed a file, which can move the other's new files.
pub fn may_collide(ours: &[SnapshotPath], theirs: &[SnapshotPath]) -> bool {
    if ours.is_empty() || theirs.is_empty() {
        return false;
    }
    let deletes = |paths: &[SnapshotPath]| paths.iter().any(|path| path.letter == 'D');
    deletes(ours) || deletes(theirs) || shares_path(ours, theirs) || shares_path(theirs, ours)
}

/// Whether a path of `ours` is one of `theirs`, or a directory of one.
fn shares_path(ours: &[SnapshotPath], theirs: &[SnapshotPath]) -> bool {
    let names: std::collections::BTreeSet<&str> = theirs.iter().map(|path| path.path.trim_end_matches('/')).collect();
    let is_in = |path: &SnapshotPath| {
        let name = path.path.trim_end_matches('/');
        let below = format!("{name}/");
        names.contains(name) || names.range(below.as_str()..).next().is_some_and(|next| next.starts_with(&below))
    };
    ours.iter().any(is_in)
}

/// The files in which two lanes change lines close to each other, or of which only the names are known. The lines of both must
/// be numbered as in the same commit. An identical change on both sides does not count.
pub fn adjacent_files(ours: &[SnapshotPath], theirs: &[SnapshotPath]) -> Vec<OverlapFile> {
    let others: BTreeMap<&str, &SnapshotPath> = theirs.iter().map(|path| (path.path.as_str(), path)).collect();
    let file = |path: &SnapshotPath| {
        // Where a file is deleted on one side only and the two merge, git has followed its rename.
        let other = others.get(path.path.as_str()).filter(|other| path.letter != 'D' && other.letter != 'D')?;
        let is_by_name = path.letter == 'N' || other.letter == 'N';
        let close = match (&path.lines, &other.lines) {
            (Some(ours), Some(theirs)) => close_changes(ours, theirs),
            _ => Vec::new(),
        };
        let are_entries = close.iter().all(|(one, other)| one.is_list && other.is_list);
        let in_list = !is_by_name && (are_entries || is_changelog(&path.path));
        (is_by_name || !close.is_empty()).then(|| OverlapFile {
            path: path.path.clone(),
            level: OverlapLevel::Adjacent,
            lines: lines_of(&close),
            in_list,
        })
    };
    ours.iter().filter_map(file).collect()
}

/// Whether a file is a changelog by its name, so that each work adds a line to it.
fn is_changelog(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let (stem, extension) = name.split_once('.').unwrap_or((&name, ""));
    matches!(extension, "" | "md" | "rst" | "txt" | "adoc") && CHANGELOGS.iter().any(|start| stem.starts_with(start))
}

/// Pairs of changes as first and last line.
fn lines_of(close: &[(&LineRange, &LineRange)]) -> Vec<(u64, u64)> {
    let line = |(one, other): &(&LineRange, &LineRange)| {
        let (start, end) = (one.start.min(other.start), one.end.max(other.end));
        (start, end.saturating_sub(1).max(start))
    };
    let mut lines: Vec<(u64, u64)> = close.iter().map(line).collect();
    lines.dedup();
    lines
}

/// The pairs of changes, one of each side, that are close to each other and not identical.
fn close_changes<'a>(ours: &'a [LineRange], theirs: &'a [LineRange]) -> Vec<(&'a LineRange, &'a LineRange)> {
    let mut found = Vec::new();
    let mut from = 0;
    for one in ours {
        // Both are in order: what ends before this one is close to none of the later ones.
        while theirs.get(from).is_some_and(|other| other.end + MAX_GAP < one.start) {
            from += 1;
        }
        for other in theirs.iter().skip(from).take_while(|other| other.start <= one.end + MAX_GAP) {
            let is_close = one.start <= other.end + MAX_GAP;
            // A change that an earlier version recorded does not tell whether it is one of a list.
            let is_same = (one.start, one.end, &one.digest) == (other.start, other.end, &other.digest);
            if is_close && !is_same {
                found.push((one, other));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str, letter: char, lines: &[(u64, u64, &str)]) -> SnapshotPath {
        let range = |(start, end, digest): &(u64, u64, &str)| LineRange {
            start: *start,
            end: *end,
            digest: (*digest).to_owned(),
            is_list: digest.starts_with("list"),
        };
        SnapshotPath { path: name.into(), letter, lines: Some(lines.iter().map(range).collect()) }
    }

    #[test]
    fn pair_is_judged_only_when_a_merge_could_break() {
        let one = |name| vec![path(name, 'M', &[])];
        for (ours, theirs, expected) in [
            (one("a"), one("a"), true),
            (one("a"), one("b"), false),
            (one("a"), one("a/b"), true),
            (one("a/b/c"), one("a"), true),
            (one("a"), one("a.b"), false),
            (one("a"), one("ab/c"), false),
            (vec![path("old", 'D', &[])], one("b"), true),
            (one("b"), vec![path("old", 'D', &[])], true),
            (vec![path("old", 'D', &[])], Vec::new(), false),
            (vec![path("nested/", 'N', &[])], one("nested/f"), true),
        ] {
            assert_eq!(may_collide(&ours, &theirs), expected, "{ours:?} {theirs:?}");
        }
    }

    #[test]
    fn lines_are_close_with_at_most_one_line_between_them() {
        let file = |lines: &[(u64, u64, &str)]| vec![path("f", 'M', lines)];
        for (ours, theirs, expected) in [
            ((5, 6, "a"), (6, 7, "b"), vec![(5, 6)]),
            ((5, 6, "a"), (7, 8, "b"), vec![(5, 7)]),
            ((5, 6, "a"), (8, 9, "b"), vec![]),
            ((8, 9, "a"), (5, 6, "b"), vec![]),
            ((7, 9, "a"), (5, 6, "b"), vec![(5, 8)]),
            // Insertions before line 5 and before line 6.
            ((5, 5, "a"), (6, 6, "b"), vec![(5, 5)]),
            // The same change twice.
            ((5, 6, "a"), (5, 6, "a"), vec![]),
            ((5, 6, "a"), (5, 6, "b"), vec![(5, 5)]),
        ] {
            let found = adjacent_files(&file(&[ours]), &file(&[theirs]));
            let lines = found.first().map(|file| file.lines.clone()).unwrap_or_default();
            assert_eq!(lines, expected, "{ours:?} {theirs:?}");
        }
    }

    #[test]
    fn many_lines_are_compared_each_with_its_neighbours() {
        let ours: Vec<_> = (0..100).map(|n| (n * 10, n * 10 + 1, "a")).collect();
        let theirs: Vec<_> = (0..100).map(|n| (n * 10 + if n == 50 { 2 } else { 5 }, n * 10 + 6, "b")).collect();
        let found = adjacent_files(&[path("f", 'M', &ours)], &[path("f", 'M', &theirs)]);
        assert_eq!(found.first().map(|file| file.lines.clone()), Some(vec![(500, 505)]));
    }

    #[test]
    fn entries_of_lists_and_lines_of_changelogs_are_close_without_a_message() {
        for (name, ours, theirs, expected) in [
            ("f", "list 1", "list 2", true),
            ("f", "list 1", "code", false),
            ("f", "code", "other", false),
            ("docs/CHANGELOG.md", "code", "other", true),
            ("NEWS", "code", "other", true),
            ("changes/news.rs", "code", "other", false),
        ] {
            let found = adjacent_files(&[path(name, 'M', &[(5, 5, ours)])], &[path(name, 'M', &[(6, 6, theirs)])]);
            assert_eq!((found.len(), found[0].in_list), (1, expected), "{name} {ours} {theirs}");
        }
        // One place that is no list is enough.
        let two = |one: &'static str, other: &'static str| vec![path("f", 'M', &[(5, 5, one), (50, 50, other)])];
        assert!(!adjacent_files(&two("list 1", "code"), &two("list 2", "other"))[0].in_list);
    }

    #[test]
    fn file_that_is_known_by_name_is_close_to_any_change_of_it() {
        let named = SnapshotPath { path: "big".into(), letter: 'N', lines: None };
        let found = adjacent_files(std::slice::from_ref(&named), &[path("big", 'M', &[(1, 2, "a")])]);
        let (level, lines) = (OverlapLevel::Adjacent, Vec::new());
        assert_eq!(found, [OverlapFile { path: "big".into(), level, lines, in_list: false }]);
        assert_eq!(adjacent_files(&[named], &[path("other", 'M', &[])]), []);
        // A rename and a change of the same file merge.
        assert_eq!(adjacent_files(&[path("f", 'D', &[(1, 9, "a")])], &[path("f", 'M', &[(4, 5, "b")])]), []);
    }
}
