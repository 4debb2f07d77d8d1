//! A page beside the board: what it knows of the board, and the document around its content.

use super::{
    access::Access,
    age_html::with_ages,
    html::Html,
    shell::{self, PageName},
};
use crate::env::Timestamp;

/// What every page is drawn with.
#[derive(Debug, Clone)]
pub(super) struct PageFrame {
    pub(super) name: PageName,
    pub(super) project: String,
    /// The newest event when the page was read.
    pub(super) seq: i64,
    pub(super) access: Access,
    pub(super) now: Timestamp,
}

impl PageFrame {
    /// The document with this content.
    pub(super) fn document(&self, title: &str, search: &str, content: impl FnOnce(&mut Html)) -> String {
        let mut html = shell::begin(title, Some("/pages.js"));
        shell::header(&mut html, &self.project, self.name, search);
        html.markup("<main id=\"board\" tabindex=\"-1\"").attribute("data-seq", &self.seq.to_string());
        html.markup(match self.name {
            PageName::Tasks => " class=\"tasks\">",
            PageName::Review => " class=\"review\">",
            _ => ">",
        });
        content(&mut html);
        if self.access == Access::ReadOnly {
            html.markup("<p class=\"none\">This browser may only look.</p>");
        }
        with_ages(&shell::end(html).into_string(), self.now)
    }

    /// Whether commands are buttons.
    pub(super) fn can_act(&self) -> bool {
        self.access == Access::Full
    }
}
