//! The items that need a person, in their order: what asks, what is your turn, what is broken, what waits for others.

use super::string_enum::string_enum;

string_enum! {
    /// The kind of an item.
    NeedKind {
        /// A provider asks for a permission.
        Approval => "approval",
        /// An agent asks a question.
        Question => "question",
        /// The guard denies everything, or nothing calls it.
        Guard => "guard",
        /// The shell of an agent does not find `fairway`.
        Program => "program",
        /// A session has ended its turn, and its claimed task is not submitted.
        Unfinished => "unfinished",
        /// The turn of a session has shown nothing for long.
        Silent => "silent",
        /// A budget is nearly or completely used, or cannot hold.
        Budget => "budget",
        /// Every session with a task in progress is parked.
        Parked => "parked",
        /// The issue of a task was changed, and no person has looked at it.
        Issue => "issue",
        /// A submitted task waits for its end, or is unclaimed after a review sent it back.
        Review => "review",
        /// Another host is silent, and something is recorded as at work there.
        HostSilent => "host_silent",
        /// A dead session has claims.
        Dead => "dead",
        /// The program of a session works on without its supervisor.
        Orphan => "orphan",
        /// A session with claims is stale, and its death is not proven.
        Stale => "stale",
        /// The lease of a claim has expired.
        Lease => "lease",
        /// A landing sent work back, and it was not submitted again; or a base fails its own check, so that no work lands.
        Landing => "landing",
        /// A base and its upstream have gone apart.
        BaseDiverged => "base_diverged",
        /// The commits of a sandbox could not be taken back.
        TakeBack => "take_back",
        /// A job has failed.
        Job => "job",
        /// A submitted task has an unmet gate.
        Gate => "gate",
        /// A claimant has blocked its task.
        Blocked => "blocked",
        /// Two lanes conflict, or a lane conflicts with its base.
        Overlap => "overlap",
        /// A handoff has no live session that it is for.
        Handoff => "handoff",
        /// An agent has not read what was decided about its work.
        Decision => "decision",
        /// A person's message was not delivered.
        Prompt => "prompt",
        /// A lane has changed files that programs of the person run or read later, and no review has approved it.
        RunsLater => "runs_later",
        /// A program in a session's sandbox asked for a host that is closed.
        Host => "host",
        /// Tasks wait for work that another host has landed, and that is not here.
        LandingElsewhere => "landing_elsewhere",
    }
}

impl NeedKind {
    /// The place of the kind on the board; 0 comes first.
    pub fn rank(self) -> usize {
        Self::ALL.iter().position(|kind| *kind == self).unwrap_or(usize::MAX)
    }
}
