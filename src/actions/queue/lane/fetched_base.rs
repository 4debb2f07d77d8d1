//! The base of a new lane, fetched: where the store is shared, work starts from what all hosts have landed.

use std::time::Duration;

use anyhow::Result;

use crate::{
    actions::{App, core::inside_session},
    os::git::{Fetched, Git},
};

/// The time limit. A remote that does not answer holds no start up for long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Fetches the upstream of a base, if the base is shared. Returns a note when the remote did not answer: the lane starts from what
/// was fetched before. An agent fetches nothing: the remote may need a person's credentials.
pub(super) fn fetch(app: &App, base: &str) -> Result<Option<String>> {
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
