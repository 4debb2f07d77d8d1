//! The state that the clients of the page share: the composed board, and the task that composes it anew when an event arrives,
//! a session's process dies or time alone changes it. It runs while a client listens.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until};

use super::access::Access;
use super::board_composer::{ComposedBoard, Composer};
use super::board_versions::Frame;
use crate::api::async_fd::register_fd;
use crate::api::error::ApiError;
use crate::api::live_project::AppFactory;
use crate::api::sse::EventSender;
use crate::api::state::server_state;
use fairway_actions::board::WatchedProcess;
use fairway_actions::sessions::attendance;
use fairway_core::os::random;

/// The least and the most time between two boards. Composing takes at most a fortieth of a core, beside what it left unused in the
/// last seconds: a single event waits for nothing.
const MIN_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_millis(800);
const PAUSE_PER_WORK: u32 = 40;
const UNUSED_TIME: Duration = Duration::from_secs(4);
/// How often an open page is told at least that its board is current.
const BEAT_INTERVAL: Duration = Duration::from_secs(15);
/// The pause after a board that could not be composed.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The shared state of the page's clients.
#[derive(Debug)]
pub(super) struct Feed {
    composer: Composer,
    factory: Mutex<AppFactory>,
    /// Tells versions of this server from those of an earlier one.
    era: String,
    shown: watch::Sender<Shown>,
    is_following: AtomicBool,
    /// How many clients with full access listen.
    watchers: watch::Sender<usize>,
    deaths: Deaths,
}

/// What the clients are shown: the newest frame, and whether it is current.
#[derive(Debug, Clone)]
struct Shown {
    frame: Arc<Frame>,
    /// `None` until the first board is composed.
    beat: Option<Beat>,
}

/// Whether the board is current, as last judged.
#[derive(Debug, Clone)]
struct Beat {
    at: Instant,
    /// The newest event in the board; `None` when it is not current.
    seq: Option<i64>,
    /// Why the board is not current.
    lost: Option<String>,
}

/// What a client gets besides the proofs that the board is current.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// The changed items of the board.
    Board,
    /// Nothing. The client fetches its page again when a beat has news.
    Beats,
}

impl Beat {
    /// Formats it as an event with its age, so that a new client knows how old it is.
    fn event(&self) -> String {
        let age = u64::try_from(self.at.elapsed().as_millis()).unwrap_or(u64::MAX);
        format!("event: beat\ndata: {}\n\n", json!({ "age_ms": age, "lost": self.lost, "seq": self.seq }))
    }
}

/// The watched processes, and the signal that one has ended.
#[derive(Debug, Default)]
struct Deaths {
    watched: Mutex<BTreeMap<i32, AbortHandle>>,
    ended: Arc<Notify>,
}

/// Counts a client as a watching person until it is dropped.
struct Watcher(watch::Sender<usize>);

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl Feed {
    /// Creates the shared state, and starts the thread that composes boards. `factory` opens the project as the person for
    /// whom the page acts.
    pub(super) fn new(factory: AppFactory, hook_providers: Vec<&'static str>) -> Result<Arc<Self>> {
        Ok(Arc::new(Self {
            composer: Composer::start(factory.clone(), hook_providers)?,
            factory: Mutex::new(factory),
            era: random::hex()?.chars().take(8).collect(),
            shown: watch::Sender::new(Shown { frame: Frame::empty(), beat: None }),
            is_following: AtomicBool::new(false),
            watchers: watch::Sender::new(0),
            deaths: Deaths::default(),
        }))
    }

    /// A copy of the factory that opens the project as the person, for use in another thread.
    pub(super) fn factory(&self) -> AppFactory {
        self.factory.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the board as it is now. If the board has changed, all clients get the new frame.
    pub(super) async fn board(&self) -> Result<(ComposedBoard, Arc<Frame>), ApiError> {
        let board = self.composer.compose().await?;
        let next = self.shown.borrow().frame.next(board.parts.clone());
        if let Some(next) = next {
            self.shown.send_modify(|shown| shown.frame = next);
        }
        let frame = Arc::clone(&self.shown.borrow().frame);
        Ok((board, frame))
    }

    /// The event id for a version of the board. The browser sends it back after a lost connection.
    pub(super) fn id(&self, version: u64) -> String {
        format!("{}-{version}", self.era)
    }

    /// The version in an event id. Returns 0 for an id that this server has not made.
    pub(super) fn version(&self, id: &str) -> u64 {
        let version = id.strip_prefix(self.era.as_str()).and_then(|rest| rest.strip_prefix('-'));
        version.and_then(|version| version.parse().ok()).unwrap_or_default()
    }

    /// Keeps a client current until the client is gone or the server ends: tells it whether the board is current and, if
    /// `content` is the board, sends all changes after version `since`.
    pub(super) async fn serve(
        self: Arc<Self>,
        items: Arc<EventSender>,
        mut since: u64,
        access: Access,
        content: Content,
    ) {
        let _watcher = (access == Access::Full).then(|| {
            self.watchers.send_modify(|count| *count += 1);
            Watcher(self.watchers.clone())
        });
        let mut shown = self.shown.subscribe();
        let mut beat_at = None;
        let Ok(mut shutdown) = server_state().map(|state| state.shutdown.clone()) else { return };
        if !self.is_following.swap(true, SeqCst) {
            tokio::spawn(Arc::clone(&self).follow());
        }
        loop {
            let Shown { frame, beat } = shown.borrow_and_update().clone();
            if content == Content::Board && frame.version != since {
                // A version above the current one is from an earlier server.
                let known = if since > frame.version { 0 } else { since };
                let event =
                    format!("id: {}\nevent: board\ndata: {}\n\n", self.id(frame.version), frame.changes(known, access));
                if !items.send_text(event).await {
                    return;
                }
                since = frame.version;
            }
            if let Some(beat) = beat.filter(|beat| beat_at != Some(beat.at)) {
                if !items.send_text(beat.event()).await {
                    return;
                }
                beat_at = Some(beat.at);
            }
            if !items.wait_for_change(&mut shown, &mut shutdown).await {
                return;
            }
        }
    }

    /// Composes the board at each change while a client listens.
    async fn follow(self: Arc<Self>) {
        let _ = self.follow_changes().await;
        self.is_following.store(false, SeqCst);
        self.deaths.watch(&[]);
    }

    async fn follow_changes(&self) -> Result<(), ApiError> {
        let (mut changes, mut shutdown) =
            server_state().map(|state| (state.changes.clone(), state.shutdown.clone()))?;
        let mut watchers = self.watchers.subscribe();
        let mut presence = None;
        // When the work so far is paid for.
        let mut paid_at = Instant::now();
        loop {
            changes.mark_unchanged();
            watchers.mark_unchanged();
            // A browser with full access can answer, so it counts as a watcher: permission requests wait longer.
            if *watchers.borrow() == 0 {
                presence = None;
            } else if presence.is_none() {
                presence = self.attend().await;
            }
            let before = self.shown.borrow().frame.version;
            let (pause, expiry) = match self.board().await {
                Ok((board, frame)) => {
                    self.beat(board.seq, frame.version != before);
                    self.deaths.watch(&board.processes);
                    let expiry = board.next_change.map(|end| Instant::now() + end.since(board.now) + MIN_PAUSE);
                    let now = Instant::now();
                    paid_at = paid_at.max(now.checked_sub(UNUSED_TIME).unwrap_or(now)) + board.took * PAUSE_PER_WORK;
                    paid_at = paid_at.min(now + MAX_PAUSE);
                    (paid_at.saturating_duration_since(now).clamp(MIN_PAUSE, MAX_PAUSE), expiry)
                }
                Err(error) => {
                    self.lose(error.failure.message.clone());
                    (RETRY_DELAY, Some(Instant::now() + RETRY_DELAY))
                }
            };
            let beat = self.shown.borrow().beat.as_ref().map_or_else(Instant::now, |beat| beat.at) + BEAT_INTERVAL;
            sleep(pause).await;
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return Ok(()) },
                _ = watchers.changed() => {}
                () = self.deaths.ended.notified() => {}
                () = self.shown.closed() => return Ok(()),
                () = sleep_until(beat) => {}
                () = sleep_until(expiry.unwrap_or_else(Instant::now)), if expiry.is_some() => {}
                _ = shutdown.wait_for(|shutdown| *shutdown) => return Ok(()),
            }
        }
    }

    /// Tells the clients that the board is current up to an event, if that is new or due.
    fn beat(&self, seq: i64, is_new: bool) {
        if !server_state().is_ok_and(|state| state.hears_changes()) {
            return self.lose("the project's state directory was replaced. Start the server again".to_owned());
        }
        let is_fresh = |beat: &Beat| !is_new && beat.lost.is_none() && beat.seq == Some(seq);
        self.show(Beat { at: Instant::now(), seq: Some(seq), lost: None }, is_fresh);
    }

    /// Tells the clients that the board is not current.
    fn lose(&self, why: String) {
        let beat = Beat { at: Instant::now(), seq: None, lost: Some(why) };
        let lost = beat.lost.clone();
        self.show(beat, |known| known.lost == lost);
    }

    /// Replaces the last judgement, unless that says the same and is younger than [`BEAT_INTERVAL`].
    fn show(&self, beat: Beat, is_same: impl FnOnce(&Beat) -> bool) {
        self.shown.send_if_modified(|shown| {
            let known = shown.beat.as_ref().filter(|known| known.at.elapsed() < BEAT_INTERVAL);
            let is_due = !known.is_some_and(is_same);
            if is_due {
                shown.beat = Some(beat);
            }
            is_due
        });
    }

    async fn attend(&self) -> Option<attendance::Presence> {
        let factory = self.factory();
        let attend = move || attendance::watch_approvals(factory.open().ok()?.app().ok()?).ok();
        tokio::task::spawn_blocking(attend).await.ok().flatten()
    }
}

impl Deaths {
    /// Watches these processes and no others.
    fn watch(&self, processes: &[WatchedProcess]) {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|pid, watch| {
            let is_kept = processes.iter().any(|(one, _)| one == pid) && !watch.is_finished();
            if !is_kept {
                watch.abort();
            }
            is_kept
        });
        for (pid, end) in processes {
            if watched.contains_key(pid) {
                continue;
            }
            let Ok(process) = register_fd(Arc::clone(end)) else { continue };
            let ended = Arc::clone(&self.ended);
            let watch = tokio::spawn(async move {
                drop(process.readable().await);
                ended.notify_one();
            });
            watched.insert(*pid, watch.abort_handle());
        }
    }
}
