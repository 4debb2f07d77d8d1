//! The states of the items that need a person.

use anyhow::Result;

use super::send::{Board, quiet_until, sinks_of};
use crate::core::trust;
use crate::{App, board};
use fairway_core::config::SinkSettings;
use fairway_core::domain::notification::{NotifySink, Receipt};
use fairway_core::domain::rules::notifications::is_given_up;
use fairway_core::env::Timestamp;
use fairway_core::store::{ReadTx, notifications};
use fairway_core::wire::{NotifyStateView, ReceiptView, SinkView};

/// The settings and the receipts of the items on the board. Writes nothing.
pub fn state(app: &App, hook_providers: &[&str]) -> Result<NotifyStateView> {
    let settings = &app.settings.notify;
    let sinks = sinks_of(app);
    let board = Board::of(board::compose(app, hook_providers)?);
    let receipts = app.read(|tx| Ok(notifications::all(tx)?))?;
    let runs_program = sinks.iter().any(|sink| sink.way == NotifySink::Command);
    let mut items = Vec::new();
    for (item, need) in &board.needs {
        for sink in sinks.iter().filter(|sink| sink.wants(need.kind.as_str())) {
            let receipt = receipts.iter().find(|receipt| receipt.item == *item && receipt.sink == sink.name);
            items.push(view(item, sink, receipt));
        }
    }
    Ok(NotifyStateView {
        sinks: settings.sinks.iter().map(ToString::to_string).collect(),
        quiet: settings.quiet.map(|window| window.to_string()),
        quiet_until: quiet_until(app).map(|at| at.to_string()),
        per_sink: sinks.iter().filter(|sink| settings.per_sink.contains_key(sink.name.as_str())).map(own).collect(),
        untrusted: trust::require(app).err().filter(|_| runs_program).map(|error| format!("{error:#}")),
        items,
    })
}

fn own(sink: &SinkSettings<'_>) -> SinkView {
    SinkView { sink: sink.name.to_string(), kinds: sink.kinds.map(<[_]>::to_vec), actions: sink.actions }
}

fn view(item: &str, sink: &SinkSettings<'_>, receipt: Option<&Receipt>) -> ReceiptView {
    let time = |at: Timestamp| at.to_string();
    ReceiptView {
        // The digest behind it is of no use to a reader.
        item: item.split('#').next().unwrap_or_default().to_owned(),
        sink: sink.name.to_string(),
        state: receipt.map_or("due", |receipt| receipt.state.as_str()),
        attempts: receipt.map_or(0, |receipt| receipt.attempts),
        at: receipt.map(|receipt| time(receipt.at)),
        retry_at: receipt.and_then(|receipt| receipt.retry_at).map(time),
        error: receipt.and_then(|receipt| receipt.error.clone()),
    }
}

/// The receipts of the items that will not be sent again, because attempts have failed.
pub fn given_up(tx: &ReadTx<'_>, now: Timestamp) -> Result<Vec<Receipt>> {
    let all = notifications::all(tx)?;
    Ok(all.into_iter().filter(|receipt| is_given_up(receipt, now)).collect())
}
