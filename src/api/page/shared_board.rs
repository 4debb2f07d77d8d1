//! The state that the clients of the page share: the composed board, and the task that composes it anew when an event arrives, a session's
//! process dies or time alone changes it. It runs while a client listens.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use anyhow::Result;
use tokio::{
    sync::{Notify, watch},
    task::AbortHandle,
    time::{Instant, sleep, sleep_until},
};

use super::{
    access::Access,
    composer::{ComposedBoard, Composer},
    frame::Frame,
};
use crate::{
    actions::{core::attendance, project::board::WatchedProcess},
    api::{async_fd::register_fd, error::ApiError, live_project::AppFactory, sse::EventSender, state::server_state},
    os::random,
};

/// The shortest and the longest time between two boards. Composing takes a fortieth of a core at most.
const MIN_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_millis(800);
const PAUSE_PER_WORK: u32 = 40;
/// The pause after a board that could not be composed.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The shared state of the page's clients.
#[derive(Debug)]
pub(super) struct Feed {
    composer: Composer,
    factory: Mutex<AppFactory>,
    /// Tells versions of this server from those of another one.
    era: String,
    frames: watch::Sender<Arc<Frame>>,
    is_following: AtomicBool,
    /// How many clients with full access listen.
    watchers: watch::Sender<usize>,
    deaths: Deaths,
}

/// The processes that are watched, and the signal that one has ended.
#[derive(Debug, Default)]
struct Deaths {
    watched: Mutex<BTreeMap<i32, AbortHandle>>,
    ended: Arc<Notify>,
}

/// A client counts as a person who watches until this is dropped.
struct Watcher(watch::Sender<usize>);

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl Feed {
    /// A feed without clients. `factory` opens the project as the person.
    ///
    /// # Errors
    /// When the composing thread cannot be created, or the kernel has no random bytes.
    pub(super) fn new(factory: AppFactory, hook_providers: Vec<&'static str>) -> Result<Arc<Self>> {
        Ok(Arc::new(Self {
            composer: Composer::start(factory.clone(), hook_providers)?,
            factory: Mutex::new(factory),
            era: random::hex()?.chars().take(8).collect(),
            frames: watch::Sender::new(Frame::empty()),
            is_following: AtomicBool::new(false),
            watchers: watch::Sender::new(0),
            deaths: Deaths::default(),
        }))
    }

    /// The project as the person, for another thread.
    pub(super) fn factory(&self) -> AppFactory {
        self.factory.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The board as it is now, and its frame.
    ///
    /// # Errors
    /// When the settings or the store cannot be read.
    pub(super) async fn board(&self) -> Result<(ComposedBoard, Arc<Frame>), ApiError> {
        let board = self.composer.compose().await?;
        let next = self.frames.borrow().next(board.parts.clone());
        if let Some(next) = next {
            self.frames.send_replace(next);
        }
        let frame = Arc::clone(&self.frames.borrow());
        Ok((board, frame))
    }

    /// The id of a frame, as the browser gives it back after a lost connection.
    pub(super) fn id(&self, version: u64) -> String {
        format!("{}-{version}", self.era)
    }

    /// The version of an id; 0 for one of another server.
    pub(super) fn version(&self, id: &str) -> u64 {
        let version = id.strip_prefix(self.era.as_str()).and_then(|rest| rest.strip_prefix('-'));
        version.and_then(|version| version.parse().ok()).unwrap_or_default()
    }

    /// Sends a client what changes, from a version on, until it is gone.
    pub(super) async fn serve(self: Arc<Self>, items: EventSender, mut since: u64, access: Access) {
        let _watcher = (access == Access::Full).then(|| {
            self.watchers.send_modify(|count| *count += 1);
            Watcher(self.watchers.clone())
        });
        let mut frames = self.frames.subscribe();
        let Ok(mut shutdown) = server_state().map(|state| state.shutdown.clone()) else { return };
        if !self.is_following.swap(true, SeqCst) {
            tokio::spawn(Arc::clone(&self).follow());
        }
        loop {
            let frame = Arc::clone(&frames.borrow_and_update());
            if frame.version != since {
                // A version of the future is one of a server before this one.
                let known = if since > frame.version { 0 } else { since };
                let event =
                    format!("id: {}\nevent: board\ndata: {}\n\n", self.id(frame.version), frame.changes(known, access));
                if !items.send_text(event).await {
                    return;
                }
                since = frame.version;
            }
            if !items.wait_for_change(&mut frames, &mut shutdown).await {
                return;
            }
        }
    }

    /// Composes the board anew at each change, as long as a client listens.
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
        loop {
            changes.mark_unchanged();
            watchers.mark_unchanged();
            // A browser with full access can answer, so it counts as a watcher: permission requests wait longer.
            if *watchers.borrow() == 0 {
                presence = None;
            } else if presence.is_none() {
                presence = self.attend().await;
            }
            let (pause, expiry) = match self.board().await {
                Ok((board, _)) => {
                    self.deaths.watch(&board.processes);
                    let expiry = board.next_change.map(|end| Instant::now() + end.since(board.now) + MIN_PAUSE);
                    ((board.took * PAUSE_PER_WORK).clamp(MIN_PAUSE, MAX_PAUSE), expiry)
                }
                Err(_) => (RETRY_DELAY, Some(Instant::now() + RETRY_DELAY)),
            };
            sleep(pause).await;
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return Ok(()) },
                _ = watchers.changed() => {}
                () = self.deaths.ended.notified() => {}
                () = self.frames.closed() => return Ok(()),
                () = sleep_until(expiry.unwrap_or_else(Instant::now)), if expiry.is_some() => {}
                _ = shutdown.wait_for(|shutdown| *shutdown) => return Ok(()),
            }
        }
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
