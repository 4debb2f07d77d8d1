//! A sample for a person who sets a sink up.

use std::io::Write;

use anyhow::Result;

use super::{document, sinks};
use crate::{
    actions::{App, core::trust},
    domain::{
        Refusal,
        id::SinkName,
        notification::{NotifySink, ReceiptState},
    },
    wire::SentView,
};

/// Sends a sample to a sink. No receipt is written, and the quiet window does not hold it. Also returns the program's messages.
///
/// # Errors
/// `usage` for a sink that is neither built in nor configured; `untrusted` for one that runs a program of the configuration.
pub fn test(app: &App, name: &SinkName, terminal: Option<&mut dyn Write>) -> Result<(SentView, Vec<u8>)> {
    let sink = app.settings.notify.sink(name);
    if sink.way == NotifySink::Command {
        if NotifySink::parse(name.as_str()).is_none() && sink.command.is_none() {
            let known: Vec<&str> = NotifySink::ALL.iter().map(|one| one.as_str()).collect();
            let why = format!("no sink '{name}': name {} or one of notify.per_sink", known.join(", "));
            return Err(Refusal::Usage { why }.into());
        }
        trust::require(app)?;
    }
    let document = document::of_test(app);
    let failure = sinks::deliver(app, &sink, &document, terminal).err();
    let state = if failure.is_none() { ReceiptState::Sent } else { ReceiptState::Failed };
    let (error, output) = failure.map(|failure| (failure.why, failure.output)).unzip();
    let view = SentView {
        sink: name.to_string(),
        state: state.as_str(),
        items: Vec::new(),
        title: document.title,
        attempt: 1,
        error,
        retry_at: None,
    };
    Ok((view, output.unwrap_or_default()))
}
