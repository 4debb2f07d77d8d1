//! The findings of `doctor` as a document.

use serde::Serialize;

use crate::domain::finding::{self, Finding, Severity};

/// The document of `doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DoctorView {
    /// Whether nothing is wrong.
    pub ok: bool,
    /// The findings.
    pub findings: Vec<FindingView>,
}

/// One thing to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FindingView {
    /// Its code.
    pub code: &'static str,
    /// `error`, `warning` or `note`.
    pub severity: Severity,
    /// A sentence.
    pub message: String,
    /// The command that mends it.
    pub fix: Option<String>,
}

impl From<&[Finding]> for DoctorView {
    fn from(findings: &[Finding]) -> Self {
        Self {
            ok: finding::has_no_problems(findings),
            findings: findings
                .iter()
                .map(|one| FindingView {
                    code: one.code,
                    severity: one.severity,
                    message: one.message.clone(),
                    fix: one.fix.clone(),
                })
                .collect(),
        }
    }
}
