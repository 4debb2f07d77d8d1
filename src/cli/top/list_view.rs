//! The list on the screen. A row has one line where its facts fit beside its title, else two; the selected one shows its whole
//! title.

use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};

use super::draw::Canvas;
use super::state::State;
use super::text::{fit, width, wrap};
use crate::cli::age::age;
use crate::cli::status::format::meaning_of;
use fairway_actions::board::list::{FactKind, ListPart, ListRow, RowFact, count};
use fairway_core::env::Timestamp;
use fairway_core::render::Meaning;

/// The height from which parts have an empty line between them.
const HIGH: usize = 30;
/// The column in which a row's title begins.
const TITLE: usize = 3;
const SEPARATOR: &str = " · ";
/// The most lines of the selected row's title, and of what a landing prints below it.
const MAX_LINES: usize = 4;

#[derive(Debug, Clone, Copy)]
enum Line {
    Blank,
    Heading(ListPart),
    /// A part of a row's title, or what runs for it.
    Title {
        row: usize,
        part: usize,
        /// Whether the facts stand beside it.
        has_facts: bool,
    },
    Facts {
        row: usize,
    },
}

/// A row as texts that fit on the screen.
struct RowText {
    title: Vec<String>,
    corner: Vec<(String, Meaning)>,
    facts: Vec<(String, Meaning)>,
    is_beside: bool,
}

fn joined_width(parts: &[(String, Meaning)], between: usize) -> usize {
    parts.iter().map(|(text, _)| width(text) + between).sum::<usize>().saturating_sub(between)
}

fn fact_text(row: &ListRow, fact: &RowFact, now: Timestamp) -> (String, Meaning) {
    let since = fact.since.as_deref().map(|at| age(at, now));
    let text = [Some(fact.text.clone()).filter(|text| !text.is_empty()), since].into_iter().flatten();
    let meaning = match fact.kind {
        FactKind::State | FactKind::Kind => meaning_of(row.shape),
        FactKind::Notice => Meaning::Notice,
        FactKind::Added => Meaning::Good,
        _ => Meaning::Faint,
    };
    (fit(&text.collect::<Vec<_>>().join(" "), usize::MAX / 8), meaning)
}

impl RowText {
    fn of(state: &State, at: usize, columns: usize, now: Timestamp) -> Option<Self> {
        let row = state.rows.get(at)?;
        let texts = |facts: &[RowFact]| facts.iter().map(|fact| fact_text(row, fact, now)).collect::<Vec<_>>();
        let (facts, corner) = (texts(&row.facts), texts(&row.corner));
        let room = columns.saturating_sub(TITLE + joined_width(&corner, 1) + 2);
        let beside = room.saturating_sub(beside(columns) - TITLE);
        let is_beside = width(&fit(&row.title, room)) + 2 <= beside_title(columns)
            && joined_width(&facts, SEPARATOR.chars().count()) <= beside;
        let mut title = vec![fit(&row.title, room)];
        if at == state.cursor && title.iter().any(|line| line.ends_with('…')) {
            title = wrap(&row.title.replace('\n', " "), room);
            if title.len() > MAX_LINES {
                title.truncate(MAX_LINES - 1);
                let shown: usize = title.iter().map(|line| line.chars().count()).sum();
                title.push(fit(&row.title.chars().skip(shown).collect::<String>(), room));
            }
        }
        if at == state.cursor
            && let Some(running) = state.subject().running
        {
            title.extend(running.output.iter().rev().take(MAX_LINES).rev().map(|line| fit(line, room)));
        }
        Some(Self { title, corner, facts, is_beside })
    }
}

/// The column of the facts that stand beside a title.
const fn beside(columns: usize) -> usize {
    if columns * 5 / 9 > TITLE { columns * 5 / 9 } else { TITLE }
}

/// The room of a title with facts beside it.
const fn beside_title(columns: usize) -> usize {
    beside(columns) - TITLE
}

impl Canvas<'_> {
    pub(super) fn list(&mut self, state: &State, mut top: usize, mut height: usize) {
        if state.board.needs_you.is_empty() && height > 0 {
            self.put(0, top, &state.board.calm_line(), self.style(Meaning::Good));
            (top, height) = (top + 1, height - 1);
        }
        if state.rows.is_empty() {
            let text = if state.filter.is_empty() {
                "no lane, no session and no job; n adds a task, N starts an agent on the next ready one"
            } else {
                "nothing matches; Esc shows everything"
            };
            self.put(0, top + 1, text, self.style(Meaning::Faint));
            return;
        }
        let texts: Vec<RowText> =
            (0..state.rows.len()).filter_map(|at| RowText::of(state, at, self.columns, self.look.now)).collect();
        let (mut lines, mut cursor, mut needs) = (Vec::new(), 0, 0);
        for (at, (row, text)) in state.rows.iter().zip(&texts).enumerate() {
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
            for part in 0..text.title.len() {
                lines.push(Line::Title { row: at, part, has_facts: part == 0 && text.is_beside });
            }
            if !text.is_beside && !text.facts.is_empty() {
                lines.push(Line::Facts { row: at });
            }
            if row.part == ListPart::Needs {
                needs = lines.len();
            }
        }
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
        for (y, line) in (top..).zip(lines.iter().skip(offset).take(height)) {
            match *line {
                Line::Blank => {}
                Line::Heading(part) => {
                    let count = count(&state.board, &state.rows, part);
                    let text = format!("{} ({count})", part.title().to_uppercase());
                    self.put(0, y, &text, self.style(Meaning::Strong));
                }
                Line::Title { row, part, has_facts } => {
                    let (Some(text), Some(shape)) = (texts.get(row), state.rows.get(row).map(|row| row.shape)) else {
                        continue;
                    };
                    if part == 0 {
                        let mark = if row == state.cursor { "›" } else { " " };
                        self.put(0, y, mark, self.style(Meaning::Strong));
                        self.put(1, y, &shape.to_string(), self.style(meaning_of(shape)));
                        self.corner(y, &text.corner);
                    }
                    let room = if has_facts { beside_title(self.columns).saturating_sub(2) } else { usize::MAX };
                    let line = text.title.get(part).map_or("", String::as_str);
                    self.put(TITLE, y, &fit(line, room.min(self.columns)), Style::new());
                    if has_facts {
                        self.facts(beside(self.columns), y, &text.facts);
                    }
                    self.select(y, row == state.cursor);
                }
                Line::Facts { row } => {
                    let Some(text) = texts.get(row) else { continue };
                    self.facts(TITLE + 2, y, &text.facts);
                    self.select(y, row == state.cursor);
                }
            }
        }
        let below = lines.len().saturating_sub(offset + height);
        if offset > 0 {
            self.put_right(top, &format!(" ↑ {offset} "), self.style(Meaning::Faint));
        }
        if below > 0 && height > 1 {
            self.put_right(top + height - 1, &format!(" ↓ {below} "), self.style(Meaning::Faint));
        }
    }

    fn corner(&mut self, y: usize, corner: &[(String, Meaning)]) {
        let mut x = self.columns.saturating_sub(joined_width(corner, 1));
        for (text, meaning) in corner {
            x = self.put(x, y, text, self.style(*meaning)) + 1;
        }
    }

    fn facts(&mut self, mut x: usize, y: usize, facts: &[(String, Meaning)]) {
        for (at, (text, meaning)) in facts.iter().enumerate() {
            if at > 0 {
                x = self.put(x, y, SEPARATOR, self.style(Meaning::Faint));
            }
            x = self.put(x, y, text, self.style(*meaning));
        }
    }

    /// Marks a line of the selected row. Its colours give way: they cannot be read on the bar.
    fn select(&mut self, y: usize, is_selected: bool) {
        if is_selected && let (Ok(y), Ok(width)) = (u16::try_from(y), u16::try_from(self.columns)) {
            let area = Rect { x: 0, y, width, height: 1 };
            self.buffer.set_style(area, Style::reset().add_modifier(Modifier::REVERSED));
        }
    }
}
