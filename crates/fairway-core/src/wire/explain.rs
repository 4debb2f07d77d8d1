//! Why something is as it is, as a document.

use serde::Serialize;

use crate::env::Timestamp;

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FactView {
    /// The subject.
    pub code: String,
    /// A sentence.
    pub message: String,
    /// Where it is known from.
    pub source: String,
    /// Since when it is so, where that is known.
    pub at: Option<String>,
    /// How old it is, in milliseconds.
    pub age_ms: Option<u64>,
}

/// The facts about a task or session, the most telling first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ExplainView {
    /// task or session.
    pub noun: &'static str,
    /// Its id.
    pub id: String,
    /// Its status.
    pub status: &'static str,
    /// The facts.
    pub facts: Vec<FactView>,
    #[serde(skip)]
    now: Timestamp,
}

impl ExplainView {
    /// Creates a view without facts. The age of each fact that is added later is measured at `now`.
    pub fn new(noun: &'static str, id: impl ToString, status: &'static str, now: Timestamp) -> Self {
        Self { noun, id: id.to_string(), status, facts: Vec::new(), now }
    }

    /// Adds a fact that has been true since `at`, or since an unknown time for `None`.
    pub fn fact(
        &mut self,
        code: impl Into<String>,
        message: impl Into<String>,
        source: impl Into<String>,
        at: Option<Timestamp>,
    ) {
        let age_ms = at.map(|at| u64::try_from(self.now.since(at).as_millis()).unwrap_or(u64::MAX));
        self.facts.push(FactView {
            code: code.into(),
            message: message.into(),
            source: source.into(),
            at: super::values::time(at),
            age_ms,
        });
    }
}
