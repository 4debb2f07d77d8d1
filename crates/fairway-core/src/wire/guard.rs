//! Decisions of the guard as documents.

use serde::Serialize;
use serde_json::Value;

use super::values::time;
use crate::env::Timestamp;
use crate::guard::Evaluation;

/// The decision on a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct GuardResultView {
    /// Whether the call may be made.
    pub allowed: bool,
    /// Why.
    pub reason: String,
    /// The rule that decided; null when none did.
    pub rule: Option<String>,
}

/// A decision from the log.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LoggedDecisionView {
    /// Its number.
    pub id: i64,
    /// When it was made.
    pub at: Option<String>,
    /// Where the call came from, such as `hook` or `api`.
    #[serde(rename = "door")]
    pub entry_point: String,
    /// The session that made the call.
    pub session_id: Option<String>,
    /// The run of that session.
    pub run_id: Option<String>,
    /// The role by which the call was judged.
    pub role: Option<String>,
    /// The tool.
    pub tool: String,
    /// The tool's input, masked and shortened.
    pub input: Value,
    /// Whether the call was allowed.
    pub allowed: bool,
    /// The rule that decided; null when none did.
    pub rule: Option<String>,
    /// Why.
    pub reason: String,
    /// Particulars that the caller gave.
    pub context: Value,
}

impl LoggedDecisionView {
    pub fn time(at: Timestamp) -> Option<String> {
        time(Some(at))
    }
}

/// A rule that looked at a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RuleTraceView {
    /// The rule's name.
    pub rule: String,
    /// Whether it means the call.
    pub matched: bool,
    /// Why, or why not.
    pub why: String,
}

/// How a decision came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct EvaluationView {
    /// Whether the call may be made.
    pub allowed: bool,
    /// Why.
    pub reason: String,
    /// The rule that decided; null when none did.
    pub rule: Option<String>,
    /// Each simple command that was found.
    pub commands: Vec<String>,
    /// The parts of the text that cannot be determined.
    pub doubts: Vec<String>,
    /// Each rule that looked at the call.
    pub rules: Vec<RuleTraceView>,
}

impl From<&Evaluation> for EvaluationView {
    fn from(judgement: &Evaluation) -> Self {
        let look = |look: &crate::guard::RuleTrace| RuleTraceView {
            rule: look.rule.clone(),
            matched: look.matched,
            why: look.why.clone(),
        };
        Self {
            allowed: judgement.allowed,
            reason: judgement.reason.clone(),
            rule: judgement.rule.clone(),
            commands: judgement.commands.clone(),
            doubts: judgement.unresolved.clone(),
            rules: judgement.traces.iter().map(look).collect(),
        }
    }
}
