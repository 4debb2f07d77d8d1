//! Tokens that answer one item of the board once. A notification carries them, so that its reader needs no key of the page. Only
//! digests of tokens are known here.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Refusal;
use super::device::{digest, millis};
use super::secrets::constant_time_eq;
use super::string_enum::string_enum;
use crate::env::Timestamp;

/// How long a token is valid, while its item is open.
pub const TOKEN_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// How long an expired token stays known, so that its refusal can give the reason.
const KNOWN_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// The largest number of tokens; beyond it the oldest are dropped.
const MAX_TOKENS: usize = 512;

string_enum! {
    /// The actions of tokens. No token does anything else.
    AnswerAction { Allow => "allow", Deny => "deny", Answer => "answer" }
}

impl AnswerAction {
    /// The action that `command` performs on `item`; `None` when it is not one of the commands that a token may run for this
    /// item.
    pub fn of_command(item: &str, command: &str) -> Option<Self> {
        let words: Vec<&str> = command.split(' ').collect();
        match words[..] {
            ["fairway", "approvals", "answer", id, "allow"] if item.strip_prefix("approval:") == Some(id) => {
                Some(Self::Allow)
            }
            ["fairway", "approvals", "answer", id, "deny"] if item.strip_prefix("approval:") == Some(id) => {
                Some(Self::Deny)
            }
            ["fairway", "answer", id, "TEXT"] if item == id => Some(Self::Answer),
            _ => None,
        }
    }

    /// The text on the action's button.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Allow => "Allow",
            Self::Deny => "Deny",
            Self::Answer => "Answer",
        }
    }
}

/// A token as it is stored: without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerToken {
    /// The digest of the token.
    key: String,
    pub item: String,
    /// The digest of the item's text that the notification showed.
    shows: String,
    /// The command that the token runs, as the board names it.
    pub command: String,
    #[serde(with = "millis")]
    expires_at: Timestamp,
    /// Whether it, or another token of its item, was used.
    is_used: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerTokens {
    tokens: Vec<AnswerToken>,
}

impl AnswerToken {
    /// Makes a token that runs `command` about an item. It is valid for [`TOKEN_LIFETIME`], as long as the item still has the
    /// text `line`.
    pub fn new(token: &str, item: &str, line: &str, command: &str, now: Timestamp) -> Self {
        Self {
            key: digest(token),
            item: item.to_owned(),
            shows: digest(line),
            command: command.to_owned(),
            expires_at: now.plus(TOKEN_LIFETIME),
            is_used: false,
        }
    }

    /// Whether an item with this id and text is still the one that the notification showed to the person.
    pub fn is_of(&self, item: &str, line: &str) -> bool {
        self.item == item && self.shows == digest(line)
    }

    pub fn action(&self) -> Option<AnswerAction> {
        AnswerAction::of_command(&self.item, &self.command)
    }

    /// The refusal of a token that was used, or whose item was answered in another way.
    pub fn used(&self) -> Refusal {
        Refusal::TokenUsed { item: self.item.clone() }
    }
}

impl AnswerTokens {
    /// Adds tokens. Drops tokens that expired more than 24 hours ago, and the oldest ones beyond 512.
    pub fn add(&mut self, new: Vec<AnswerToken>, now: Timestamp) {
        self.tokens.retain(|token| token.expires_at.plus(KNOWN_FOR) > now);
        self.tokens.extend(new);
        let surplus = self.tokens.len().saturating_sub(MAX_TOKENS);
        self.tokens.drain(..surplus);
    }

    /// Finds the valid token with this text.
    /// Fails with `token_unknown`, `token_used`, `token_expired`.
    pub fn find(&self, token: &str, now: Timestamp) -> Result<&AnswerToken, Refusal> {
        let key = digest(token);
        let is_same = |known: &AnswerToken| constant_time_eq(known.key.as_bytes(), key.as_bytes());
        // All are compared: the time says nothing about a place.
        let found = self.tokens.iter().fold(None, |found, known| if is_same(known) { Some(known) } else { found });
        let found = found.ok_or(Refusal::TokenUnknown)?;
        if found.is_used {
            return Err(found.used());
        }
        if found.expires_at <= now {
            return Err(Refusal::TokenExpired { item: found.item.clone() });
        }
        Ok(found)
    }

    /// Uses up a valid token and every other token of its item.
    ///
    /// # Errors
    /// As [`AnswerTokens::find`].
    pub fn redeem(&mut self, token: &str, now: Timestamp) -> Result<AnswerToken, Refusal> {
        let found = self.find(token, now)?.clone();
        for token in self.tokens.iter_mut().filter(|token| token.item == found.item) {
            token.is_used = true;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_millis(1_000_000_000_000)
    }

    fn token(text: &str, item: &str) -> AnswerToken {
        AnswerToken::new(text, item, "Bash: ls", "fairway approvals answer 1 allow", now())
    }

    fn code(result: Result<&AnswerToken, Refusal>) -> &'static str {
        result.err().map_or("", |refusal| refusal.code())
    }

    #[test]
    fn token_is_used_once_and_with_it_every_other_one_of_its_item() {
        let mut all = AnswerTokens::default();
        all.add(vec![token("allow", "approval:1"), token("deny", "approval:1"), token("other", "approval:11")], now());
        for unknown in ["", "allo", "allow ", "ALLOW"] {
            assert_eq!(code(all.find(unknown, now())), "token_unknown", "{unknown}");
        }
        assert_eq!(all.redeem("allow", now()).unwrap().item, "approval:1");
        assert_eq!(
            ["allow", "deny", "other"].map(|text| code(all.find(text, now()))),
            ["token_used", "token_used", ""]
        );
        assert!(all.redeem("allow", now()).is_err() && all.redeem("deny", now()).is_err());
        let text = serde_json::to_string(&all).unwrap();
        assert!(!text.contains("\"allow\"") && !text.contains("Bash"), "{text}");
        assert_eq!(serde_json::from_str::<AnswerTokens>(&text).unwrap(), all);
    }

    #[test]
    fn token_answers_its_item_and_does_nothing_else() {
        for (item, command, action) in [
            ("approval:1", "fairway approvals answer 1 allow", Some(AnswerAction::Allow)),
            ("approval:1", "fairway approvals answer 1 deny", Some(AnswerAction::Deny)),
            ("question:s:2", "fairway answer question:s:2 TEXT", Some(AnswerAction::Answer)),
            ("approval:1", "fairway approvals answer 2 allow", None),
            ("approval:1", "fairway approvals answer 1 allow --always", None),
            ("question:s:2", "fairway answer question:s:3 TEXT", None),
            ("question:s:2", "fairway session stop s", None),
            ("dead:s", "fairway release T-1 --force --reason TEXT", None),
            ("approval:1", "ssh host fairway approvals answer 1 allow", None),
        ] {
            assert_eq!(AnswerToken::new("t", item, "", command, now()).action(), action, "{item} {command}");
        }
    }

    #[test]
    fn token_ends_after_a_day_and_is_of_the_line_that_was_read() {
        let mut all = AnswerTokens::default();
        all.add(vec![token("allow", "approval:1")], now());
        let end = now().plus(TOKEN_LIFETIME);
        assert_eq!(code(all.find("allow", end.minus(Duration::from_millis(1)))), "");
        assert_eq!(code(all.find("allow", end)), "token_expired");
        let found = all.find("allow", now()).unwrap();
        assert!(found.is_of("approval:1", "Bash: ls"));
        assert!(!found.is_of("approval:1", "Bash: ls /") && !found.is_of("approval:2", "Bash: ls"));
        // A later token drops what was long ago, and there are never more than the limit.
        all.add(Vec::new(), end.plus(KNOWN_FOR));
        assert_eq!(code(all.find("allow", now())), "token_unknown");
        let many = |from: usize| (from..from + MAX_TOKENS).map(|at| token(&at.to_string(), "approval:1")).collect();
        all.add(many(0), now());
        all.add(many(1), now());
        assert_eq!((all.tokens.len(), code(all.find("0", now()))), (MAX_TOKENS, "token_unknown"));
    }
}
