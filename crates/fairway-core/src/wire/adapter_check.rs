//! The results of `adapter check` as a document.

use serde::Serialize;

/// A script and how it keeps to the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AdapterCheckView {
    /// The script's file.
    pub script: String,
    /// Whether nothing failed.
    pub passed: bool,
    /// Every operation that was looked at, in the order of the protocol.
    pub operations: Vec<OperationCheckView>,
}

/// An operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OperationCheckView {
    /// Its name; `unknown` stands for every name that is none.
    pub operation: &'static str,
    /// The result of all its probes.
    pub verdict: ProbeOutcome,
    /// The probes; empty when the operation is not supported.
    pub probes: Vec<ProbeView>,
}

/// Something that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ProbeView {
    /// The rule that should hold.
    pub what: &'static str,
    /// Whether it does.
    pub verdict: ProbeOutcome,
    /// The expected answer, when the rule does not hold.
    pub expected: Option<String>,
    /// The answer, when the rule does not hold.
    pub seen: Option<String>,
    /// How long the look took.
    pub duration_ms: u64,
}

/// The result of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProbeOutcome {
    /// As it should be.
    Pass,
    /// Not as it should be.
    Fail,
    /// The script says that it does not know this, as it may.
    NotSupported,
}

impl ProbeOutcome {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::NotSupported => "not supported",
        }
    }
}
