//! Idempotency: a repeated `--request-id` has one effect and gets the first answer.
//!
//! A change inside the store writes its answer in its own transaction. A command with effects outside the store writes an
//! intent before, and the answer after; an intent without an answer shows that the command is running or was interrupted.

use anyhow::Result;

use super::answer::Answer;
use super::{errors, fingerprint};
use fairway_core::domain::Refusal;
use fairway_core::store::{ReadTx, WriteTx, idempotency_keys};

/// A `--request-id` and the fingerprint of its command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    pub id: String,
    /// A digest of the command and the actor, made by [`fingerprint`].
    pub fingerprint: String,
}

/// A request whose id the store has.
enum StoredRequest {
    /// The store has its intent, but no answer.
    Open,
    Answered(Answer),
}

impl IdempotencyKey {
    /// The stored answer; `None` for a new request and for an intent without an answer. Fails with `request_reused` when the id
    /// was used for another command.
    pub(crate) fn stored_response(&self, tx: &ReadTx<'_>) -> Result<Option<Answer>> {
        match self.find(tx)? {
            Some(StoredRequest::Answered(answer)) => Ok(Some(answer)),
            Some(StoredRequest::Open) | None => Ok(None),
        }
    }

    /// Writes the intent of a new request. Returns the stored answer of a repeat. For an earlier intent without an answer it
    /// calls `state`, which returns a sentence about the earlier try and whether that still runs, and fails with `request_open`.
    pub(crate) fn record_intent(
        &self,
        tx: &WriteTx<'_>,
        state: impl FnOnce() -> Result<(String, bool)>,
    ) -> Result<Option<Answer>> {
        match self.find(tx)? {
            Some(StoredRequest::Answered(answer)) => Ok(Some(answer)),
            Some(StoredRequest::Open) => {
                let (became, running) = state()?;
                Err(Refusal::RequestPending { id: self.id.clone(), became, running }.into())
            }
            None => {
                idempotency_keys::upsert(tx, &self.id, &self.fingerprint, None)?;
                Ok(None)
            }
        }
    }

    /// Stores the answer, possibly in place of the intent.
    pub(crate) fn store_response(&self, tx: &WriteTx<'_>, answer: &Answer) -> Result<()> {
        let text = serde_json::to_string(answer).map_err(errors::internal)?;
        Ok(idempotency_keys::upsert(tx, &self.id, &self.fingerprint, Some(&text))?)
    }

    /// Deletes the intent of a request that has no answer, so that a repeat runs the command. Call it only when the command has
    /// done nothing.
    pub(crate) fn discard_intent(&self, tx: &WriteTx<'_>) -> Result<()> {
        Ok(idempotency_keys::delete_open(tx, &self.id)?)
    }

    /// `None` for a new request.
    fn find(&self, tx: &ReadTx<'_>) -> Result<Option<StoredRequest>> {
        let Some(known) = idempotency_keys::find(tx, &self.id)? else { return Ok(None) };
        if !fingerprint::is_same(&known.fingerprint, &self.fingerprint, known.answer.as_deref()) {
            return Err(Refusal::RequestReused { id: self.id.clone() }.into());
        }
        let Some(text) = known.answer else { return Ok(Some(StoredRequest::Open)) };
        Ok(Some(StoredRequest::Answered(serde_json::from_str(&text).map_err(errors::internal)?)))
    }
}
