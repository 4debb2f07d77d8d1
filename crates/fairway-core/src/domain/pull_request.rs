//! Pull requests, as a forge script tells of them. Their texts are data of strangers.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use thiserror::Error;

use super::age::rough;
use super::review::LinePlace;
use super::string_enum::string_enum;
use super::{LaneName, TaskId};
use crate::env::Timestamp;

string_enum! {
    /// Why a forge did not do what it was asked.
    ForgeWhy {
        /// Without a login, or with one that has ended.
        Login => "login",
        /// The organisation asks for its single sign-on.
        Sso => "sso",
        /// The login has no right to it.
        Rights => "rights",
        /// The forge asks to wait.
        Busy => "busy",
        /// The forge does not answer, or the connection was cut.
        Network => "network",
        /// The forge says no, for a reason of its own.
        Refused => "refused",
        /// It is not there, or not for this login. Also: a program is missing.
        Missing => "missing",
    }
}

/// What a forge did not do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the forge cannot {operation} ({why}): {message}")]
pub struct ForgeFailure {
    pub operation: String,
    pub why: ForgeWhy,
    pub message: String,
    /// How long the forge asks to wait.
    pub seconds: Option<u64>,
}

string_enum! {
    /// The state of a pull request.
    PullState {
        Open => "open",
        Merged => "merged",
        Closed => "closed",
    }
}

impl<'de> Deserialize<'de> for PullState {
    fn deserialize<D: Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        let word = String::deserialize(text)?;
        Self::parse(&word).ok_or_else(|| D::Error::custom(format!("'{word}' is none of open, merged, closed")))
    }
}

/// From this age on, what is known of a pull request is shown with its age.
const FRESH: Duration = Duration::from_secs(5 * 60);

/// A lane's pull request, as Fairway has recorded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanePullRequest {
    pub id: i64,
    pub lane: LaneName,
    /// The lane's branch.
    pub branch: String,
    pub base: String,
    /// The commit that was proposed last.
    pub commit: String,
    /// The commits that the branch got from here, or may have got, the oldest first.
    pub pushed: String,
    /// The tasks that it lands, each with its epoch.
    pub tasks: Vec<(TaskId, i64)>,
    /// `None` until the forge has answered.
    pub number: Option<i64>,
    pub url: Option<String>,
    pub state: PullState,
    /// What is to be known about it, for people; empty for nothing.
    pub summary: String,
    /// What people wrote that no agent is told, for people; one line each, with its author.
    pub for_people: String,
    pub host_id: Option<String>,
    pub opened_at: Timestamp,
    pub synced_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

impl LanePullRequest {
    /// Whether the branch got this commit from here, as one of its last two: a push that was cut may have had no effect.
    pub fn has_pushed(&self, commit: &str) -> bool {
        self.pushed.rsplit(' ').take(2).any(|pushed| pushed == commit)
    }

    /// It in a few words, such as `#412 ✗ checks, 2 comments`; with its age when the forge was not asked for a while. `None` before
    /// the forge has answered.
    pub fn words(&self, now: Timestamp) -> Option<String> {
        let state = if self.state == PullState::Open { &*self.summary } else { self.state.as_str() };
        let age = self.synced_at.map(|at| now.since(at)).filter(|age| self.ended_at.is_none() && *age >= FRESH);
        let age = age.map(|age| format!("(as of {} ago)", rough(age))).unwrap_or_default();
        let parts = [format!("#{}", self.number?), state.to_owned(), age];
        Some(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "))
    }

    /// Adds a commit that is about to be pushed.
    pub fn will_push(&mut self, commit: &str) {
        if !self.pushed.is_empty() {
            self.pushed.push(' ');
        }
        self.pushed.push_str(commit);
        commit.clone_into(&mut self.commit);
    }
}

impl ForgeFailure {
    /// Whether every other question would fail too.
    pub const fn stops_all(&self) -> bool {
        !matches!(self.why, ForgeWhy::Refused | ForgeWhy::Missing)
    }
}

/// The answer to `find` and `open`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PullRequest {
    pub number: i64,
    pub url: String,
    pub state: PullState,
    pub draft: bool,
    /// The commit of its branch.
    pub head: String,
    pub base: String,
}

/// The answer to `state`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PullRequestState {
    #[serde(flatten)]
    pub pull: PullRequest,
    /// `None` while the forge computes it.
    pub mergeable: Option<bool>,
    /// The commit that the base got, once it is merged.
    pub merged_commit: Option<String>,
    /// `None` when the login may not see them.
    pub checks: Option<Vec<ForgeCheck>>,
    /// The names of the checks that the base demands, whether they have begun or not.
    #[serde(default)]
    pub required: Vec<String>,
    /// The same from another list of the forge.
    #[serde(default)]
    pub rules: Vec<String>,
    #[serde(default)]
    pub reviews: Vec<ForgeReview>,
    #[serde(default)]
    pub threads: Vec<ForgeThread>,
    #[serde(default)]
    pub comments: Vec<ForgeComment>,
    /// Whether people may write to the repository; null or no entry where that is unknown.
    #[serde(default)]
    pub people: BTreeMap<String, Option<bool>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForgeCheckState {
    Passed,
    Failed,
    Pending,
    /// A newer push has mostly taken its place.
    Cancelled,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ForgeCheck {
    /// The name for `log`; `None` for a check without one.
    pub id: Option<String>,
    pub name: String,
    pub required: bool,
    pub state: ForgeCheckState,
    pub url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ForgeReview {
    pub id: String,
    pub author: String,
    /// approved, `changes_requested`, commented or dismissed.
    pub verdict: String,
    /// The commit that was looked at.
    pub commit: Option<String>,
    pub body: String,
}

/// A conversation about a line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ForgeThread {
    pub id: String,
    pub file: String,
    pub line: Option<u64>,
    /// new or old.
    pub side: String,
    pub commit: Option<String>,
    pub resolved: bool,
    /// Who resolved it.
    #[serde(default)]
    pub resolved_by: Option<String>,
    pub comments: Vec<ForgeComment>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ForgeComment {
    pub id: String,
    /// Empty for an account that is gone.
    pub author: String,
    pub body: String,
    /// When it was changed last; `None` when it never was.
    pub edited: Option<String>,
    #[serde(default)]
    pub hidden: bool,
}

/// The answer to `log`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ForgeLog {
    pub log: String,
}

/// The mark in what Fairway writes on a forge. It is a comment of Markdown, and followed by what was written.
pub const MARK: &str = "<!-- fairway:";

/// The name under which a person of a forge is recorded here. No session and no person of a host has such a name.
const REVIEWER_PREFIX: &str = "forge:";

pub fn reviewer(login: &str) -> String {
    format!("{REVIEWER_PREFIX}{login}")
}

/// The person's name at the forge; `None` for a reviewer of this project.
pub fn login(reviewer: &str) -> Option<&str> {
    reviewer.strip_prefix(REVIEWER_PREFIX)
}

impl ForgeComment {
    /// Whether a person or another program wrote it, and it is shown.
    pub fn is_foreign(&self) -> bool {
        !self.hidden && !self.body.contains(MARK)
    }

    /// The name of this text: an edit makes it another one.
    pub fn fact(&self) -> String {
        format!("comment {} {}", self.id, self.edited.as_deref().unwrap_or_default())
    }
}

impl ForgeThread {
    /// The line of the commit that the comment stands on; `None` for a whole file, and for a line that the work removed.
    pub fn place(&self) -> Option<(&str, LinePlace)> {
        let line = self.line.filter(|line| *line > 0 && self.side == "new")?;
        Some((self.commit.as_deref()?, LinePlace { path: self.file.clone(), line }))
    }
}

impl ForgeCheck {
    pub fn is_pending(&self) -> bool {
        self.state == ForgeCheckState::Pending
    }
}

impl PullRequestState {
    /// The names of the demanded checks that have not begun.
    pub fn not_begun(&self) -> Vec<&str> {
        let Some(checks) = &self.checks else { return Vec::new() };
        let mut names: Vec<&str> = self.required.iter().chain(&self.rules).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|name| checks.iter().all(|check| check.name != *name));
        names
    }

    /// Whether a person's words count: of one who may write, by the forge's own answer, or whom the configuration trusts. A bot's name
    /// ends in `[bot]`, since a person may have the same name without it.
    fn counts(&self, author: &str, trusted: &[String]) -> bool {
        let is_trusted = trusted.iter().any(|one| one.eq_ignore_ascii_case(author));
        is_trusted || self.people.get(author) == Some(&Some(true))
    }

    /// The last verdict of each person whose words count, oldest first. A mere comment lifts none.
    pub fn verdicts(&self, trusted: &[String]) -> Vec<&ForgeReview> {
        let is_verdict = |one: &&ForgeReview| {
            // One that was posted from here is known.
            matches!(&*one.verdict, "approved" | "changes_requested" | "dismissed") && !one.body.contains(MARK)
        };
        let all =
            self.reviews.iter().enumerate().filter(|(_, one)| is_verdict(one) && self.counts(&one.author, trusted));
        let is_last = |(at, review): &(usize, &ForgeReview)| {
            !self.reviews.iter().skip(at + 1).any(|later| is_verdict(&later) && later.author == review.author)
        };
        all.filter(is_last).map(|(_, review)| review).collect()
    }

    /// The conversations in which people wrote whose words count, each with these comments.
    pub fn conversations(&self, trusted: &[String]) -> Vec<(&ForgeThread, Vec<&ForgeComment>)> {
        let counts = |comment: &&ForgeComment| comment.is_foreign() && self.counts(&comment.author, trusted);
        let all = self.threads.iter().map(|thread| (thread, thread.comments.iter().filter(counts).collect::<Vec<_>>()));
        all.filter(|(_, comments)| !comments.is_empty()).collect()
    }

    /// What no agent is told: comments on the whole, and the words of people that do not count.
    pub fn for_people(&self, trusted: &[String]) -> Vec<&ForgeComment> {
        let open = self.threads.iter().filter(|thread| !thread.resolved).flat_map(|thread| &thread.comments);
        let others = open.filter(|comment| !self.counts(&comment.author, trusted));
        self.comments.iter().chain(others).filter(|comment| comment.is_foreign()).collect()
    }

    /// Whether nothing that is known keeps the proposed commit from being merged. The forge's rules have the last word.
    pub fn may_merge(&self, proposed: &LanePullRequest) -> bool {
        let is_proposed = self.pull.head == proposed.commit && self.pull.base == proposed.base;
        let mut waiting = self.checks.iter().flatten().filter(|check| check.required && check.is_pending());
        let is_green = self.failed().next().is_none() && waiting.next().is_none() && self.not_begun().is_empty();
        is_proposed && is_green && !self.pull.draft && self.mergeable == Some(true)
    }

    /// The demanded checks that have failed.
    pub fn failed(&self) -> impl Iterator<Item = &ForgeCheck> {
        let is_demanded = |check: &ForgeCheck| check.required || self.rules.contains(&check.name);
        let checks = self.checks.iter().flatten();
        checks.filter(move |check| check.state == ForgeCheckState::Failed && is_demanded(check))
    }
}
