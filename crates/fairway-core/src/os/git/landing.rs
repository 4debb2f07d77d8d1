//! Landing: the commit that a base would get, made without a worktree, and the move of the base to it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::command::{Git, GitError, QUERY_TIMEOUT, git_error, output_text, succeeded};
use super::integrate::{Identity, Integration};
use super::tree_edit::TreeFile;
use crate::os::exit_reason::ExitReason;

/// The time limit of a checkout.
const CHECKOUT_TIMEOUT: Duration = Duration::from_secs(1800);

/// The entry in the base's reflog.
const REFLOG_MESSAGE: &str = "fairway land";

/// Nothing may start work in the background: it would hold the lock of the landing.
const FAST_FORWARD: [&str; 14] = [
    "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "submodule.recurse=false", "-c", "advice.diverging=false",
    "merge", "--ff-only", "--no-overwrite-ignore", "--no-autostash", "--no-stat", "--quiet",
];

/// The files of a worktree that show an unfinished operation, with its name.
const OPERATIONS: [(&str, &str); 6] = [
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
];

/// What is checked out in a worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckedOut {
    /// The full id of HEAD's commit and its branch, which is `None` for a detached HEAD; `None` for both before the first commit.
    pub head: Option<(String, Option<String>)>,
    /// The unfinished rebase, merge, cherry-pick, revert or bisect.
    pub operation: Option<&'static str>,
}

/// Whether the caller has a name and an email address for commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committer {
    /// Git knows both.
    Known,
    /// It does not, for this reason.
    Unknown(String),
}

/// The result of a fast-forward of a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FastForward {
    /// The branch, the index and the files are at the commit.
    Done,
    /// Git refused to overwrite these files, and moved nothing.
    Refused {
        files: Vec<String>,
        /// Whether git tracks none of them.
        is_untracked: bool,
    },
}

/// Makes the commits that bases would get.
#[derive(Debug, Clone, Copy)]
pub struct CandidateMaker<'a> {
    /// The project's git: it writes the commits, with its configuration's identity.
    pub project: Git<'a>,
    /// The git that works out the merges, on the same objects.
    pub merges: Git<'a>,
    /// Whether to sign the commits.
    pub sign: bool,
    /// Files that a command writes anew after the merge. Where they conflict, those of the base stay until then.
    pub generated: &'a [String],
}

impl CandidateMaker<'_> {
    /// Makes a commit that merges `commit` into `base`, unless they conflict. No branch moves.
    pub fn merge(&self, base: &str, commit: &str, message: &str) -> Result<Integration, GitError> {
        self.one_commit(base, commit, &[base, commit], message, &Identity::Configured)
    }

    /// Makes one commit on top of `base` with all changes of `commit` and with its author, unless they conflict. Returns `base`
    /// itself when it has all the changes. Its message is `subject`, the messages of the commits, and `trailers`; other authors are
    /// named as co-authors. No branch moves.
    pub fn squash(
        &self,
        base: &str,
        commit: &str,
        subject: &str,
        trailers: &[String],
    ) -> Result<Integration, GitError> {
        let (author, _) = self.project.author_and_message(commit)?;
        // The message is UTF-8, whatever the encoding of the lane's commit.
        let author = match author {
            Identity::Author { name, email, date, .. } => Identity::Author { name, email, date, encoding: None },
            other => other,
        };
        let args = ["log", "--no-merges", "--reverse", "--encoding=UTF-8", "--no-show-signature"];
        let without = format!("^{base}");
        let args = [&args[..], &["--format=%an <%ae>%x00%B%x00", commit, &without, "--"]].concat();
        let log = self.project.run_checked("log", &args, CHECKOUT_TIMEOUT)?;
        let author_line = match &author {
            Identity::Author { name, email, .. } => {
                format!("{} <{}>", name.to_string_lossy(), email.to_string_lossy())
            }
            _ => String::new(),
        };
        let message = squashed_message(subject, &log, &author_line, trailers);
        self.one_commit(base, commit, &[base], &message, &author)
    }

    fn one_commit(
        &self,
        base: &str,
        commit: &str,
        parents: &[&str],
        message: &str,
        identity: &Identity,
    ) -> Result<Integration, GitError> {
        Ok(match self.merges.merge_trees(base, commit, self.generated)? {
            // One commit without a change would say nothing; a merge without one says that the lane has landed.
            Ok(tree) if parents.len() == 1 && self.project.tree(base)? == tree => Integration::Commit(base.to_owned()),
            Ok(tree) => {
                let made = self.project.commit_tree_signed(&tree, parents, message.as_bytes(), identity, self.sign)?;
                Integration::Commit(made)
            }
            Err(files) => Integration::Conflict { files, commit: None },
        })
    }

    /// Makes `made`, a commit of this maker, anew with these files in it. Where nothing of `commit` was left to land on `base`, makes
    /// one commit with its author and message. No branch moves.
    pub fn with_files(&self, made: &str, base: &str, commit: &str, files: &[TreeFile]) -> Result<String, GitError> {
        let tree = self.merges.tree_with(made, files)?;
        if tree == self.project.tree(made)? {
            return Ok(made.to_owned());
        }
        let (of, parents) =
            if made == base { (commit, vec![base.to_owned()]) } else { (made, self.project.parents(made)?) };
        let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
        let (author, message) = self.project.author_and_message(of)?;
        self.project.commit_tree_signed(&tree, &parents, &message, &author, self.sign)
    }

    /// Makes copies on top of `base` of the commits that only `commit` has, with their authors, unless they conflict. `trailers`
    /// are added to the message of the last copy. Returns `base` itself when there is nothing to copy. No branch moves.
    pub fn rebase(&self, base: &str, commit: &str, trailers: &[String]) -> Result<Integration, GitError> {
        let tip = match self.project.rebase_by(&self.merges, (commit, None), base, self.sign, self.generated)? {
            Integration::Commit(tip) if tip != base => tip,
            other => return Ok(other),
        };
        let (author, message) = self.project.author_and_message(&tip)?;
        let parent = format!("{tip}^");
        let Some(parent) = self.project.commit(&parent) else { return Ok(Integration::Commit(tip)) };
        let message = with_trailers(&message, trailers);
        let tree = format!("{tip}^{{tree}}");
        self.project.commit_tree_signed(&tree, &[&parent], &message, &author, self.sign).map(Integration::Commit)
    }
}

/// The trailers of commits that the commit made of them keeps.
const KEPT_TRAILERS: [&str; 2] = ["signed-off-by", "co-authored-by"];

/// The message of a commit that is made of others. `log` has the author and the message of each, with a NUL after both.
fn squashed_message(subject: &str, log: &str, author: &str, trailers: &[String]) -> String {
    let (mut texts, mut kept) = (Vec::new(), Vec::<String>::new());
    let mut keep = |line: String| {
        if !kept.iter().any(|one| one.eq_ignore_ascii_case(&line)) {
            kept.push(line);
        }
    };
    let mut fields = log.split('\0');
    while let (Some(by), Some(message)) = (fields.next(), fields.next()) {
        let by = by.trim();
        if by != author {
            keep(format!("Co-authored-by: {by}"));
        }
        let is_kept = |line: &&str| {
            let key = line.split_once(": ").map(|(key, _)| key.to_ascii_lowercase());
            key.is_some_and(|key| KEPT_TRAILERS.contains(&key.as_str()))
        };
        message.lines().filter(is_kept).for_each(|line| keep(line.trim().to_owned()));
        let text: Vec<&str> = message.lines().filter(|line| !is_kept(line)).collect();
        texts.push(text.join("\n").trim().to_owned());
    }
    let mark = if texts.len() > 1 { "* " } else { "" };
    let texts = texts.iter().filter(|text| !text.is_empty()).map(|text| format!("{mark}{text}"));
    let trailers = trailers.iter().cloned().chain(kept).collect::<Vec<_>>().join("\n");
    let parts = [subject.trim().to_owned()].into_iter().chain(texts).chain([trailers]);
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n") + "\n"
}

/// A message with more trailers at its end.
fn with_trailers(message: &[u8], trailers: &[String]) -> Vec<u8> {
    let mut text = message.trim_ascii_end().to_vec();
    let last = text.split(|byte| *byte == b'\n').next_back().unwrap_or_default();
    let word = last.split(|byte| *byte == b':').next().unwrap_or_default();
    let has_trailers = text.contains(&b'\n')
        && word.len() < last.len()
        && !word.is_empty()
        && word.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    text.extend_from_slice(if has_trailers { b"\n" } else { b"\n\n" });
    for trailer in trailers {
        text.extend_from_slice(trailer.as_bytes());
        text.push(b'\n');
    }
    text
}

fn operation_in(git_dir: &Path) -> Option<&'static str> {
    OPERATIONS.into_iter().find(|(file, _)| git_dir.join(file).symlink_metadata().is_ok()).map(|(_, name)| name)
}

impl Git<'_> {
    /// Whether git knows the name and the email address of the committer.
    pub fn committer(&self) -> Result<Committer, GitError> {
        let done = self.run(&["var", "GIT_COMMITTER_IDENT"], QUERY_TIMEOUT)?;
        Ok(match done.exit {
            ExitReason::Code(0) => Committer::Known,
            // Advice of many lines comes first.
            _ => Committer::Unknown(
                output_text(&done.stderr).lines().last().unwrap_or_default().trim_start_matches("fatal: ").to_owned(),
            ),
        })
    }

    /// The unfinished rebase, merge, cherry-pick, revert or bisect of this worktree, if any.
    pub fn unfinished_operation(&self) -> Result<Option<&'static str>, GitError> {
        let dir = self.run_checked("rev-parse", &["rev-parse", "--absolute-git-dir"], QUERY_TIMEOUT)?;
        Ok(operation_in(Path::new(&dir)))
    }

    /// What is checked out in this worktree, in one call of git.
    pub fn checked_out(&self) -> Result<CheckedOut, GitError> {
        let args = ["rev-parse", "--absolute-git-dir", "HEAD", "--symbolic-full-name", "HEAD"];
        let done = self.run(&args, QUERY_TIMEOUT)?;
        let text = output_text(&done.stdout);
        let mut last = text.rsplitn(3, '\n');
        match (done.exit, last.next(), last.next(), last.next()) {
            (ExitReason::Code(0), Some(name), Some(commit), Some(dir)) => {
                let branch = name.strip_prefix("refs/heads/").map(str::to_owned);
                Ok(CheckedOut { head: Some((commit.to_owned(), branch)), operation: operation_in(Path::new(dir)) })
            }
            // There is no commit, or no repository.
            _ => Ok(CheckedOut { head: None, operation: self.unfinished_operation()? }),
        }
    }

    /// The kind of an unfinished operation, `rebase` or `bisect`, that will move this branch or check it out again, in any
    /// worktree of the repository. `None` when there is none.
    pub fn operation_on(&self, branch: &str) -> Result<Option<&'static str>, GitError> {
        let args = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let common = PathBuf::from(self.run_checked("rev-parse", &args, QUERY_TIMEOUT)?);
        let linked = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten().map(|entry| entry.path());
        let full = format!("refs/heads/{branch}");
        let names = |dir: &Path, file: &str| {
            let text = fs::read_to_string(dir.join(file)).unwrap_or_default();
            text.lines().any(|line| line.trim() == full || line.trim() == branch)
        };
        for dir in [common.clone()].into_iter().chain(linked) {
            for file in ["rebase-merge/head-name", "rebase-apply/head-name", "rebase-merge/update-refs"] {
                if names(&dir, file) {
                    return Ok(Some("rebase"));
                }
            }
            if names(&dir, "BISECT_START") {
                return Ok(Some("bisect"));
            }
        }
        Ok(None)
    }

    /// Moves a ref from one commit to another. When `from` is `None`, the ref must not exist and is created. When `to` is `None`,
    /// the ref is deleted, whatever commit it is at.
    ///
    /// # Errors
    /// When git fails, also because the ref is not at `from`.
    pub fn move_ref(&self, name: &str, from: Option<&str>, to: Option<&str>) -> Result<(), GitError> {
        let mut args = vec!["update-ref", "-m", REFLOG_MESSAGE];
        match to {
            // An empty old value demands that the ref does not exist.
            Some(to) => args.extend([name, to, from.unwrap_or_default()]),
            None => args.extend(["-d", name]),
        }
        self.run_checked("update-ref", &args, QUERY_TIMEOUT).map(drop)
    }

    /// The tracked files of this worktree that are changed or staged. A submodule counts only when its commit is staged: a
    /// fast-forward leaves its directory as it is.
    pub fn tracked_changes(&self) -> Result<Vec<String>, GitError> {
        let args =
            ["status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=dirty"];
        let text = self.run_on_files_checked("status", &args, QUERY_TIMEOUT)?;
        let changes = || text.split_terminator('\0').filter_map(|entry| Some((entry, tracked_change(entry)?)));
        let is_content = |entry: &str| entry.starts_with("1 .M ");
        let candidates: Vec<&str> = changes().filter(|(entry, _)| is_content(entry)).map(|(_, path)| path).collect();
        let unchanged = self.unchanged_by_times(&candidates)?;
        let is_change = |(entry, path): &(&str, &str)| !is_content(entry) || !unchanged.contains(*path);
        Ok(changes().filter(is_change).map(|(_, path)| path.to_owned()).collect())
    }

    fn parents(&self, commit: &str) -> Result<Vec<String>, GitError> {
        let text = self.run_checked("rev-parse", &["rev-parse", &format!("{commit}^@")], QUERY_TIMEOUT)?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Puts the files of another commit into this worktree, in which no person works. Files that it lacks go.
    pub fn take_files(&self, commit: &str, paths: &[String]) -> Result<(), GitError> {
        for file in self.files_at(commit, paths)? {
            let args = ["--literal-pathspecs", "rm", "--quiet", "--force", "--ignore-unmatch", "--", &file.path];
            self.run_checked("rm", &args, CHECKOUT_TIMEOUT)?;
            if file.exists() {
                let args = ["--literal-pathspecs", "checkout", "--quiet", commit, "--", &file.path];
                self.run_checkout(&args, CHECKOUT_TIMEOUT)?;
            }
        }
        Ok(())
    }

    /// The paths that `to` lacks or has changed.
    pub fn rewritten_between(&self, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        self.paths_between("--diff-filter=a", from, to)
    }

    /// The paths that `to` has and `from` lacks; bytes that are not UTF-8 are replaced.
    pub fn added_paths(&self, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        self.paths_between("--diff-filter=A", from, to)
    }

    /// The paths that are new in `to` or differ from `from`; bytes that are not UTF-8 are replaced.
    pub fn changed_between(&self, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        self.paths_between("--diff-filter=d", from, to)
    }

    fn paths_between(&self, filter: &str, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        let args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", filter, from, to];
        Ok(self.run_checked("diff-tree", &args, CHECKOUT_TIMEOUT)?.split_terminator('\0').map(str::to_owned).collect())
    }

    /// The files of this worktree with uncommitted changes, new files included.
    pub fn changed_files(&self) -> Result<Vec<String>, GitError> {
        Ok(self.changes()?.iter().filter_map(|line| line.get(3..)).map(str::to_owned).collect())
    }

    /// The files that git does not track at these paths and below them, ignored ones too.
    pub fn untracked_at(&self, paths: &[String]) -> Result<Vec<String>, GitError> {
        let mut args: Vec<&str> = vec!["--literal-pathspecs", "ls-files", "-z", "--others", "--"];
        args.extend(paths.iter().map(String::as_str));
        let text = self.run_checked("ls-files", &args, QUERY_TIMEOUT)?;
        Ok(text.split_terminator('\0').map(str::to_owned).collect())
    }

    /// Moves the checked out branch, the index and the files forward to `commit`, a descendant of the current commit. Git refuses
    /// to overwrite changed or untracked files; the result then names them.
    ///
    /// # Errors
    /// When git fails for another reason; nothing moves then.
    pub fn fast_forward(&self, commit: &str) -> Result<FastForward, GitError> {
        let args: Vec<&str> = FAST_FORWARD.into_iter().chain([commit]).collect();
        let vars = [("GIT_REFLOG_ACTION", OsStr::new(REFLOG_MESSAGE))];
        let done = self.run_with_promisors(self.is_partial()?, &args, &vars, CHECKOUT_TIMEOUT)?;
        if done.exit == ExitReason::Code(0) {
            return Ok(FastForward::Done);
        }
        // Git lists files that it would overwrite, each behind a tab.
        let stderr = output_text(&done.stderr);
        let files: Vec<String> = stderr.lines().filter_map(|line| line.strip_prefix('\t')).map(str::to_owned).collect();
        if !files.is_empty() {
            return Ok(FastForward::Refused { files, is_untracked: !stderr.contains("local changes") });
        }
        Err(git_error("merge", &done))
    }

    /// Checks out a commit with a detached HEAD in a worktree in which no person works. Changes and new files are dropped.
    /// Ignored files are kept.
    pub fn check_out_detached(&self, commit: &str) -> Result<(), GitError> {
        let args = ["-c", "advice.detachedHead=false", "checkout", "--quiet", "--force", "--detach", commit];
        self.run_checkout(&args, CHECKOUT_TIMEOUT)?;
        self.run_checked("clean", &["clean", "--quiet", "-ffd"], CHECKOUT_TIMEOUT).map(drop)
    }

    /// Creates a worktree at `path` whose HEAD is detached at `commit`. Its files are not checked out.
    pub fn add_detached_worktree(&self, path: &Path, commit: &str) -> Result<(), GitError> {
        let args = ["worktree", "add", "--quiet", "--force", "--detach", "--no-checkout"].map(OsStr::new);
        let args = [&args[..], &[path.as_os_str(), commit.as_ref()]].concat();
        self.run_checked("worktree add", &args, CHECKOUT_TIMEOUT).map(drop)
    }

    /// The full names of all refs below a prefix, such as `refs/heads/`.
    pub fn refs_below(&self, prefix: &str) -> Result<Vec<String>, GitError> {
        let args = ["for-each-ref", "--format=%(refname)", prefix];
        Ok(self.run_checked("for-each-ref", &args, QUERY_TIMEOUT)?.lines().map(str::to_owned).collect())
    }

    /// The commits that a tip has and no base has, each with its parents.
    pub fn history(&self, tips: &[&str], bases: &[String]) -> Result<Vec<(String, Vec<String>)>, GitError> {
        let mut lines = String::new();
        for line in tips.iter().map(|tip| (*tip).to_owned()).chain(bases.iter().map(|base| format!("^{base}"))) {
            lines.push_str(&line);
            lines.push('\n');
        }
        let done = succeeded(
            "rev-list",
            self.run_with(&["rev-list", "--parents", "--stdin"], &[], lines.as_bytes(), CHECKOUT_TIMEOUT)?,
        )?;
        let commit = |line: &str| {
            let mut words = line.split_whitespace().map(str::to_owned);
            Some((words.next()?, words.collect()))
        };
        Ok(output_text(&done.stdout).lines().filter_map(commit).collect())
    }

    /// The commits of `tip` that are not in `base`, newest first.
    pub fn commits_between(&self, base: &str, tip: &str) -> Result<Vec<String>, GitError> {
        let text = self.run_checked("rev-list", &["rev-list", tip, &format!("^{base}"), "--"], QUERY_TIMEOUT)?;
        Ok(text.lines().map(str::to_owned).collect())
    }
}

/// The path of an entry of `git status --porcelain=v2 -z`, unless only the directory of a submodule differs.
fn tracked_change(entry: &str) -> Option<&str> {
    // `1 XY SUB mH mI mW hH hI path`, and with more fields for an unmerged path.
    let path = entry.splitn(if entry.starts_with('u') { 11 } else { 9 }, ' ').last()?;
    let (state, submodule) = (entry.get(2..4)?, entry.get(5..6)?);
    (submodule == "N" || !state.starts_with('.')).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_submodules_are_no_changes_but_staged_ones_are() {
        for (entry, path) in [
            ("1 .M N... 100644 100644 100644 aa aa a file", Some("a file")),
            ("1 M. N... 100644 100644 100644 aa bb b", Some("b")),
            ("1 .M SC.. 160000 160000 160000 aa aa sub", None),
            ("1 M. S... 160000 160000 160000 aa bb sub", Some("sub")),
            ("u UU N... 100644 100644 100644 100644 aa bb cc both", Some("both")),
            ("", None),
        ] {
            assert_eq!(tracked_change(entry), path, "{entry}");
        }
    }

    #[test]
    fn squashed_message_keeps_authors_messages_and_sign_offs() {
        let log = "Bot <b@x>\0feat: b\n\nWhy so.\n\nSigned-off-by: Bot <b@x>\nCo-authored-by: Ann <a@x>\n\0\nEve <e@x>\0fix: c\n\0";
        let made = squashed_message("T-1: Add it\n", log, "Eve <e@x>", &["Fairway-Task: T-1".to_owned()]);
        assert_eq!(
            made,
            "T-1: Add it\n\n* feat: b\n\nWhy so.\n\n* fix: c\n\nFairway-Task: T-1\nCo-authored-by: Bot <b@x>\nSigned-off-by: \
             Bot <b@x>\nCo-authored-by: Ann <a@x>\n"
        );
        let alone = squashed_message("T-1: t", "Eve <e@x>\0fix: c\n\0", "Eve <e@x>", &[]);
        assert_eq!(alone, "T-1: t\n\nfix: c\n");
    }

    #[test]
    fn trailers_join_a_block_of_trailers_and_begin_one_elsewhere() {
        let more = ["Fairway-Task: T-1".to_owned()];
        let joined = |message: &str| String::from_utf8(with_trailers(message.as_bytes(), &more)).unwrap();
        assert_eq!(joined("fix: a bug\n"), "fix: a bug\n\nFairway-Task: T-1\n");
        assert_eq!(joined("Fix\n\nWhy so.\n"), "Fix\n\nWhy so.\n\nFairway-Task: T-1\n");
        assert_eq!(joined("Fix\n\nSigned-off-by: a <a@b>\n"), "Fix\n\nSigned-off-by: a <a@b>\nFairway-Task: T-1\n");
        assert_eq!(joined(""), "\n\nFairway-Task: T-1\n");
    }
}
