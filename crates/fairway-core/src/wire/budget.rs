//! Budgets as documents.

use serde::Serialize;

use crate::domain::budget::{Budget, BudgetKind, BudgetState};

/// A budget, and what is used of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BudgetView {
    /// Its subject.
    pub kind: BudgetKind,
    /// The id of the task or session, or the date (UTC).
    pub of: String,
    /// The cap, such as `5.00 USD` or `2M tokens`.
    pub cap: String,
    /// The used amount, as far as it is known.
    pub used: String,
    /// The used share in percent.
    pub percent: i64,
    /// How much is used.
    pub state: BudgetState,
    /// How many turns were reported.
    pub turns: i64,
    /// How many of them do not tell their cost.
    pub turns_without_cost: i64,
}

impl From<&Budget> for BudgetView {
    fn from(budget: &Budget) -> Self {
        Self {
            kind: budget.kind,
            of: budget.of.clone(),
            cap: budget.cap.to_string(),
            used: budget.used().to_string(),
            percent: budget.percent(),
            state: budget.state(),
            turns: budget.used.turns,
            turns_without_cost: budget.used.turns_without_cost,
        }
    }
}
