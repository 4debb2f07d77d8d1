//! Protection of the store from commands that change or remove every file of a tree. Only the commands that run now and
//! then do it: `session reconcile`, `session launch` and `serve`.

use super::git_shield;
use crate::{
    actions::App,
    store::{StoreError, snapshots},
};

/// Shields the state directory from git's cleaners, and makes a snapshot of the store if one is due. The answer is a warning
/// for the caller, and only for a damaged store: a snapshot that cannot be made, as in a sandbox that may not write there,
/// fails no command.
#[must_use]
pub fn keep_safe(app: &App) -> Option<String> {
    git_shield::install(&app.project);
    let outside = app.project.outside_dir()?;
    let store = app.store_for_reading().ok()?;
    match snapshots::make_if_due(store, &outside, app.env.now()) {
        Err(error @ (StoreError::Damaged { .. } | StoreError::Lost { .. })) => {
            Some(format!("warning: no snapshot was made: {error}; check the store: fairway doctor"))
        }
        _ => None,
    }
}
