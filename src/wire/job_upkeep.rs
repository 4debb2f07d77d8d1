//! The upkeep of jobs as documents: what was removed, and what a worker did.

use serde::Serialize;

/// The answer to `exec rm`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RemovedJobsView {
    /// The ids of the jobs.
    pub removed: Vec<String>,
}

/// The answer to `exec gc`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JobGcView {
    /// Whether nothing was removed because of `--dry-run`.
    pub dry_run: bool,
    /// The ids of the jobs that were removed, or would be.
    pub removed: Vec<String>,
    /// The freed bytes; in a dry run the upper limit.
    pub bytes: u64,
}

/// The answer to `exec worker`, at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JobWorkerView {
    /// Whether another worker runs, so that this one did nothing.
    pub busy: bool,
    /// The number of jobs that it started.
    pub begun: usize,
    /// The jobs of dead supervisors that it settled.
    pub runs_recovered: Vec<SettledJobView>,
}

/// A job of a dead supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SettledJobView {
    /// Its id.
    pub run_id: String,
    /// Its status now.
    #[cfg_attr(test, schemars(with = "crate::domain::job::JobStatus"))]
    pub status: &'static str,
    /// Why.
    pub reason: String,
}
