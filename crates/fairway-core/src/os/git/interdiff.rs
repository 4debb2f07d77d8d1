//! The part of a reworked result that an earlier result of the same work lacks, without the changes that came from the base:
//! git merges the base into the earlier result and compares that with the new one.

use std::collections::BTreeSet;
use std::time::Duration;

use super::command::{Git, GitError, MAX_WHOLE_OUTPUT, git_error, output_text, succeeded, unknown_form};
use super::diff::{self, ChangedFile};
use super::merge_repository::{MergeOutcome, MergeRepository};
use crate::os::exit_reason::ExitReason;

/// The time limit of a merge and of each comparison.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The flags of every comparison: no program that a repository names for showing files.
const DIFF: [&str; 8] =
    ["--literal-pathspecs", "diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative"];

/// Lines that a merge with conflicts writes into a file, as far as a file could have them by itself.
const MARKERS: &str = "^(<{7,}( |$)|>{7,}( |$)|[|]{7,}( |$)|={7,8}[[:space:]]*$)";

/// The character in place of bytes that are no UTF-8.
const REPLACED: char = '\u{fffd}';

/// The new part of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWork {
    /// The files that differ, by path.
    pub files: Vec<ChangedFile>,
    /// The differences, as `git diff` prints them.
    pub patch: Vec<u8>,
    /// The files in which the base conflicts with the earlier result. They are compared with both: only lines that neither of
    /// them has are added.
    pub conflicts: Vec<String>,
}

/// The fate of a commit in a rework.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitChange {
    /// It is there with the same changes.
    Same,
    /// It is there with other changes.
    Changed,
    /// It is gone.
    Dropped,
    /// It was not there before.
    New,
}

/// A commit before and after a rework.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeCommit {
    pub change: CommitChange,
    /// The abbreviated id of the commit before the rework.
    pub before: Option<String>,
    /// The abbreviated id of the commit after the rework.
    pub after: Option<String>,
    /// The first line of its message; bytes that are not UTF-8 are replaced.
    pub subject: String,
}

impl Git<'_> {
    /// The files and lines that differ between two commits or trees.
    ///
    /// # Errors
    /// When git fails, or prints more than `MAX_WHOLE_OUTPUT`.
    pub fn work_between(&self, from: &str, to: &str) -> Result<NewWork, GitError> {
        let (files, patch) = (self.files_between(from, to, &[])?, self.patch_between(from, to, &[])?);
        Ok(NewWork { files, patch, conflicts: Vec::new() })
    }

    /// The files at `paths` that differ between two commits or trees. An empty `paths` means all files.
    pub fn files_between(&self, from: &str, to: &str, paths: &[String]) -> Result<Vec<ChangedFile>, GitError> {
        let stdout = self.compare(&["--raw", "--numstat", "-z", "--no-abbrev"], from, to, paths)?;
        let files = diff::parse(&String::from_utf8_lossy(&stdout));
        files.ok_or_else(|| unknown_form("diff-tree"))
    }

    fn patch_between(&self, from: &str, to: &str, paths: &[String]) -> Result<Vec<u8>, GitError> {
        self.compare(&["-p"], from, to, paths)
    }

    /// Runs a comparison and returns its output. `format` is the flags for the form of the output. An empty `paths` means all
    /// paths.
    pub(super) fn compare(&self, format: &[&str], from: &str, to: &str, paths: &[String]) -> Result<Vec<u8>, GitError> {
        let args = [&DIFF[..], format, &[from, to, "--"]].concat();
        let args: Vec<&str> = args.into_iter().chain(paths.iter().map(String::as_str)).collect();
        let done = self.run(&args, TIMEOUT)?;
        match done.exit {
            ExitReason::Code(0) if done.stdout.len() < MAX_WHOLE_OUTPUT => Ok(done.stdout),
            ExitReason::Code(0) => {
                Err(GitError::Failed { step: "diff-tree", why: "the difference is too large".into() })
            }
            _ => Err(git_error("diff-tree", &done)),
        }
    }

    /// Pairs the commits of a branch before and after it was rewritten, by `git range-diff`. For each of the two, the arguments
    /// are the commit at which the branch leaves its base branch, and its tip. Merges are left out.
    pub fn range_between(
        &self,
        (fork_before, before): (&str, &str),
        (fork, after): (&str, &str),
    ) -> Result<Vec<RangeCommit>, GitError> {
        let (old, new) = (format!("{fork_before}..{before}"), format!("{fork}..{after}"));
        let args = ["range-diff", "--no-color", "--no-patch", "--no-ext-diff", "--no-textconv", &old, &new];
        let done = succeeded("range-diff", self.run(&args, TIMEOUT)?)?;
        Ok(output_text(&done.stdout).lines().filter_map(range_commit).collect())
    }
}

/// A merged file without the markers of the conflicts between two commits.
fn both_sides(content: &[u8], ours: &str, theirs: &str) -> Vec<u8> {
    let (begin, end) = (format!("<<<<<<< {ours}"), format!(">>>>>>> {theirs}"));
    let (mut kept, mut in_ours, mut in_theirs) = (Vec::with_capacity(content.len()), false, false);
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        match line.trim_ascii_end() {
            text if text == begin.as_bytes() && !in_ours => in_ours = true,
            b"=======" if in_ours => (in_ours, in_theirs) = (false, true),
            text if text == end.as_bytes() && in_theirs => in_theirs = false,
            _ => kept.extend_from_slice(line),
        }
    }
    kept
}

/// Reads `1:  6e2f8a9 = 2:  0b1c2d3 the subject`; a side without a commit has dashes.
fn range_commit(line: &str) -> Option<RangeCommit> {
    let (_, rest) = line.split_once(':')?;
    let (before, rest) = rest.trim_start().split_once(' ')?;
    let (mark, rest) = rest.trim_start().split_once(' ')?;
    let (_, rest) = rest.split_once(':')?;
    let (after, subject) = rest.trim_start().split_once(' ').unwrap_or((rest.trim_start(), ""));
    let change = match mark {
        "=" => CommitChange::Same,
        "!" => CommitChange::Changed,
        "<" => CommitChange::Dropped,
        ">" => CommitChange::New,
        _ => return None,
    };
    let commit = |text: &str| Some(text.to_owned()).filter(|text| !text.starts_with('-'));
    Some(RangeCommit { change, before: commit(before), after: commit(after), subject: subject.to_owned() })
}

impl MergeRepository {
    /// The changes in `new` that a reader of `seen` has not seen. `base` is the newest commit of the base branch that `new`
    /// contains. Every line of `new` that is not among the added ones is in `seen` or in `base`.
    pub fn new_since(&self, seen: &str, new: &str, base: &str) -> Result<NewWork, GitError> {
        let pair = (seen.to_owned(), base.to_owned());
        let (tree, conflicts) = match self.merge_all(&[pair], TIMEOUT)?.pop() {
            Some(MergeOutcome::Clean { tree }) => (tree, Vec::new()),
            Some(MergeOutcome::Conflict { tree, files }) => (tree, files),
            Some(MergeOutcome::Unknown { why }) => return Err(GitError::Failed { step: "merge-tree", why }),
            None => return Err(GitError::Failed { step: "merge-tree", why: "it told no outcome".into() }),
        };
        let git = self.git();
        if conflicts.is_empty() {
            return git.work_between(&tree, new);
        }
        let tree = self.without_markers(&tree, (seen, base), &conflicts)?;
        // The merged tree has both sides of each conflict, and lines between them that no person wrote. A file with lines like
        // those could be taken for seen, so it is compared with the base as a whole.
        let mut files = git.files_between(&tree, new, &[])?;
        let whole = self.files_with_markers(new, &files)?;
        if whole.is_empty() {
            let patch = git.patch_between(&tree, new, &[])?;
            return Ok(NewWork { files, patch, conflicts });
        }
        // The name before a rename is in neither result, or is deleted as a whole.
        let old_names = |file: &ChangedFile| [Some(file.path.clone()), file.old_path.clone()];
        let rest: Vec<String> =
            files.iter().filter(|file| !whole.contains(&file.path)).flat_map(old_names).flatten().collect();
        let whole: Vec<String> = whole.into_iter().collect();
        files.retain(|file| !whole.contains(&file.path));
        files.extend(git.files_between(base, new, &whole)?);
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let mut patch = if rest.is_empty() { Vec::new() } else { git.patch_between(&tree, new, &rest)? };
        patch.extend(git.patch_between(base, new, &whole)?);
        Ok(NewWork { files, patch, conflicts })
    }

    /// The merged tree with both sides of each conflict, without the lines that git wrote around them.
    fn without_markers(
        &self,
        tree: &str,
        (ours, theirs): (&str, &str),
        conflicts: &[String],
    ) -> Result<String, GitError> {
        let git = self.git();
        let mut files = Vec::new();
        for file in git.files_at(tree, conflicts)? {
            // A link or a submodule has no sides.
            let Some(blob) = file.blob() else { continue };
            let content = succeeded("cat-file", git.run(&["cat-file", "blob", blob], TIMEOUT)?)?.stdout;
            let sides = both_sides(&content, ours, theirs);
            if sides != content {
                files.push(git.write_over(&file, &sides)?);
            }
        }
        if files.is_empty() { Ok(tree.to_owned()) } else { git.tree_with(tree, &files) }
    }

    /// The changed files of a commit that have lines such as a merge with conflicts writes.
    fn files_with_markers(&self, commit: &str, files: &[ChangedFile]) -> Result<BTreeSet<String>, GitError> {
        let present: Vec<&str> = files.iter().filter(|file| file.letter != 'D').map(|file| &*file.path).collect();
        if files.iter().any(|file| file.path.contains(REPLACED)) {
            let why = "the base conflicts with what was seen, and a path is not UTF-8".into();
            return Err(GitError::Failed { step: "grep", why });
        }
        if present.is_empty() {
            return Ok(BTreeSet::new());
        }
        let args = ["--literal-pathspecs", "grep", "--text", "--name-only", "-z", "-E", "-e", MARKERS, commit, "--"];
        let done = self.git().run(&[&args[..], &present].concat(), TIMEOUT)?;
        match done.exit {
            ExitReason::Code(0 | 1) => {}
            _ => return Err(git_error("grep", &done)),
        }
        // Each is `COMMIT:PATH`.
        let path = |name: &str| name.split_once(':').map(|(_, path)| path.to_owned());
        Ok(String::from_utf8_lossy(&done.stdout).split_terminator('\0').filter_map(path).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lines_that_git_wrote_around_a_conflict_are_left_out() {
        let merged = b"a\n<<<<<<< 12\nours\n=======\ntheirs\n=======\n>>>>>>> 34\n=======\n<<<<<<< HEAD\nend";
        let expected = b"a\nours\ntheirs\n=======\n=======\n<<<<<<< HEAD\nend";
        assert_eq!(both_sides(merged, "12", "34"), expected);
        assert_eq!(both_sides(b"<<<<<<< 12\r\no\r\n=======\r\nt\r\n>>>>>>> 34\r\n", "12", "34"), b"o\r\nt\r\n");
    }

    #[test]
    fn lines_of_range_diff_are_parsed() {
        let commit = |change, before: Option<&str>, after: Option<&str>, subject: &str| {
            let (before, after) = (before.map(str::to_owned), after.map(str::to_owned));
            Some(RangeCommit { change, before, after, subject: subject.into() })
        };
        assert_eq!(
            range_commit("1:  6e2f8a9 = 12:  0b1c2d3 a: b > c"),
            commit(CommitChange::Same, Some("6e2f8a9"), Some("0b1c2d3"), "a: b > c")
        );
        assert_eq!(
            range_commit(" 2:  aaaaaaa ! 3:  bbbbbbb x"),
            commit(CommitChange::Changed, Some("aaaaaaa"), Some("bbbbbbb"), "x")
        );
        assert_eq!(
            range_commit("-:  ------- > 1:  ccccccc new"),
            commit(CommitChange::New, None, Some("ccccccc"), "new")
        );
        assert_eq!(
            range_commit("3:  ddddddd < -:  ------- old"),
            commit(CommitChange::Dropped, Some("ddddddd"), None, "old")
        );
        assert_eq!(range_commit("no such line"), None);
    }
}
