//! The page's documents: the board, and short ones for results and refusals.

use super::access::Access;
use super::board_part::Part;
use super::board_versions::Frame;
use super::command_html::{hidden, open_form};
use super::html::Html;
use super::labels::with_ages;
use super::page_command::PageCommand;
use super::page_layout::{self, PageName, begin, header};
use super::shared_board::Feed;
use fairway_actions::Answer;
use fairway_core::env::Timestamp;
use fairway_core::wire::Failure;

pub(super) fn board(feed: &Feed, frame: &Frame, project: &str, now: Timestamp, access: Access) -> String {
    let part = |html: &mut Html, name: &str| {
        for one in frame.parts.iter().filter(|one| one.part.name == name) {
            section(html, &one.part, access);
        }
    };
    let mut html = begin(project, Some("page.js"));
    header(&mut html, project, PageName::Board, "", |html| part(html, "counts"));
    html.markup("<main id=\"board\" class=\"board\" tabindex=\"-1\"")
        .attribute("data-since", &feed.id(frame.version))
        .markup("><div class=\"list\">");
    for name in ["needs", "work", "ready"] {
        part(&mut html, name);
    }
    let add = "fairway task add TITLE";
    if let Some(command) = PageCommand::parse(add).filter(|_| access == Access::Full) {
        html.markup("<details id=\"add\"><summary>+ task</summary>");
        open_form(&mut html, ("add the task", ""), add, &command, |html| {
            html.markup("<label>What should be done? <input name=\"title\" required></label>");
        });
        html.markup("</details>");
    }
    part(&mut html, "free");
    html.markup("<footer>");
    if access == Access::Full {
        html.markup(
            "<details><summary>pair another device…</summary><form method=\"post\" action=\"device\">\
             <p class=\"question\">The device stays paired for 90 days, or until you revoke it: \
             <code>fairway device revoke DEVICE</code></p>\
             <p><label>Name <input name=\"name\" autocomplete=\"off\" maxlength=\"64\" placeholder=\"phone\"></label></p>\
             <button name=\"access\" value=\"read-only\" class=\"plain\">pair it to look only</button> \
             <button name=\"access\" value=\"full\" class=\"danger\">pair it with full access</button></form></details>\
             <a href=\"devices\">paired devices</a>",
        );
    } else {
        html.markup("<p>This browser may only look.</p>");
    }
    html.markup("</footer></div><div class=\"open\"><a class=\"back\" href=\"#\">← all</a>");
    part(&mut html, "welcome");
    part(&mut html, "open");
    html.markup("<div id=\"lane\" hidden></div></div>");
    with_ages(&page_layout::end(html).into_string(), now)
}

fn section(html: &mut Html, part: &Part, access: Access) {
    let is_hidden = part.items.is_empty() && part.none.is_none();
    html.markup("<section").attribute("id", part.name).attribute("aria-labelledby", &format!("{}-title", part.name));
    html.markup(if is_hidden { " hidden><h2" } else { "><h2" });
    html.attribute("id", &format!("{}-title", part.name)).markup(">").markup(part.title);
    html.markup(" <span class=\"number\">").text(&part.count.to_string()).markup("</span></h2>");
    if let Some(none) = &part.none {
        html.markup(if part.items.is_empty() { "<p class=\"none\">" } else { "<p class=\"none\" hidden>" });
        html.text(none).markup("</p>");
    }
    html.markup("<ul role=\"list\">");
    for item in &part.items {
        html.piece(item.html(access));
    }
    html.markup("</ul></section>");
}

/// A command that was run.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) answer: Answer,
    /// The command line that has the same effect.
    pub(super) command: String,
    /// The command that takes it back.
    pub(super) undo: Option<String>,
}

/// The page that shows the result of a command, for a browser without JavaScript. `back` is the address of its link.
pub(super) fn result(Done { answer, command, undo }: &Done, back: &str) -> String {
    let mut html = begin("done", None);
    html.markup("<main id=\"board\"><h1>Done</h1><p><code>").text(command).markup("</code></p><p role=\"status\">");
    html.text(&answer.line).markup("</p>");
    for note in &answer.notes {
        html.markup("<p>note: ").text(note).markup("</p>");
    }
    if let Some((words, command)) = undo.as_ref().and_then(|words| Some((words, PageCommand::parse(words)?))) {
        open_form(&mut html, ("undo", ""), words, &command, |html| hidden(html, "back", back));
    }
    html.markup("<p class=\"way\"><a").attribute("href", back).markup(">go on</a></p>");
    end(html)
}

pub(super) fn failure(failure: &Failure) -> String {
    let mut html = begin("error", None);
    html.markup("<main id=\"board\"><h1>Not done</h1><p role=\"alert\">error: ").text(&failure.message);
    html.markup(" (<code>").text(failure.code).markup("</code>)</p>");
    if let Some(hint) = &failure.hint {
        html.markup("<p>hint: ").text(hint).markup("</p>");
    }
    if failure.code == "not_admitted" || failure.code == "pairing_refused" {
        html.markup("<p class=\"way\"><a href=\"pair\">pair this browser with a code</a></p>");
    }
    end(html)
}

fn end(mut html: Html) -> String {
    html.markup("<p class=\"way\"><a href=\"./\">to the board</a></p>");
    page_layout::end(html).into_string()
}
