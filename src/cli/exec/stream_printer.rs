//! Prints the output of a job line by line, so that a secret is masked as a whole. Escape sequences are left out, also in
//! pipes, whose readers often show the text on a terminal. JSON has the exact text.

use fairway_core::domain::ansi::strip_escapes;
use fairway_core::domain::secrets::mask;
use fairway_core::render::escape_controls;

/// The size, in bytes, at which a line without a newline is printed as it is.
const LONGEST: usize = 64 << 10;

/// The unfinished last line of a stream, and the part of it that is already printed.
#[derive(Debug, Default)]
pub(super) struct StreamPrinter {
    held: String,
    shown: String,
}

impl StreamPrinter {
    /// Adds output. Returns the text to print now: the unprinted parts of all complete lines, and an incomplete line that has
    /// become too long to wait for its end.
    pub(super) fn take(&mut self, text: &str) -> String {
        self.held.push_str(text);
        let mut out = String::new();
        while let Some(end) = self.held.find('\n') {
            let rest = self.held.split_off(end + 1);
            let line = std::mem::replace(&mut self.held, rest);
            out.push_str(&self.news(line.trim_end_matches('\n')));
            out.push('\n');
            self.shown.clear();
        }
        if self.held.len() > LONGEST {
            out.push_str(&self.pause());
            self.held.clear();
            self.shown.clear();
        }
        out
    }

    /// Returns the unprinted part of an unfinished line, such as a prompt. The line goes on with the next output.
    pub(super) fn pause(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        let news = self.news(&held);
        self.held = held;
        news
    }

    /// Like [`Self::pause`], and ends an unfinished line with a newline, so that other text can follow.
    pub(super) fn cut(&mut self) -> String {
        let mut news = self.pause();
        if !self.held.is_empty() {
            news.push('\n');
        }
        self.held.clear();
        self.shown.clear();
        news
    }

    /// Returns the part of a line that was not printed yet. When the line no longer begins with the printed part, returns the
    /// whole line again, after a newline.
    fn news(&mut self, line: &str) -> String {
        let whole = form(line);
        let news = match whole.strip_prefix(self.shown.as_str()) {
            Some(rest) => rest.to_owned(),
            // The line was overwritten, or only now turns out to hold a secret.
            None => format!("\n{whole}"),
        };
        self.shown = whole;
        news
    }
}

/// The text of a line as a terminal would show it: only what follows the last carriage return, with secrets masked and
/// control characters escaped.
fn form(line: &str) -> String {
    let plain = strip_escapes(line);
    let line = plain.trim_end_matches('\r');
    escape_controls(&mask(line.rsplit('\r').next().unwrap_or(line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_it_is_cut_the_same_is_shown() {
        let text = "one\r\n\u{1b}[31mtwo\u{1b}[0m\nAPI_KEY=hunter2\n10%\r100%\nname? ";
        let want = "one\ntwo\nAPI_KEY=•••\n100%\nname? ";
        for at in 0..=text.len() {
            let (first, second) = text.split_at(at);
            let mut tail = StreamPrinter::default();
            let shown = [tail.take(first), tail.take(second), tail.pause(), tail.pause()].concat();
            assert_eq!(shown, want, "{at}");
        }
    }

    #[test]
    fn line_goes_on_where_it_was_shown() {
        let mut tail = StreamPrinter::default();
        let shown = [tail.take("na"), tail.pause(), tail.take("me? "), tail.pause(), tail.take("Ann\n")];
        assert_eq!(shown, ["", "na", "", "me? ", "Ann\n"]);
        // A token is known for one when it is long enough.
        let shown = [tail.take("ghp_abc"), tail.pause(), tail.take("defghijklmnopqrstuvwxyz\n")];
        assert_eq!(shown, ["", "ghp_abc", "\n•••\n"]);
        let shown = [tail.take("na"), tail.pause(), tail.cut(), tail.cut(), tail.take("me\n")];
        assert_eq!(shown, ["", "na", "\n", "", "me\n"]);
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(tail.take(&long), long);
        assert_eq!(tail.take("\n"), "\n");
    }
}
