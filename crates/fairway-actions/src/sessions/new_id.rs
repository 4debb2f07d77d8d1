//! The id of a session that was given none.

use anyhow::Result;

use crate::App;
use crate::core::errors;
use fairway_core::domain::id::Label;
use fairway_core::domain::{Role, SessionId};
use fairway_core::store::{ReadTx, sessions};

/// A new id, `<role>-<provider>-<5 random characters>`, that no session has or had. A long prefix is cut.
pub(crate) fn new_id(app: &App, tx: &ReadTx<'_>, role: &Role, provider: Option<&Label>) -> Result<SessionId> {
    const SUFFIX_CHARS: usize = 5;
    const MAX_PREFIX_CHARS: usize = 64 - SUFFIX_CHARS - 1;
    const MAX_ATTEMPTS: usize = 100;
    let provider = provider.map(|provider| format!("-{provider}")).unwrap_or_default();
    let prefix: String = format!("{role}{provider}").chars().take(MAX_PREFIX_CHARS).collect();
    for _ in 0..MAX_ATTEMPTS {
        let id = SessionId::parse(&format!("{prefix}-{}", app.env.ids.random_suffix()))?;
        if sessions::find(tx, &id)?.is_none() {
            return Ok(id);
        }
    }
    Err(errors::internal("no free session id was found"))
}
