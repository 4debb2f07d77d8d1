//! The commit of a base, as all hosts have it.

use std::time::Duration;

use anyhow::Result;

use crate::{
    actions::{App, core::inside_session},
    os::git::{Fetched, Git, GitError},
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

/// The time limit. A remote that does not answer holds no start up for long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Fetches the upstream of a base, if the base is shared. Returns a note when the remote did not answer: the lane starts from what
/// was fetched before. An agent fetches nothing: the remote may need a person's credentials.
pub(crate) fn fetch(app: &App, base: &str) -> Result<Option<String>> {
    if !app.settings.shares_base() || inside_session::is_inside(app) {
        return Ok(None);
    }
    let git = Git::new(app.env.vars(), &app.project.root);
    let Some(upstream) = git.upstream(base)? else { return Ok(None) };
    Ok(match git.fetch_upstream(&upstream, TIMEOUT)? {
        Fetched::Done | Fetched::NoBranch => None,
        Fetched::Failed(why) => {
            Some(format!("{} was not fetched, so the lane starts from what was fetched before: {why}", upstream.name()))
        }
    })
}
