//! Fairway's hooks in the providers' settings: `hook install` and `hook uninstall`. All other bytes of those files are kept, and
//! uninstalling restores the file as it was.

mod change;
mod edit;
mod entries;
mod installed_limit;
mod json_edit;
mod loadable;
pub mod plugin;
mod settings_file;
#[cfg(test)]
mod tests;

pub use change::{Change, has_worktree_hooks, install, own_hook_matcher, unified_diff, uninstall};
pub use edit::{InstalledHook, find_hooks};
pub(in crate::hooks) use entries::shell_command;
pub use entries::{DEFAULT_APPROVAL_WAIT, Entry, LONGEST_APPROVAL_WAIT, argv, entries, launch_entries, own_program};
pub use installed_limit::{longest_approval_wait, outdated_wait};
pub use loadable::{load, manual_steps, switched_off};
pub use settings_file::{SettingsFile, Target};
