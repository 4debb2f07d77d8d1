//! The upstream of a branch: fetched and pushed with programs of the user's own configuration only.

use std::ffi::OsStr;
use std::time::Duration;

use super::command::{Git, GitError, QUERY_TIMEOUT, output_text};
use super::network_programs::NetworkPrograms;
use crate::os::capture::Captured;
use crate::os::exit_reason::ExitReason;

/// The longest reason that is quoted, in characters.
const MAX_REASON_CHARS: usize = 300;

/// The maximum number of lines of a reason that are quoted.
const MAX_REASON_LINES: usize = 2;

/// Beginnings of lines that git prints with every failure, or that give no reason.
const NO_REASONS: [&str; 9] = [
    "To ",
    "From ",
    "hint: ",
    "warning: ",
    "error: failed to push some refs",
    "error: unable to read askpass response",
    "fatal: Could not read from remote repository",
    "Please make sure you have the correct access rights",
    "and the repository exists",
];

/// The branch of a remote that a branch follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// The name of the remote.
    pub remote: String,
    /// The name of the branch there.
    pub branch: String,
    /// The full name of the ref that follows it here.
    pub tracking: String,
}

impl Upstream {
    /// The name for people, such as `origin/main`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.remote, self.branch)
    }

    /// From the name of the remote, the full name of the branch there, and that of the ref here. `None` for a branch of this
    /// repository, and where the configuration names what is no branch.
    fn new(remote: &str, branch: &str, tracking: &str) -> Option<Self> {
        let is_plain = |text: &str| {
            let is_special = |byte: u8| byte <= b' ' || byte == 0x7f || b":?[\\^~*".contains(&byte);
            !text.is_empty() && !text.starts_with(['-', '+']) && !text.contains("..") && !text.bytes().any(is_special)
        };
        let branch = branch.strip_prefix("refs/heads/")?;
        let is_known = tracking.starts_with("refs/remotes/") && remote != ".";
        let are_plain = [remote, branch, tracking].into_iter().all(is_plain);
        let own = |text: &str| text.to_owned();
        (is_known && are_plain).then(|| Self { remote: own(remote), branch: own(branch), tracking: own(tracking) })
    }

    /// Another branch of the same remote; `None` when the name is not that of a plain branch.
    pub fn of_branch(&self, branch: &str) -> Option<Self> {
        let tracking = format!("refs/remotes/{}/{branch}", self.remote);
        Self::new(&self.remote, &format!("refs/heads/{branch}"), &tracking)
    }

    fn full_branch(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }
}

/// The result of a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// The ref here is where the branch is.
    Done,
    /// The remote has no such branch.
    NoBranch,
    /// For this reason.
    Failed(String),
}

impl Git<'_> {
    /// The branch of a remote that a local branch follows; `None` when it follows none, or another local branch.
    pub fn upstream(&self, branch: &str) -> Result<Option<Upstream>, GitError> {
        let found = self.upstream_fields(branch)?;
        Ok(found.and_then(|[tracking, remote, there]| Upstream::new(&remote, &there, &tracking)))
    }

    /// The full name of the ref that is the upstream of a branch, which may be a branch of this repository; `None` without an
    /// upstream.
    pub fn upstream_ref(&self, branch: &str) -> Result<Option<String>, GitError> {
        Ok(self.upstream_fields(branch)?.map(|[tracking, ..]| tracking).filter(|name| !name.is_empty()))
    }

    /// The ref of the upstream, the remote, and the name of the branch there.
    fn upstream_fields(&self, branch: &str) -> Result<Option<[String; 3]>, GitError> {
        let full = format!("refs/heads/{branch}");
        let format = "--format=%(refname)%09%(upstream)%09%(upstream:remotename)%09%(upstream:remoteref)";
        let text = self.run_checked("for-each-ref", &["for-each-ref", format, &full], QUERY_TIMEOUT)?;
        let of_branch = |line: &str| {
            let mut fields = line.split('\t').map(str::to_owned);
            let name = fields.next()?;
            (name == full).then(|| Some([fields.next()?, fields.next()?, fields.next()?])).flatten()
        };
        Ok(text.lines().find_map(of_branch))
    }

    /// The commit at which new work on a branch starts: that of its upstream as last fetched, or the branch's own when the branch
    /// has no upstream or contains all of it. `None` when neither exists.
    pub fn start_of(&self, branch: &str) -> Result<Option<String>, GitError> {
        let own = self.commit(&format!("refs/heads/{branch}"));
        let theirs = self.upstream_ref(branch)?.and_then(|name| self.commit(&name));
        Ok(match (own, theirs) {
            (Some(own), Some(theirs)) if self.is_ancestor(&theirs, &own) == Some(true) => Some(own),
            (_, Some(theirs)) => Some(theirs),
            (own, None) => own,
        })
    }

    /// Fetches the branch of an upstream and moves the local ref that tracks it.
    ///
    /// # Errors
    /// When git cannot be started. A fetch that fails is no error: see the result.
    pub fn fetch_upstream(&self, upstream: &Upstream, limit: Duration) -> Result<Fetched, GitError> {
        let update = format!("+{}:{}", upstream.full_branch(), upstream.tracking);
        // Nothing else is fetched, and nothing goes on in the background.
        let args = [
            "-c", "gc.auto=0", "-c", "maintenance.auto=false", "fetch", "--quiet", "--no-tags",
            "--no-recurse-submodules", "--no-write-fetch-head", "--refmap=",
        ];
        let programs = self.network_programs()?;
        let done = self.run_on_network(
            &programs,
            &args,
            programs.option("upload-pack", &upstream.remote),
            upstream,
            &update,
            limit,
        )?;
        let is_missing = || output_text(&done.stderr).contains("fatal: couldn't find remote ref");
        Ok(match reason(&done, limit) {
            None => Fetched::Done,
            Some(_) if is_missing() => Fetched::NoBranch,
            Some(why) => Fetched::Failed(why),
        })
    }

    /// The address of a remote, as it is configured; `None` without one.
    pub fn remote_address(&self, remote: &str) -> Option<String> {
        let key = format!("remote.{remote}.url");
        let text = self.run_checked("config", &["config", "--get", &key], QUERY_TIMEOUT).ok()?;
        Some(text.trim().to_owned()).filter(|address| !address.is_empty())
    }

    /// Asks the remote to move the branch of an upstream forward to a commit. With `lease`, the commit at which the branch must be,
    /// it may also move to one that does not contain that. Returns `None` when git succeeded, else why it
    /// failed. Even then the remote may have moved the branch.
    ///
    /// # Errors
    /// When git cannot be started: nothing was sent.
    pub fn push_upstream(
        &self,
        upstream: &Upstream,
        commit: &str,
        lease: Option<&str>,
        limit: Duration,
    ) -> Result<Option<String>, GitError> {
        // Without `+` and `--force` a remote refuses what is no fast-forward, whatever is configured.
        let lease = lease.map_or_else(
            || "--no-force-with-lease".to_owned(),
            |old| format!("--force-with-lease={}:{old}", upstream.full_branch()),
        );
        let update = format!("{commit}:{}", upstream.full_branch());
        let signers = self.signer_flags()?;
        let args: Vec<&OsStr> = signers
            .iter()
            .map(AsRef::as_ref)
            .chain(
                ["push", "--quiet", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", &lease]
                    .map(AsRef::as_ref),
            )
            .collect();
        let programs = self.network_programs()?;
        if let Some(why) = self.upload_large_files(&programs, upstream, commit, limit)? {
            return Ok(Some(why));
        }
        let done = self.run_on_network(
            &programs,
            &args,
            programs.option("receive-pack", &upstream.remote),
            upstream,
            &update,
            limit,
        )?;
        Ok(reason(&done, limit))
    }

    fn run_on_network<T: AsRef<OsStr>>(
        &self,
        programs: &NetworkPrograms,
        args: &[T],
        program: Option<String>,
        upstream: &Upstream,
        update: &str,
        limit: Duration,
    ) -> Result<Captured, GitError> {
        let args: Vec<&OsStr> = args
            .iter()
            .map(AsRef::as_ref)
            .chain(program.as_deref().map(AsRef::as_ref))
            .chain(["--", &upstream.remote, update].map(AsRef::as_ref))
            .collect();
        self.run_with(&args, &programs.vars(), b"", limit)
    }
}

/// Why a call failed, in the words of the remote or of git; `None` when it did not.
pub(super) fn reason(done: &Captured, limit: Duration) -> Option<String> {
    match done.exit {
        ExitReason::Code(0) => return None,
        ExitReason::TimedOut => return Some(format!("timed out after {} s", limit.as_secs())),
        _ => {}
    }
    let text = output_text(&done.stderr);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    // ` ! [remote rejected] main -> main (hook declined)`
    let refused = lines().filter(|line| line.starts_with("! ")).find_map(|line| {
        let (_, why) = line.strip_suffix(')')?.split_once(" (")?;
        Some(why.to_owned())
    });
    let remote = lines().filter_map(|line| line.strip_prefix("remote:")).map(str::trim).filter(|line| !line.is_empty());
    let words: Vec<&str> = remote.take(MAX_REASON_LINES).collect();
    let why = match (refused, words.is_empty()) {
        (Some(refused), true) => refused,
        (Some(refused), false) => format!("{refused}: {}", words.join("; ")),
        (None, _) => {
            let is_reason = |line: &&str| {
                !line.starts_with("! ") && !NO_REASONS.into_iter().any(|other| line.starts_with(other.trim_end()))
            };
            let bare = |line: &str| line.trim_start_matches("fatal: ").trim_start_matches("error: ").to_owned();
            let all: Vec<String> = lines().filter(is_reason).map(bare).collect();
            all.get(all.len().saturating_sub(MAX_REASON_LINES)..).unwrap_or_default().join("; ")
        }
    };
    let why: String = why.chars().take(MAX_REASON_CHARS).collect();
    Some(if why.is_empty() { "no error message".to_owned() } else { why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstream_is_a_plain_branch_of_a_remote() {
        let new = |remote, branch, tracking| Upstream::new(remote, branch, tracking).map(|one| one.name());
        let tracking = "refs/remotes/origin/main";
        assert_eq!(new("origin", "refs/heads/main", tracking).as_deref(), Some("origin/main"));
        for (remote, branch, tracking) in [
            ("", "", ""),
            (".", "refs/heads/main", "refs/heads/main"),
            ("--upload-pack=evil", "refs/heads/main", tracking),
            ("origin", "refs/heads/main:refs/heads/other", tracking),
            ("origin", "refs/heads/*", tracking),
            ("origin", "refs/tags/main", tracking),
            ("origin", "refs/heads/", tracking),
            ("origin", "refs/heads/main", "refs/heads/other"),
        ] {
            assert_eq!(new(remote, branch, tracking), None, "{remote} {branch} {tracking}");
        }
    }

    #[test]
    fn reasons_are_the_words_of_the_remote_or_of_git() {
        let said = |stderr: &str| {
            let done = Captured { exit: ExitReason::Code(128), stdout: Vec::new(), stderr: stderr.as_bytes().to_vec() };
            reason(&done, Duration::from_secs(1)).unwrap()
        };
        let rejected = "remote: no commits on friday        \nTo ../r.git\n ! [remote rejected] HEAD -> main (pre-receive \
                        hook declined)\nerror: failed to push some refs to '../r.git'\n";
        assert_eq!(said(rejected), "pre-receive hook declined: no commits on friday");
        let late = "To ../r.git\n ! [rejected]        HEAD -> main (fetch first)\nhint: Updates were rejected\n";
        assert_eq!(said(late), "fetch first");
        let denied = "git@h: Permission denied (publickey).\r\nfatal: Could not read from remote repository.\n\nPlease make \
                      sure you have the correct access rights\nand the repository exists.\n";
        assert_eq!(said(denied), "git@h: Permission denied (publickey).");
        let asked = "error: unable to read askpass response from 'false'\nfatal: could not read Username for 'https://h': \
                     terminal prompts disabled\n";
        assert_eq!(said(asked), "could not read Username for 'https://h': terminal prompts disabled");
        assert_eq!(said(""), "no error message");
        let done = Captured { exit: ExitReason::TimedOut, stdout: Vec::new(), stderr: Vec::new() };
        assert_eq!(reason(&done, Duration::from_secs(2)).unwrap(), "timed out after 2 s");
    }
}
