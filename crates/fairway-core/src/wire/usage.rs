//! The usage of turns, added up, as a document.

use serde::Serialize;

use crate::domain::rules::task_times::TaskNumbers;
use crate::domain::usage::UsageBy;

/// The sums.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct UsageView {
    /// By what they are added up.
    pub by: UsageBy,
    /// Since when.
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "date-time")))]
    pub since: Option<String>,
    /// A row for each; days in their order, everything else by what it used.
    pub rows: Vec<UsageRowView>,
    /// All of it.
    pub total: UsageRowView,
}

/// What turns cost, as far as that is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CostView {
    /// The cost of those turns that state it, in US dollars; null when none does.
    pub cost_usd: Option<f64>,
    /// How many turns do not say it.
    pub turns_without_cost: i64,
}

impl CostView {
    /// The known cost in a few characters; a plus says that some turns did not state theirs: `$0.06+`. `None` when none is known.
    pub fn short(&self) -> Option<String> {
        let more = if self.turns_without_cost > 0 { "+" } else { "" };
        self.cost_usd.map(|cost| format!("${cost:.2}{more}"))
    }
}

/// A row.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct UsageRowView {
    /// The common key of its turns; null for those without one, and in the total.
    pub key: Option<String>,
    /// How many turns.
    pub turns: i64,
    /// Tokens that were read anew.
    pub input_tokens: i64,
    /// Tokens that were written.
    pub output_tokens: i64,
    /// Tokens that came from the provider's cache.
    pub cache_read_tokens: i64,
    /// Tokens that went into it.
    pub cache_creation_tokens: i64,
    /// The cost of those turns that state it, in US dollars; null when none does.
    pub cost_usd: Option<f64>,
    /// How many turns do not say it.
    pub turns_without_cost: i64,
    /// How many calls of tools.
    pub tools: i64,
    /// How many of them failed.
    pub tool_failures: i64,
    /// The tasks of the day; only by day.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(with = "TaskNumbersView"))]
    pub tasks: Option<TaskNumbersView>,
}

/// Tasks that were claimed and done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TaskNumbersView {
    /// How many tasks were claimed; several claims of one task on a day count once.
    pub claimed: usize,
    /// How many times a task was done.
    pub done: usize,
    /// Over the tasks that were done, since they were added or reopened; null when there are none.
    pub median_seconds: Option<TaskMediansView>,
}

/// Medians of times, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TaskMediansView {
    /// From the first claim until it was done.
    pub claim_to_done: i64,
    /// In the state todo.
    pub todo: i64,
    /// In the state `in_progress`.
    pub in_progress: i64,
    /// In the state blocked.
    pub blocked: i64,
    /// In the state review.
    pub review: i64,
}

impl From<&TaskNumbers> for TaskNumbersView {
    fn from(numbers: &TaskNumbers) -> Self {
        let median_seconds = numbers.medians().map(|medians| TaskMediansView {
            claim_to_done: medians.claim_to_done,
            todo: medians.todo,
            in_progress: medians.in_progress,
            blocked: medians.blocked,
            review: medians.review,
        });
        Self { claimed: numbers.claimed(), done: numbers.done(), median_seconds }
    }
}

impl UsageRowView {
    /// The sum of input, output and cache tokens.
    pub const fn tokens(&self) -> i64 {
        self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_creation_tokens
    }

    /// Adds another row's numbers to this row. The cost stays unknown only when neither row has one.
    pub fn add(&mut self, other: &Self) {
        self.turns += other.turns;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cache_read_tokens += other.cache_read_tokens;
        self.cache_creation_tokens += other.cache_creation_tokens;
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (None, cost) | (cost, None) => cost,
            (Some(one), Some(more)) => Some(one + more),
        };
        self.turns_without_cost += other.turns_without_cost;
        self.tools += other.tools;
        self.tool_failures += other.tool_failures;
    }
}
