//! The screen of a session as text; after its end the last screen, replayed from its transcript.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;

use crate::App;
use crate::core::lookup;
use crate::sessions::adapter_endpoint;
use fairway_core::adapters::AdapterError;
use fairway_core::adapters::plumbing::screen_cells::{self, Row};
use fairway_core::adapters::plumbing::transcript_screen::{self, PrintedBy};
use fairway_core::adapters::plumbing::{LiveScreen, transcript};
use fairway_core::domain::session::Session;
use fairway_core::domain::{LaneName, SessionId, secrets};
use fairway_core::store::sessions;

/// The last lines of a session, with what looks like a secret masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Peek {
    /// The session.
    pub session_id: String,
    /// The source of the lines: `backend` or `transcript`.
    pub source: &'static str,
    /// The lines.
    pub text: String,
    /// Why there is no line, when the backend script shows no screen and no transcript has one.
    pub note: Option<String>,
}

/// Reads the last `lines` lines of a session's screen; 0 means all. Reads the transcript instead when the session has ended, or
/// when the backend shows nothing. Secrets are masked. `raw` keeps control sequences as they were printed.
///
/// # Errors
/// `not_found`, `session_mismatch`; the `adapter_` codes.
pub fn peek(app: &App, id: &SessionId, lines: u32, raw: bool) -> Result<Peek> {
    let session = app.read(|tx| lookup::session(tx, id))?;
    let peek = |source, text: &str| Peek { session_id: id.to_string(), source, text: secrets::mask(text), note: None };
    let mut note = None;
    if !session.status.is_final() {
        match from_backend(app, &session, lines)? {
            BackendScreen::Shown(text) => {
                return Ok(peek("backend", &if raw { text } else { screen(&session, text, lines)? }));
            }
            BackendScreen::Empty => {}
            BackendScreen::Unsupported(why) => note = Some(why),
        }
    }
    let lines = usize::try_from(lines).unwrap_or(usize::MAX);
    if !session.transcript.as_deref().is_some_and(|path| Path::new(path).exists()) {
        // Of a session of another host the transcript is there, too.
        adapter_endpoint::refuse_elsewhere(app, &session, &words(id))?;
    }
    let text = match session.transcript.as_ref().map(Path::new) {
        Some(path) if raw => transcript::tail(path, lines)?,
        Some(path) => transcript_screen::last_lines(path, printed_by(&session), lines)?,
        None => String::new(),
    };
    let note = note.filter(|_| text.is_empty()).map(|why| format!("{why}, and no transcript of {id} has a line"));
    Ok(Peek { note, ..peek("transcript", &text) })
}

/// Reads the visible screen of a session in a terminal as it is: its control sequences only set styles, and secrets are masked.
/// A backend that cannot show it is replaced by the transcript. For a session without a terminal as [`peek`].
///
/// # Errors
/// As [`peek`].
pub fn screen_cells(app: &App, id: &SessionId, lines: u32) -> Result<Peek> {
    let session = app.read(|tx| lookup::session(tx, id))?;
    let peek = |source, rows| Peek {
        session_id: id.to_string(),
        source,
        text: screen_cells::text(&screen_cells::masked(rows)),
        note: None,
    };
    if let Some(rows) = backend_rows(app, &session)? {
        return Ok(peek("backend", rows));
    }
    match session.transcript.as_ref().map(PathBuf::from).filter(|path| session.has_terminal() && path.exists()) {
        Some(path) => {
            let mut screen = LiveScreen::new(path, printed_by(&session));
            screen.refresh()?;
            Ok(peek("transcript", screen.rows()))
        }
        None => self::peek(app, id, lines, false),
    }
}

/// What the terminal of a live session shows, asked of its backend; `None` without one, and when the backend cannot show it.
fn backend_rows(app: &App, session: &Session) -> Result<Option<Vec<Row>>> {
    if !session.has_terminal() || session.status.is_final() {
        return Ok(None);
    }
    let adapter = adapter_endpoint::adapter(app, session, &words(&session.id))?;
    let is_here = !adapter_endpoint::belongs_to_other(&adapter, session);
    let looked = is_here.then(|| adapter.styled_screen(adapter_endpoint::backend_name(session)));
    Ok(looked.and_then(|looked| looked.ok().flatten()).map(|screen| screen_cells::rows(&screen)))
}

/// The rows of a session that is followed, with secrets masked: its terminal as it is, else the last lines that it has printed.
///
/// # Errors
/// `not_found`; the `adapter_` codes.
pub fn followed_rows(app: &App, id: &SessionId, screen: &mut LiveScreen, lines: usize) -> Result<FollowedRows> {
    let session = app.read(|tx| lookup::session(tx, id))?;
    let is_terminal = session.has_terminal();
    let rows = match backend_rows(app, &session)? {
        Some(rows) => rows,
        None if is_terminal => screen.rows(),
        None => screen_cells::plain_rows(&screen.lines(lines)),
    };
    Ok(FollowedRows { is_terminal, rows: screen_cells::masked(rows) })
}

/// The rows of a session that is followed.
#[derive(Debug)]
pub struct FollowedRows {
    /// Whether they are the screen of a terminal.
    pub is_terminal: bool,
    pub rows: Vec<Row>,
}

/// The live sessions of a lane, oldest first, each with its screen to follow. Sessions whose transcript is not on this host are
/// left out.
///
/// # Errors
/// `not_found` for an unknown lane.
pub fn screens_of_lane(app: &App, lane: &LaneName) -> Result<Vec<(SessionId, LiveScreen)>> {
    let all = app.read(|tx| {
        lookup::lane(tx, lane)?;
        Ok(sessions::live(tx)?)
    })?;
    let here = all.into_iter().filter(|one| one.lane.as_ref() == Some(lane));
    let screen = |one: Session| {
        let path = one.transcript.as_ref().map(PathBuf::from).filter(|path| path.exists())?;
        let screen = LiveScreen::new(path, printed_by(&one));
        Some((one.id, screen))
    };
    Ok(here.filter_map(screen).collect())
}

fn words(id: &SessionId) -> [&str; 3] {
    ["session", "peek", id.as_str()]
}

/// The backend's answer to `peek`.
enum BackendScreen {
    Shown(String),
    /// The backend shows nothing, as for a session that has exited.
    Empty,
    /// The backend script does not know `peek`.
    Unsupported(String),
}

fn from_backend(app: &App, session: &Session, lines: u32) -> Result<BackendScreen> {
    let adapter = adapter_endpoint::adapter(app, session, &words(&session.id))?;
    if adapter_endpoint::belongs_to_other(&adapter, session) {
        return Ok(BackendScreen::Empty);
    }
    match adapter.peek(adapter_endpoint::backend_name(session), lines) {
        Ok(text) if text.is_empty() => Ok(BackendScreen::Empty),
        Ok(text) => Ok(BackendScreen::Shown(text)),
        Err(error @ AdapterError::Unsupported { .. }) => Ok(BackendScreen::Unsupported(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// Removes control sequences from a backend's answer. A backend without a screen answers with the end of the transcript, which
/// is replayed.
fn screen(session: &Session, text: String, lines: u32) -> Result<String> {
    if !text.contains(['\u{1b}', '\r', '\u{8}']) {
        return Ok(text);
    }
    let lines = usize::try_from(lines).unwrap_or(usize::MAX);
    match &session.transcript {
        Some(path) if printed_by(session) == PrintedBy::Pipe => {
            Ok(transcript_screen::last_lines(Path::new(path), PrintedBy::Pipe, lines)?)
        }
        _ => Ok(transcript_screen::of_text(text.as_bytes(), PrintedBy::Unknown, lines)),
    }
}

/// The kind of program that printed a session's transcript.
fn printed_by(session: &Session) -> PrintedBy {
    match session.backend.as_deref() {
        _ if !session.has_terminal() => PrintedBy::Pipe,
        Some("tmux" | "screen" | "zellij") => PrintedBy::Terminal,
        _ => PrintedBy::Unknown,
    }
}
