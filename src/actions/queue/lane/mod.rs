//! Lanes: add, edit, list, open, pause, close and remove them, and work with their worktrees.

pub mod add;
pub mod bring_here;
pub(crate) mod checkout;
pub mod close;
pub mod copies;
pub mod diff;
pub mod edit;
pub(in crate::actions) mod gaps;
pub mod list;
pub mod named;
pub(in crate::actions) mod prune;
pub(in crate::actions) mod removal;
pub(in crate::actions) mod remove_landed;
pub mod repair;
pub mod rm;
pub mod setup;
pub mod status;
pub mod sync;
pub(crate) mod sync_intent;
pub mod trim;
pub mod walkers;
pub(in crate::actions) mod work;
pub(crate) mod worktree;

pub use self::edit::LanePatch;
