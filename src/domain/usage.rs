//! What a model's work used, as the one who did it reports it.

use crate::env::Timestamp;

/// What an answer of a model used. The four kinds of tokens do not overlap: their sum is what went in and came out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usage {
    /// The model, by the name that its provider gives it.
    pub model: Option<String>,
    /// Tokens read that no cache had.
    pub input_tokens: u64,
    /// Tokens written, thoughts included.
    pub output_tokens: u64,
    /// Tokens read from a cache.
    pub cache_read_tokens: u64,
    /// Tokens read that went into a cache.
    pub cache_creation_tokens: u64,
    /// What it cost in US dollars; `None` where the source does not say. Nothing is calculated from prices.
    pub cost_usd: Option<f64>,
}

/// A tool that was used in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    /// The tool's name.
    pub name: String,
    /// Whether it worked; `None` where the source does not say.
    pub success: Option<bool>,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<u64>,
}

/// A turn, or one answer of the model in it: whatever the source counts by.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// When it was over.
    pub at: Timestamp,
    /// What the source itself calls it. Two turns of one run with the same key are the same turn, whatever else they say:
    /// some sources write one answer on several lines, at several times.
    pub key: Option<String>,
    /// What it used.
    pub usage: Option<Usage>,
    /// The tools in it.
    pub tools: Vec<ToolUse>,
}
