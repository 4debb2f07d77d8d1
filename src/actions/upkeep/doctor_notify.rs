//! Findings of `doctor` about notifications.

use std::collections::BTreeMap;

use anyhow::Result;

use super::notify;
use crate::{
    actions::App,
    domain::{
        finding::{Finding, Severity},
        id::SinkName,
        notification::Receipt,
        plural,
    },
    store::ReadTx,
};

/// A finding for each sink at which notifications were given up.
pub(super) fn find(app: &App, tx: &ReadTx<'_>) -> Result<Vec<Finding>> {
    let mut by_sink: BTreeMap<SinkName, Vec<Receipt>> = BTreeMap::new();
    for receipt in notify::given_up(tx, app.env.now())? {
        by_sink.entry(receipt.sink.clone()).or_default().push(receipt);
    }
    let finding = |(sink, receipts): (SinkName, Vec<Receipt>)| {
        let newest = receipts.iter().max_by_key(|receipt| receipt.at);
        let why = newest.and_then(|receipt| receipt.error.as_deref()).unwrap_or("the sender died");
        let count = plural::count(receipts.len(), "notification");
        let message = format!("gave up {count} to the sink {sink}; the last attempt: {why}");
        Finding::new("notification_failed", Severity::Warning, message)
            .with_fix(format!("fairway notify --test {sink}"))
    };
    Ok(by_sink.into_iter().map(finding).collect())
}
