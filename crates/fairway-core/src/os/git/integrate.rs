//! Bringing a base into a branch: merge and rebase are worked out among objects, without a worktree. A worktree changes in one
//! step, when the result is known and has no conflict.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use super::command::{Git, GitError, QUERY_TIMEOUT, found, git_error, output_text, succeeded, unknown_form};
use super::network_programs;
use crate::os::asking;
use crate::os::exit_reason::ExitReason;

/// The time limit of one merge, of one commit and of the final step.
const MERGE_TIMEOUT: Duration = Duration::from_secs(1800);

/// The first words of the entry in the branch's reflog.
const REFLOG_ACTION: &str = "fairway lane sync";

/// The result of a merge or rebase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Integration {
    /// The branch can move to this commit.
    Commit(String),
    /// Files conflict.
    Conflict {
        /// The files, relative to the top of the worktree.
        files: Vec<String>,
        /// The commit of the branch that conflicts; `None` in a merge.
        commit: Option<String>,
    },
}

/// The author and committer of a new commit.
pub(super) enum Identity {
    /// The identity of git's configuration.
    Configured,
    /// This author, and the committer of git's configuration.
    Author { name: OsString, email: OsString, date: OsString, encoding: Option<OsString> },
    /// A fixed one, for a commit that no branch gets.
    Fixed,
}

impl Git<'_> {
    /// The number of commits that only `left` has, and of those that only `right` has.
    ///
    /// # Errors
    /// When git fails, also because it does not know a commit.
    pub fn count_apart(&self, left: &str, right: &str) -> Result<(u64, u64), GitError> {
        let args = ["rev-list", "--left-right", "--count", &format!("{left}...{right}"), "--"];
        let text = self.run_checked("rev-list", &args, QUERY_TIMEOUT)?;
        let mut numbers = text.split_whitespace().map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(left)), Some(Ok(right))) => Ok((left, right)),
            _ => Err(unknown_form("rev-list")),
        }
    }

    /// The best common ancestor of two commits; `None` when their histories are unrelated.
    pub fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        let done = self.run(&["merge-base", one, other], QUERY_TIMEOUT)?;
        Ok(found("merge-base", done)?.map(|done| output_text(&done.stdout)))
    }

    /// Whether `base` has every change of the branch at `tip`: as the same commits, as commits with the same changes, or as one
    /// commit with all of them. May write a commit object that belongs to no branch.
    pub fn has_all_changes(&self, base: &str, tip: &str) -> Result<bool, GitError> {
        if self.count_apart(base, tip)?.1 == 0 {
            return Ok(true);
        }
        // `git cherry` leaves merges out, and a merge can have changes of its own.
        if !self.has_merges(base, tip)? && !self.has_new_change(base, tip)? {
            return Ok(true);
        }
        let Some(fork) = self.merge_base(base, tip)? else { return Ok(false) };
        let squashed = self.commit_tree(&format!("{tip}^{{tree}}"), &[&fork], b"squashed\n", &Identity::Fixed)?;
        Ok(!self.has_new_change(base, &squashed)?)
    }

    /// Whether the commits of `tip` that `base` lacks include a merge.
    pub fn has_merges(&self, base: &str, tip: &str) -> Result<bool, GitError> {
        let args = ["rev-list", "--min-parents=2", "--max-count=1", tip, &format!("^{base}"), "--"];
        Ok(!self.run_checked("rev-list", &args, QUERY_TIMEOUT)?.is_empty())
    }

    /// Whether a commit of `tip` has changes that no commit of `base` has.
    fn has_new_change(&self, base: &str, tip: &str) -> Result<bool, GitError> {
        let text = self.run_checked("cherry", &["cherry", base, tip], MERGE_TIMEOUT)?;
        Ok(text.lines().any(|line| line.starts_with('+')))
    }

    /// Makes a commit that merges `base` into `head`, without moving a branch. `merges` is a git on the same objects, in which
    /// the merge is worked out.
    ///
    /// # Errors
    /// When git fails, also because no committer is configured.
    pub fn plan_merge(&self, merges: &Git<'_>, head: &str, base: &str, message: &str) -> Result<Integration, GitError> {
        let tree = match merges.merge_trees(head, base, &[])? {
            Ok(tree) => tree,
            Err(files) => return Ok(Integration::Conflict { files, commit: None }),
        };
        let message = format!("{message}\n");
        self.commit_tree(&tree, &[head, base], message.as_bytes(), &Identity::Configured).map(Integration::Commit)
    }

    /// Makes copies on top of `base` of the commits that only `head` has, without moving a branch. As with `git rebase`, merges
    /// and commits whose changes `base` has are left out, and authors are kept. A commit that becomes empty is left out. So are the
    /// commits of `since`, which `base` has as other ones. `merges` is a git on the same objects, in which the merges are worked out.
    ///
    /// # Errors
    /// When git fails, also because no committer is configured.
    pub fn plan_rebase(
        &self,
        merges: &Git<'_>,
        head: &str,
        base: &str,
        since: Option<&str>,
    ) -> Result<Integration, GitError> {
        self.rebase_by(merges, (head, since), base, self.signs_commits()?, &[])
    }

    /// Like [`Self::plan_rebase`], but the commits are signed exactly when `sign` is set, whatever the configuration says, and a
    /// conflict in `generated` files is none.
    pub(super) fn rebase_by(
        &self,
        merges: &Git<'_>,
        (head, since): (&str, Option<&str>),
        base: &str,
        sign: bool,
        generated: &[String],
    ) -> Result<Integration, GitError> {
        let (range, without) = (format!("{base}...{head}"), since.map(|since| format!("^{since}")));
        let mut args =
            vec!["rev-list", "--reverse", "--topo-order", "--right-only", "--cherry-pick", "--no-merges", &range];
        args.extend(without.as_deref());
        let list = self.run_checked("rev-list", &args, MERGE_TIMEOUT)?;
        let mut onto = base.to_owned();
        for commit in list.lines() {
            match self.pick(merges, commit, &onto, sign, generated)? {
                Integration::Commit(picked) => onto = picked,
                conflict @ Integration::Conflict { .. } => return Ok(conflict),
            }
        }
        Ok(Integration::Commit(onto))
    }

    /// Merges the change between two trees into a third one. Returns the id of the merged tree, or the files that conflict.
    fn merge_change(
        &self,
        merges: &Git<'_>,
        (before, after): (&str, &str),
        onto: &str,
        generated: &[String],
    ) -> Result<Result<String, Vec<String>>, GitError> {
        // Three commits whose only history is this change, so that their common ancestor is the state before it.
        let bare = |tree: &str, parents: &[&str]| self.commit_tree(tree, parents, b"picked\n", &Identity::Fixed);
        let parent = bare(before, &[])?;
        merges.merge_trees(&bare(onto, &[&parent])?, &bare(after, &[&parent])?, generated)
    }

    /// Makes a commit on top of `onto` with the change between two commits, for a tree that no branch gets.
    pub fn apply_change(
        &self,
        merges: &Git<'_>,
        (before, after): (&str, &str),
        onto: &str,
    ) -> Result<Integration, GitError> {
        let (before, after, present) = (self.tree(before)?, self.tree(after)?, self.tree(onto)?);
        match self.merge_change(merges, (&before, &after), &present, &[])? {
            Ok(tree) => self.commit_tree(&tree, &[onto], b"picked\n", &Identity::Fixed).map(Integration::Commit),
            Err(files) => Ok(Integration::Conflict { files, commit: None }),
        }
    }

    /// The tree of a commit.
    pub fn tree(&self, commit: &str) -> Result<String, GitError> {
        self.run_checked("rev-parse", &["rev-parse", "--verify", &format!("{commit}^{{tree}}")], QUERY_TIMEOUT)
    }

    /// One step of a rebase.
    fn pick(
        &self,
        merges: &Git<'_>,
        commit: &str,
        onto: &str,
        sign: bool,
        generated: &[String],
    ) -> Result<Integration, GitError> {
        let (tree, before, present) = (self.tree(commit)?, self.tree(&format!("{commit}^"))?, self.tree(onto)?);
        let merged = match self.merge_change(merges, (&before, &tree), &present, generated)? {
            Ok(merged) => merged,
            Err(files) => return Ok(Integration::Conflict { files, commit: Some(commit.to_owned()) }),
        };
        if merged == present && tree != before {
            return Ok(Integration::Commit(onto.to_owned()));
        }
        let (author, message) = self.author_and_message(commit)?;
        self.commit_tree_signed(&merged, &[onto], &message, &author, sign).map(Integration::Commit)
    }

    /// The author of a commit, with the date and the encoding of the commit, and its message as bytes.
    pub(super) fn author_and_message(&self, commit: &str) -> Result<(Identity, Vec<u8>), GitError> {
        let source = succeeded("cat-file", self.run(&["cat-file", "commit", commit], QUERY_TIMEOUT)?)?;
        let (author, message) = parse_commit(&source.stdout)
            .ok_or_else(|| GitError::Failed { step: "cat-file", why: format!("{commit} has an unknown form") })?;
        Ok((author, message.to_vec()))
    }

    /// Merges two commits without a worktree. Returns the id of the merged tree, or the files that conflict. Where only
    /// `generated` files conflict, the tree has those of `ours`; this git's index is overwritten then.
    pub(super) fn merge_trees(
        &self,
        ours: &str,
        theirs: &str,
        generated: &[String],
    ) -> Result<Result<String, Vec<String>>, GitError> {
        let args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs];
        let done = self.run(&args, MERGE_TIMEOUT)?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let mut parts = text.split_terminator('\0').map(str::to_owned);
        match (done.exit, parts.next()) {
            (ExitReason::Code(0), Some(tree)) => Ok(Ok(tree)),
            (ExitReason::Code(1), Some(tree)) => {
                let files: Vec<String> = parts.collect();
                if files.iter().all(|file| generated.contains(file)) {
                    return self.tree_with(&tree, &self.files_at(ours, &files)?).map(Ok);
                }
                Ok(Err(files))
            }
            _ => Err(git_error("merge-tree", &done)),
        }
    }

    /// Writes a commit object and returns its id. It is signed when the configuration asks for it, unless the identity is
    /// fixed.
    pub(super) fn commit_tree(
        &self,
        tree: &str,
        parents: &[&str],
        message: &[u8],
        identity: &Identity,
    ) -> Result<String, GitError> {
        let sign = !matches!(identity, Identity::Fixed) && self.signs_commits()?;
        self.commit_tree_signed(tree, parents, message, identity, sign)
    }

    /// Writes a commit object and returns its id. The commit is signed exactly when `sign` is set.
    pub(super) fn commit_tree_signed(
        &self,
        tree: &str,
        parents: &[&str],
        message: &[u8],
        identity: &Identity,
        sign: bool,
    ) -> Result<String, GitError> {
        let mut args: Vec<OsString> = if sign { self.signer_flags()? } else { Vec::new() };
        if let Identity::Author { encoding: Some(encoding), .. } = identity {
            let mut setting = OsString::from("i18n.commitEncoding=");
            setting.push(encoding);
            args.extend(["-c".into(), setting]);
        }
        args.extend(["commit-tree".into(), tree.into()]);
        for parent in parents {
            args.extend(["-p".into(), parent.into()]);
        }
        let terminal = if sign && self.may_ask { asking::terminal() } else { None };
        let place: Vec<(&str, OsString)> = match &terminal {
            _ if !sign => Vec::new(),
            Some(terminal) => vec![("GPG_TTY", terminal.into())],
            // Else gpg would ask at a terminal at which no person may be.
            None => network_programs::no_question(self.vars()).chain([("GPG_TTY", OsString::new())]).collect(),
        };
        let mut vars: Vec<(&str, &OsStr)> = match identity {
            Identity::Configured => Vec::new(),
            Identity::Author { name, email, date, .. } => {
                vec![("GIT_AUTHOR_NAME", name), ("GIT_AUTHOR_EMAIL", email), ("GIT_AUTHOR_DATE", date)]
            }
            Identity::Fixed => [
                ("GIT_AUTHOR_NAME", "fairway"),
                ("GIT_AUTHOR_EMAIL", "fairway@localhost"),
                ("GIT_AUTHOR_DATE", "@0 +0000"),
                ("GIT_COMMITTER_NAME", "fairway"),
                ("GIT_COMMITTER_EMAIL", "fairway@localhost"),
                ("GIT_COMMITTER_DATE", "@0 +0000"),
            ]
            .map(|(name, value)| (name, OsStr::new(value)))
            .to_vec(),
        };
        vars.extend(place.iter().map(|(name, value)| (*name, value.as_os_str())));
        if sign {
            args.push("-S".into());
        }
        let make = || self.in_foreground(terminal.is_some()).run_with(&args, &vars, message, MERGE_TIMEOUT);
        let done = match &terminal {
            Some(terminal) => asking::at(terminal, make).map_err(GitError::CannotStart)?,
            None => make(),
        }?;
        match succeeded("commit-tree", done) {
            Ok(done) => Ok(output_text(&done.stdout)),
            Err(GitError::Failed { why, .. }) if sign => {
                Err(GitError::NotSigned { why, unlock: self.command_that_unlocks()? })
            }
            Err(error) => Err(error),
        }
    }

    /// The command by which a person makes the key that signs usable.
    fn command_that_unlocks(&self) -> Result<String, GitError> {
        let get = |args: &[&str]| Ok(output_text(&self.run(&[&["config"], args].concat(), QUERY_TIMEOUT)?.stdout));
        let (format, key) = (get(&["--get", "gpg.format"])?, get(&["--type=path", "--get", "user.signingkey"])?);
        let quoted = |text: &str| format!(" {}", shell_words::quote(text));
        Ok(match (&*format, &*key) {
            ("ssh", key) => {
                let file = if key.starts_with('/') { quoted(key.trim_end_matches(".pub")) } else { String::new() };
                let has_agent = self.vars().get(OsStr::new("SSH_AUTH_SOCK")).is_some_and(|socket| !socket.is_empty());
                format!("{}ssh-add{file}", if has_agent { "" } else { "eval \"$(ssh-agent -s)\" && " })
            }
            (_, "") => "GPG_TTY=$(tty) gpg --sign </dev/null >/dev/null".to_owned(),
            (_, key) => format!("GPG_TTY=$(tty) gpg --local-user{} --sign </dev/null >/dev/null", quoted(key)),
        })
    }

    /// Whether the configuration asks to sign the commits of branches.
    pub fn signs_commits(&self) -> Result<bool, GitError> {
        let done = self.run(&["config", "--type=bool", "--get", "commit.gpgSign"], QUERY_TIMEOUT)?;
        Ok(output_text(&done.stdout) == "true")
    }

    /// Moves the checked out branch and the files of a clean worktree to `commit`. When a file that differs there has uncommitted
    /// changes, git refuses, and nothing moves.
    pub fn move_to(&self, commit: &str) -> Result<(), GitError> {
        let vars = [("GIT_REFLOG_ACTION", OsStr::new(REFLOG_ACTION))];
        let args = self.on_files(&["reset", "--quiet", "--keep", commit])?;
        succeeded("reset", self.run_with(&args, &vars, b"", MERGE_TIMEOUT)?).map(drop)
    }
}

/// The author and the message of a commit's source.
fn parse_commit(source: &[u8]) -> Option<(Identity, &[u8])> {
    let end = source.windows(2).position(|pair| pair == b"\n\n")?;
    let (header, message) = (source.get(..end)?, source.get(end + 2..)?);
    let field = |name: &[u8]| header.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(name));
    let line = field(b"author ")?;
    let open = line.iter().position(|byte| *byte == b'<')?;
    let close = line.iter().rposition(|byte| *byte == b'>')?;
    let text = |bytes: Option<&[u8]>| Some(OsStr::from_bytes(bytes?.trim_ascii()).to_owned());
    let mut date = OsString::from("@");
    date.push(text(line.get(close + 1..))?);
    let (name, email) = (text(line.get(..open))?, text(line.get(open + 1..close))?);
    let author = Identity::Author { name, email, date, encoding: text(field(b"encoding ")) };
    Some((author, message))
}
