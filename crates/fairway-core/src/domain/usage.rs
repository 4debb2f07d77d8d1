//! The usage of a model, as its runtime reports it.

use super::Refusal;
use super::string_enum::string_enum;
use crate::env::Timestamp;

/// The largest plausible number of tokens of one kind in one turn.
pub const MAX_TOKENS: u64 = 10_000_000_000;
/// The highest plausible cost of one turn, in US dollars.
pub const MAX_COST_USD: f64 = 1_000_000.0;
/// The longest plausible duration of one tool call, in milliseconds: a year.
pub const MAX_TOOL_DURATION_MS: u64 = 366 * 24 * 60 * 60 * 1000;
/// The longest name of a tool or model, and the longest key of a turn or call, in bytes.
pub const MAX_NAME_BYTES: usize = 256;
/// The most turns in one report, and the most calls in one turn.
pub const MAX_REPORTED_ITEMS: usize = 10_000;
/// The latest plausible time at which a turn ended: the end of the year 9999.
const MAX_TIMESTAMP_MS: i64 = 253_402_300_799_999;

string_enum! {
    /// The property by which usage is grouped.
    UsageBy {
        Session => "session",
        Lane => "lane",
        Task => "task",
        Role => "role",
        Model => "model",
        Day => "day",
    }
}

string_enum! {
    /// What an agent counts in its answer to a prompt.
    UsageScope {
        Turn => "turn",
        /// Everything since the agent's start.
        Process => "process",
        /// Everything since the conversation's beginning, in earlier processes too.
        Conversation => "conversation",
    }
}

/// The usage of a model's answer. The four kinds of tokens do not overlap: their sum is all input and output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usage {
    /// The model, by the name that its provider gives it.
    pub model: Option<String>,
    /// Tokens read that did not come from a cache.
    pub input_tokens: u64,
    /// Tokens written, thoughts included.
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    /// Tokens read that were written to a cache.
    pub cache_creation_tokens: u64,
    /// The cost in US dollars; `None` where the source does not say. Nothing is calculated from prices.
    pub cost_usd: Option<f64>,
}

/// A tool that was used in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    /// The key of this call at its source: two reports with the same key are one call.
    pub key: Option<String>,
    pub name: String,
    /// Whether it worked; `None` where the source does not say.
    pub success: Option<bool>,
    pub duration_ms: Option<u64>,
}

/// A turn, or one answer of the model in it, depending on what the source counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub at: Timestamp,
    /// The source's own key. Two turns of one run with the same key are the same turn, whatever else they say: some sources
    /// write one answer on several lines, at several times.
    pub key: Option<String>,
    /// The usage; `None` when the source reports only tool calls, so that no turn is counted.
    pub usage: Option<Usage>,
    pub tools: Vec<ToolUse>,
}

impl Turn {
    /// Checks every number and name of a turn; `place` is the turn's number in the report.
    /// Fails with [`Refusal::Invalid`] naming the field and the place.
    pub fn check(&self, place: usize) -> Result<(), Refusal> {
        if !(0..=MAX_TIMESTAMP_MS).contains(&self.at.millis()) {
            return Err(invalid("timestamp", place, "is not between the years 1970 and 9999"));
        }
        check_name("key", place, self.key.as_deref())?;
        if let Some(usage) = &self.usage {
            check_name("model", place, usage.model.as_deref())?;
            for (what, tokens) in [
                ("input_tokens", usage.input_tokens),
                ("output_tokens", usage.output_tokens),
                ("cache_read_tokens", usage.cache_read_tokens),
                ("cache_creation_tokens", usage.cache_creation_tokens),
            ] {
                if tokens > MAX_TOKENS {
                    return Err(invalid(what, place, &format!("is {tokens}, which no turn uses")));
                }
            }
            if let Some(cost) = usage.cost_usd.filter(|cost| !(0.0..=MAX_COST_USD).contains(cost)) {
                return Err(invalid("cost_usd", place, &format!("is {cost}, which no turn costs")));
            }
        }
        if self.tools.len() > MAX_REPORTED_ITEMS {
            return Err(invalid("tools_called", place, &format!("holds more than {MAX_REPORTED_ITEMS} calls")));
        }
        for tool in &self.tools {
            check_name("key", place, tool.key.as_deref())?;
            check_name("name", place, Some(&tool.name))?;
            if let Some(span) = tool.duration_ms.filter(|span| *span > MAX_TOOL_DURATION_MS) {
                return Err(invalid("duration_ms", place, &format!("is {span}, which no call takes")));
            }
        }
        Ok(())
    }
}

fn invalid(what: &'static str, place: usize, why: &str) -> Refusal {
    Refusal::invalid(what, format!("of events[{place}] {why}"))
}

fn check_name(what: &'static str, place: usize, text: Option<&str>) -> Result<(), Refusal> {
    match text {
        Some(text) if text.trim().is_empty() => Err(invalid(what, place, "must not be empty")),
        Some(text) if text.len() > MAX_NAME_BYTES => {
            Err(invalid(what, place, &format!("is longer than {MAX_NAME_BYTES} bytes")))
        }
        Some(text) if text.contains(char::is_control) => Err(invalid(what, place, "holds a control character")),
        _ => Ok(()),
    }
}

/// The content of a part of the provider's transcript of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TranscriptSlice {
    /// The answers of the model, in order.
    pub turns: Vec<Turn>,
    /// How far the transcript was read, in bytes: the next reading begins there.
    pub offset: u64,
    /// How many tokens the newest answer read and wrote in all; `None` when no answer was read.
    pub context_tokens: Option<u64>,
    /// How many tokens fit into the context, if the transcript says so.
    pub context_window: Option<u64>,
    /// Whether the agent was working at the end of the part; `None` when the part does not show it.
    pub is_busy: Option<bool>,
    /// Whether the agent's shell finds `fairway`, by its last call; `None` when the part does not show it.
    pub finds_program: Option<bool>,
}

impl TranscriptSlice {
    /// Adds an agent's answer as a turn. It replaces an earlier answer with the same key, because a provider may write one answer
    /// again with more in it. An answer with impossible numbers is ignored.
    pub fn add(&mut self, turn: Turn) {
        if turn.check(0).is_err() {
            return;
        }
        match self.turns.iter_mut().rev().find(|known| turn.key.is_some() && known.key == turn.key) {
            Some(known) => *known = turn,
            None => self.turns.push(turn),
        }
    }

    /// How full the context is, from 0 to 1; `None` when one of the numbers is unknown.
    pub fn context_share(&self) -> Option<f64> {
        let (tokens, window) = (self.context_tokens?, self.context_window.filter(|window| *window > 0)?);
        let exact = |tokens: u64| u32::try_from(tokens).ok().map(f64::from);
        Some((exact(tokens)? / exact(window)?).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn() -> Turn {
        let tool = ToolUse { key: None, name: "Bash".into(), success: Some(true), duration_ms: Some(3) };
        Turn { key: None, at: Timestamp::from_millis(1), usage: Some(Usage::default()), tools: vec![tool] }
    }

    #[test]
    fn impossible_usage_is_refused_by_name_and_place() {
        type Spoil = fn(&mut Turn);
        let spoils: [(&str, Spoil); 10] = [
            ("timestamp", |turn| turn.at = Timestamp::from_millis(-1)),
            ("timestamp", |turn| turn.at = Timestamp::from_millis(i64::MAX)),
            ("key", |turn| turn.key = Some(String::new())),
            ("input_tokens", |turn| turn.usage = Some(Usage { input_tokens: u64::MAX, ..Usage::default() })),
            ("output_tokens", |turn| turn.usage = Some(Usage { output_tokens: MAX_TOKENS + 1, ..Usage::default() })),
            ("cost_usd", |turn| turn.usage = Some(Usage { cost_usd: Some(f64::NAN), ..Usage::default() })),
            ("cost_usd", |turn| turn.usage = Some(Usage { cost_usd: Some(-0.01), ..Usage::default() })),
            ("model", |turn| turn.usage = Some(Usage { model: Some("a\nb".into()), ..Usage::default() })),
            ("name", |turn| turn.tools[0].name = "x".repeat(257)),
            ("duration_ms", |turn| turn.tools[0].duration_ms = Some(u64::MAX)),
        ];
        assert_eq!(turn().check(0), Ok(()));
        for (what, spoil) in spoils {
            let mut turn = turn();
            spoil(&mut turn);
            let error = turn.check(7).unwrap_err();
            assert_eq!(error.code(), "invalid_value");
            assert!(error.to_string().starts_with(&format!("{what} of events[7] ")), "{error}");
        }
    }
}
