//! The findings of `doctor`.

use super::string_enum::string_enum;

string_enum! {
    /// How much a finding matters.
    Severity {
        Error => "error",
        Warning => "warning",
        Note => "note",
    }
}

/// An observation about a project that a person should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub code: &'static str,
    pub severity: Severity,
    /// A sentence.
    pub message: String,
    /// The command that solves the problem; `None` where there is none.
    pub fix: Option<String>,
}

impl Finding {
    /// A finding without a command that solves the problem.
    pub const fn new(code: &'static str, severity: Severity, message: String) -> Self {
        Self { code, severity, message, fix: None }
    }

    /// Adds the command that solves the problem.
    #[must_use]
    pub fn with_fix(mut self, command: impl Into<String>) -> Self {
        self.fix = Some(command.into());
        self
    }
}

/// Whether there are no findings other than notes.
pub fn has_no_problems(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.severity == Severity::Note)
}
