//! The transport of the protocol: one message per line. Whatever cannot be dispatched is answered here, so that no input ends
//! the server.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::{Future, pending, ready};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ErrorCode, JsonRpcMessage, RequestId};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::sleep;

use super::json_rpc::{self, InFlight, Incoming, MAX_BATCH, MAX_MESSAGE_BYTES, Outgoing, Read};
use super::stdio::{Line, Output, read_lines};

/// How long requests are still answered after the end of the input: longer than a call waits for a locked store.
const END_GRACE: Duration = Duration::from_secs(15);
/// How long the last answers may take to be written.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// The transport over stdin and stdout.
#[derive(Debug)]
pub(super) struct StdioTransport {
    input: UnboundedReceiver<Line>,
    output: Output,
    ready: VecDeque<Incoming>,
    in_flight: InFlight,
    has_ended: bool,
}

impl StdioTransport {
    pub(super) fn start() -> std::io::Result<Self> {
        let (sender, input) = read_lines(MAX_MESSAGE_BYTES)?;
        let output = Output::start(sender)?;
        Ok(Self { input, output, ready: VecDeque::new(), in_flight: InFlight::default(), has_ended: false })
    }

    fn write(&self, message: &impl serde::Serialize) {
        // A value that was made of texts and numbers can be written.
        if let Ok(line) = serde_json::to_vec(message) {
            self.output.write(line);
        }
    }

    fn write_error(&self, code: ErrorCode, why: impl Into<String>) {
        self.write(&json_rpc::document(&json_rpc::error(code, why, None)));
    }

    fn accept(&mut self, line: &[u8]) {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return;
        }
        match serde_json::from_slice::<Value>(line) {
            Err(error) => self.write_error(ErrorCode::PARSE_ERROR, format!("the message is not valid JSON: {error}")),
            Ok(Value::Array(messages)) if messages.is_empty() => {
                self.write_error(ErrorCode::INVALID_REQUEST, "the batch is empty");
            }
            Ok(Value::Array(messages)) if messages.len() > MAX_BATCH => {
                let why = format!("the batch holds more than {MAX_BATCH} messages");
                self.write_error(ErrorCode::INVALID_REQUEST, why);
            }
            Ok(Value::Array(messages)) => {
                let batch = self.in_flight.begin_batch();
                for message in messages {
                    self.accept_message(message, Some(batch));
                }
                if let Some(answers) = self.in_flight.close(batch, None) {
                    self.write(&answers);
                }
            }
            Ok(message) => self.accept_message(message, None),
        }
    }

    fn accept_message(&mut self, message: Value, batch: Option<u64>) {
        match json_rpc::read(message) {
            Read::Ignored => {}
            Read::Answer(answer) => self.answer_at_once(&answer, batch),
            Read::Message(message, Some(id)) => {
                if self.in_flight.add(&id, batch) {
                    self.ready.push_back(*message);
                } else {
                    let why = "another request with this id is being answered";
                    let answer = json_rpc::error(ErrorCode::INVALID_REQUEST, why, Some(id));
                    self.answer_at_once(&answer, batch);
                }
            }
            Read::Message(message, None) => {
                if let JsonRpcMessage::Notification(notification) = &*message
                    && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.forget(&id.clone());
                }
                self.ready.push_back(*message);
            }
        }
    }

    fn answer_at_once(&mut self, answer: &Outgoing, batch: Option<u64>) {
        let answer = json_rpc::document(answer);
        match batch {
            Some(batch) => self.in_flight.push(batch, answer),
            None => self.write(&answer),
        }
    }

    /// Forgets a cancelled request, which gets no answer. Sends the answers of its batch if it was the last open one.
    fn forget(&mut self, id: &RequestId) {
        if let Some(batch) = self.in_flight.remove(id)
            && let Some(answers) = self.in_flight.close(batch, None)
        {
            self.write(&answers);
        }
    }
}

impl Transport<RoleServer> for StdioTransport {
    type Error = Infallible;

    fn send(&mut self, message: Outgoing) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        match (id.and_then(|id| self.in_flight.remove(&id)), serde_json::to_value(&message)) {
            (Some(batch), Ok(answer)) => {
                if let Some(answers) = self.in_flight.close(batch, Some(answer)) {
                    self.write(&answers);
                }
            }
            _ => self.write(&message),
        }
        ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            if self.has_ended {
                if self.in_flight.is_empty() {
                    return None;
                }
                // Each answer that is sent begins another `receive`.
                return tokio::select! {
                    () = sleep(END_GRACE) => None,
                    never = pending() => never,
                };
            }
            match self.input.recv().await {
                Some(Line::Text(line)) => self.accept(&line),
                Some(Line::TooLong) => {
                    let why = format!("the message is longer than {MAX_MESSAGE_BYTES} bytes");
                    self.write_error(ErrorCode::INVALID_REQUEST, why);
                }
                Some(Line::Unread) => return None,
                Some(Line::End) | None => self.has_ended = true,
            }
        }
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        self.output.finish(WRITE_TIMEOUT);
        Ok(())
    }
}
