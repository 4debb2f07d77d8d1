//! One frame as text.

use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::terminal::Terminal;

use super::draw::{Look, draw};
use super::screen;
use super::state::State;
use super::text::width;
use fairway_core::env::Timestamp;
use fairway_core::os::terminal::Size;
use fairway_core::wire::BoardView;

/// The lines of the first frame of a board, without colours and trailing blanks.
pub fn frame_lines(board: BoardView, size: Size, now: Timestamp) -> Vec<String> {
    let state = State::new(board, Vec::new(), size);
    lines(&state, Look { now, has_colour: false })
}

/// Draws a state's frame and returns its lines, without trailing blanks. Colours become control sequences.
pub(super) fn lines(state: &State, look: Look) -> Vec<String> {
    let Ok(mut terminal) = Terminal::new(TestBackend::new(state.size.cols, state.size.rows));
    let Ok(_) = terminal.draw(|frame| {
        let _ = draw(frame.buffer_mut(), state, look);
    });
    let buffer: &Buffer = terminal.backend().buffer();
    let columns = usize::from(buffer.area.width).max(1);
    buffer.content.chunks(columns).map(|cells| line(cells, look.has_colour)).collect()
}

fn line(cells: &[Cell], has_colour: bool) -> String {
    let is_plain = |cell: &Cell| cell.symbol() == " " && (!has_colour || cell.modifier.is_empty());
    let length = cells.iter().rposition(|cell| !is_plain(cell)).map_or(0, |at| at + 1);
    let (mut text, mut hidden, mut style) = (String::new(), 0, None);
    for cell in cells.iter().take(length) {
        // The cell behind a wide character is covered by it.
        if hidden > 0 {
            hidden -= 1;
            continue;
        }
        if has_colour && style != Some((cell.fg, cell.bg, cell.modifier)) {
            style = Some((cell.fg, cell.bg, cell.modifier));
            text.push_str(&screen::sequence_of(cell, true));
        }
        text.push_str(cell.symbol());
        hidden = width(cell.symbol()).saturating_sub(1);
    }
    if style.is_some() {
        text.push_str("\u{1b}[0m");
    }
    text
}
