//! The work of a lane: the commit that is checked out in its worktree, whatever its branch is called, beside the branch that
//! the lane has recorded.

use std::fmt;

/// The commit that is checked out in a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub commit: String,
    /// Its branch; `None` for a detached HEAD.
    pub branch: Option<String>,
}

/// How that which is checked out stands to the recorded branch. The first three are no obstacle to a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkState {
    OnBranch,
    OtherBranch(String),
    Detached,
    /// The recorded branch does not exist, and no other one is checked out.
    BranchGone,
    /// A rebase, merge, cherry-pick, revert or bisect has stopped in the middle.
    Unfinished(String),
    /// The worktree is none of the project's repository, for this reason.
    Damaged(String),
}

/// The work of a lane, or of a task without one, as git has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaneWork {
    /// The directory of the worktree; `None` when there is none on this host.
    pub worktree: Option<String>,
    /// The recorded branch.
    pub branch: Option<String>,
    pub base: String,
    /// `None` without a worktree, and before the first commit.
    pub head: Option<Head>,
    /// The commit of the recorded branch; `None` when that is gone.
    pub tip: Option<String>,
    pub operation: Option<&'static str>,
    pub damage: Option<String>,
}

impl WorkState {
    /// Says where the work is as a clause whose subject is the lane, such as `works on feature/x`; `None` for the recorded
    /// branch.
    pub fn clause(&self) -> Option<String> {
        Some(match self {
            Self::OnBranch => return None,
            Self::OtherBranch(on) => format!("works on {on}"),
            Self::Detached => "works on no branch".to_owned(),
            Self::BranchGone => "works without its branch, which is gone".to_owned(),
            Self::Unfinished(operation) => format!("is in the middle of a {operation}"),
            Self::Damaged(why) => format!("is damaged: {why}"),
        })
    }

    /// Reads what [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (word, rest) = text.split_once(' ').map_or((text, None), |(word, rest)| (word, Some(rest.to_owned())));
        Some(match (word, rest) {
            ("on_branch", None) => Self::OnBranch,
            ("other_branch", Some(on)) => Self::OtherBranch(on),
            ("detached", None) => Self::Detached,
            ("branch_gone", None) => Self::BranchGone,
            ("unfinished", Some(operation)) => Self::Unfinished(operation),
            ("damaged", Some(why)) => Self::Damaged(why),
            _ => return None,
        })
    }
}

/// A word, and behind a blank the name or the reason.
impl fmt::Display for WorkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnBranch => f.write_str("on_branch"),
            Self::OtherBranch(on) => write!(f, "other_branch {on}"),
            Self::Detached => f.write_str("detached"),
            Self::BranchGone => f.write_str("branch_gone"),
            Self::Unfinished(operation) => write!(f, "unfinished {operation}"),
            Self::Damaged(why) => write!(f, "damaged {why}"),
        }
    }
}

impl LaneWork {
    /// The commit of the work: what is checked out; where the worktree is gone, the tip of the branch.
    pub fn commit(&self) -> Option<&str> {
        match (&self.head, &self.worktree) {
            (Some(head), _) => Some(&head.commit),
            (None, Some(_)) => None,
            (None, None) => self.tip.as_deref(),
        }
    }

    /// The branch of the work; `None` for a detached HEAD.
    pub fn on(&self) -> Option<&str> {
        match (&self.head, &self.worktree) {
            (Some(head), _) => head.branch.as_deref(),
            (None, Some(_)) => None,
            (None, None) => self.branch.as_deref().filter(|_| self.tip.is_some()),
        }
    }

    pub fn state(&self) -> WorkState {
        if let Some(why) = &self.damage {
            return WorkState::Damaged(why.clone());
        }
        if let Some(operation) = self.operation {
            return WorkState::Unfinished(operation.to_owned());
        }
        let is_gone = self.branch.is_some() && self.tip.is_none();
        match self.head.as_ref().map(|head| &head.branch) {
            Some(Some(on)) if self.branch.as_ref().is_some_and(|branch| branch != on) => {
                WorkState::OtherBranch(on.clone())
            }
            Some(Some(_)) => WorkState::OnBranch,
            _ if is_gone => WorkState::BranchGone,
            Some(None) => WorkState::Detached,
            None => WorkState::OnBranch,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(head: Option<(&str, Option<&str>)>, tip: Option<&str>) -> LaneWork {
        LaneWork {
            worktree: Some("/w".into()),
            branch: Some("lane/c".into()),
            base: "main".into(),
            head: head.map(|(commit, branch)| Head { commit: commit.into(), branch: branch.map(Into::into) }),
            tip: tip.map(Into::into),
            ..LaneWork::default()
        }
    }

    #[test]
    fn work_is_what_is_checked_out_and_only_without_a_worktree_the_tip() {
        let table = [
            (work(Some(("1", Some("lane/c"))), Some("1")), Some("1"), WorkState::OnBranch, None),
            (
                work(Some(("2", Some("feature/x"))), Some("1")),
                Some("2"),
                WorkState::OtherBranch("feature/x".into()),
                Some("works on feature/x"),
            ),
            (
                work(Some(("2", Some("renamed"))), None),
                Some("2"),
                WorkState::OtherBranch("renamed".into()),
                Some("works on renamed"),
            ),
            (work(Some(("2", None)), Some("1")), Some("2"), WorkState::Detached, Some("works on no branch")),
            (
                work(Some(("2", None)), None),
                Some("2"),
                WorkState::BranchGone,
                Some("works without its branch, which is gone"),
            ),
            (work(None, None), None, WorkState::BranchGone, Some("works without its branch, which is gone")),
            (
                LaneWork { operation: Some("rebase"), ..work(Some(("2", None)), Some("1")) },
                Some("2"),
                WorkState::Unfinished("rebase".into()),
                Some("is in the middle of a rebase"),
            ),
            (LaneWork { worktree: None, ..work(None, Some("1")) }, Some("1"), WorkState::OnBranch, None),
        ];
        for (work, commit, state, clause) in table {
            assert_eq!(WorkState::parse(&state.to_string()).as_ref(), Some(&state));
            let found = work.state();
            assert_eq!((work.commit(), found.clause().as_deref(), found), (commit, clause, state), "{work:?}");
        }
    }
}
