//! What a reviewer has seen of a task's work.

use super::actor::is_same_claimant;
use super::{LaneName, TaskId};
use crate::env::Timestamp;

/// The prefix of the refs that keep the commits that were seen.
pub const REF_PREFIX: &str = "refs/fairway/seen/";

/// A commit that a reviewer has seen as a whole: with all changes since `fork`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenCommit {
    pub commit: String,
    /// The commit where the work left its base.
    pub fork: String,
}

/// What a reviewer has seen of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenWork {
    pub id: i64,
    pub task: TaskId,
    pub reviewer: String,
    pub lane: Option<LaneName>,
    /// The newest commit that was seen.
    pub newest: Option<SeenCommit>,
    /// The commit that was seen before the newest.
    pub earlier: Option<SeenCommit>,
    /// When the newest commit was seen for the first time.
    pub seen_at: Option<Timestamp>,
    /// When the reviewer put the task off.
    pub deferred_at: Option<Timestamp>,
}

impl SeenWork {
    /// The record of a reviewer who has seen nothing of the task.
    pub const fn nothing(task: TaskId, reviewer: String) -> Self {
        let (newest, earlier, seen_at, deferred_at) = (None, None, None, None);
        Self { id: 0, task, reviewer, lane: None, newest, earlier, seen_at, deferred_at }
    }

    /// Records that the reviewer has seen a commit. Seeing the newest one again changes nothing.
    #[must_use]
    pub fn with(self, seen: SeenCommit, lane: Option<LaneName>, now: Timestamp) -> Self {
        if self.newest.as_ref().is_some_and(|newest| newest.commit == seen.commit) {
            return self;
        }
        Self { earlier: self.newest.clone(), newest: Some(seen), lane, seen_at: Some(now), ..self }
    }

    /// The git refs that keep the seen commits, each with its commit.
    pub fn refs(&self) -> Vec<(String, &str)> {
        let name = |which: &str| format!("{REF_PREFIX}{}/{which}", self.id);
        let newest = self.newest.as_ref().map(|seen| (name("newest"), seen.commit.as_str()));
        let earlier = self.earlier.as_ref().map(|seen| (name("earlier"), seen.commit.as_str()));
        newest.into_iter().chain(earlier).collect()
    }
}

/// The git ref that keeps a commit on which the reviewer of the row `id` has commented.
pub fn commented_ref(id: i64, commit: &str) -> String {
    format!("{REF_PREFIX}{id}/commented/{commit}")
}

/// The commits that `reviewer` had seen of the task's work, or of other work in its lane, before seeing `commit`. The answer is
/// not changed by looking at `commit` again.
pub fn seen_before<'a>(
    all: &'a [SeenWork],
    (task, lane): (&TaskId, Option<&LaneName>),
    reviewer: &str,
    commit: &str,
) -> Vec<&'a SeenCommit> {
    let is_of_work = |seen: &&SeenWork| seen.task == *task || (lane.is_some() && seen.lane.as_ref() == lane);
    all.iter()
        .filter(|seen| is_same_claimant(&seen.reviewer, reviewer))
        .filter(is_of_work)
        .filter_map(|seen| match &seen.newest {
            Some(newest) if seen.task == *task && newest.commit == commit => seen.earlier.as_ref(),
            newest => newest.as_ref(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(commit: &str) -> SeenCommit {
        SeenCommit { commit: commit.into(), fork: "f".into() }
    }

    fn work(task: &str, reviewer: &str, commits: &[&str]) -> SeenWork {
        let (task, lane) = (TaskId::parse(task).unwrap(), LaneName::parse("ui").ok());
        let nothing = SeenWork::nothing(task, reviewer.into());
        commits.iter().fold(nothing, |work, commit| work.with(seen(commit), lane.clone(), Timestamp::from_millis(1)))
    }

    #[test]
    fn second_look_at_a_commit_is_compared_with_what_was_seen_before_the_first() {
        let (task, lane) = (TaskId::parse("T-1").unwrap(), LaneName::parse("ui").unwrap());
        let before = |all: &[SeenWork], reviewer: &str, commit: &str| -> Vec<String> {
            let found = seen_before(all, (&task, Some(&lane)), reviewer, commit);
            found.into_iter().map(|seen| seen.commit.clone()).collect()
        };
        let nothing = [""; 0];
        assert_eq!(before(&[], "ann", "a"), nothing);
        let once = [work("T-1", "ann", &["a"])];
        assert_eq!((before(&once, "ann", "a"), before(&once, "ann", "b")), (vec![], vec!["a".to_owned()]));
        let twice = [work("T-1", "ann@host#1f3a", &["a", "b", "b"])];
        assert_eq!(
            (before(&twice, "ann@host", "b"), before(&twice, "ann@host", "c")),
            (vec!["a".into()], vec!["b".into()])
        );
        assert_eq!(before(&twice, "ben@host", "c"), nothing);
        // Other work of the lane, and no work of another one.
        assert_eq!(before(&[work("T-2", "ann", &["a"])], "ann", "a"), ["a"]);
        let elsewhere = SeenWork { lane: LaneName::parse("api").ok(), ..work("T-2", "ann", &["a"]) };
        assert_eq!(before(&[elsewhere], "ann", "b"), nothing);
    }
}
