//! Listing runs.

use anyhow::Result;

use super::view::JobReader;
use crate::{actions::App, domain::SessionId, store::jobs, wire::JobView};

/// How many are listed when nobody says.
pub const DEFAULT_LIMIT: i64 = 50;

/// Which runs.
#[derive(Debug, Clone, Default)]
pub struct ListOptions {
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only those that are not final.
    pub unfinished: bool,
    /// At most so many; by default [`USUAL`].
    pub limit: Option<i64>,
}

/// The runs, the newest first.
///
/// # Errors
/// As the store fails.
pub fn list(app: &App, order: &ListOptions) -> Result<Vec<JobView>> {
    let limit = order.limit.unwrap_or(DEFAULT_LIMIT).max(0);
    let found = app.read(|tx| {
        if !order.unfinished {
            return Ok(jobs::newest(tx, order.session.as_ref(), limit)?);
        }
        let mut found = jobs::active(tx)?;
        found.extend(jobs::queued(tx, i64::MAX)?);
        found.retain(|job| order.session.is_none() || job.session == order.session);
        found.sort_by_key(|job| std::cmp::Reverse(job.seq));
        found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(found)
    })?;
    let mut looker = JobReader::new();
    Ok(found.iter().map(|job| looker.view(app, job)).collect())
}
