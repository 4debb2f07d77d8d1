//! Protection of the store from commands that change or remove every file of a tree: snapshots outside of the tree, by writes,
//! and a shield from git's cleaners, by the commands that run now and then (`session reconcile`, `session launch` and `serve`).

use super::git_shield;
use crate::{
    actions::App,
    store::{
        StoreError,
        snapshots::{self, When},
    },
};

/// Shields the state directory from git's cleaners, writes an idle log back, and makes a snapshot of the store if one is
/// due. The answer is a warning for the caller, and only for a damaged store: a snapshot that cannot be made, as in a
/// sandbox that may not write there, fails no command.
pub fn keep_safe(app: &App) -> Option<String> {
    git_shield::install(&app.project);
    let outside = app.project.outside_dir()?;
    let store = app.store_for_reading().ok()?;
    // A log that cannot be written back now is written back later.
    let _ = snapshots::write_back_idle_log(store);
    match snapshots::make(store, &outside, app.env.now(), When::Due) {
        Err(error @ (StoreError::Damaged { .. } | StoreError::Lost { .. })) => {
            Some(format!("warning: no snapshot was made: {error}; check the store: fairway doctor"))
        }
        _ => None,
    }
}
