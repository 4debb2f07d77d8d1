//! The document of `setup`.

use serde::Serialize;

use super::DoctorView;

/// The steps that `setup` did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SetupView {
    /// The project's root.
    pub root: String,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// One for each file.
    pub steps: Vec<SetupStepView>,
    /// The tasks that only a person can do.
    pub left: Vec<String>,
    /// The test of every hook.
    pub doctor: Option<DoctorView>,
    /// The command for the next step.
    pub next: String,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SetupStepView {
    /// Its subject.
    pub kind: &'static str,
    /// The file.
    pub file: String,
    /// Where the file is, when a link in the repository leads there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// `changed`, `would_change`, `unchanged` or `left`.
    pub status: &'static str,
    /// Why it is left as it is.
    pub why: Option<String>,
    /// The lines that are added at its end.
    pub text: Option<String>,
}
