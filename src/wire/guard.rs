//! Decisions of the guard as documents.

use serde::Serialize;
use serde_json::Value;

use super::values::time;
use crate::env::Timestamp;
use crate::guard::Evaluation;

/// The decision on a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "documented at `actions::guard::Verdict`")]
pub struct GuardResultView {
    pub allowed: bool,
    pub reason: String,
    pub rule: Option<String>,
}

/// A decision from the log.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "documented at `store::guard_decisions::Decision`")]
pub struct LoggedDecisionView {
    pub id: i64,
    pub at: Option<String>,
    #[serde(rename = "door")]
    pub entry_point: String,
    pub session_id: Option<String>,
    pub run_id: Option<String>,
    pub role: Option<String>,
    pub tool: String,
    pub input: Value,
    pub allowed: bool,
    pub rule: Option<String>,
    pub reason: String,
    pub context: Value,
}

impl LoggedDecisionView {
    /// When it was made, as text.
    #[must_use]
    pub fn time(at: Timestamp) -> Option<String> {
        time(Some(at))
    }
}

/// A rule that looked at a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "documented at `domain::rules::guard::Look`")]
pub struct RuleTraceView {
    pub rule: String,
    pub matched: bool,
    pub why: String,
}

/// How a decision came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "documented at `domain::rules::guard::Judgement`")]
pub struct EvaluationView {
    pub allowed: bool,
    pub reason: String,
    pub rule: Option<String>,
    pub commands: Vec<String>,
    pub doubts: Vec<String>,
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
