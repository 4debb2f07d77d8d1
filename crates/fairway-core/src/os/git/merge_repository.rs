//! A bare repository of its own for merges: it reads the project's objects, and no configuration, hook, filter or merge driver
//! of the project, of a worktree or of the user. The content of a worktree is data here: a merge runs no program but git.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::changed_lines::{self, ChangedPath};
use super::command::{Git, GitError, QUERY_TIMEOUT, git_error, output_text, succeeded, unknown_form};
use super::repository_facts::{RepositoryFacts, alternates};
use crate::os::capture::Captured;
use crate::os::exit_reason::ExitReason;
use crate::os::random;

/// The beginning of the name of a merge repository's directory.
const PREFIX: &str = "merge-";
/// The age of a directory whose process was killed.
const ABANDONED_AGE: Duration = Duration::from_secs(60 * 60);

/// The result of one merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeOutcome {
    /// Nothing conflicts.
    Clean {
        /// The merged tree.
        tree: String,
    },
    /// Files conflict.
    Conflict {
        /// Their paths; bytes that are not UTF-8 are replaced.
        files: Vec<String>,
        /// The merged tree, with conflict markers in these files.
        tree: String,
    },
    /// Git cannot merge the two.
    Unknown {
        /// Why, in git's words.
        why: String,
    },
}

/// A bare repository for merges. Its directory, with everything that merges write, is removed when this is dropped.
#[derive(Debug)]
pub struct MergeRepository {
    dir: PathBuf,
    /// The objects of the project.
    objects: PathBuf,
    /// The complete environment of its git.
    vars: BTreeMap<OsString, OsString>,
}

impl MergeRepository {
    /// Creates a repository in a directory below `parent`, which is created, as a private directory, when it is missing. The
    /// repository reads the objects of the one around `git`'s working directory.
    ///
    /// # Errors
    /// When git fails or is too old ([`super::OLDEST_GIT`]), and when the directory cannot be written.
    pub fn open(git: &Git<'_>, parent: &Path) -> Result<Self, GitError> {
        let mut opened = Self::of(&RepositoryFacts::read(git)?, git, parent)?;
        // They run for the files that `.gitattributes` names; those of a repository's configuration never do.
        for (number, (name, value)) in git.own_merge_drivers()?.into_iter().enumerate() {
            opened.vars.insert(format!("GIT_CONFIG_KEY_{number}").into(), name.into());
            opened.vars.insert(format!("GIT_CONFIG_VALUE_{number}").into(), value.into());
            opened.vars.insert("GIT_CONFIG_COUNT".into(), (number + 1).to_string().into());
        }
        Ok(opened)
    }

    /// Like [`Self::open`], with facts that the caller has read already.
    pub fn of(facts: &RepositoryFacts, git: &Git<'_>, parent: &Path) -> Result<Self, GitError> {
        let dir =
            create(parent, &facts.config()).map_err(|error| GitError::Scratch { dir: parent.to_path_buf(), error })?;
        let vars = facts.environment(git.vars(), &dir);
        let objects = facts.objects.clone();
        Ok(Self { dir, objects, vars })
    }

    /// Makes the repository read these object directories as well.
    #[must_use]
    pub fn reading(mut self, more: &[PathBuf]) -> Self {
        let all = std::iter::once(&self.objects).chain(more).map(PathBuf::as_path);
        self.vars.insert("GIT_ALTERNATE_OBJECT_DIRECTORIES".into(), alternates(all));
        self
    }

    /// Makes merges write their trees into the project's objects, where they stay.
    #[must_use]
    pub fn writing_to_project(mut self) -> Self {
        self.vars.insert("GIT_OBJECT_DIRECTORY".into(), self.objects.clone().into_os_string());
        self
    }

    /// Makes merges follow the `.gitattributes` files in the tree of this commit: `binary`, `merge=union`, and merge drivers as far as
    /// this repository has them. Git before 2.41 ignores them.
    #[must_use]
    pub fn with_attributes_of(mut self, commit: &str) -> Self {
        self.vars.insert("GIT_ATTR_SOURCE".into(), commit.into());
        self
    }

    /// Git in this repository, with the environment that keeps all other configuration out.
    pub fn git(&self) -> Git<'_> {
        Git::new_exact(&self.vars, &self.dir)
    }

    /// Merges each pair of commits, all in one process where possible. The outcomes are in the order of the pairs. When git
    /// cannot merge a pair, its outcome is unknown, and the other pairs are merged nevertheless.
    ///
    /// # Errors
    /// When git cannot be started or takes longer than `limit`.
    pub fn merge_all(&self, pairs: &[(String, String)], limit: Duration) -> Result<Vec<MergeOutcome>, GitError> {
        let mut outcomes: Vec<MergeOutcome> = Vec::with_capacity(pairs.len());
        while let Some(rest) = pairs.get(outcomes.len()..).filter(|rest| !rest.is_empty()) {
            let mut lines = String::new();
            for (ours, theirs) in rest {
                let _ = writeln!(lines, "{ours} {theirs}");
            }
            let args = ["merge-tree", "--stdin", "-z", "--write-tree", "--name-only", "--no-messages"];
            let done = self.git().run_with(&args, &[], lines.as_bytes(), limit)?;
            if done.exit == ExitReason::TimedOut {
                return Err(git_error("merge-tree", &done));
            }
            outcomes.extend(parse(&done.stdout).into_iter().take(rest.len()));
            // Git ends at the first pair that it cannot merge, after the outcomes of those before it.
            if outcomes.len() < pairs.len() {
                outcomes.push(MergeOutcome::Unknown { why: reason(&done) });
            }
        }
        Ok(outcomes)
    }

    /// The paths and lines that `to` changes against `from`.
    pub fn changed_paths(&self, from: &str, to: &str) -> Result<Vec<ChangedPath>, GitError> {
        let done = succeeded("diff-tree", self.git().run(&changed_lines::arguments(from, to), QUERY_TIMEOUT)?)?;
        changed_lines::parse(&done.stdout).ok_or_else(|| unknown_form("diff-tree"))
    }
}

impl Drop for MergeRepository {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Makes the directory, and removes those whose processes were killed.
fn create(parent: &Path, config: &str) -> io::Result<PathBuf> {
    DirBuilder::new().mode(0o700).recursive(true).create(parent)?;
    remove_abandoned(parent);
    let name: String = random::hex()?.chars().take(16).collect();
    let dir = parent.join(format!("{PREFIX}{name}"));
    DirBuilder::new().mode(0o700).create(&dir)?;
    fs::create_dir(dir.join("objects"))?;
    fs::create_dir(dir.join("refs"))?;
    fs::write(dir.join("HEAD"), "ref: refs/heads/none\n")?;
    fs::write(dir.join("config"), config)?;
    Ok(dir)
}

fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().as_bytes().starts_with(PREFIX.as_bytes());
        let age = entry.metadata().and_then(|found| found.modified()).ok().and_then(|at| at.elapsed().ok());
        if is_ours && age.is_some_and(|age| age > ABANDONED_AGE) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Reads the records: the status, the tree, the files that conflict, an empty field.
fn parse(stdout: &[u8]) -> Vec<MergeOutcome> {
    let text = String::from_utf8_lossy(stdout).into_owned();
    let mut fields = text.split_terminator('\0');
    let mut outcomes = Vec::new();
    while let (Some(status), Some(tree)) = (fields.next(), fields.next()) {
        let tree = tree.to_owned();
        let files: Vec<String> = fields.by_ref().take_while(|name| !name.is_empty()).map(str::to_owned).collect();
        outcomes.push(match status {
            "1" => MergeOutcome::Clean { tree },
            "0" => MergeOutcome::Conflict { files, tree },
            _ => MergeOutcome::Unknown { why: "the merge could not be completed".to_owned() },
        });
    }
    outcomes
}

/// Why git gave up.
fn reason(done: &Captured) -> String {
    let text = output_text(&done.stderr);
    if text.contains("unrelated histories") {
        return "no common commit".to_owned();
    }
    let line = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no error message");
    line.trim_start_matches("fatal: ").trim_start_matches("error: ").chars().take(200).collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test needs a repository of its own")]
mod tests {
    use std::process::Command;

    use super::*;

    struct Repo {
        home: tempfile::TempDir,
        vars: BTreeMap<OsString, OsString>,
    }

    impl Repo {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let path = std::env::var_os("PATH").unwrap_or_default();
            let vars = [("PATH".into(), path), ("HOME".into(), home.path().into())].into();
            let repo = Self { home, vars };
            fs::create_dir(repo.top()).unwrap();
            repo.git(&["init", "-q"]);
            repo.commit("base", &[("f", "1\n2\n3\n4\n5\n"), ("kept", "k\n")]);
            repo
        }

        fn top(&self) -> PathBuf {
            self.home.path().join("r: \"x\"")
        }

        fn git(&self, args: &[&str]) -> String {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]);
            let done = command.args(args).current_dir(self.top()).env("HOME", self.home.path()).output().unwrap();
            assert!(done.status.success(), "{done:?}");
            String::from_utf8(done.stdout).unwrap().trim().to_owned()
        }

        fn commit(&self, message: &str, files: &[(&str, &str)]) -> String {
            for (name, text) in files {
                fs::write(self.top().join(name), text).unwrap();
            }
            self.git(&["add", "-A"]);
            self.git(&["commit", "-q", "-m", message]);
            self.git(&["rev-parse", "HEAD"])
        }

        fn open(&self) -> MergeRepository {
            MergeRepository::open(&Git::new(&self.vars, &self.top()), &self.home.path().join("state")).unwrap()
        }
    }

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn merges_of_many_pairs_are_told_apart_and_leave_nothing_behind() {
        let repo = Repo::new();
        let base = repo.git(&["rev-parse", "HEAD"]);
        let one = repo.commit("one", &[("f", "1\nONE\n3\n4\n5\n")]);
        repo.git(&["checkout", "-q", "-b", "two", &base]);
        let two = repo.commit("two", &[("f", "1\nTWO\n3\n4\n5\n")]);
        repo.git(&["checkout", "-q", "-b", "far", &base]);
        let far = repo.commit("far", &[("f", "1\n2\n3\n4\nFAR\n")]);
        repo.git(&["checkout", "-q", "--orphan", "alone"]);
        let alone = repo.commit("alone", &[("f", "alone\n")]);
        let before = repo.git(&["count-objects", "-v"]);
        let merges = repo.open();
        let pair = |ours: &str, theirs: &str| (ours.to_owned(), theirs.to_owned());
        let nowhere = "0123456789012345678901234567890123456789";
        let pairs = [pair(&one, &two), pair(&one, &alone), pair(&one, &far), pair(nowhere, &one), pair(&base, &two)];
        let outcomes = merges.merge_all(&pairs, LIMIT).unwrap();
        assert!(matches!(&outcomes[0], MergeOutcome::Conflict { files, .. } if files == &["f"]), "{outcomes:?}");
        assert_eq!(outcomes[1], MergeOutcome::Unknown { why: "no common commit".into() });
        assert!(matches!(&outcomes[2], MergeOutcome::Clean { .. }), "{outcomes:?}");
        assert!(matches!(&outcomes[3], MergeOutcome::Unknown { why } if why.contains(nowhere)), "{outcomes:?}");
        let tree = repo.git(&["rev-parse", &format!("{two}^{{tree}}")]);
        assert_eq!(outcomes[4..], [MergeOutcome::Clean { tree }]);
        assert_eq!(merges.merge_all(&[], LIMIT).unwrap(), []);
        drop(merges);
        assert_eq!(repo.git(&["count-objects", "-v"]), before);
        assert_eq!(fs::read_dir(repo.home.path().join("state")).unwrap().count(), 0);

        let kept = repo.open().writing_to_project();
        let MergeOutcome::Clean { tree } = &kept.merge_all(&pairs[2..3], LIMIT).unwrap()[0] else { panic!() };
        assert_eq!(repo.git(&["cat-file", "-t", tree]), "tree");
    }

    #[test]
    fn new_work_after_a_conflict_that_was_resolved_by_hand_shows_no_marker() {
        let repo = Repo::new();
        let base = repo.git(&["rev-parse", "HEAD"]);
        let main = repo.commit("main", &[("f", "1\nMAIN\n3\n4\n5\n")]);
        repo.git(&["checkout", "-q", "-b", "lane", &base]);
        let seen = repo.commit("seen", &[("f", "1\nLANE\n3\n4\n5\n")]);
        repo.git(&["checkout", "-q", &main]);
        let new = repo.commit("resolved", &[("f", "1\nBOTH\n3\n4\n5\n")]);
        let work = repo.open().new_since(&seen, &new, &main).unwrap();
        let patch = String::from_utf8(work.patch).unwrap();
        assert_eq!(work.conflicts, ["f"]);
        let lines = |sign: char| {
            let own = |line: &&str| line.starts_with(sign) && !line.starts_with("---") && !line.starts_with("+++");
            patch.lines().filter(own).collect::<Vec<_>>()
        };
        assert_eq!((lines('-'), lines('+')), (vec!["-LANE", "-MAIN"], vec!["+BOTH"]), "{patch}");
    }

    #[test]
    fn merge_runs_no_program_that_a_repository_names() {
        let repo = Repo::new();
        let canary = repo.home.path().join("canary");
        let touch = format!("touch '{}'; false", canary.display());
        let base = repo.git(&["rev-parse", "HEAD"]);
        for key in ["merge.mine.driver", "filter.mine.smudge", "filter.mine.clean", "filter.mine.process"] {
            repo.git(&["config", key, &touch]);
        }
        for key in ["core.fsmonitor", "diff.external", "core.pager", "diff.mine.textconv"] {
            repo.git(&["config", key, &touch]);
        }
        let files = [(".gitattributes", "f merge=mine diff=mine\n"), ("f", "1\nONE\n3\n4\n5\n")];
        for (name, text) in files {
            fs::write(repo.top().join(name), text).unwrap();
        }
        let commit_all = |message: &str| {
            let off = ["-c", "core.fsmonitor=false", "-c", "filter.mine.clean=", "-c", "filter.mine.process="];
            repo.git(&[&off[..], &["add", "-A"]].concat());
            repo.git(&[&off[..], &["commit", "-q", "-m", message]].concat());
            repo.git(&["rev-parse", "HEAD"])
        };
        let one = commit_all("one");
        repo.git(&["-c", "core.fsmonitor=false", "checkout", "-q", "-b", "two", &base]);
        for (name, text) in [(".gitattributes", "f merge=mine diff=mine\n"), ("f", "1\nTWO\n3\n4\n5\n")] {
            fs::write(repo.top().join(name), text).unwrap();
        }
        let two = commit_all("two");
        let _ = fs::remove_file(&canary);
        let merges = repo.open().with_attributes_of(&one);
        let outcomes = merges.merge_all(&[(one, two)], LIMIT).unwrap();
        assert!(matches!(&outcomes[..], [MergeOutcome::Conflict { files, .. }] if files == &["f"]), "{outcomes:?}");
        assert!(!canary.exists());
    }

    #[test]
    fn own_merge_driver_runs_for_the_files_that_attributes_name() {
        let repo = Repo::new();
        // Git before 2.41 reads no attributes of a tree.
        if repo.git(&["version"]).contains(" 2.39") {
            return;
        }
        let base = repo.git(&["rev-parse", "HEAD"]);
        let one = repo.commit("one", &[(".gitattributes", "f merge=mine\n"), ("f", "1\nONE\n3\n4\n5\n")]);
        repo.git(&["checkout", "-q", "-b", "two", &base]);
        let two = repo.commit("two", &[("f", "1\nTWO\n3\n4\n5\n")]);
        let merge = || {
            let merges = repo.open().with_attributes_of(&one);
            merges.merge_all(&[(one.clone(), two.clone())], LIMIT).unwrap().remove(0)
        };
        assert!(matches!(merge(), MergeOutcome::Conflict { .. }));
        repo.git(&["config", "--global", "merge.mine.driver", "printf 'both\\n' >%A"]);
        assert!(matches!(merge(), MergeOutcome::Clean { .. }));
        repo.git(&["config", "--global", "--unset", "merge.mine.driver"]);
        repo.git(&["config", "merge.mine.driver", "true"]);
        assert!(matches!(merge(), MergeOutcome::Conflict { .. }));
    }
}
