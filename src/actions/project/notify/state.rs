//! The states of the items that need a person.

use anyhow::Result;

use super::send::{Board, quiet_until};
use crate::{
    actions::{App, core::trust, project::board},
    domain::{
        notification::{NotifySink, Receipt},
        rules::notifications::is_given_up,
    },
    env::Timestamp,
    store::{ReadTx, notifications},
    wire::{NotifyStateView, ReceiptView},
};

/// The settings and the receipts of the items on the board. Writes nothing.
pub fn state(app: &App, hook_providers: &[&str]) -> Result<NotifyStateView> {
    let settings = &app.settings.notify;
    let board = Board::of(app, board::compose(app, hook_providers)?);
    let receipts = app.read(|tx| Ok(notifications::all(tx)?))?;
    let known = |item: &String, sink| receipts.iter().find(|receipt| receipt.item == *item && receipt.sink == sink);
    let of_item =
        |item: &String| settings.sinks.iter().map(|sink| view(item, *sink, known(item, *sink))).collect::<Vec<_>>();
    let runs_program = settings.sinks.contains(&NotifySink::Command);
    Ok(NotifyStateView {
        sinks: settings.sinks.iter().map(|sink| sink.as_str()).collect(),
        kinds: settings.kinds.as_ref().map(|kinds| kinds.iter().map(|kind| kind.as_str()).collect()),
        quiet: settings.quiet.map(|window| window.to_string()),
        quiet_until: quiet_until(app).map(|at| at.to_string()),
        untrusted: trust::require(app).err().filter(|_| runs_program).map(|error| format!("{error:#}")),
        items: board.wanted.iter().flat_map(of_item).collect(),
    })
}

fn view(item: &str, sink: NotifySink, receipt: Option<&Receipt>) -> ReceiptView {
    let time = |at: Timestamp| at.to_string();
    ReceiptView {
        // The digest of the words behind it is of no use to a reader.
        item: item.split('#').next().unwrap_or_default().to_owned(),
        sink: sink.as_str(),
        state: receipt.map_or("due", |receipt| receipt.state.as_str()),
        attempts: receipt.map_or(0, |receipt| receipt.attempts),
        at: receipt.map(|receipt| time(receipt.at)),
        retry_at: receipt.and_then(|receipt| receipt.retry_at).map(time),
        error: receipt.and_then(|receipt| receipt.error.clone()),
    }
}

/// The receipts of items that were given up.
pub fn given_up(tx: &ReadTx<'_>, now: Timestamp) -> Result<Vec<Receipt>> {
    let all = notifications::all(tx)?;
    Ok(all.into_iter().filter(|receipt| is_given_up(receipt, now)).collect())
}
