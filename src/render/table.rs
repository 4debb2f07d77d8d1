//! Tables in one style: columns apart by two spaces, no frame, fitted to the terminal.

use tabled::{
    builder::Builder,
    settings::{Alignment, Padding, Style as Frame, Width, peaker::Priority},
};

use super::escape_line;

/// Spaces between columns.
const GAP: usize = 2;

/// Rows under headings. Every cell is made safe for a terminal.
#[derive(Debug)]
pub struct Table {
    builder: Builder,
    rows: usize,
}

impl Table {
    /// A table with these headings.
    #[must_use]
    pub fn new(headings: &[&str]) -> Self {
        let mut builder = Builder::default();
        builder.push_record(headings.iter().map(|heading| heading.to_uppercase()));
        Self { builder, rows: 0 }
    }

    /// Adds a row.
    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.builder.push_record(cells.into_iter().map(|cell| escape_line(cell.as_ref())));
        self.rows += 1;
    }

    /// Whether there are no rows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The table as text that ends in a newline; at most `width` columns wide where that is given.
    #[must_use]
    pub fn render(self, width: Option<usize>) -> String {
        // One padding for all cells: settings for single columns would make tabled keep one for each cell.
        let mut table = self.builder.build();
        table.with(Frame::empty()).with(Alignment::left()).with(Padding::new(0, GAP, 0, 0));
        if let Some(width) = width {
            // The gap behind the last column is cut off below.
            table.with(Width::truncate(width + GAP).suffix("…").priority(Priority::max(true)));
        }
        let text = table.to_string();
        // Padding at a line's end is noise in a pipe and a diff.
        text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
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
}
