//! A gate report as a document.

use serde::Serialize;

use crate::domain::rules::gate::GateReport;

/// What `merge-ready` prints and a refused `done` carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateReportView {
    /// The task.
    pub task_id: String,
    /// Whether nothing stands in the way.
    pub ready: bool,
    /// What stands in the way.
    pub blockers: Vec<BlockerView>,
}

/// One thing that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BlockerView {
    /// Its code.
    pub code: String,
    /// A sentence.
    pub message: String,
    /// The command that would clear it.
    pub fix: String,
}

impl From<&GateReport> for GateReportView {
    fn from(report: &GateReport) -> Self {
        Self {
            task_id: report.task.to_string(),
            ready: report.is_ready(),
            blockers: report
                .blockers
                .iter()
                .map(|one| BlockerView { code: one.code.into(), message: one.message.clone(), fix: one.fix.clone() })
                .collect(),
        }
    }
}
