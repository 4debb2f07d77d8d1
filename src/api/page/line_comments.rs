//! The comments on the lines of a patch as HTML, and the form for a new one.

use std::borrow::Cow;

use super::command_html::{form, hidden, open_form};
use super::html::Html;
use super::labels::time;
use super::page_command::PageCommand;
use fairway_core::domain::review::LinePlace;
use fairway_core::wire::ReviewCommentView;

pub(super) fn place_text(place: &LinePlace) -> String {
    format!("{}:{}", place.path, place.line)
}

pub(super) struct LineComments<'a> {
    /// The address of the page.
    back: Cow<'a, str>,
    /// The command that writes a comment; `None` where none can be written.
    words: Option<Cow<'a, str>>,
    comments: &'a [ReviewCommentView],
    /// The line below which the form is open.
    at: Option<LinePlace>,
}

impl<'a> LineComments<'a> {
    pub(super) fn new(
        back: impl Into<Cow<'a, str>>,
        words: Option<impl Into<Cow<'a, str>>>,
        comments: &'a [ReviewCommentView],
    ) -> Self {
        Self { back: back.into(), words: words.map(Into::into), comments, at: None }
    }

    /// For a patch whose lines are in no commit.
    pub(super) const fn none() -> Self {
        Self { back: Cow::Borrowed("./"), words: None, comments: &[], at: None }
    }

    /// These comments with the form open below a line.
    pub(super) fn open_at(self, at: Option<LinePlace>) -> Self {
        Self { at, ..self }
    }

    /// The address that opens the form below a line; `None` where comments are impossible.
    pub(super) fn address(&self, place: &LinePlace) -> Option<String> {
        let place: String = form_urlencoded::byte_serialize(place_text(place).as_bytes()).collect();
        self.words.as_ref().map(|_| format!("{}&at={place}#here", self.back))
    }

    /// Draws the form that a script puts below a line.
    pub(super) fn template(&self, html: &mut Html) {
        if self.words.is_some() {
            html.markup("<template class=\"comment\">");
            self.form(html, "");
            html.markup("</template>");
        }
    }

    fn form(&self, html: &mut Html, place: &str) {
        let Some(words) = &self.words else { return };
        let Some(command) = PageCommand::parse(words) else { return };
        open_form(html, ("comment", ""), words, &command, |html| {
            hidden(html, "back", &self.back);
            hidden(html, "place", place);
        });
        html.markup("<p class=\"way\"><a class=\"cancel\"").attribute("href", &self.back).markup(">cancel</a></p>");
    }

    /// Draws what belongs below a line.
    pub(super) fn draw_at(&self, html: &mut Html, place: &LinePlace) {
        for one in self.comments.iter().filter(|one| one.path == place.path && one.line == place.line) {
            self.draw(html, one);
        }
        if self.at.as_ref() == Some(place) {
            html.markup("<div id=\"here\">");
            self.form(html, &place_text(place));
            html.markup("</div>");
        }
    }

    /// Draws one comment.
    pub(super) fn draw(&self, html: &mut Html, comment: &ReviewCommentView) {
        html.markup("<div class=\"comment\"><p class=\"head\"><span class=\"id\">").text(&comment.path).markup(":");
        html.text(&comment.line.to_string()).markup("</span> ").text(&comment.reviewer).markup(" ");
        time(html, Some(&comment.created_at));
        html.markup("</p><p>").lines(&comment.text).markup("</p>");
        let words = format!("fairway review resolve {}", comment.id);
        if let Some(command) = PageCommand::parse(&words).filter(|_| self.words.is_some()) {
            form(html, ("resolve", &format!("comment {}", comment.id)), &words, &command, |html| {
                hidden(html, "back", &self.back);
            });
        }
        html.markup("</div>");
    }
}
