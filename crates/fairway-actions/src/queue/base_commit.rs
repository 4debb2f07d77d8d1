//! The commit of a base, as all hosts have it, and its fetch before a new lane starts from it.

use std::time::Duration;

use anyhow::Result;

use crate::App;
use crate::core::inside_session;
use fairway_core::os::git::{Fetched, Git, GitError};

/// Returns the commit at which new work on the branch `name` starts. In a project that shares its bases between hosts, this is
/// the commit of the branch's upstream as it was last fetched, unless the local branch contains that commit; otherwise the
/// local branch's own. Returns `None` for a branch that git does not know.
pub fn find(app: &App, git: &Git<'_>, name: &str) -> Result<Option<String>, GitError> {
    let shared = if app.settings.shares_base() { git.start_of(name)? } else { None };
    Ok(shared.or_else(|| git.commit(name)))
}

/// Returns an argument for git that names the commit of a base: the hash from [`find`] in a project that shares its bases
/// between hosts, otherwise, and when that fails, `name` itself.
pub fn revision(app: &App, git: &Git<'_>, name: &str) -> String {
    let shared = app.settings.shares_base().then(|| git.start_of(name).ok().flatten()).flatten();
    shared.unwrap_or_else(|| name.to_owned())
}

/// The time limit of a fetch, so that a remote without an answer does not delay a start for long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Fetches the upstream of `base` in a project that shares its bases between hosts. Returns a note when the remote did not
/// answer: the lane then starts from the commit that was fetched before. Inside a session it fetches nothing, because the
/// remote may need a person's credentials.
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
