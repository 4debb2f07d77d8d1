//! The task that a tool means when none is named: the one that the caller has claimed.

use anyhow::Result;

pub(super) use crate::actions::queue::task::claimed::all;
use crate::{
    actions::{App, queue::task::claimed},
    domain::TaskId,
};

/// The named task, else the only claimed one.
///
/// # Errors
/// `nothing_claimed`, `ambiguous`, an invalid id.
pub(super) fn or_only(app: &App, named: Option<&str>) -> Result<TaskId> {
    claimed::named_or_only(app, named.map(TaskId::parse).transpose()?, "the argument task:")
}
