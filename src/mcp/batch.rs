//! Requests that are being answered, and the batches that they came in: the answers of a batch are one message.

use std::collections::HashMap;

use rmcp::model::RequestId;
use serde_json::Value;

/// The requests without an answer yet.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    requests: HashMap<RequestId, Option<u64>>,
    batches: HashMap<u64, Batch>,
    newest: u64,
}

#[derive(Debug, Default)]
struct Batch {
    /// How many of its requests are without an answer, and one for the reader while it is being read.
    open: usize,
    answers: Vec<Value>,
}

impl InFlight {
    /// Whether every request has its answer.
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Begins a batch; [`InFlight::finish_reading`] ends its reading.
    pub(super) fn begin_batch(&mut self) -> u64 {
        self.newest += 1;
        self.batches.insert(self.newest, Batch { open: 1, answers: Vec::new() });
        self.newest
    }

    /// Adds a request. False when one with the same id has no answer yet.
    pub(super) fn add(&mut self, id: &RequestId, batch: Option<u64>) -> bool {
        if self.requests.contains_key(id) {
            return false;
        }
        self.requests.insert(id.clone(), batch);
        if let Some(batch) = batch.and_then(|number| self.batches.get_mut(&number)) {
            batch.open += 1;
        }
        true
    }

    /// The batch of a request that is answered now or was cancelled.
    pub(super) fn remove(&mut self, id: &RequestId) -> Option<u64> {
        self.requests.remove(id).flatten()
    }

    /// Adds an answer to a batch that was made while it was read.
    pub(super) fn push(&mut self, batch: u64, answer: Value) {
        if let Some(batch) = self.batches.get_mut(&batch) {
            batch.answers.push(answer);
        }
    }

    /// Counts one request of a batch as done, with its answer if it has one. The answers of the batch when it was the last one;
    /// an empty batch of notifications has none.
    pub(super) fn close(&mut self, number: u64, answer: Option<Value>) -> Option<Value> {
        let batch = self.batches.get_mut(&number)?;
        batch.answers.extend(answer);
        batch.open = batch.open.saturating_sub(1);
        if batch.open > 0 {
            return None;
        }
        let done = self.batches.remove(&number)?;
        (!done.answers.is_empty()).then_some(Value::Array(done.answers))
    }
}
