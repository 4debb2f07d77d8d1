//! The commit of a base, as all hosts have it, and its fetch before a new lane starts from it.

use std::time::Duration;

use anyhow::Result;

use crate::{
    actions::{App, core::inside_session},
    os::git::{Fetched, Git, GitError},
};

/// The commit of the branch `name` as all hosts have it: of a shared base, the one that was last fetched. Returns `None` for a
/// branch that git does not know.
pub fn find(app: &App, git: &Git<'_>, name: &str) -> Result<Option<String>, GitError> {
    let shared = if app.settings.shares_base() { git.start_of(name)? } else { None };
    Ok(shared.or_else(|| git.commit(name)))
}

/// A name for the commit of a base that git accepts as an argument: of a shared base the commit that [`find`] returns, else
/// `name`.
pub fn revision(app: &App, git: &Git<'_>, name: &str) -> String {
    let shared = app.settings.shares_base().then(|| git.start_of(name).ok().flatten()).flatten();
    shared.unwrap_or_else(|| name.to_owned())
}

/// The time limit of a fetch, so that a remote without an answer does not delay a start for long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Fetches the upstream of a shared base. Returns a note when the remote did not answer: the lane then starts from what
/// was fetched before. An agent fetches nothing, because the remote may need a person's credentials.
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
