//! Tables in one style: columns apart by two spaces, no frame, fitted to the terminal.

use tabled::{
    builder::Builder,
    settings::{Alignment, Padding, Style as Frame, Width, peaker::Priority},
};

use super::{Style, escape_line, status_colour};

/// Spaces between columns.
const GAP: usize = 2;
/// The width that a column keeps while another one can still be cut, in characters.
const MIN_TEXT_WIDTH: usize = 24;
/// The width that a column keeps, in characters.
const MIN_WIDTH: usize = 8;

/// Rows under headings. Every cell is made safe for a terminal.
#[derive(Debug)]
pub struct Table {
    /// The headings, then the rows.
    cells: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    #[must_use]
    pub fn new(headings: &[&str]) -> Self {
        Self { cells: vec![headings.iter().map(|heading| heading.to_uppercase()).collect()] }
    }

    /// Adds a row.
    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.cells.push(cells.into_iter().map(|cell| escape_line(cell.as_ref())).collect());
    }

    /// Whether there are no rows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.cells.len() < 2
    }

    /// The table as text that ends in a newline; at most `width` columns wide where that is given.
    #[must_use]
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
        if let Some(width) = width {
            // The gap behind the last column is cut off below.
            table.with(Width::truncate(width + GAP).suffix("…").priority(Priority::max(true)));
        }
        let text = table.to_string();
        // Padding at a line's end is noise in a pipe and a diff.
        text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    /// As [`Table::render`], with status words in the colours of their meaning.
    #[must_use]
    pub fn coloured(self, width: Option<usize>, style: Style) -> String {
        status_colour::colour(&self.render(width), style)
    }

    /// Cuts cells until the rows fit: first the last column, which is a title or a summary, then the others from the right.
    /// The first column is what a person copies into the next command and stays whole.
    fn fit(&mut self, width: usize) {
        let columns = self.cells.first().map_or(0, Vec::len);
        let mut widths: Vec<usize> = (0..columns)
            .map(|column| self.cells.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max())
            .map(Option::unwrap_or_default)
            .collect();
        let natural = widths.iter().sum::<usize>() + GAP * columns.saturating_sub(1);
        let mut excess = natural.saturating_sub(width);
        for least in [MIN_TEXT_WIDTH, MIN_WIDTH] {
            for column in (1..columns).rev() {
                let heading = self.cells.first().and_then(|row| row.get(column)).map_or(0, |cell| cell.chars().count());
                if let Some(now) = widths.get_mut(column) {
                    let cut = now.saturating_sub(least.max(heading)).min(excess);
                    *now -= cut;
                    excess -= cut;
                }
            }
        }
        for row in &mut self.cells {
            for (cell, width) in row.iter_mut().zip(&widths) {
                if cell.chars().count() > *width {
                    *cell = cell.chars().take(width.saturating_sub(1)).chain(['…']).collect();
                }
            }
        }
    }
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
