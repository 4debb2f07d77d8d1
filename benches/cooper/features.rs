//! Recorded features: patches, the base that their own context makes, and what a worker has written after some of its steps.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// A line of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Keep,
    Delete,
    Add,
}

/// A place that a patch changes.
#[derive(Debug, Clone)]
struct Hunk {
    /// The first line of the older side that it mentions, from 1; of an insertion without context the line it comes before.
    start: usize,
    lines: Vec<(Op, String)>,
}

/// The changes of a patch to a file.
#[derive(Debug, Clone, Default)]
struct FileChange {
    is_new: bool,
    is_deleted: bool,
    hunks: Vec<Hunk>,
}

/// A feature: its changes by path.
#[derive(Debug, Clone)]
pub struct Feature {
    files: BTreeMap<String, FileChange>,
    /// Whether the patch says something that lines do not: a rename, a copy, a binary file, a quoted name.
    is_odd: bool,
}

/// The base of some features: the lines of each file; `None` for a file that is not there yet.
pub type Base = BTreeMap<String, Option<Vec<String>>>;
/// A tree: the content of each file.
pub type Tree = BTreeMap<String, String>;

impl Feature {
    /// Reads a patch as `git diff` prints it.
    pub fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut files: BTreeMap<String, FileChange> = BTreeMap::new();
        let (mut current, mut is_odd) = (String::new(), false);
        let mut lines = text.split('\n').peekable();
        while let Some(line) = lines.next() {
            if line.starts_with("diff --git ") {
                let names = line.strip_prefix("diff --git a/").and_then(|rest| rest.split_once(" b/"));
                current = names.filter(|(old, new)| old == new).map(|(_, new)| new.to_owned()).unwrap_or_default();
                is_odd |= current.is_empty();
                files.insert(current.clone(), FileChange::default());
            }
            is_odd |= line == "GIT binary patch" || line.starts_with("Binary files ");
            let Some(file) = files.get_mut(&current) else { continue };
            file.is_new |= line.starts_with("new file");
            file.is_deleted |= line.starts_with("deleted file");
            if let Some((start, old, new)) = header(line) {
                let (mut old, mut new) = (old, new);
                let start = if old == 0 { start + 1 } else { start };
                let mut hunk = Hunk { start, lines: Vec::new() };
                while old > 0 || new > 0 {
                    let line = lines.next().expect("a whole hunk");
                    let (op, text) = match line.as_bytes().first() {
                        Some(b'+') => (Op::Add, &line[1..]),
                        Some(b'-') => (Op::Delete, &line[1..]),
                        Some(b'\\') => continue,
                        Some(_) => (Op::Keep, &line[1..]),
                        None => (Op::Keep, ""),
                    };
                    old -= usize::from(op != Op::Add);
                    new -= usize::from(op != Op::Delete);
                    hunk.lines.push((op, text.to_owned()));
                }
                file.hunks.push(hunk);
            }
        }
        Self { files, is_odd }
    }

    /// The number of changed lines.
    pub fn size(&self) -> usize {
        let changed = |hunk: &Hunk| hunk.lines.iter().filter(|(op, _)| *op != Op::Keep).count();
        self.files.values().flat_map(|file| &file.hunks).map(changed).sum()
    }

    /// The tree after the first `steps` changed lines in the order of the patch.
    pub fn after(&self, base: &Base, steps: usize) -> Tree {
        let mut left = steps;
        let mut tree: Tree =
            base.iter().filter_map(|(path, lines)| Some((path.clone(), joined(lines.as_ref()?)))).collect();
        for (path, change) in &self.files {
            let before = left;
            let old = base.get(path).cloned().flatten().unwrap_or_default();
            let mut new = Vec::new();
            let mut place = 1;
            for hunk in &change.hunks {
                new.extend(old.iter().skip(place - 1).take(hunk.start - place).cloned());
                place = hunk.start;
                for (op, text) in &hunk.lines {
                    let is_done = *op == Op::Keep || left > 0;
                    left -= usize::from(*op != Op::Keep && left > 0);
                    if (*op == Op::Add && is_done) || *op == Op::Keep || (*op == Op::Delete && !is_done) {
                        new.push(text.clone());
                    }
                    place += usize::from(*op != Op::Add);
                }
            }
            new.extend(old.iter().skip(place - 1).cloned());
            if before == left && !change.hunks.is_empty() {
                continue;
            }
            if change.is_deleted && new.is_empty() {
                tree.remove(path);
            } else {
                tree.insert(path.clone(), joined(&new));
            }
        }
        tree
    }

    /// The paths that the first `steps` changed lines touch.
    pub fn paths_after(&self, base: &Base, steps: usize) -> Vec<String> {
        let (before, after) = (self.after(base, 0), self.after(base, steps));
        self.files.keys().filter(|path| before.get(*path) != after.get(*path)).cloned().collect()
    }
}

/// `@@ -START,COUNT +START,COUNT @@`: the older start and both counts.
fn header(line: &str) -> Option<(usize, usize, usize)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let new = rest.split_once(" @@")?.0;
    let pair = |side: &str| -> Option<(usize, usize)> {
        let (start, count) = side.split_once(',').unwrap_or((side, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let ((start, old), (_, new)) = (pair(old)?, pair(new)?);
    Some((start, old, new))
}

fn joined(lines: &[String]) -> String {
    let mut text = lines.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// The base of features, from their context and deleted lines at their line numbers, with unique lines elsewhere. `None` when
/// two of them disagree about a line: they do not start from one base; and for a patch that lines do not tell.
pub fn base_of(features: &[&Feature]) -> Option<Base> {
    if features.iter().any(|feature| feature.is_odd) {
        return None;
    }
    let mut known: BTreeMap<&str, BTreeMap<usize, &str>> = BTreeMap::new();
    let mut base = Base::new();
    for (path, change) in features.iter().flat_map(|feature| &feature.files) {
        if change.is_new {
            base.insert(path.clone(), None);
            continue;
        }
        let lines = known.entry(path).or_default();
        for hunk in &change.hunks {
            let old = hunk.lines.iter().filter(|(op, _)| *op != Op::Add);
            for (number, (_, text)) in (hunk.start..).zip(old) {
                if *lines.entry(number).or_insert(text) != text {
                    return None;
                }
            }
        }
    }
    for (path, lines) in known {
        let last = lines.keys().last().copied().unwrap_or_default();
        let line = |number: usize| {
            lines.get(&number).map_or_else(|| format!("unique line {number}"), |line| (*line).to_owned())
        };
        let is_whole = features.iter().any(|one| one.files.get(path).is_some_and(|file| file.is_deleted));
        let tail = if is_whole { last } else { last + 5 };
        if base.insert(path.to_owned(), Some((1..=tail).map(line).collect())).is_some() {
            // One feature adds the file, another one changes it.
            return None;
        }
    }
    Some(base)
}

/// A recorded pair.
#[derive(Debug, Clone)]
pub struct Pair {
    /// `REPOSITORY/TASK`.
    pub task: String,
    pub a: usize,
    pub b: usize,
    /// Whether a merge of both finished features conflicts.
    pub conflict: bool,
}

/// The recorded pairs of a data directory, by task.
pub fn pairs(data: &Path) -> Vec<Pair> {
    let text = fs::read_to_string(data.join("pairs.jsonl")).expect("the recorded pairs");
    let pair = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        let number = |key: &str| usize::try_from(value[key].as_u64().expect("a number")).expect("a small one");
        let task = value["task"].as_str().expect("a task").to_owned();
        Pair { task, a: number("a"), b: number("b"), conflict: value["conflict"].as_bool().expect("a truth") }
    };
    let mut all: Vec<Pair> = text.lines().filter(|line| !line.trim().is_empty()).map(pair).collect();
    all.sort_by(|one, other| (&one.task, one.a, one.b).cmp(&(&other.task, other.a, other.b)));
    all
}

/// A stream for `git fast-import`: commits that are named by marks.
#[derive(Debug, Default)]
pub struct Import {
    text: String,
    marks: usize,
}

impl Import {
    /// Adds a commit with this tree; its mark.
    pub fn commit(&mut self, tree: &Tree, parent: Option<usize>) -> usize {
        self.marks += 1;
        let mark = self.marks;
        let name = format!("refs/heads/c{mark}");
        let _ = write!(self.text, "commit {name}\nmark :{mark}\ncommitter w <w@localhost> {mark} +0000\ndata 0\n");
        if let Some(parent) = parent {
            let _ = writeln!(self.text, "from :{parent}");
        }
        self.text.push_str("deleteall\n");
        for (path, text) in tree {
            let _ = write!(self.text, "M 100644 inline {path}\ndata {}\n{text}\n", text.len());
        }
        mark
    }

    /// The stream.
    pub fn into_text(mut self) -> String {
        self.text.push_str("done\n");
        self.text
    }
}
