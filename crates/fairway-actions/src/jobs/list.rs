//! Lists jobs.

use anyhow::Result;

use super::find;
use super::output::JobReader;
use crate::App;
use fairway_core::domain::RoutingKey;
use fairway_core::store::jobs;
use fairway_core::wire::JobView;

pub const DEFAULT_LIMIT: i64 = 50;

#[derive(Debug, Clone, Default)]
pub struct ListOptions {
    pub session: Option<RoutingKey>,
    /// Whether only jobs that are not final are listed.
    pub unfinished: bool,
    /// The maximum number of jobs; by default [`DEFAULT_LIMIT`].
    pub limit: Option<i64>,
}

pub fn list(app: &App, options: &ListOptions) -> Result<Vec<JobView>> {
    let limit = options.limit.unwrap_or(DEFAULT_LIMIT).max(0);
    let found = app.read(|tx| {
        let own = find::own_only(app, tx)?;
        if own.is_some() && options.session.is_some() && options.session != own {
            return Ok(Vec::new());
        }
        let session = own.as_ref().or(options.session.as_ref());
        if !options.unfinished {
            return Ok(jobs::newest(tx, session, limit)?);
        }
        let mut found = jobs::active(tx)?;
        found.extend(jobs::queued(tx, i64::MAX)?);
        found.retain(|job| session.is_none() || job.session.as_ref() == session);
        found.sort_by_key(|job| std::cmp::Reverse(job.seq));
        found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(found)
    })?;
    let mut reader = JobReader::new();
    Ok(found.iter().map(|job| reader.view(app, job)).collect())
}
