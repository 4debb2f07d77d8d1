//! Work that was sent back, and may break only together with what landed before it.

use super::unit::Unit;
use crate::domain::{
    TaskId,
    landing::{FailedLandCheck, Landing},
};

/// Work that was sent back because of a check, while sessions of what landed before it still run.
#[derive(Debug)]
pub(super) struct Suspect {
    pub(super) unit: Unit,
    /// The number of its landing.
    pub(super) landing: i64,
    pub(super) failed: FailedLandCheck,
    /// The check, as shell text.
    pub(super) command: String,
    /// The task whose check it is, if that is other work.
    pub(super) of_other: Option<TaskId>,
    /// What landed since it last had the base, newest first.
    pub(super) since: Vec<Landing>,
}
