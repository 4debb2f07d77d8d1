//! One stream of a run on its way to a reader: line by line, so that what looks like a secret is seen whole and masked. Colours and
//! movements are left out, also in pipes: who reads those shows it on a terminal in the end. The exact text is in JSON.

use crate::{
    domain::{ansi::strip_escapes, secrets::mask},
    render::escape_controls,
};

/// After how much text without a line's end it is shown as it is, in bytes.
const LONGEST: usize = 64 << 10;

/// The stream, and what of its last line was shown before its end came.
#[derive(Debug, Default)]
pub(super) struct StreamPrinter {
    held: String,
    shown: String,
}

impl StreamPrinter {
    /// The text that can be shown after this has come: every whole line.
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

    /// The beginning of a line whose end may take its time, as with a prompt.
    pub(super) fn pause(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        let news = self.news(&held);
        self.held = held;
        news
    }

    /// Ends a line that has no end yet, for something else to be said on the next one.
    pub(super) fn cut(&mut self) -> String {
        let mut news = self.pause();
        if !self.held.is_empty() {
            news.push('\n');
        }
        self.held.clear();
        self.shown.clear();
        news
    }

    /// The part of a line that was not shown yet.
    fn news(&mut self, line: &str) -> String {
        let whole = form(line);
        let news = match whole.strip_prefix(self.shown.as_str()) {
            Some(rest) => rest.to_owned(),
            // It was written over, or is known for a secret only now.
            None => format!("\n{whole}"),
        };
        self.shown = whole;
        news
    }
}

/// The words of a line; of what was written over, the last.
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
