//! What turns used, added up, as a document.

use serde::Serialize;

/// The sums.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsageView {
    /// By what they are added up.
    pub by: &'static str,
    /// Since when.
    pub since: Option<String>,
    /// A row for each; days in their order, everything else by what it used.
    pub rows: Vec<UsageRowView>,
    /// All of it.
    pub total: UsageRowView,
}

/// A row.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct UsageRowView {
    /// What its turns have in common; null for those without one, and in the total.
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
    /// What those turns cost that say it, in US dollars; null when none does.
    pub cost_usd: Option<f64>,
    /// How many turns do not say it.
    pub turns_without_cost: i64,
    /// How many calls of tools.
    pub tools: i64,
    /// How many of them failed.
    pub tool_failures: i64,
}

impl UsageRowView {
    /// How many tokens of every kind.
    #[must_use]
    pub const fn tokens(&self) -> i64 {
        self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_creation_tokens
    }

    /// Adds another row's numbers to this one's.
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
