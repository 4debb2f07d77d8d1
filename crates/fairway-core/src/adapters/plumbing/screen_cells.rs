//! A screen as cells: each row as runs of one style. Blank rows at the end, and blank cells at the end of a row, are left out.

use std::fmt::Write as _;
use std::num::NonZeroU16;

use unicode_width::UnicodeWidthStr as _;

use crate::domain::{ansi, secrets};

/// Columns besides the widest line: emulators disagree about the width of joined characters.
const SPARE_COLUMNS: usize = 16;

pub type Row = Vec<Run>;

/// Neighbouring cells of one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub text: String,
    pub style: CellStyle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CellStyle {
    pub fg: vt100::Color,
    pub bg: vt100::Color,
    /// A bit for each [`Mark`].
    marks: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Bold,
    Dim,
    Italic,
    Underline,
    Inverse,
}

impl Mark {
    /// Every mark with its parameter of the sequence that sets a style.
    pub const ALL: [(Self, u8); 5] =
        [(Self::Bold, 1), (Self::Dim, 2), (Self::Italic, 3), (Self::Underline, 4), (Self::Inverse, 7)];

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl CellStyle {
    fn of(cell: &vt100::Cell) -> Self {
        let marks = [
            (cell.bold(), Mark::Bold),
            (cell.dim(), Mark::Dim),
            (cell.italic(), Mark::Italic),
            (cell.underline(), Mark::Underline),
            (cell.inverse(), Mark::Inverse),
        ];
        let marks = marks.into_iter().filter(|(is_set, _)| *is_set).map(|(_, mark)| mark.bit()).sum();
        Self { fg: cell.fgcolor(), bg: cell.bgcolor(), marks }
    }

    pub const fn has(self, mark: Mark) -> bool {
        self.marks & mark.bit() != 0
    }

    /// The control sequence that sets this style and no other.
    fn sequence(self) -> String {
        let mut sequence = "\x1b[0".to_owned();
        // Writing into a String cannot fail.
        for (_, code) in Mark::ALL.iter().filter(|(mark, _)| self.has(*mark)) {
            let _ = write!(sequence, ";{code}");
        }
        for (colour, base) in [(self.fg, 38), (self.bg, 48)] {
            let _ = match colour {
                vt100::Color::Default => Ok(()),
                vt100::Color::Idx(index) => write!(sequence, ";{base};5;{index}"),
                vt100::Color::Rgb(red, green, blue) => write!(sequence, ";{base};2;{red};{green};{blue}"),
            };
        }
        sequence.push('m');
        sequence
    }
}

/// The visible rows of an emulated terminal.
pub(super) fn rows_of(screen: &vt100::Screen) -> Vec<Row> {
    let (height, width) = screen.size();
    let row = |at: u16| {
        let mut row: Row = Vec::new();
        for cell in (0..width.get()).filter_map(|column| screen.cell(at, column)) {
            if cell.is_wide_continuation() {
                continue;
            }
            let style = CellStyle::of(cell);
            let text = if cell.has_contents() { cell.contents() } else { " " };
            match row.last_mut().filter(|run| run.style == style) {
                Some(run) => run.text.push_str(text),
                None => row.push(Run { text: text.to_owned(), style }),
            }
        }
        if let Some(last) = row.last_mut().filter(|run| run.style == CellStyle::default()) {
            last.text.truncate(last.text.trim_end_matches(' ').len());
        }
        row.retain(|run| !run.text.is_empty());
        row
    };
    let mut rows: Vec<Row> = (0..height.get()).map(row).collect();
    while rows.last().is_some_and(Vec::is_empty) {
        rows.pop();
    }
    rows
}

/// The rows of a text whose only control sequences set styles, as multiplexers print a screen.
pub fn rows(text: &str) -> Vec<Row> {
    let size = |count: usize| u16::try_from(count).ok().and_then(NonZeroU16::new).unwrap_or(NonZeroU16::MIN);
    let width = text.lines().map(|line| ansi::strip_escapes(line).width()).max().unwrap_or_default();
    let mut parser = vt100::Parser::new(size(text.lines().count()), size(width + SPARE_COLUMNS), 0);
    parser.process(text.trim_end_matches('\n').replace('\n', "\r\n").as_bytes());
    rows_of(parser.screen())
}

/// The rows of a text without control sequences.
pub fn plain_rows(text: &str) -> Vec<Row> {
    text.lines().map(plain_row).collect()
}

fn plain_row(line: &str) -> Row {
    let run = Run { text: line.to_owned(), style: CellStyle::default() };
    Some(run).into_iter().filter(|run| !run.text.is_empty()).collect()
}

/// How many columns the widest row has.
pub fn width(rows: &[Row]) -> usize {
    rows.iter().map(|row| row.iter().map(|run| run.text.width()).sum()).max().unwrap_or_default()
}

/// The rows with secrets masked. A row with a secret has no colours.
pub fn masked(rows: Vec<Row>) -> Vec<Row> {
    let plain: Vec<String> = rows.iter().map(|row| row.iter().map(|run| run.text.as_str()).collect()).collect();
    let joined = plain.join("\n");
    let masked = secrets::mask(&joined);
    if masked == joined {
        return rows;
    }
    if masked.lines().count() != plain.len() {
        return plain_rows(&masked);
    }
    let kept = |((row, plain), line): ((Row, String), &str)| if line == plain { row } else { plain_row(line) };
    rows.into_iter().zip(plain).zip(masked.split('\n')).map(kept).collect()
}

/// The rows as a text whose only control sequences set styles.
pub fn text(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        for run in row {
            text.extend([run.style.sequence().as_str(), &run.text]);
        }
        if !row.is_empty() {
            text.push_str("\x1b[0m");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styled_text_is_cells_and_text_again() {
        let printed = "plain \x1b[1;31mred\x1b[0m\n\x1b[7m日本 \x1b[0m\n\x1b[38;2;1;2;3;48;5;200mx\n\n";
        let found = rows(printed);
        let texts: Vec<Vec<&str>> = found.iter().map(|row| row.iter().map(|run| run.text.as_str()).collect()).collect();
        assert_eq!(texts, [vec!["plain ", "red"], vec!["日本 "], vec!["x"]]);
        assert!(found[0][1].style.has(Mark::Bold) && !found[0][0].style.has(Mark::Bold));
        assert_eq!(found[0][1].style.fg, vt100::Color::Idx(1));
        assert_eq!(rows(&text(&masked(found.clone()))), found);
        assert_eq!(rows(""), Vec::<Row>::new());
    }

    #[test]
    fn secret_is_masked_whatever_its_colours() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let (begin, end) = token.split_at(12);
        let text = text(&masked(rows(&format!("\x1b[32mok\x1b[0m\n{begin}\x1b[31m{end}\x1b[0m\n"))));
        assert!(!text.contains(begin) && !text.contains(end), "{text}");
        assert!(text.starts_with("\x1b[0;38;5;2mok"), "{text:?}");
    }
}
