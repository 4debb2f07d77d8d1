//! What every page has around its content: the head, the navigation and the search.

use super::access::Access;
use super::html::Html;
use super::labels::with_ages;
use fairway_core::env::Timestamp;

/// A page, as the navigation names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageName {
    Board,
    Lane,
    Tasks,
    Review,
    Usage,
    Search,
}

/// The pages in the order of their links.
const LINKS: &[(PageName, &str, &str)] = &[
    (PageName::Board, "./", "board"),
    (PageName::Tasks, "tasks", "tasks"),
    (PageName::Review, "review", "review"),
    (PageName::Usage, "usage", "usage"),
];

/// Begins a page's document. `script` is the path of its script, if it has one.
pub(super) fn begin(title: &str, script: Option<&'static str>) -> Html {
    let mut html = Html::default();
    html.markup(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <link rel=\"stylesheet\" href=\"page.css\"><link rel=\"icon\" href=\"icon.svg\" type=\"image/svg+xml\"><link rel=\"manifest\" href=\"manifest.json\">\
         <meta name=\"theme-color\" content=\"#2f6f4f\">",
    );
    if let Some(script) = script {
        html.markup("<script type=\"module\"").attribute("src", script).markup("></script>");
    }
    html.markup("<title>").text(title).markup(" · Fairway</title></head><body>");
    html.markup("<a class=\"skip\" href=\"#board\">to the content</a>");
    html
}

/// Adds the head of a page: the project's name, the navigation, what `more` draws, the search field, and an empty element in
/// which the page's script shows results. `search` is the text in the search field.
pub(super) fn header(html: &mut Html, project: &str, page: PageName, search: &str, more: impl FnOnce(&mut Html)) {
    html.markup("<header><h1>").text(project).markup("</h1>");
    navigation(html, Some(page));
    more(html);
    html.markup(
        "<form role=\"search\" action=\"search\"><input type=\"search\" name=\"q\" aria-label=\"search everything\" \
         placeholder=\"search  /\"",
    );
    html.attribute("value", search).markup("></form>");
    html.markup(
        "<p id=\"connection\" role=\"status\">live updates need JavaScript: reload to see what is new</p></header>\
         <p id=\"news\" class=\"unseen\" role=\"status\" aria-live=\"polite\"></p>\
         <output id=\"result\" aria-live=\"assertive\" hidden></output>",
    );
}

/// Adds the links to all pages. `here` is the page that is shown, if it is among them.
pub(super) fn navigation(html: &mut Html, here: Option<PageName>) {
    let here = here.map(|page| if page == PageName::Lane { PageName::Board } else { page });
    html.markup("<nav aria-label=\"pages\">");
    for (name, path, word) in LINKS {
        html.markup("<a").attribute("href", path);
        html.markup(if here == Some(*name) { " aria-current=\"page\">" } else { ">" }).text(word).markup("</a>");
    }
    html.markup("</nav>");
}

/// Ends a document whose content is in a `main` element.
pub(super) fn end(mut html: Html) -> Html {
    html.markup("</main></body></html>");
    html
}

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
    pub(super) fn document(&self, title: &str, search: &str, content: impl FnOnce(&mut Html)) -> String {
        let mut html = begin(title, Some("pages.js"));
        header(&mut html, &self.project, self.name, search, |_| ());
        html.markup("<main id=\"board\" tabindex=\"-1\"").attribute("data-seq", &self.seq.to_string());
        html.markup(match self.name {
            PageName::Tasks => " class=\"tasks\">",
            PageName::Review => " class=\"board review\">",
            _ => ">",
        });
        content(&mut html);
        if self.access == Access::ReadOnly {
            html.markup("<p class=\"none\">This browser may only look.</p>");
        }
        with_ages(&end(html).into_string(), self.now)
    }

    /// Whether commands are drawn as buttons, which needs full access.
    pub(super) fn can_act(&self) -> bool {
        self.access == Access::Full
    }
}
