//! A frame from the state. Colours repeat what shapes and words say.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Position;
use ratatui_core::style::{Color, Modifier, Style};

use super::action::Aspect;
use super::editor::Editor;
use super::mode::{Mode, View, ViewForm};
use super::state::State;
use super::text::{fit, pad, width, wrap};
use fairway_core::adapters::plumbing::screen_cells::{self, CellStyle, Mark};
use fairway_core::env::Timestamp;
use fairway_core::render::Meaning;

/// The width from which keys stand in two columns.
const TWO_COLUMNS: usize = 76;

const MAX_MESSAGE_LINES: usize = 4;

/// The keys that are about no row.
const BOARD_KEYS: &[(&str, &str)] = &[
    ("j k g G", "move; Tab the next part"),
    ("/", "filter; Esc shows everything"),
    ("1 2 3 4", "screen, messages, changes, evidence"),
    ("0, J K", "hide them; move their text"),
    ("N", "start the next ready task"),
    ("n", "new task"),
    ("O", "reopen a closed task"),
    ("u", "take back what was just done"),
    ("Ctrl-L", "draw anew"),
    ("Ctrl-Z", "suspend"),
    ("q", "quit"),
];

#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub now: Timestamp,
    pub has_colour: bool,
}

/// Draws a frame. Returns the position of the cursor while the person types a text, else `None`.
pub(super) fn draw(buffer: &mut Buffer, state: &State, look: Look) -> Option<Position> {
    let area = buffer.area;
    let is_current = state.as_of.is_none();
    let mut canvas =
        Canvas { columns: usize::from(area.width), rows: usize::from(area.height), buffer, look, is_current };
    if canvas.columns == 0 || canvas.rows == 0 {
        return None;
    }
    canvas.header(state);
    match &state.mode {
        Mode::View(view) => canvas.view(view),
        Mode::Approval { offer, lines, scroll, is_seen, .. } => {
            canvas.approval(state, &offer.label, lines, *scroll, *is_seen);
        }
        Mode::Keys => canvas.keys(state),
        _ => match state.list_width() {
            Some(list) => {
                let columns = std::mem::replace(&mut canvas.columns, list);
                canvas.board(state);
                canvas.columns = columns;
                canvas.pane(state, list);
            }
            None => canvas.board(state),
        },
    }
    canvas.status(state)
}

fn cell_style(cell: CellStyle) -> Style {
    let colour = |colour| match colour {
        vt100::Color::Default => Color::Reset,
        vt100::Color::Idx(index) => Color::Indexed(index),
        vt100::Color::Rgb(red, green, blue) => Color::Rgb(red, green, blue),
    };
    let modifier = |mark| match mark {
        Mark::Bold => Modifier::BOLD,
        Mark::Dim => Modifier::DIM,
        Mark::Italic => Modifier::ITALIC,
        Mark::Underline => Modifier::UNDERLINED,
        Mark::Inverse => Modifier::REVERSED,
    };
    let marks = Mark::ALL.iter().filter(|(mark, _)| cell.has(*mark));
    let style = Style::new().fg(colour(cell.fg)).bg(colour(cell.bg));
    marks.fold(style, |style, (mark, _)| style.add_modifier(modifier(*mark)))
}

pub(super) struct Canvas<'a> {
    pub(super) buffer: &'a mut Buffer,
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) look: Look,
    /// A board that may have changed is drawn without colours.
    is_current: bool,
}

impl Canvas<'_> {
    pub(super) fn style(&self, meaning: Meaning) -> Style {
        let style = Style::new();
        let meaning = if self.is_current { meaning } else { Meaning::Faint };
        match (meaning, self.look.has_colour) {
            (Meaning::Strong, _) => style.add_modifier(Modifier::BOLD),
            (Meaning::Good, true) => style.fg(Color::Green),
            (Meaning::Notice, true) => style.fg(Color::Yellow),
            (Meaning::Bad, true) => style.fg(Color::Red),
            (Meaning::Faint, true) => style.add_modifier(Modifier::DIM),
            (_, false) => style,
        }
    }

    /// Puts a text at a position, and cuts it at the right edge. Returns the column after the text.
    pub(super) fn put(&mut self, x: usize, y: usize, text: &str, style: Style) -> usize {
        let room = self.columns.saturating_sub(x);
        if room == 0 || y >= self.rows {
            return x;
        }
        let text = fit(text, room);
        let (Ok(column), Ok(row)) = (u16::try_from(x), u16::try_from(y)) else { return x };
        self.buffer.set_stringn(column, row, &text, room, style);
        x + width(&text)
    }

    pub(super) fn put_right(&mut self, y: usize, text: &str, style: Style) {
        let x = self.columns.saturating_sub(width(text));
        self.put(x, y, text, style);
    }

    fn header(&mut self, state: &State) {
        let board = &state.board;
        let counts = &board.counts;
        let mut parts = vec![format!("{} ready", counts.ready), format!("{} in progress", counts.in_progress)];
        for (number, word) in [(counts.review, "in review"), (counts.blocked, "blocked")] {
            if number > 0 {
                parts.push(format!("{number} {word}"));
            }
        }
        let done = parts.len();
        parts.push(format!("{} done", counts.done));
        parts.extend(board.cost.short().map(|cost| format!("{cost} today")));
        let inbox = board.inbox.filter(|count| *count > 0);
        parts.extend(inbox.map(|count| format!("{count} for you: fairway inbox")));
        let mut end = self.put(0, 0, &board.project, self.style(Meaning::Strong));
        if let Some(as_of) = state.as_of {
            let style = Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED);
            end = self.put(end + 2, 0, &format!(" as of {} ", as_of.local_time()), style);
        }
        let room = self.columns.saturating_sub(end + 2);
        // The history goes first where there is no room: the work that is done, then what it has cost.
        while width(&parts.join(" · ")) > room && parts.len() > done {
            parts.remove(done);
        }
        self.put_right(0, &fit(&parts.join(" · "), room), self.style(Meaning::Faint));
    }

    /// The list, between the first line and the status line.
    fn board(&mut self, state: &State) {
        self.list(state, 1, self.rows.saturating_sub(2));
    }

    /// Draws the pane to the right of the list, which is `list` columns wide.
    fn pane(&mut self, state: &State, list: usize) {
        let (Some(pane), Some(request)) = (&state.pane, state.pane_request()) else { return };
        let faint = self.style(Meaning::Faint);
        for y in 1..self.rows.saturating_sub(1) {
            self.put(list, y, "│", faint);
        }
        let left = list + 2;
        let mut x = left;
        for aspect in Aspect::ALL {
            let name = format!("{} {}", aspect.key(), aspect.title());
            let (name, style) = if aspect == pane.aspect {
                (format!("[{name}]"), self.style(Meaning::Strong))
            } else {
                (format!(" {name} "), faint)
            };
            x = self.put(x, 1, &name, style) + 1;
        }
        let request = match request {
            Ok(request) => request,
            Err(why) => {
                self.put(left, 2, why, faint);
                return;
            }
        };
        match pane.text(&request, state.pane_room()) {
            None => drop(self.put(left, 2, "…", faint)),
            Some(lines) if lines.is_empty() => drop(self.put(left, 2, "nothing", faint)),
            Some(lines) => {
                if request.action.prints_cells() {
                    return self.cells((left, 2), &lines);
                }
                for (at, line) in lines.iter().enumerate() {
                    let style = if pane.aspect == Aspect::Changes { self.diff_style(line) } else { Style::new() };
                    self.put(left, 2 + at, line, style);
                }
            }
        }
    }

    fn diff_style(&self, line: &str) -> Style {
        match line.chars().next() {
            Some('+') => self.style(Meaning::Good),
            Some('-') => self.style(Meaning::Bad),
            Some('@') => self.style(Meaning::Notice),
            Some('d') if line.starts_with("diff ") => self.style(Meaning::Strong),
            _ => Style::new(),
        }
    }

    /// Draws rows of a screen with their colours. What is wider than the place is cut off.
    fn cells(&mut self, (left, top): (usize, usize), lines: &[String]) {
        for (y, row) in (top..).zip(screen_cells::rows(&lines.join("\n"))) {
            let mut x = left;
            for run in row {
                x = self.put(x, y, &run.text, cell_style(run.style));
            }
        }
    }

    fn view(&mut self, view: &View) {
        let height = self.rows.saturating_sub(2);
        if view.form == ViewForm::Screen {
            let lines = view.lines.get(view.scroll..).unwrap_or_default();
            return self.cells((0, 1), lines.get(..height).unwrap_or(lines));
        }
        for (y, line) in view.lines.iter().skip(view.scroll).take(height).enumerate() {
            let style = if view.form == ViewForm::Diff { self.diff_style(line) } else { Style::new() };
            self.put(0, y + 1, line, style);
        }
        if view.lines.is_empty() {
            let text = if view.is_live { "nothing yet" } else { "nothing" };
            self.put(0, 1, text, self.style(Meaning::Faint));
        }
    }

    fn approval(&mut self, state: &State, label: &str, lines: &[String], scroll: usize, is_seen: bool) {
        self.put(0, 1, &format!("{}?", label.to_uppercase()), self.style(Meaning::Strong));
        let height = state.approval_height();
        let room = state.text_width();
        let wrapped = lines.iter().flat_map(|line| {
            let parts = wrap(line, room);
            if parts.is_empty() { vec![String::new()] } else { parts }
        });
        for (y, line) in wrapped.skip(scroll).take(height).enumerate() {
            self.put(2, y + 2, &line, Style::new());
        }
        if !is_seen {
            self.put_right(1, "more below: Space", self.style(Meaning::Notice));
        }
    }

    /// What the selected row allows, and beside it the keys of the board.
    fn keys(&mut self, state: &State) {
        let mut top = 1;
        if let Some(row) = state.row() {
            self.put(1, top, &row.title, self.style(Meaning::Strong));
            top += 1;
        }
        if let Some(need) = state.subject().need {
            self.put(1, top, &need.evidence, self.style(Meaning::Faint));
            top += 1;
        }
        let mut lines: Vec<(String, String)> =
            state.offers().into_iter().map(|offer| (offer.key_name(), offer.label)).collect();
        let of_row = lines.len();
        lines.extend(BOARD_KEYS.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())));
        let (middle, room) = (self.columns / 2, self.rows.saturating_sub(top + 2));
        for (at, (key, text)) in lines.iter().enumerate() {
            let (x, y) = match at.checked_sub(of_row) {
                Some(at) if self.columns >= TWO_COLUMNS => (middle, at),
                _ => (1, at),
            };
            if y < room {
                let end = if x == 1 && self.columns >= TWO_COLUMNS { middle } else { self.columns };
                let x = self.put(x, top + 1 + y, &pad(key, 8), self.style(Meaning::Strong));
                self.put(x, top + 1 + y, &fit(text, end.saturating_sub(x + 1)), Style::new());
            }
        }
    }

    fn status(&mut self, state: &State) -> Option<Position> {
        let y = self.rows.saturating_sub(1);
        match &state.mode {
            Mode::Filter(editor) => return self.editor(y, "/", editor),
            Mode::Text { title, asked, editor, over, .. } => {
                let above = y.saturating_sub(1);
                self.asked(asked.as_deref(), above);
                self.clear(above);
                self.clear(y);
                let (hint, meaning) = match over {
                    Some(why) => (format!("{title}: {why}"), Meaning::Bad),
                    None => (format!("{title}: Enter sends, Esc leaves"), Meaning::Strong),
                };
                self.put(0, above, &hint, self.style(meaning));
                return self.editor(y, "> ", editor);
            }
            Mode::Confirm { action, question } => {
                let above = y.saturating_sub(1);
                self.clear(above);
                self.put(0, above, question, self.style(Meaning::Strong));
                let text = format!("y runs: {}    any other key: nothing", action.typed());
                self.put(0, y, &text, self.style(Meaning::Notice));
            }
            Mode::Approval { offer, .. } => {
                let text = format!("{} again: {}    Esc: nothing", offer.key, offer.label);
                let text = state.message.as_ref().map_or(text, |(_, message)| message.clone());
                self.put(0, y, &text, self.style(Meaning::Notice));
            }
            Mode::View(view) => {
                let x = self.put(0, y, &view.typed, self.style(Meaning::Notice));
                let last = view.scroll + self.rows.saturating_sub(2).min(view.lines.len());
                let place = format!("{last}/{} ", view.lines.len());
                let live = if view.is_live { "live  " } else { "" };
                let offers = view.offers.iter().map(|offer| format!("  {} {}", offer.key, offer.label));
                let text = format!("{live}{place} q back{}", offers.collect::<String>());
                self.put(x + 2, y, &text, self.style(Meaning::Faint));
            }
            Mode::Keys => {
                self.put(0, y, "each key works; Esc: back", self.style(Meaning::Faint));
            }
            Mode::Board => self.board_status(state, y),
        }
        None
    }

    /// The whole question above the line at `bottom`, as far as the screen has room.
    fn asked(&mut self, question: Option<&str>, bottom: usize) {
        let lines = question.map(|text| wrap(text, self.columns)).unwrap_or_default();
        let first = bottom.saturating_sub(lines.len());
        for (at, line) in lines.iter().enumerate().take(bottom) {
            self.clear(first + at);
            self.put(0, first + at, line, self.style(Meaning::Notice));
        }
    }

    fn board_status(&mut self, state: &State, y: usize) {
        let keys = "? keys  q quit";
        match (&state.message, &state.running) {
            (Some((meaning, message)), _) => {
                // A refusal is read with its hint: the lines of the selected row give way.
                let mut lines = wrap(message, self.columns);
                lines.truncate(MAX_MESSAGE_LINES);
                let first = (y + 1).saturating_sub(lines.len());
                for (at, line) in lines.iter().enumerate() {
                    self.clear(first + at);
                    self.put(0, first + at, line, self.style(*meaning));
                }
            }
            (None, Some(running)) => {
                self.put(0, y, &format!("running: {running}"), self.style(Meaning::Notice));
            }
            (None, None) => {
                let filter =
                    if state.filter.is_empty() { String::new() } else { format!("filter: {}   ", state.filter) };
                let room = self.columns.saturating_sub(width(keys) + 2);
                let mut text = filter;
                for offer in state.offers().iter().filter(|offer| offer.is_direct()) {
                    let hint = format!("{} {}   ", offer.key_name(), offer.label);
                    if width(&text) + width(&hint) <= room {
                        text.push_str(&hint);
                    }
                }
                self.put(0, y, &fit(&text, room), self.style(Meaning::Faint));
                self.put_right(y, keys, self.style(Meaning::Faint));
            }
        }
    }

    fn clear(&mut self, y: usize) {
        self.put(0, y, &" ".repeat(self.columns), Style::reset());
    }

    fn editor(&mut self, y: usize, prompt: &str, editor: &Editor) -> Option<Position> {
        let (before, after) = editor.parts();
        let (before, after) = (fairway_core::render::escape_line(&before), fairway_core::render::escape_line(&after));
        let x = self.put(0, y, prompt, self.style(Meaning::Strong));
        let room = self.columns.saturating_sub(x + 1);
        // Of a long text the end is shown, because there the person types.
        let mut shown = before.as_str();
        while width(shown) > room {
            shown = shown.char_indices().nth(1).map_or("", |(at, _)| shown.get(at..).unwrap_or_default());
        }
        let end = self.put(x, y, shown, Style::new());
        self.put(end, y, &after, Style::new());
        Some(Position { x: u16::try_from(end).ok()?, y: u16::try_from(y).ok()? })
    }
}
