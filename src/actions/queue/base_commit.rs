//! The commit of a base, as all hosts have it.

use crate::{
    actions::core::app::App,
    os::git::{Git, GitError},
};

/// The commit of a base, by its name: that which all hosts have landed, as it was last fetched, where the base is shared. `None` for
/// one that git does not know.
///
/// # Errors
/// `git_failed`.
pub fn find(app: &App, git: &Git<'_>, name: &str) -> Result<Option<String>, GitError> {
    let shared = if app.settings.shares_base() { git.start_of(name)? } else { None };
    Ok(shared.or_else(|| git.commit(name)))
}

/// What names the commit of a base in a call of git: as [`find`] where the base is shared, else the name.
pub fn revision(app: &App, git: &Git<'_>, name: &str) -> String {
    let shared = app.settings.shares_base().then(|| git.start_of(name).ok().flatten()).flatten();
    shared.unwrap_or_else(|| name.to_owned())
}
