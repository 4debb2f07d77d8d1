//! Tables in one style: columns apart by two spaces, no frame, fitted to the terminal.

use tabled::builder::Builder;
use tabled::settings::{Alignment, Padding, Style as Frame};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::style::colour_status;
use super::{Style, escape_line};

const GAP: usize = 2;
/// The width that a column keeps while another one can still be cut, in columns of a terminal.
const MIN_TEXT_WIDTH: usize = 24;
/// The width for which the last column drives optional ones out, in columns of a terminal.
const TEXT_WIDTH: usize = 40;
/// The width that a column keeps, in columns of a terminal.
const MIN_WIDTH: usize = 8;

/// Rows under headings. Every cell is made safe for a terminal.
#[derive(Debug)]
pub struct Table {
    /// The headings, then the rows.
    cells: Vec<Vec<String>>,
    /// Positions of columns that are never cut.
    whole: Vec<usize>,
    /// Headings of columns that a narrow terminal does not show; the first one goes first.
    optional: Vec<String>,
    /// Headings of columns that go when whole columns would not fit otherwise.
    expendable: Vec<String>,
}

impl Table {
    pub fn new(headings: &[&str]) -> Self {
        let cells = vec![headings.iter().map(|heading| heading.to_uppercase()).collect()];
        Self { cells, whole: vec![0], optional: Vec::new(), expendable: Vec::new() }
    }

    /// Marks columns that [`Table::render`] cuts last, only when they alone are too wide. They are for ids, which a person copies
    /// into the next command.
    #[must_use]
    pub fn with_whole(mut self, headings: &[&str]) -> Self {
        let found = headings.iter().filter_map(|heading| self.position(&heading.to_uppercase()));
        let found: Vec<usize> = found.collect();
        self.whole.extend(found);
        self
    }

    /// Marks columns that [`Table::render`] leaves out, one after the other, when too little width remains for the last column.
    #[must_use]
    pub fn with_optional(mut self, headings: &[&str]) -> Self {
        self.optional = headings.iter().map(|heading| heading.to_uppercase()).collect();
        self
    }

    /// Marks columns that [`Table::render`] leaves out, one after the other, when the columns that must stay whole would not fit
    /// otherwise.
    #[must_use]
    pub fn with_expendable(mut self, headings: &[&str]) -> Self {
        self.expendable = headings.iter().map(|heading| heading.to_uppercase()).collect();
        self
    }

    fn position(&self, heading: &str) -> Option<usize> {
        self.cells.first()?.iter().position(|cell| cell == heading)
    }

    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.cells.push(cells.into_iter().map(|cell| escape_line(cell.as_ref())).collect());
    }

    pub const fn is_empty(&self) -> bool {
        self.cells.len() < 2
    }

    /// Formats the table as text that ends in a newline. With a `width`, leaves out columns and cuts cells so that no line is
    /// wider than that.
    pub fn render(mut self, width: Option<usize>) -> String {
        if let Some(width) = width {
            self.fit(width);
        }
        let mut builder = Builder::default();
        for row in self.cells {
            builder.push_record(row);
        }
        // One padding for all cells: settings for single columns would make tabled keep one for each cell.
        let mut table = builder.build();
        table.with(Frame::empty()).with(Alignment::left()).with(Padding::new(0, GAP, 0, 0));
        // Padding at a line's end is noise in a pipe and a diff.
        table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    /// As [`Table::render`], with the status words in colours.
    pub fn coloured(self, width: Option<usize>, style: Style) -> String {
        colour_status(&self.render(width), style)
    }

    /// The widths of all columns, in columns of a terminal.
    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.cells.first().map_or(0, Vec::len)];
        for row in &self.cells {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = columns(cell).max(*width);
            }
        }
        widths
    }

    /// Leaves optional columns out until the last column keeps its width, or [`TEXT_WIDTH`] of it, and expendable ones until
    /// the whole columns fit beside what the others keep.
    fn drop_columns(&mut self, width: usize) {
        for heading in std::mem::take(&mut self.optional) {
            let widths = self.widths();
            let others = widths.iter().rev().skip(1).map(|width| width + GAP).sum::<usize>();
            let last = widths.last().map_or(0, |last| (*last).min(TEXT_WIDTH));
            if others + last <= width {
                break;
            }
            self.remove(&heading);
        }
        for heading in std::mem::take(&mut self.expendable) {
            let least = |(column, width): (usize, usize)| {
                let kept = MIN_WIDTH.max(self.heading_width(column));
                if self.whole.contains(&column) { width } else { width.min(kept) }
            };
            let widths = self.widths();
            let needed: usize = widths.iter().copied().enumerate().map(least).sum();
            if needed + GAP * widths.len().saturating_sub(1) <= width {
                break;
            }
            self.remove(&heading);
        }
    }

    fn heading_width(&self, column: usize) -> usize {
        self.cells.first().and_then(|row| row.get(column)).map_or(0, |cell| columns(cell))
    }

    fn remove(&mut self, heading: &str) {
        if let Some(column) = self.position(heading) {
            self.cells.iter_mut().for_each(|row| drop(row.remove(column)));
            self.whole.iter_mut().filter(|whole| **whole > column).for_each(|whole| *whole -= 1);
        }
    }

    /// Cuts cells until the rows fit: first the last column, which is a title or a summary, then the others from the right.
    /// Whole columns are cut only where they alone are too wide.
    fn fit(&mut self, width: usize) {
        self.drop_columns(width);
        let mut widths = self.widths();
        let natural = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        let mut excess = natural.saturating_sub(width);
        for least in [MIN_TEXT_WIDTH, MIN_WIDTH] {
            for column in (0..widths.len()).rev().filter(|column| !self.whole.contains(column)) {
                let heading = self.heading_width(column);
                if let Some(now) = widths.get_mut(column) {
                    let cut = now.saturating_sub(least.max(heading)).min(excess);
                    *now -= cut;
                    excess -= cut;
                }
            }
        }
        while let Some(widest) = widths.iter_mut().max().filter(|widest| excess > 0 && **widest > 0) {
            *widest -= 1;
            excess -= 1;
        }
        for row in &mut self.cells {
            for (cell, width) in row.iter_mut().zip(&widths) {
                if columns(cell) > *width {
                    *cell = cut(cell, *width);
                }
            }
        }
    }
}

/// The width of a text without control characters, in columns of a terminal.
fn columns(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// The beginning of a text, with a mark that it was cut; at most `width` columns wide.
fn cut(text: &str, width: usize) -> String {
    let mut left = width;
    let mut short = String::new();
    for character in text.chars() {
        let wide = character.width().unwrap_or_default();
        if wide >= left {
            break;
        }
        left -= wide;
        short.push(character);
    }
    short.extend((left > 0).then_some('…'));
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_apart_and_fit() {
        let mut table = Table::new(&["id", "title"]);
        table.row(["T-1", "a\u{1b}[2Jb"]);
        table.row(["T-20", "a rather long title that does not fit"]);
        assert_eq!(table.render(Some(24)), "ID    TITLE\nT-1   a\\u{1b}[2Jb\nT-20  a rather long tit…\n");
    }

    #[test]
    fn status_words_are_coloured_in_their_columns_only() {
        let env = crate::env::Env::from_process();
        let rows = |style| {
            let mut table = Table::new(&["id", "status", "activity", "title"]);
            table.row(["failed", "failed", "requires_action", "blocked by failed"]);
            table.row(["T-2", "todo", "-", "done"]);
            table.coloured(None, style)
        };
        assert_eq!(
            rows(Style::choose("always", false, &env)),
            "ID      STATUS  ACTIVITY         TITLE\n\
             failed  \u{1b}[31mfailed\u{1b}[0m  \u{1b}[33mrequires_action\u{1b}[0m  blocked by failed\n\
             T-2     todo    -                done\n"
        );
        let plain = "ID      STATUS  ACTIVITY         TITLE\n\
                     failed  failed  requires_action  blocked by failed\n\
                     T-2     todo    -                done\n";
        assert_eq!(rows(Style::choose("never", true, &env)), plain);
    }

    #[test]
    fn optional_columns_make_room_and_whole_ones_stay() {
        let table = || {
            let mut table = Table::new(&["id", "role", "lane", "holds", "provider", "doing"])
                .with_whole(&["holds"])
                .with_optional(&["provider", "role"]);
            table.row([
                "agent-1",
                "backend",
                "api",
                "TASK-1, TASK-2",
                "acme",
                "the parser is done, the printer is half",
            ]);
            table.render(Some(80)).lines().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(
            table(),
            [
                "ID       ROLE     LANE  HOLDS           DOING",
                "agent-1  backend  api   TASK-1, TASK-2  the parser is done, the printer is half",
            ]
        );
        let mut tight = Table::new(&["id", "activity", "lane", "doing"]).with_expendable(&["activity", "lane"]);
        tight.row(["a-session-with-quite-a-long-name", "requires_action", "api", "the parser"]);
        assert_eq!(tight.render(Some(50)).lines().nth(1), Some("a-session-with-quite-a-long-name  api   the parser"));
        let mut narrow = Table::new(&["id", "role", "holds", "doing"]).with_whole(&["holds"]).with_optional(&["role"]);
        narrow.row(["agent-1", "backend", "TASK-1, TASK-2", "the parser is done, the printer is half"]);
        assert_eq!(narrow.render(Some(44)).lines().nth(1), Some("agent-1  TASK-1, TASK-2  the parser is done…"));
    }

    #[test]
    fn wide_characters_count_twice_and_whole_columns_are_cut_where_nothing_else_is_left() {
        let mut table = Table::new(&["id", "title"]);
        table.row(["T-1", "読む人が読む"]);
        table.row(["T-2", "short"]);
        assert_eq!(table.render(Some(13)), "ID   TITLE\nT-1  読む人…\nT-2  short\n");
        let mut ids = Table::new(&["id", "held by"]);
        ids.row(["a-very-long-id-of-a-task", "person"]);
        assert_eq!(ids.render(Some(20)), "ID           HELD BY\na-very-lon…  person\n");
    }

    #[test]
    fn ids_stay_whole_and_the_last_column_is_cut_first() {
        let mut table = Table::new(&["id", "held by", "title"]);
        table.row([
            "api-long-name-of-a-task",
            "a-session-with-a-long-name",
            "a title that is longer than all the rest",
        ]);
        assert_eq!(
            table.render(Some(70)).lines().nth(1),
            Some("api-long-name-of-a-task  a-session-with-a-long-n…  a title that is lo…")
        );
    }
}
