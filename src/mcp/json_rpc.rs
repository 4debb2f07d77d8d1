//! One line of input as messages: what can be dispatched, and the answers to what cannot.

use std::collections::HashMap;

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use serde_json::Value;

/// The longest message, in bytes: four times the longest document that a command accepts.
pub(super) const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// The most messages of a batch.
pub(super) const MAX_BATCH: usize = 1_000;

pub(super) type Incoming = RxJsonRpcMessage<RoleServer>;
pub(super) type Outgoing = TxJsonRpcMessage<RoleServer>;

/// What is to be done with a message.
#[derive(Debug)]
pub(super) enum Read {
    /// Dispatch it; a request has an id, a notification has none.
    Message(Box<Incoming>, Option<RequestId>),
    Answer(Box<Outgoing>),
    Ignored,
}

/// An error response to a message; `id` is `None` when the id of the message is unknown.
pub(super) fn error(code: ErrorCode, message: impl Into<String>, id: Option<RequestId>) -> Outgoing {
    Outgoing::error(ErrorData::new(code, message.into(), None), id)
}

/// Encodes a response as JSON. An unknown id becomes null, as JSON-RPC requires.
pub(super) fn document(answer: &Outgoing) -> Value {
    let mut document = serde_json::to_value(answer).unwrap_or_default();
    if let Value::Object(fields) = &mut document {
        fields.entry("id").or_insert(Value::Null);
    }
    document
}

pub(super) fn read(message: Value) -> Read {
    let answer = |code, text: &str, id| Read::Answer(Box::new(error(code, text, id)));
    let Value::Object(fields) = &message else {
        return answer(ErrorCode::INVALID_REQUEST, "a message is an object", None);
    };
    let id = fields.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    let Some(method) = fields.get("method").and_then(Value::as_str).map(str::to_owned) else {
        // A response is ignored, because this server sends no requests.
        let is_response = fields.contains_key("result") || fields.contains_key("error");
        return if is_response && !fields.contains_key("method") {
            Read::Ignored
        } else {
            answer(ErrorCode::INVALID_REQUEST, "the method is missing or no text", id)
        };
    };
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return answer(ErrorCode::INVALID_REQUEST, "the field jsonrpc must be \"2.0\"", id);
    }
    let is_notification = !fields.contains_key("id");
    if !is_notification && id.is_none() {
        return answer(ErrorCode::INVALID_REQUEST, "the id must be a text or a whole number", None);
    }
    match serde_json::from_value::<Incoming>(message) {
        Ok(message) => Read::Message(Box::new(message), id),
        // A notification is never answered.
        Err(_) if is_notification => Read::Ignored,
        Err(error) => {
            answer(ErrorCode::INVALID_PARAMS, &format!("the parameters of {method} cannot be read: {error}"), id)
        }
    }
}

/// The requests without an answer yet.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    requests: HashMap<RequestId, Option<u64>>,
    batches: HashMap<u64, Batch>,
    newest: u64,
}

#[derive(Debug, Default)]
struct Batch {
    /// The number of requests without an answer, plus one while the batch is still being read.
    open: usize,
    answers: Vec<Value>,
}

impl InFlight {
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Begins a batch and returns its number. The batch counts as having one open request, so that it is not finished early:
    /// after the whole batch was read, the caller must [`close`](InFlight::close) it once more.
    pub(super) fn begin_batch(&mut self) -> u64 {
        self.newest += 1;
        self.batches.insert(self.newest, Batch { open: 1, answers: Vec::new() });
        self.newest
    }

    /// Adds a request that waits for its answer. Returns `false`, and adds nothing, when an earlier request with the same id has
    /// no answer yet.
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

    /// Forgets a request that was answered or cancelled. Returns the number of the batch to which it belongs; `None` when it
    /// belongs to none or is unknown.
    pub(super) fn remove(&mut self, id: &RequestId) -> Option<u64> {
        self.requests.remove(id).flatten()
    }

    /// Adds an answer to a batch while the batch is still being read, such as the error for one of its messages.
    pub(super) fn push(&mut self, batch: u64, answer: Value) {
        if let Some(batch) = self.batches.get_mut(&batch) {
            batch.answers.push(answer);
        }
    }

    /// Counts one request of a batch as done, with its answer if it has one. Returns all answers of the batch once the last
    /// request is done, and `None` before that. Also returns `None` for a batch that has no answers, because it consists of
    /// notifications.
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
