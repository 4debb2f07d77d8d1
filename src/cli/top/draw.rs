//! A frame from the state. Colours repeat what shapes and words say.

use ratatui_core::{
    buffer::Buffer,
    layout::Position,
    style::{Color, Modifier, Style},
};

use super::{
    action::{Aspect, ROW_KEYS, typed},
    editor::Editor,
    mode::{Mode, View},
    rows::{Part, RowText, count},
    state::State,
    text::{fit, pad, width, wrap},
};
use crate::{env::Timestamp, render::Meaning};

/// The width from which the whole commands stand in the rows.
const WIDE: usize = 120;
/// The height from which parts have an empty line between them.
const HIGH: usize = 30;
/// The least width of the text of an item that needs a person: with less room the key gives way, which the detail shows too.
const MIN_NEED: usize = 40;

const MAX_MESSAGE_LINES: usize = 4;

#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub now: Timestamp,
    pub has_colour: bool,
}

struct Column {
    /// The least width, of the column that takes what is left.
    least: usize,
    most: usize,
    /// Columns of the highest rank go first when there is no room; those of rank 0 stay.
    rank: u8,
    /// Whether it takes the width that is left.
    is_rest: bool,
}

const fn column(most: usize, rank: u8) -> Column {
    Column { least: 0, most, rank, is_rest: false }
}

const fn rest(least: usize) -> Column {
    Column { least, most: usize::MAX, rank: 0, is_rest: true }
}

const REST: Column = rest(18);

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
        Mode::Approval { allow, lines, scroll, is_seen, .. } => {
            canvas.approval(state, *allow, lines, *scroll, *is_seen);
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

struct Canvas<'a> {
    buffer: &'a mut Buffer,
    columns: usize,
    rows: usize,
    look: Look,
    /// A board that may have changed is drawn without colours.
    is_current: bool,
}

enum Line {
    Blank,
    Heading(Part),
    Row(usize),
}

impl Canvas<'_> {
    fn style(&self, meaning: Meaning) -> Style {
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
    fn put(&mut self, x: usize, y: usize, text: &str, style: Style) -> usize {
        let room = self.columns.saturating_sub(x);
        if room == 0 || y >= self.rows {
            return x;
        }
        let text = fit(text, room);
        let (Ok(column), Ok(row)) = (u16::try_from(x), u16::try_from(y)) else { return x };
        self.buffer.set_stringn(column, row, &text, room, style);
        x + width(&text)
    }

    fn put_right(&mut self, y: usize, text: &str, style: Style) {
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

    fn board(&mut self, state: &State) {
        let detail = if self.rows >= HIGH { 9 } else { 5 };
        // The last line is the status line.
        let bottom = self.rows.saturating_sub(1);
        let detail = if self.rows >= 16 { detail } else { 0 };
        let height = bottom.saturating_sub(1 + detail);
        self.list(state, 1, height);
        if detail > 0 {
            self.detail(state, bottom.saturating_sub(detail), detail);
        }
    }

    fn list(&mut self, state: &State, mut top: usize, mut height: usize) {
        let mut lines = Vec::new();
        let mut cursor = 0;
        for (at, row) in state.rows.iter().enumerate() {
            let is_first = at == 0 || state.rows.get(at - 1).is_some_and(|before| before.part != row.part);
            if is_first {
                if at > 0 && self.rows >= HIGH {
                    lines.push(Line::Blank);
                }
                lines.push(Line::Heading(row.part));
            }
            if at == state.cursor {
                cursor = lines.len();
            }
            lines.push(Line::Row(at));
        }
        if state.board.needs_you.is_empty() && height > 0 {
            self.put(0, top, &state.board.calm_line(), self.style(Meaning::Good));
            (top, height) = (top + 1, height - 1);
        }
        if state.rows.is_empty() {
            let text = if state.filter.is_empty() {
                "no lane, no session and no job; N starts an agent on the next ready task"
            } else {
                "nothing matches; Esc shows everything"
            };
            self.put(0, top + 1, text, self.style(Meaning::Faint));
            return;
        }
        let texts: Vec<RowText> = state.rows.iter().map(|row| row.text(&state.board, self.look.now)).collect();
        let is_other = |line: &Line| match line {
            Line::Row(at) => state.rows.get(*at).is_some_and(|row| row.part != Part::Needs),
            Line::Heading(part) => *part != Part::Needs,
            Line::Blank => true,
        };
        let needs = lines.iter().position(is_other).unwrap_or(lines.len());
        // What needs a person takes half of the room at most: the rest of the board stays in sight.
        let half = height / 2;
        if lines.len() > height && needs > half && needs < lines.len() && half > 1 {
            let (needs, others) = lines.split_at(needs);
            let first = if cursor < needs.len() { cursor } else { 0 };
            self.lines(state, &texts, needs, first, (top, half));
            let cursor = cursor.saturating_sub(needs.len());
            self.lines(state, &texts, others, cursor, (top + half, height - half));
        } else {
            self.lines(state, &texts, &lines, cursor, (top, height));
        }
    }

    /// Draws as many lines as fit into `height` rows from row `top` on, among them the line of the cursor.
    fn lines(
        &mut self,
        state: &State,
        texts: &[RowText],
        lines: &[Line],
        cursor: usize,
        (top, height): (usize, usize),
    ) {
        let most = lines.len().saturating_sub(height);
        let offset = cursor.saturating_sub(height / 2).min(most);
        let mut part_widths: Option<(Part, Vec<usize>)> = None;
        for (y, line) in lines.iter().skip(offset).take(height).enumerate() {
            match line {
                Line::Blank => {}
                Line::Heading(part) => {
                    let text = format!("{} ({})", part.title(), count(&state.board, *part));
                    self.put(0, top + y, &text, self.style(Meaning::Strong));
                }
                Line::Row(at) => {
                    let (Some(row), Some(text)) = (state.rows.get(*at), texts.get(*at)) else { continue };
                    if part_widths.as_ref().is_none_or(|(part, _)| *part != row.part) {
                        let of_part = state.rows.iter().zip(texts).filter(|(other, _)| other.part == row.part);
                        let of_part: Vec<&RowText> = of_part.map(|(_, text)| text).collect();
                        part_widths = Some((row.part, self.widths(row.part, &of_part)));
                    }
                    let widths = part_widths.as_ref().map(|(_, widths)| widths.as_slice()).unwrap_or_default();
                    self.row(top + y, text, widths, *at == state.cursor);
                }
            }
        }
        let above = offset;
        let below = lines.len().saturating_sub(offset + height);
        if above > 0 {
            self.put_right(top, &format!(" ↑ {above} "), self.style(Meaning::Faint));
        }
        if below > 0 && height > 1 {
            self.put_right(top + height - 1, &format!(" ↓ {below} "), self.style(Meaning::Faint));
        }
    }

    fn row(&mut self, y: usize, text: &RowText, widths: &[usize], is_selected: bool) {
        let style = self.style(text.meaning);
        self.put(0, y, if is_selected { "›" } else { " " }, self.style(Meaning::Strong));
        self.put(1, y, &text.shape.to_string(), style);
        let mut x = 3;
        for (at, (cell, width)) in text.cells.iter().zip(widths).enumerate() {
            if *width == 0 {
                continue;
            }
            let style = if at == 0 { style } else { Style::new() };
            self.put(x, y, &pad(cell, (*width).min(self.columns.saturating_sub(x))), style);
            x += width + 2;
        }
        if is_selected && let (Ok(y), Ok(width)) = (u16::try_from(y), u16::try_from(self.columns)) {
            let area = ratatui_core::layout::Rect { x: 0, y, width, height: 1 };
            self.buffer.set_style(area, Style::new().add_modifier(Modifier::REVERSED));
        }
    }

    /// The widths of the columns of a part; 0 for one that is not shown.
    fn widths(&self, part: Part, rows: &[&RowText]) -> Vec<usize> {
        let columns = self.columns_of(part);
        let longest =
            |at: usize| rows.iter().filter_map(|row| row.cells.get(at)).map(|cell| width(&fit(cell, 80))).max();
        let mut widths: Vec<usize> = columns
            .iter()
            .enumerate()
            .map(|(at, column)| if column.is_rest { column.least } else { longest(at).unwrap_or(0).min(column.most) })
            .collect();
        let room = self.columns.saturating_sub(3);
        let used = |widths: &[usize]| widths.iter().filter(|width| **width > 0).map(|width| width + 2).sum::<usize>();
        while used(&widths) > room + 2 {
            let candidate = columns
                .iter()
                .enumerate()
                .filter(|(at, column)| column.rank > 0 && widths.get(*at).is_some_and(|width| *width > 0));
            let Some((at, _)) = candidate.max_by_key(|(_, column)| column.rank) else { break };
            if let Some(width) = widths.get_mut(at) {
                *width = 0;
            }
        }
        // Long names of people's choice give way before the text is gone.
        while used(&widths) > room + 2 {
            let fixed = columns.iter().enumerate().filter(|(_, column)| !column.is_rest).map(|(at, _)| at);
            let Some(at) = fixed.max_by_key(|at| widths.get(*at).copied().unwrap_or(0)) else { break };
            match widths.get_mut(at) {
                Some(width) if *width > 6 => *width -= 1,
                _ => break,
            }
        }
        let left = (room + 2).saturating_sub(used(&widths));
        let rests = columns.iter().filter(|column| column.is_rest).count().max(1);
        for (at, _) in columns.iter().enumerate().filter(|(_, column)| column.is_rest) {
            if let Some(width) = widths.get_mut(at) {
                *width += left / rests;
            }
        }
        widths
    }

    fn columns_of(&self, part: Part) -> Vec<Column> {
        let is_wide = self.columns >= WIDE;
        match part {
            Part::Needs => {
                let cure = if is_wide { 48 } else { 16 };
                vec![column(9, 0), column(24, 0), rest(MIN_NEED), column(8, 0), column(cure, 1)]
            }
            Part::Landing => vec![column(30, 0), column(16, 0), REST, REST],
            Part::Lanes => vec![
                column(20, 0),
                column(if is_wide { 32 } else { 14 }, 0),
                column(24, 0),
                column(10, 3),
                column(30, 0),
                REST,
                column(44, 4),
                column(8, 2),
            ],
            Part::Sessions => {
                vec![column(24, 0), column(if is_wide { 32 } else { 14 }, 0), column(10, 1), column(30, 0), REST]
            }
            Part::Claims => vec![column(28, 0), column(24, 0), column(24, 0), REST],
            Part::Jobs | Part::Failed => vec![column(8, 0), column(20, 1), column(18, 0), REST, REST],
        }
    }

    fn detail(&mut self, state: &State, top: usize, height: usize) {
        let faint = self.style(Meaning::Faint);
        self.put(0, top, &"─".repeat(self.columns), faint);
        let mut lines: Vec<(String, Style)> = Vec::new();
        let subject = state.subject();
        let mut keys = 0;
        if let Some(need) = subject.need {
            let most = if height > 6 { 3 } else { 1 };
            let mut wrapped = wrap(&need.line, self.columns);
            if wrapped.len() > most {
                wrapped.truncate(most - 1);
                let shown: usize = wrapped.iter().map(|line| line.chars().count()).sum();
                wrapped.push(fit(&need.line.chars().skip(shown).collect::<String>(), self.columns));
            }
            lines.extend(wrapped.into_iter().map(|line| (line, Style::new())));
            lines.push((format!("evidence: {}", need.evidence), faint));
            lines
                .extend(need.commands.iter().map(|next| (format!("{}: {}", next.purpose, next.command), Style::new())));
        }
        if let Some(running) = subject.running {
            let output = running.output.iter().rev().take(height / 2).rev();
            lines.extend(std::iter::once(&running.what).chain(output).map(|line| (line.clone(), faint)));
        }
        if lines.len() + 1 < height {
            for (key, _) in ROW_KEYS {
                let Some(command) = typed(*key, &subject, &state.board, &state.person) else { continue };
                keys += 1;
                let key = if *key == '\n' { "Enter".to_owned() } else { key.to_string() };
                lines.push((format!("{key:<5} {command}"), Style::new()));
            }
        }
        if keys == 0 && subject.need.is_none() {
            lines.push(("? shows the keys".to_owned(), faint));
        }
        // A wide screen has two columns of keys.
        let most = height.saturating_sub(1);
        if self.columns >= WIDE && lines.len() > most {
            let middle = self.columns / 2;
            for (at, (line, style)) in lines.iter().enumerate().take(most * 2) {
                let x = if at < most { 0 } else { middle };
                self.put(x, top + 1 + at % most, &pad(line, self.columns - middle), *style);
            }
            return;
        }
        for (at, (line, style)) in lines.iter().take(most).enumerate() {
            self.put(0, top + 1 + at, line, *style);
        }
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
                self.put(left, 3, why, faint);
                return;
            }
        };
        self.put(left, 2, &request.action.typed(), faint);
        match pane.text(&request, state.pane_room()) {
            None => drop(self.put(left, 3, "…", faint)),
            Some(lines) if lines.is_empty() => drop(self.put(left, 3, "nothing", faint)),
            Some(lines) => {
                for (at, line) in lines.iter().enumerate() {
                    let style = if pane.aspect == Aspect::Changes { self.diff_style(line) } else { Style::new() };
                    self.put(left, 3 + at, line, style);
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

    fn view(&mut self, view: &View) {
        let height = self.rows.saturating_sub(2);
        for (y, line) in view.lines.iter().skip(view.scroll).take(height).enumerate() {
            let style = if view.is_diff { self.diff_style(line) } else { Style::new() };
            self.put(0, y + 1, line, style);
        }
        if view.lines.is_empty() {
            let text = if view.is_live { "nothing yet" } else { "nothing" };
            self.put(0, 1, text, self.style(Meaning::Faint));
        }
    }

    fn approval(&mut self, state: &State, allow: bool, lines: &[String], scroll: usize, is_seen: bool) {
        let heading = if allow { "ALLOW THIS?" } else { "DENY THIS?" };
        self.put(0, 1, heading, self.style(Meaning::Strong));
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

    fn keys(&mut self, state: &State) {
        let subject = state.subject();
        let mut lines: Vec<(String, String)> = [
            ("j k g G", "move; also arrows, Home, End, Page Up and Page Down"),
            ("Tab", "next part; Shift-Tab the one before"),
            ("1 2 3 4", "screen, messages, changes, evidence: beside the list from 120 columns on, else over it"),
            ("0, J K", "hide what is beside the list; move its text"),
            ("/", "filter; Esc shows everything again"),
        ]
        .map(|(key, text)| (key.to_owned(), text.to_owned()))
        .into();
        for (key, meaning) in ROW_KEYS {
            let key_name = if *key == '\n' { "Enter".to_owned() } else { key.to_string() };
            let command = typed(*key, &subject, &state.board, &state.person);
            let command = command.map(|command| format!(": {command}")).unwrap_or_default();
            lines.push((key_name, format!("{meaning}{command}")));
        }
        for (key, text) in [
            ("N", "start the next ready task: fairway start TASK"),
            ("Ctrl-L", "draw anew"),
            ("Ctrl-Z", "suspend"),
            ("q", "quit"),
        ] {
            lines.push((key.to_owned(), text.to_owned()));
        }
        self.put(0, 1, "KEYS", self.style(Meaning::Strong));
        for (y, (key, text)) in lines.iter().enumerate() {
            let x = self.put(1, y + 2, &pad(key, 8), self.style(Meaning::Strong));
            self.put(x + 1, y + 2, text, Style::new());
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
            Mode::Approval { id, allow, .. } => {
                let command = super::action::answer(*id, *allow).typed();
                let key = if *allow { 'y' } else { 'n' };
                let text = format!("{key} runs: {command}    Esc: nothing");
                let text = state.message.as_ref().map_or(text, |(_, message)| message.clone());
                self.put(0, y, &text, self.style(Meaning::Notice));
            }
            Mode::View(view) => {
                let x = self.put(0, y, &view.typed, self.style(Meaning::Notice));
                let last = view.scroll + self.rows.saturating_sub(2).min(view.lines.len());
                let place = format!("{last}/{} ", view.lines.len());
                let live = if view.is_live { "live  " } else { "" };
                self.put(x + 2, y, &format!("{live}{place} q back"), self.style(Meaning::Faint));
            }
            Mode::Keys => {
                self.put(0, y, "any key: back", self.style(Meaning::Faint));
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
                let command = typed('\n', &state.subject(), &state.board, &state.person);
                let command = command.map(|command| format!("Enter {command}")).unwrap_or_default();
                let room = self.columns.saturating_sub(width(keys) + 2);
                self.put(0, y, &fit(&format!("{filter}{command}"), room), self.style(Meaning::Faint));
                self.put_right(y, keys, self.style(Meaning::Faint));
            }
        }
    }

    fn clear(&mut self, y: usize) {
        self.put(0, y, &" ".repeat(self.columns), Style::reset());
    }

    fn editor(&mut self, y: usize, prompt: &str, editor: &Editor) -> Option<Position> {
        let (before, after) = editor.parts();
        let (before, after) = (crate::render::escape_line(&before), crate::render::escape_line(&after));
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
