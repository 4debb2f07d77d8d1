//! The proof that typed text arrived: its session goes on.

use anyhow::Result;

use crate::actions::sessions::prompt::deliver_inline::acknowledge;
use crate::{
    domain::session::Session,
    store::{WriteTx, messages},
};

/// Something happened in this session, or it was reported to: what was typed into it before is acknowledged.
///
/// # Errors
/// As the store fails.
pub fn confirm_typed(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    for message in messages::typed_to(tx, &session.id)? {
        acknowledge(tx, &message, session)?;
    }
    Ok(())
}
