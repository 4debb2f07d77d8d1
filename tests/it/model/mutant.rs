//! Deliberately wrong models: each must be caught.

/// One deliberate mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// A second claim wins too.
    TwoWinners,
    /// A claim keeps the epoch of the one before.
    EpochStays,
    /// Stealing needs an expired lease.
    StealWaits,
    /// An expired lease frees the task for nobody.
    LeaseForEver,
    /// A lease is over only a moment after its end.
    LeaseOneMore,
    /// Anybody releases.
    AnybodyReleases,
    /// An earlier claimant may go on writing.
    NoFence,
    /// A wrong token is ignored.
    TokenIgnored,
    /// Submit and block keep the lease.
    LeaseStays,
    /// A session's writes renew nothing.
    NoRenewal,
    /// A refused command is a sign of life all the same.
    RefusedCounts,
    /// A repeat is a conflict.
    RepeatFails,
    /// Reconcile gives the tasks of the stale back.
    ReconcileReleases,
    /// Reconcile marks them all when all are silent.
    NoBrake,
    /// Reconcile leaves a word each time.
    WordTwice,
    /// Reconcile leaves a word on a task that another holds.
    WordForOthers,
    /// A dry run writes.
    DryRunWrites,
    /// A heartbeat revives the dead.
    DeadRevive,
    /// A dead session claims.
    DeadClaim,
    /// A clock that steps back ages everything.
    BackwardsAges,
    /// A task whose dependencies are open can be claimed.
    DependenciesIgnored,
    /// A task that waited goes on waiting when what it waits for is done.
    DependencyForEver,
    /// A cancelled task counts as done for those that wait.
    CancelledSatisfies,
    /// Done needs no evidence.
    GateIgnored,
    /// Evidence from before the claim counts.
    OldEvidenceCounts,
    /// A later failure does not undo a pass.
    FailureForgotten,
    /// A failure undoes what passed in another kind.
    FailureOfAnyKind,
    /// The provider's word counts.
    ProviderCounts,
    /// A finished task keeps its holder's claim alive.
    DoneKeepsHolder,
    /// Anybody resumes.
    AnybodyResumes,
    /// The reviewer that asked for changes may not resume.
    OnlyHolderResumes,
    /// A resumed task goes to whoever resumed it.
    ResumeTakes,
    /// Submitting forgets the commit.
    CommitForgotten,
    /// A superseded session goes on recording.
    RecordsUnfenced,
    /// A person who lost the task may not record either.
    PersonsFenced,
    /// Accepting with the claim leaves it where it was.
    AcceptTakesNothing,
    /// Accepting without the claim takes it.
    AcceptTakes,
    /// A handoff of an older epoch moves the claim.
    OldHandoffMoves,
    /// A refused acceptance answers the handoff all the same.
    RefusedAnswers,
    /// A handoff can be answered again.
    AnsweredTwice,
    /// A handoff to another role can be answered.
    AnyRoleAnswers,
    /// The author of a handoff takes another's task by it.
    TheftByHandoff,
    /// Anybody withdraws.
    AnybodyWithdraws,
    /// A closed task can be handed over.
    ClosedHandedOver,
    /// A dead session takes a task by a handoff.
    DeadTakes,
    /// A living session's claim is continued.
    LivingContinued,
    /// A session outside of the lane continues.
    StrangerContinues,
    /// A blocked task or one in review is in progress once it is continued.
    ContinuedForgetsState,
    /// The evidence from before a continuation does not count.
    ContinuedForgetsEvidence,
    /// A handoff from before a continuation moves nothing.
    ContinuedForgetsHandoff,
    /// A bare claim leaves what a dead one of the lane holds.
    DeadPassedOver,
    /// A release leaves the task in the lane of the claim.
    LaneStays,
    /// A refusal does not stop the end of a task.
    RefusalIgnored,
    /// A reviewer's approval leaves their refusal in force.
    RefusalForEver,
    /// A refused task stays in review.
    RefusedWaits,
    /// A task may have two open offers.
    OfferedTwice,
}

impl Mutant {
    pub const ALL: &'static [Self] = &[
        Self::TwoWinners,
        Self::EpochStays,
        Self::StealWaits,
        Self::LeaseForEver,
        Self::LeaseOneMore,
        Self::AnybodyReleases,
        Self::NoFence,
        Self::TokenIgnored,
        Self::LeaseStays,
        Self::NoRenewal,
        Self::RefusedCounts,
        Self::RepeatFails,
        Self::ReconcileReleases,
        Self::NoBrake,
        Self::WordTwice,
        Self::WordForOthers,
        Self::DryRunWrites,
        Self::DeadRevive,
        Self::DeadClaim,
        Self::BackwardsAges,
        Self::DependenciesIgnored,
        Self::DependencyForEver,
        Self::CancelledSatisfies,
        Self::GateIgnored,
        Self::OldEvidenceCounts,
        Self::FailureForgotten,
        Self::FailureOfAnyKind,
        Self::ProviderCounts,
        Self::DoneKeepsHolder,
        Self::AnybodyResumes,
        Self::OnlyHolderResumes,
        Self::ResumeTakes,
        Self::CommitForgotten,
        Self::RecordsUnfenced,
        Self::PersonsFenced,
        Self::AcceptTakesNothing,
        Self::AcceptTakes,
        Self::OldHandoffMoves,
        Self::RefusedAnswers,
        Self::AnsweredTwice,
        Self::AnyRoleAnswers,
        Self::TheftByHandoff,
        Self::AnybodyWithdraws,
        Self::ClosedHandedOver,
        Self::DeadTakes,
        Self::LivingContinued,
        Self::StrangerContinues,
        Self::ContinuedForgetsState,
        Self::ContinuedForgetsEvidence,
        Self::ContinuedForgetsHandoff,
        Self::DeadPassedOver,
        Self::LaneStays,
        Self::RefusalIgnored,
        Self::RefusalForEver,
        Self::RefusedWaits,
        Self::OfferedTwice,
    ];
}
