//! Commits, as facts: what git does not tell is `None`, also where there is no git or no repository.

use super::command::{Git, GitError, QUERY_TIMEOUT, git_error, output_text};
use crate::os::capture::ExitReason;

impl Git<'_> {
    /// The commit that is checked out.
    #[must_use]
    pub fn head(&self) -> Option<String> {
        self.commit("HEAD")
    }

    /// The commit that a name means, in full.
    #[must_use]
    pub fn commit(&self, name: &str) -> Option<String> {
        self.resolve_commit(name).ok().flatten()
    }

    /// The commit that a name means; `None` when it means none.
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

    /// Whether nothing is changed, staged or new.
    #[must_use]
    pub fn is_clean(&self) -> Option<bool> {
        let (success, answer) = self.try_output(&["status", "--porcelain", "--untracked-files=normal"])?;
        success.then_some(answer.is_empty())
    }

    /// The commit that is checked out, if nothing else lies in the directory.
    #[must_use]
    pub fn clean_head(&self) -> Option<String> {
        let head = self.head()?;
        (self.is_clean() == Some(true)).then_some(head)
    }

    /// Whether everything in `base` is in `commit` too.
    #[must_use]
    pub fn is_ancestor(&self, base: &str, commit: &str) -> Option<bool> {
        let (base, commit) = (self.commit(base)?, self.commit(commit)?);
        // It lists what only the base has; at most one is needed to know.
        let (success, answer) = self.try_output(&["rev-list", "--max-count=1", &format!("{commit}..{base}")])?;
        success.then_some(answer.trim().is_empty())
    }

    /// Whether it succeeded, and what it said.
    fn try_output(&self, args: &[&str]) -> Option<(bool, String)> {
        let done = self.run(args, QUERY_TIMEOUT).ok()?;
        let success = done.exit == ExitReason::Code(0);
        Some((success, String::from_utf8_lossy(&done.stdout).into_owned()))
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test needs a repository of its own")]
mod tests {
    use std::{collections::BTreeMap, ffi::OsString, process::Command};

    use super::*;

    #[test]
    fn tells_commits_cleanness_and_ancestry_and_nothing_where_there_is_no_repository() {
        let home = tempfile::tempdir().unwrap();
        let vars: BTreeMap<OsString, OsString> = [
            (OsString::from("PATH"), std::env::var_os("PATH").unwrap_or_default()),
            ("HOME".into(), home.path().into()),
            // What a hook would have set; it must not lead us elsewhere.
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
        assert_eq!(here.commit(&head[..10]).as_ref(), Some(&head));
        assert_eq!(here.commit("--all"), None);
        assert_eq!(here.clean_head().as_ref(), Some(&head));
        assert_eq!((here.is_ancestor("side", "main"), here.is_ancestor("main", "side")), (Some(true), Some(false)));
        assert_eq!(here.is_ancestor("absent", "main"), None);
        std::fs::write(repository.join("new"), "x").unwrap();
        assert_eq!((here.is_clean(), here.clean_head()), (Some(false), None));
    }
}
