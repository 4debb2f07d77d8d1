//! Finds a job by its id or a part of it.

use anyhow::Result;

use crate::App;
use crate::core::work_sandbox;
use fairway_core::domain::job::{Job, JobId};
use fairway_core::domain::{Refusal, RoutingKey};
use fairway_core::store::{ReadTx, jobs};

/// The minimum length of a partial id.
const MIN_ID_LEN: usize = 4;
/// The length of a short id: the last digits, which are random.
const SHORT_ID_LEN: usize = 8;

/// Like [`job`], for the acting session. A session in a sandbox finds its own jobs only.
///
/// # Errors
/// `not_found`, also for the job of another session; `ambiguous`.
pub fn of_actor(app: &App, tx: &ReadTx<'_>, text: &str) -> Result<Job> {
    let found = job(tx, text)?;
    match own_only(app, tx)? {
        Some(own) if found.session.as_ref() != Some(&own) => Err(unknown(text).into()),
        _ => Ok(found),
    }
}

/// The acting session when it is in a sandbox, where it may see only its own jobs; `None` for every other actor.
pub(super) fn own_only(app: &App, tx: &ReadTx<'_>) -> Result<Option<RoutingKey>> {
    let sandbox = work_sandbox::of_session(tx, app.actor.session.as_ref())?;
    Ok(app.actor.session.clone().filter(|_| sandbox.is_some()).map(Into::into))
}

fn unknown(text: &str) -> Refusal {
    let shown: String = text.chars().take(64).flat_map(char::escape_debug).collect();
    Refusal::NotFound { noun: "run", id: shown, near: Vec::new() }
}

/// The job with this id. `text` may also be a part that fits only one job: the end of its id, the beginning of its short id,
/// or, when no job has these, the beginning of its id.
///
/// # Errors
/// `not_found`, `ambiguous`.
pub fn job(tx: &ReadTx<'_>, text: &str) -> Result<Job> {
    let typed = text.to_ascii_lowercase();
    let is_part = (MIN_ID_LEN..=36).contains(&typed.len()) && typed.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    let mut found = match JobId::parse(text) {
        Ok(id) => jobs::find(tx, &id)?.into_iter().collect(),
        Err(_) if is_part => match typed.get(typed.len().saturating_sub(SHORT_ID_LEN)..) {
            Some(last) if typed.len() >= SHORT_ID_LEN => jobs::by_short_id(tx, last, &typed)?,
            _ => jobs::by_short_id(tx, &typed, "")?,
        },
        Err(_) => Vec::new(),
    };
    if found.is_empty() && is_part {
        found = jobs::by_prefix(tx, &typed)?;
    }
    match (found.pop(), found.is_empty()) {
        (Some(job), true) => Ok(job),
        (Some(last), false) => {
            let found = found.iter().chain([&last]).map(|job| job.id.to_string()).collect();
            Err(Refusal::Ambiguous { noun: "run", id: text.to_owned(), found }.into())
        }
        (None, _) => Err(unknown(text).into()),
    }
}
