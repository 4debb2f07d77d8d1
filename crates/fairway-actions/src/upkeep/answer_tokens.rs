//! Tokens in the links of notifications, each of which answers one item. Their digests are in a file in the project's state
//! directory, not in the store, so that restoring the store does not make a used token valid again.

use anyhow::{Context as _, Result};

use super::private_json::PrivateJson;
use fairway_core::config::Project;
use fairway_core::domain::Refusal;
use fairway_core::domain::answer_token::{AnswerToken, AnswerTokens};
use fairway_core::env::Timestamp;

pub(super) const NAME: &str = "answer-tokens";

#[derive(Debug, Clone)]
pub struct AnswerTokenFile(PrivateJson);

impl AnswerTokenFile {
    pub fn of(project: &Project) -> Self {
        Self(PrivateJson::new(&project.state, NAME))
    }

    /// Adds tokens. A file that cannot be read is replaced, which makes its tokens invalid.
    pub(super) fn add(&self, tokens: Vec<AnswerToken>, now: Timestamp) -> Result<()> {
        let cannot = || format!("cannot change {}", self.0.path().display());
        let _lock = self.0.lock().with_context(cannot)?;
        let mut all: AnswerTokens = self.0.read().unwrap_or_default();
        all.add(tokens, now);
        self.0.write(&all).with_context(cannot)
    }

    /// The token with this text, if it is valid.
    ///
    /// # Errors
    /// `token_unknown`, also when the file cannot be read; `token_used`, `token_expired`.
    pub fn find(&self, token: &str, now: Timestamp) -> Result<AnswerToken, Refusal> {
        let all: AnswerTokens = self.0.read().map_err(|_| Refusal::TokenUnknown)?;
        all.find(token, now).cloned()
    }

    /// Marks a token and the other tokens of its item as used, and returns the token.
    ///
    /// # Errors
    /// The errors of [`AnswerTokenFile::find`]; when the file cannot be written.
    pub fn redeem(&self, token: &str, now: Timestamp) -> Result<AnswerToken> {
        let cannot = || format!("cannot change {}", self.0.path().display());
        let _lock = self.0.lock().with_context(cannot)?;
        let mut all: AnswerTokens = self.0.read().map_err(|_| Refusal::TokenUnknown)?;
        let redeemed = all.redeem(token, now)?;
        self.0.write(&all).with_context(cannot)?;
        Ok(redeemed)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    #[test]
    fn file_that_others_could_have_written_has_no_tokens() {
        let home = tempfile::tempdir().unwrap();
        let file = AnswerTokenFile(PrivateJson::new(home.path(), NAME));
        let now = Timestamp::from_millis(1_000_000_000_000);
        let add = || file.add(vec![AnswerToken::new("t", "approval:1", "Bash: ls", "c", now)], now).unwrap();
        add();
        assert!(file.find("t", now).is_ok());
        fs::set_permissions(file.0.path(), fs::Permissions::from_mode(0o620)).unwrap();
        assert_eq!(file.find("t", now), Err(Refusal::TokenUnknown));
        assert!(file.redeem("t", now).is_err());
        // The next notification begins anew.
        add();
        assert_eq!(fs::metadata(file.0.path()).unwrap().mode() & 0o777, 0o600);
        assert_eq!(file.redeem("t", now).unwrap().item, "approval:1");
        assert!(file.redeem("t", now).is_err());
    }
}
