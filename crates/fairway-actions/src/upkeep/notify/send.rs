//! One round of a sender: what is due now, claimed, sent and recorded.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::{document, sinks};
use crate::App;
use crate::board::BoardCache;
use crate::core::trust;
use fairway_core::config::SinkSettings;
use fairway_core::domain::Refusal;
use fairway_core::domain::notification::{NotifySink, ReceiptState};
use fairway_core::domain::rules::notifications::{self, Batch, MAX_ATTEMPTS, Plan, SinkWish, retry_delay};
use fairway_core::env::Timestamp;
use fairway_core::store::{events, notifications as receipts};
use fairway_core::wire::{BoardView, NeedView, SentView};

/// How long the claim of an item lasts beyond the time limit of its sink.
const LEASE_MARGIN: Duration = Duration::from_secs(30);

/// The sinks that a sender can reach.
#[derive(Default)]
pub struct Outlets<'a> {
    /// The sender's terminal, for the sinks `bell` and `osc`.
    pub terminal: Option<&'a mut dyn Write>,
    /// Whether the sender runs programs, for the sinks `desktop` and `command`: it then waits for each of them.
    pub programs: bool,
}

impl std::fmt::Debug for Outlets<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outlets").field("programs", &self.programs).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SendReport {
    pub attempts: Vec<SentView>,
    /// How many items wait for the end of the quiet window, at all sinks together.
    pub held: usize,
    /// When the next round is due, even if the store does not change.
    pub next: Option<Timestamp>,
    /// Why no program of a sink was run: the configuration is not trusted.
    pub untrusted: Option<String>,
}

/// Refuses to send when the configuration has no sink that these outlets can reach, or is not trusted to run the sink's program.
///
/// # Errors
/// `usage`, `untrusted`.
pub fn require_sinks(app: &App, outlets: &Outlets<'_>) -> Result<()> {
    let configured = sinks_of(app);
    let why = match configured.as_slice() {
        [] => "no sink is configured: notify.sinks is empty; set it with fairway config edit".to_owned(),
        _ if usable(app, outlets).is_empty() => {
            let names: Vec<&str> = configured.iter().map(|sink| sink.name.as_str()).collect();
            format!("the configured sinks need a terminal: {}", names.join(", "))
        }
        sinks => {
            let runs_program = sinks.iter().any(|sink| sink.way == NotifySink::Command);
            return if runs_program { trust::require(app) } else { Ok(()) };
        }
    };
    Err(Refusal::Usage { why }.into())
}

pub(super) fn sinks_of(app: &App) -> Vec<SinkSettings<'_>> {
    let settings = &app.settings.notify;
    settings.sinks.iter().map(|name| settings.sink(name)).collect()
}

fn usable<'a>(app: &'a App, outlets: &Outlets<'_>) -> Vec<SinkSettings<'a>> {
    let can =
        |sink: &SinkSettings<'_>| if sink.way.is_terminal() { outlets.terminal.is_some() } else { outlets.programs };
    sinks_of(app).into_iter().filter(can).collect()
}

/// Sends the items that are due now. Returns at once when no sink is configured that the outlets can reach. `hook_providers`
/// are the labels of the providers whose agents call hooks.
///
/// Several senders may do this at the same time: each item is claimed in the store first. With `outlets.programs` it takes as
/// long as the programs of the sinks; without, it does not wait for anything but the terminal.
pub fn send_due(app: &App, hook_providers: &[&str], outlets: &mut Outlets<'_>) -> Result<SendReport> {
    send(app, &mut BoardSource { cache: &mut BoardCache::default(), hook_providers }, None, outlets)
}

/// Like [`send_due`], for a board that was just composed from this cache.
pub fn send_due_of(
    app: &App,
    board: &BoardView,
    cache: &mut BoardCache,
    hook_providers: &[&str],
    outlets: &mut Outlets<'_>,
) -> Result<SendReport> {
    send(app, &mut BoardSource { cache, hook_providers }, Some(board), outlets)
}

fn send(
    app: &App,
    source: &mut BoardSource<'_>,
    composed: Option<&BoardView>,
    outlets: &mut Outlets<'_>,
) -> Result<SendReport> {
    let mut sinks = usable(app, outlets);
    let mut report = SendReport::default();
    if sinks.iter().any(|sink| sink.way == NotifySink::Command)
        && let Err(error) = trust::require(app)
    {
        report.untrusted = Some(format!("{error:#}"));
        sinks.retain(|sink| sink.way != NotifySink::Command);
    }
    if sinks.is_empty() {
        return Ok(report);
    }
    let mut board = match composed {
        Some(board) => Board::of(board.clone()),
        None => Board::read(app, source)?,
    };
    let plan = board.plan(app, &sinks)?;
    let is_clean = plan.hold.is_empty() && !plan.has_gone;
    if !is_clean {
        app.transaction(|tx| {
            receipts::delete_gone(tx, &board.present)?;
            for (item, sink) in &plan.hold {
                receipts::hold(tx, item, sink)?;
            }
            Ok(())
        })?;
    }
    let mut failed = BTreeSet::new();
    for batch in &plan.send {
        // After a failure the sink waits, see the rules.
        if failed.contains(batch.sink.as_str()) {
            continue;
        }
        // An item that was settled while another one was sent is not sent.
        board.refresh(app, source)?;
        if !send_batch(app, &board, batch, outlets, &mut report)? {
            failed.insert(batch.sink.as_str());
        }
    }
    // The receipts of this round tell when the next one is due.
    let after = if plan.send.is_empty() { plan } else { board.plan(app, &sinks)? };
    report.held = count_held(app)?;
    report.next = [after.next, source.cache.next_change()].into_iter().flatten().min();
    if !after.send.is_empty() {
        // Another sender's lease or retry ended just now, or a batch was skipped after a failure that a retry time does not
        // cover.
        let soon = app.env.now().plus(Duration::from_secs(1));
        report.next = Some(report.next.map_or(soon, |next| next.min(soon)));
    }
    Ok(report)
}

fn count_held(app: &App) -> Result<usize> {
    let all = app.read(|tx| Ok(receipts::all(tx)?))?;
    Ok(all.iter().filter(|receipt| receipt.state == ReceiptState::Held).count())
}

/// The end of the quiet window; `None` when it is not quiet now, and when no window is set.
pub(super) fn quiet_until(app: &App) -> Option<Timestamp> {
    let now = app.env.now();
    let window = app.settings.notify.quiet.filter(|window| window.contains(now.local_minute()))?;
    Some(now.next_local_minute(window.end))
}

#[derive(Debug)]
struct BoardSource<'a> {
    cache: &'a mut BoardCache,
    hook_providers: &'a [&'a str],
}

/// The items of the board with their keys, in its order.
pub(super) struct Board {
    seq: i64,
    read_at: Instant,
    pub(super) needs: Vec<(String, NeedView)>,
    present: BTreeSet<String>,
}

impl Board {
    fn read(app: &App, source: &mut BoardSource<'_>) -> Result<Self> {
        Ok(Self::of(source.cache.compose(app, source.hook_providers)?))
    }

    pub(super) fn of(board: BoardView) -> Self {
        let needs: Vec<(String, NeedView)> =
            board.needs_you.into_iter().map(|need| (document::key(&need), need)).collect();
        let present = needs.iter().map(|(key, _)| key.clone()).collect();
        Self { seq: board.seq, read_at: Instant::now(), needs, present }
    }

    fn need(&self, item: &str) -> Option<&NeedView> {
        self.needs.iter().find(|(key, _)| key == item).map(|(_, need)| need)
    }

    /// The items that a sink gets, and those that it gets in its quiet window.
    fn wish(&self, app: &App, sink: &SinkSettings<'_>) -> SinkWish {
        let keys = |fits: &dyn Fn(&str) -> bool| {
            self.needs
                .iter()
                .filter(|(_, need)| fits(need.kind.as_str()))
                .map(|(key, _)| key.clone())
                .collect::<Vec<_>>()
        };
        SinkWish {
            sink: sink.name.clone(),
            wanted: keys(&|kind| sink.wants(kind)),
            urgent: keys(&|kind| app.settings.notify.is_urgent(kind)).into_iter().collect(),
            quiet_until: quiet_until(app),
        }
    }

    /// Reads the board again if an event was recorded since, or if it is older than a second.
    fn refresh(&mut self, app: &App, source: &mut BoardSource<'_>) -> Result<()> {
        const FRESH_FOR: Duration = Duration::from_secs(1);
        let seq = app.read(|tx| Ok(events::last_seq(tx)?))?;
        if seq != self.seq || self.read_at.elapsed() > FRESH_FOR {
            *self = Self::read(app, source)?;
        }
        Ok(())
    }

    fn plan(&self, app: &App, sinks: &[SinkSettings<'_>]) -> Result<Plan> {
        let known = app.read(|tx| Ok(receipts::all(tx)?))?;
        let wishes: Vec<SinkWish> = sinks.iter().map(|sink| self.wish(app, sink)).collect();
        Ok(notifications::plan(&self.present, &known, &wishes, app.env.now()))
    }
}

/// Claims and sends the items of a batch that are still there. Returns false when the sink failed.
fn send_batch(
    app: &App,
    board: &Board,
    batch: &Batch,
    outlets: &mut Outlets<'_>,
    report: &mut SendReport,
) -> Result<bool> {
    let settings = app.settings.notify.sink(&batch.sink);
    let sink = &batch.sink;
    let lease = sinks::LONGEST_DELIVERY + LEASE_MARGIN;
    let claimed = app.transaction(|tx| {
        let mut claimed = Vec::new();
        for item in batch.items.iter().filter(|item| board.present.contains(*item)) {
            if let Some(attempt) = receipts::claim(tx, item, sink, tx.now().plus(lease), MAX_ATTEMPTS)? {
                claimed.push((item.as_str(), attempt));
            }
        }
        Ok(claimed)
    })?;
    let needs: Vec<&NeedView> = claimed.iter().filter_map(|(item, _)| board.need(item)).collect();
    if needs.is_empty() {
        return Ok(true);
    }
    let document = document::of_items(app, &settings, &needs);
    let terminal = outlets.terminal.as_mut().map(|terminal| &mut **terminal as &mut dyn Write);
    let delivered = sinks::deliver(app, &settings, &document, terminal);
    let error = delivered.err().map(|error| error.why);
    let attempt = claimed.iter().map(|(_, attempt)| *attempt).max().unwrap_or_default();
    let retry_at = app.env.now().plus(retry_delay(attempt));
    app.transaction(|tx| {
        for (item, attempt) in &claimed {
            let (state, retry) = match &error {
                None => (ReceiptState::Sent, None),
                Some(_) if *attempt >= MAX_ATTEMPTS => (ReceiptState::Failed, None),
                Some(_) => (ReceiptState::Retry, Some(retry_at)),
            };
            receipts::finish(tx, item, sink, *attempt, state, retry, error.as_deref())?;
        }
        Ok(())
    })?;
    let state = match &error {
        None => ReceiptState::Sent,
        Some(_) if attempt >= MAX_ATTEMPTS => ReceiptState::Failed,
        Some(_) => ReceiptState::Retry,
    };
    report.attempts.push(SentView {
        sink: sink.to_string(),
        state: state.as_str(),
        items: needs.iter().map(|need| need.id.clone()).collect(),
        title: document.title,
        attempt,
        retry_at: (state == ReceiptState::Retry).then(|| retry_at.to_string()),
        error,
    });
    Ok(report.attempts.last().is_none_or(|last| last.error.is_none()))
}
