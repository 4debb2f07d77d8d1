//! A sample for a person who sets a sink up.

use std::io::Write;

use anyhow::Result;

use super::{document, sinks};
use crate::{
    actions::{App, core::trust},
    domain::notification::{NotifySink, ReceiptState},
    wire::SentView,
};

/// Sends a sample to a sink. No receipt is written, and the quiet window does not hold it. Also returns the program's messages.
///
/// # Errors
/// `untrusted` for the sink `command`.
pub fn test(app: &App, sink: NotifySink, terminal: Option<&mut dyn Write>) -> Result<(SentView, Vec<u8>)> {
    if sink == NotifySink::Command {
        trust::require(app)?;
    }
    let document = document::of_test(app);
    let failure = sinks::deliver(app, sink, &document, terminal).err();
    let state = if failure.is_none() { ReceiptState::Sent } else { ReceiptState::Failed };
    let (error, output) = failure.map(|failure| (failure.why, failure.output)).unzip();
    let view = SentView {
        sink: sink.as_str(),
        state: state.as_str(),
        items: Vec::new(),
        title: document.title,
        attempt: 1,
        error,
        retry_at: None,
    };
    Ok((view, output.unwrap_or_default()))
}
