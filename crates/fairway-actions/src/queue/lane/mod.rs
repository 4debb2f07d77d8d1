//! Lanes: add, edit, list, open, pause, close and remove them, and work with their worktrees.

pub mod add;
pub mod bring_here;
pub mod checkout;
pub mod close;
pub mod copies;
pub mod diff;
pub mod edit;
pub(crate) mod gaps;
pub mod list;
pub mod named;
pub mod of_agent;
pub(crate) mod prune;
pub(crate) mod removal;
pub(crate) mod remove_landed;
pub mod repair;
pub mod rm;
pub mod setup;
pub mod stack;
pub mod status;
pub mod sync;
pub(crate) mod sync_intent;
pub mod trim;
pub mod walkers;
pub(crate) mod work;
pub mod worktree;

pub use self::edit::LanePatch;
