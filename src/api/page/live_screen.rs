//! The screens of one lane, sent as they change to a client that has the lane open.

use std::{collections::BTreeMap, os::fd::OwnedFd, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::unix::AsyncFd,
    time::{Instant, sleep_until},
};

use super::shared_board::Feed;
use crate::{
    actions::sessions::control::peek,
    adapters::plumbing::LiveScreen,
    api::{
        async_fd::{RawFdAdapter, register_fd},
        error::ApiError,
        sse::EventSender,
        state::{self, server_state},
    },
    domain::{LaneName, SessionId, secrets},
    os::file_watch::FileWatch,
};

/// The shortest time between two readings of a screen.
const MIN_INTERVAL: Duration = Duration::from_millis(200);
/// The shortest time between two readings of the list of the lane's sessions.
const LIST_INTERVAL: Duration = Duration::from_secs(2);
/// The last lines of a screen that are sent.
const LINES: usize = 30;
/// The most screens of a lane.
const MAX_SCREENS: usize = 4;

/// A session's screen, with the lines that the client has.
struct Followed {
    screen: LiveScreen,
    /// `None` before the first look.
    sent: Option<Vec<String>>,
}

type Screens = BTreeMap<SessionId, Followed>;

/// Sends the screens of a lane's sessions as they change, until the client is gone or the server ends.
pub(super) async fn follow(feed: Arc<Feed>, items: Arc<EventSender>, lane: LaneName) {
    let _ = follow_changes(&feed, &items, &lane).await;
}

async fn follow_changes(feed: &Feed, items: &EventSender, lane: &LaneName) -> Result<(), ApiError> {
    let (mut changes, mut shutdown) = server_state().map(|state| (state.changes.clone(), state.shutdown.clone()))?;
    let mut screens = Screens::new();
    let mut watch = None;
    let (mut is_listed, mut list_at) = (false, Instant::now());
    loop {
        let begin = Instant::now();
        if !is_listed {
            is_listed = true;
            list_at = begin + LIST_INTERVAL;
            changes.mark_unchanged();
            let name = lane.clone();
            let found = state::run_blocking_as(feed.factory(), move |app| peek::screens_of_lane(app, &name)).await?;
            if take_over(&mut screens, found) {
                watch = Watch::of(&screens);
            }
        }
        let looked = tokio::task::spawn_blocking(move || look(screens)).await;
        let (events, after) = looked.map_err(|_| ApiError::internal("internal error: a look at a screen panicked"))?;
        screens = after;
        for event in events {
            if !items.send_text(format!("event: screen\ndata: {event}\n\n")).await {
                return Ok(());
            }
        }
        // Until the sessions may be looked at again, changes of the board wait.
        let board_changed = async {
            sleep_until(list_at).await;
            changes.changed().await
        };
        tokio::select! {
            () = printed(watch.as_ref()) => {}
            changed = board_changed => {
                if changed.is_err() {
                    return Ok(());
                }
                is_listed = false;
            }
            () = items.closed() => return Ok(()),
            _ = shutdown.wait_for(|shutdown| *shutdown) => return Ok(()),
        }
        sleep_until(begin + MIN_INTERVAL).await;
    }
}

/// Makes `screens` those of the sessions in `found`, at most [`MAX_SCREENS`]. Returns whether that changed anything.
fn take_over(screens: &mut Screens, found: Vec<(SessionId, LiveScreen)>) -> bool {
    let mut before = std::mem::take(screens);
    let mut is_changed = false;
    for (id, screen) in found.into_iter().take(MAX_SCREENS) {
        let known = before.remove(&id).filter(|known| known.screen.path() == screen.path());
        is_changed |= known.is_none();
        screens.insert(id, known.unwrap_or(Followed { screen, sent: None }));
    }
    is_changed || !before.is_empty()
}

/// Reads each screen. Returns the events that bring the client up to date, and the screens.
fn look(mut screens: Screens) -> (Vec<Value>, Screens) {
    let mut events = Vec::new();
    for (id, followed) in &mut screens {
        // A transcript that cannot be read now is looked at again with its next change.
        let is_new = followed.screen.refresh().unwrap_or_default();
        if !is_new && followed.sent.is_some() {
            continue;
        }
        let text = secrets::mask(&followed.screen.lines(LINES));
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if let Some(changes) = changes(followed.sent.as_deref().unwrap_or_default(), &lines) {
            events.push(json!({ "session": id.as_str(), "count": lines.len(), "changes": changes }));
        }
        followed.sent = Some(lines);
    }
    (events, screens)
}

/// The differing lines, each with its index; `None` when all are the same.
fn changes(before: &[String], after: &[String]) -> Option<Vec<Value>> {
    let is_other = |at: &usize| before.get(*at) != after.get(*at);
    let changed: Vec<Value> = (0..after.len()).filter(is_other).map(|at| json!([at, after.get(at)])).collect();
    (!changed.is_empty() || before.len() != after.len()).then_some(changed)
}

/// Wakes when a transcript grows.
struct Watch {
    files: FileWatch,
    ready: AsyncFd<RawFdAdapter<OwnedFd>>,
}

impl Watch {
    /// Watches the transcripts of these screens. Returns `None` when there is no screen, and when the kernel allows no more
    /// watches: then the screens are read only when the board changes.
    fn of(screens: &Screens) -> Option<Self> {
        let mut files = FileWatch::new();
        for one in screens.values() {
            files.watch_file(one.screen.path());
        }
        let fd = files.fd().filter(|_| !screens.is_empty())?.try_clone_to_owned().ok()?;
        Some(Self { ready: register_fd(fd).ok()?, files })
    }
}

/// Returns when a session has printed something.
async fn printed(watch: Option<&Watch>) {
    let Some(watch) = watch else { return std::future::pending().await };
    while let Ok(mut ready) = watch.ready.readable().await {
        if watch.files.drain() {
            return;
        }
        ready.clear_ready();
    }
    std::future::pending::<()>().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(before: &str, after: &str) -> Option<Value> {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        changes(&lines(before), &lines(after)).map(Value::Array)
    }

    #[test]
    fn lines_that_differ_are_sent() {
        assert_eq!(changed("a\nb\nc", "a\nb\nc"), None);
        assert_eq!(changed("", ""), None);
        assert_eq!(changed("a\nb\nc", "a\nB\nc"), Some(json!([[1, "B"]])));
        assert_eq!(changed("a", "a\n\nb"), Some(json!([[1, ""], [2, "b"]])));
        assert_eq!(changed("a\nb", "a"), Some(json!([])));
    }
}
