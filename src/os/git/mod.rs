//! The git program: called by argv with a fixed locale and a deadline. Programs that a repository's configuration names
//! (hooks, the fsmonitor) are switched off.

mod changed_lines;
mod command;
mod commits;
mod diff;
mod facts_cache;
mod ignored_files;
mod index_times;
mod integrate;
mod interdiff;
mod interrupted_checkout;
mod landing;
mod lane_clone;
mod large_files;
mod links;
mod merge_repository;
mod named_fifos;
mod network_programs;
mod own_configuration;
mod repository_facts;
mod scratch;
mod submodules;
mod take_back;
mod tree_edit;
mod uncommitted_work;
mod upstream;
mod worktree;
mod worktree_snapshot;

pub use changed_lines::{ChangedLines, ChangedPath};
pub use command::{Git, GitError, SESSION_GIT_HEAD, find_program};
pub use commits::EarlierCommit;
pub use diff::{ChangedFile, DiffFormat, WorktreeDiff};
pub use integrate::Integration;
pub use interdiff::{CommitChange, NewWork, RangeCommit};
pub use interrupted_checkout::{InterruptedCheckout, MoveState};
pub use landing::{CandidateMaker, CheckedOut, Committer, FastForward};
pub use lane_clone::{LaneClone, RefusedClone};
pub use merge_repository::{MergeOutcome, MergeRepository};
pub use repository_facts::{OLDEST_GIT, RepositoryFacts};
pub use scratch::Scratch;
pub use submodules::{SubmodulePointer, SubmoduleRefs};
pub use take_back::TakenBack;
pub use uncommitted_work::UncommittedWork;
pub use upstream::{Fetched, Upstream};
pub use worktree::{ListedWorktree, Repository};
pub use worktree_snapshot::{ChangedPart, KnownFork, SnapshotFailure, SnapshotRepository, WorktreeSnapshot};
