//! Facts about commits, and about a branch at an earlier time by its reflog. A fact that git cannot tell is `None`, also when
//! there is no git or no repository.

use std::collections::BTreeSet;

use super::command::{Git, GitError, QUERY_TIMEOUT, git_error, output_text};
use crate::os::exit_reason::ExitReason;

/// A reflog's answer about a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EarlierCommit {
    /// The commit at that time.
    At(String),
    /// The reflog begins later, at this time in seconds since 1970.
    Before(i64),
    /// There is no reflog.
    NoReflog,
}

impl Git<'_> {
    /// The full id of HEAD's commit; `None` without a commit, and when git fails.
    pub fn head(&self) -> Option<String> {
        self.commit("HEAD")
    }

    /// The branch that is checked out; `None` for a detached HEAD, and when git fails.
    pub fn branch(&self) -> Option<String> {
        let (success, answer) = self.try_output(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        Some(answer.trim_end().to_owned()).filter(|branch| success && !branch.is_empty())
    }

    /// Whether the repository has any commit or ref. `false` also when git fails.
    pub fn has_commits(&self) -> bool {
        let any_ref = || self.try_output(&["for-each-ref", "--count=1"]);
        self.head().is_some() || any_ref().is_some_and(|(_, refs)| !refs.is_empty())
    }

    /// The full id of the commit that a revision names; `None` when there is no such commit, and when git fails.
    pub fn commit(&self, name: &str) -> Option<String> {
        self.resolve_commit(name).ok().flatten()
    }

    /// Like [`Self::commit`], but a failure of git is an error.
    pub(super) fn resolve_commit(&self, name: &str) -> Result<Option<String>, GitError> {
        let commit = format!("{name}^{{commit}}");
        let done = self.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit], QUERY_TIMEOUT)?;
        let answer = output_text(&done.stdout);
        let is_commit = answer.len() >= 40 && answer.chars().all(|digit| digit.is_ascii_hexdigit());
        match done.exit {
            ExitReason::Code(0) if is_commit => Ok(Some(answer)),
            ExitReason::Code(1) => Ok(None),
            _ => Err(git_error("rev-parse", &done)),
        }
    }

    /// Whether the worktree has no changed, staged or untracked file; `None` when git fails.
    pub fn is_clean(&self) -> Option<bool> {
        Some(self.changes().ok()?.is_empty())
    }

    /// The full id of HEAD's commit; `None` when the worktree is not clean, without a commit, and when git fails.
    pub fn clean_head(&self) -> Option<String> {
        let head = self.head()?;
        (self.is_clean() == Some(true)).then_some(head)
    }

    /// Whether `base` is an ancestor of `commit`, or the same commit; `None` when git does not know one of them or fails.
    pub fn is_ancestor(&self, base: &str, commit: &str) -> Option<bool> {
        // Two dots would name a range. No commit, branch or tag has them.
        if [base, commit].iter().any(|name| name.contains("..")) {
            return None;
        }
        // Lists the commits that only `base` has; one is enough.
        let (base, commit) = (format!("{base}^{{commit}}"), format!("^{commit}^{{commit}}"));
        let (success, answer) =
            self.try_output(&["rev-list", "--max-count=1", "--end-of-options", &base, &commit, "--"])?;
        success.then_some(answer.trim().is_empty())
    }

    /// The commit at which a branch or `HEAD` was at a time, by its reflog. `at` is in seconds since 1970, and an entry of that
    /// very second counts.
    pub fn commit_at(&self, reference: &str, at: i64) -> Result<EarlierCommit, GitError> {
        let args = ["log", "--walk-reflogs", "--format=%H %gd", "--date=unix", "--end-of-options", reference, "--"];
        let text = self.run_checked("log --walk-reflogs", &args, QUERY_TIMEOUT)?;
        Ok(entry_at(&text, at))
    }

    /// The branches that were checked out in this worktree earlier, by its reflog. Some may be gone, or no branches.
    pub fn checked_out_before(&self) -> Result<BTreeSet<String>, GitError> {
        let args = ["log", "--walk-reflogs", "--format=%gs", "HEAD", "--"];
        let text = self.run_checked("log --walk-reflogs", &args, QUERY_TIMEOUT)?;
        let moves = text.lines().filter_map(|line| line.strip_prefix("checkout: moving from ")?.split_once(" to "));
        Ok(moves.flat_map(|(from, to)| [from.to_owned(), to.to_owned()]).collect())
    }

    /// Whether git succeeded, and its stdout.
    fn try_output(&self, args: &[&str]) -> Option<(bool, String)> {
        let done = self.run(args, QUERY_TIMEOUT).ok()?;
        let success = done.exit == ExitReason::Code(0);
        Some((success, String::from_utf8_lossy(&done.stdout).into_owned()))
    }
}

/// The entry for a time in the lines `COMMIT NAME@{SECONDS}`, newest first.
fn entry_at(text: &str, at: i64) -> EarlierCommit {
    let mut begins = None;
    for line in text.lines() {
        let entry = line.split_once(' ').and_then(|(commit, selector)| {
            let seconds = selector.rsplit_once("@{")?.1.strip_suffix('}')?.parse::<i64>().ok()?;
            Some((commit, seconds))
        });
        let Some((commit, seconds)) = entry else { continue };
        if seconds <= at {
            return EarlierCommit::At(commit.to_owned());
        }
        begins = Some(seconds);
    }
    begins.map_or(EarlierCommit::NoReflog, EarlierCommit::Before)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test needs a repository of its own")]
mod tests {
    use std::collections::BTreeMap;
    use std::ffi::OsString;
    use std::process::Command;

    use super::*;
    use crate::os::git::CheckedOut;

    #[test]
    fn tells_commits_cleanness_and_ancestry_and_nothing_where_there_is_no_repository() {
        let home = tempfile::tempdir().unwrap();
        let vars: BTreeMap<OsString, OsString> = [
            (OsString::from("PATH"), std::env::var_os("PATH").unwrap_or_default()),
            ("HOME".into(), home.path().into()),
            // As a hook would set it; it must not lead Fairway elsewhere.
            ("GIT_DIR".into(), "/nowhere".into()),
        ]
        .into();
        let outside = Git::new(&vars, home.path());
        assert_eq!((outside.head(), outside.is_clean()), (None, None));

        let repository = home.path().join("r");
        std::fs::create_dir(&repository).unwrap();
        let git = |args: &[&str]| {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]);
            let done = command.args(args).current_dir(&repository).env("HOME", home.path()).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        git(&["init", "-q"]);
        git(&["commit", "-q", "--allow-empty", "-m", "one"]);
        git(&["branch", "side"]);
        git(&["commit", "-q", "--allow-empty", "-m", "two"]);
        let here = Git::new(&vars, &repository);
        let head = here.head().unwrap();
        let at = |branch: Option<&str>, operation| CheckedOut {
            head: Some((head.clone(), branch.map(str::to_owned))),
            operation,
        };
        assert_eq!(here.checked_out().unwrap(), at(Some("main"), None));
        git(&["checkout", "-q", "--detach"]);
        std::fs::write(repository.join(".git/MERGE_HEAD"), "").unwrap();
        assert_eq!(here.checked_out().unwrap(), at(None, Some("merge")));
        std::fs::remove_file(repository.join(".git/MERGE_HEAD")).unwrap();
        git(&["checkout", "-q", "--orphan", "none"]);
        assert_eq!(here.checked_out().unwrap(), CheckedOut::default());
        git(&["checkout", "-q", "main"]);
        assert!(outside.checked_out().is_err());
        assert_eq!(here.commit(&head[..10]).as_ref(), Some(&head));
        assert_eq!(here.commit("--all"), None);
        assert_eq!(here.clean_head().as_ref(), Some(&head));
        assert_eq!((here.is_ancestor("side", "main"), here.is_ancestor("main", "side")), (Some(true), Some(false)));
        assert_eq!(here.is_ancestor("main", "main"), Some(true));
        for (base, commit) in
            [("absent", "main"), ("main", "absent"), ("side..main", "main"), ("--all", "main"), ("", "main")]
        {
            assert_eq!(here.is_ancestor(base, commit), None, "{base} {commit}");
        }
        std::fs::write(repository.join("new"), "x").unwrap();
        assert_eq!((here.is_clean(), here.clean_head()), (Some(false), None));
    }

    #[test]
    fn newest_entry_that_is_not_later_counts() {
        let text = "c3 lane/ui@{300}\nc2 lane/ui@{200}\nnoise\nc1 lane/ui@{100}\n";
        for (at, want) in [
            (400, EarlierCommit::At("c3".into())),
            (300, EarlierCommit::At("c3".into())),
            (299, EarlierCommit::At("c2".into())),
            (100, EarlierCommit::At("c1".into())),
            (99, EarlierCommit::Before(100)),
        ] {
            assert_eq!(entry_at(text, at), want, "{at}");
        }
        assert_eq!(entry_at("", 1), EarlierCommit::NoReflog);
    }
}
