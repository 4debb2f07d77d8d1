//! HTML that is written piece by piece. Markup is part of the program, every other text is escaped: there is no way to put a
//! text into the document that a browser would take for markup.

use fairway_core::render::{escape_controls, escape_line};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Html(String);

impl Html {
    pub(super) fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Adds text on one line. Control, direction and hidden characters are shown as `\u{…}`.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.escape(&escape_line(text))
    }

    /// Adds text and keeps its line breaks.
    pub(super) fn lines(&mut self, text: &str) -> &mut Self {
        self.escape(&escape_controls(text))
    }

    pub(super) fn attribute(&mut self, name: &'static str, value: &str) -> &mut Self {
        self.markup(" ").markup(name).markup("=\"").text(value).markup("\"")
    }

    pub(super) fn piece(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }

    fn escape(&mut self, text: &str) -> &mut Self {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup_and_hides_nothing() {
        let mut html = Html::default();
        html.markup("<p").attribute("title", "\"><script>x</script>' \u{202e}").markup(">");
        html.text("a<b> & \u{200b}c\nd").markup("</p>").lines("e\n\u{1b}[31mf");
        assert_eq!(
            html.into_string(),
            "<p title=\"&quot;&gt;&lt;script&gt;x&lt;/script&gt;&#39; \\u{202e}\">a&lt;b&gt; &amp; \\u{200b}c d</p>e\n\\u{1b}[31mf"
        );
    }
}
