//! The screens of one lane, sent as they change to a client that has the lane open: each row as runs of one style.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, sleep_until};

use super::shared_board::Feed;
use crate::api::async_fd::{RawFdAdapter, register_fd};
use crate::api::error::ApiError;
use crate::api::sse::EventSender;
use crate::api::state::{self, server_state};
use fairway_actions::App;
use fairway_actions::sessions::control::peek;
use fairway_core::adapters::plumbing::LiveScreen;
use fairway_core::adapters::plumbing::screen_cells::{self, CellStyle, Mark, Row};
use fairway_core::domain::{LaneName, SessionId};
use fairway_core::os::file_watch::FileWatch;

/// The shortest time between two readings of a screen.
const MIN_INTERVAL: Duration = Duration::from_millis(200);
/// The shortest time between two readings of the list of the lane's sessions.
const LIST_INTERVAL: Duration = Duration::from_secs(2);
/// A reading may take this part of the time: one that asks a terminal runs a program.
const READING_SHARE: u32 = 4;
/// The last lines that are sent of a session without a terminal.
const LINES: usize = 30;
/// The most screens of a lane.
const MAX_SCREENS: usize = 4;

/// A session's screen, with the rows that the client has.
struct Followed {
    screen: LiveScreen,
    /// `None` before the first look.
    sent: Option<Vec<Value>>,
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
        let events;
        (events, screens) = state::run_blocking_as(feed.factory(), move |app| Ok(look(app, screens))).await?;
        let took = begin.elapsed();
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
        sleep_until(begin + MIN_INTERVAL.max(took * READING_SHARE)).await;
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

/// Reads each screen that has changed. Returns the events that bring the client up to date, and the screens.
fn look(app: &App, mut screens: Screens) -> (Vec<Value>, Screens) {
    let mut events = Vec::new();
    for (id, followed) in &mut screens {
        // A transcript that cannot be read now is looked at again with its next change.
        let is_new = followed.screen.refresh().unwrap_or_default();
        if !is_new && followed.sent.is_some() {
            continue;
        }
        // A session that has ended meanwhile leaves with the next list.
        let Ok(shown) = peek::followed_rows(app, id, &mut followed.screen, LINES) else { continue };
        let rows: Vec<Value> = shown.rows.iter().map(row).collect();
        if let Some(changes) = changes(followed.sent.as_deref().unwrap_or_default(), &rows) {
            events.push(json!({
                "session": id.as_str(),
                "terminal": shown.is_terminal,
                "columns": screen_cells::width(&shown.rows),
                "count": rows.len(),
                "changes": changes,
            }));
        }
        followed.sent = Some(rows);
    }
    (events, screens)
}

/// The runs of a row. One without a style is its text; another one is `[TEXT, MARKS, COLOUR, BACKGROUND]`, where the marks are
/// letters and a colour is one of CSS, or empty.
fn row(row: &Row) -> Value {
    let run = |run: &screen_cells::Run| match run.style {
        style if style == CellStyle::default() => json!(run.text),
        style => {
            let letters = [(Mark::Bold, 'b'), (Mark::Dim, 'd'), (Mark::Italic, 'i'), (Mark::Underline, 'u')];
            let marks: String = letters.into_iter().filter(|(mark, _)| style.has(*mark)).map(|(_, one)| one).collect();
            let (text, ground) = (colour(style.fg), colour(style.bg));
            let (text, ground) = if style.has(Mark::Inverse) {
                (
                    ground.unwrap_or_else(|| "var(--cell-ground)".to_owned()),
                    text.or(Some("var(--cell-text)".to_owned())),
                )
            } else {
                (text.unwrap_or_default(), ground)
            };
            json!([run.text, marks, text, ground.unwrap_or_default()])
        }
    };
    row.iter().map(run).collect()
}

/// The first sixteen have the theme's values; the others are those of xterm: a cube of 216, then 24 greys.
fn colour(colour: vt100::Color) -> Option<String> {
    let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    Some(match colour {
        vt100::Color::Default => return None,
        vt100::Color::Idx(index @ 0..=15) => format!("var(--cell-{index})"),
        vt100::Color::Idx(index @ 16..=231) => {
            let at = index - 16;
            format!("#{:02x}{:02x}{:02x}", level(at / 36), level(at / 6 % 6), level(at % 6))
        }
        vt100::Color::Idx(index) => format!("#{0:02x}{0:02x}{0:02x}", 8 + 10 * (index - 232)),
        vt100::Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
    })
}

/// The differing rows, each with its index; `None` when all are the same.
fn changes(before: &[Value], after: &[Value]) -> Option<Vec<Value>> {
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
        let rows = |text: &str| text.lines().map(|line| json!([line])).collect::<Vec<_>>();
        changes(&rows(before), &rows(after)).map(Value::Array)
    }

    #[test]
    fn rows_that_differ_are_sent() {
        assert_eq!(changed("a\nb\nc", "a\nb\nc"), None);
        assert_eq!(changed("", ""), None);
        assert_eq!(changed("a\nb\nc", "a\nB\nc"), Some(json!([[1, ["B"]]])));
        assert_eq!(changed("a\nb", "a"), Some(json!([])));
    }

    #[test]
    fn row_has_its_runs_with_the_colours_of_a_page() {
        let rows = screen_cells::rows(
            "a \x1b[1;31mred\x1b[0m\n\x1b[7mbar\x1b[0;7;44m in\x1b[0m\n\x1b[38;5;208mx\x1b[48;5;255my\x1b[38;2;1;2;3mz\x1b[0m\n\n",
        );
        let sent: Vec<Value> = rows.iter().map(row).collect();
        let expected = [
            json!(["a ", ["red", "b", "var(--cell-1)", ""]]),
            json!([
                ["bar", "", "var(--cell-ground)", "var(--cell-text)"],
                [" in", "", "var(--cell-4)", "var(--cell-text)"]
            ]),
            json!([["x", "", "#ff8700", ""], ["y", "", "#ff8700", "#eeeeee"], ["z", "", "#010203", "#eeeeee"]]),
        ];
        assert_eq!(sent, expected);
    }
}
