//! A command as HTML: a button that runs it, or its text.

use super::html::Html;
use super::page_command::PageCommand;

/// Draws a command as text instead of a button, because the page cannot run the command, or this reader may not.
pub(super) fn written(html: &mut Html, purpose: &str, command: &str) {
    html.markup("<p class=\"written\">").text(purpose).markup(": <code>").text(command).markup("</code></p>");
}

pub(super) fn hidden(html: &mut Html, name: &'static str, value: &str) {
    html.markup("<input type=\"hidden\"").attribute("name", name).attribute("value", value).markup(">");
}

/// Draws a command that the page can run as a button. When the command needs a text or a confirmation, the button is inside a
/// disclosure, below the question and the fields. For screen readers, `about` distinguishes buttons that have the same
/// purpose. `fields` draws fields above the text field.
pub(super) fn form(
    html: &mut Html,
    (purpose, about): (&str, &str),
    words: &str,
    command: &PageCommand,
    fields: impl FnOnce(&mut Html),
) {
    let is_asked = command.text_label().is_some() || command.question().is_some();
    if is_asked {
        // One form is open at a time.
        html.markup("<details name=\"act\" class=\"").markup(command.class()).markup("\"><summary");
        keyed(html, command.key());
        named(html, &format!("{purpose}…"), about);
        html.text(purpose).markup("…</summary>");
    }
    open_form(html, (purpose, about), words, command, fields);
    if is_asked {
        html.markup("</details>");
    }
}

/// Like [`form`], without the disclosure around it.
pub(super) fn open_form(
    html: &mut Html,
    (purpose, about): (&str, &str),
    words: &str,
    command: &PageCommand,
    fields: impl FnOnce(&mut Html),
) {
    let (label, question) = (command.text_label(), command.question());
    html.markup("<form method=\"post\" action=\"act\">");
    hidden(html, "command", words);
    if let Some(question) = question {
        html.markup("<p class=\"question\">").text(question).markup("</p>");
        hidden(html, "confirm", "yes");
    }
    fields(html);
    // The key of a form inside a disclosure is that of the disclosure.
    let is_field = label.is_some();
    if let Some(label) = label {
        html.markup("<label>").markup(label).markup(" <textarea name=\"text\" rows=\"2\" required");
        keyed(html, command.key());
        html.markup("></textarea></label>");
    }
    html.markup("<button class=\"").markup(command.class()).markup("\"");
    keyed(html, command.key().filter(|_| !is_field && question.is_none()));
    named(html, purpose, about);
    html.text(purpose).markup("</button></form>");
}

/// Adds the key of a control.
fn keyed(html: &mut Html, key: Option<&'static str>) {
    if let Some(key) = key {
        html.attribute("aria-keyshortcuts", key);
    }
}

/// Ends a tag with an accessible name, made of the text and of what it is about.
fn named(html: &mut Html, text: &str, about: &str) {
    if !about.is_empty() {
        html.attribute("aria-label", &format!("{text} {about}"));
    }
    html.markup(">");
}

/// Draws a list from which a person chooses one value. `none` is the text of the empty choice. A `chosen` value that
/// `choices` does not contain is offered as well, so that it is kept.
pub(super) fn select(
    html: &mut Html,
    (label, name): (&'static str, &'static str),
    choices: &[String],
    chosen: &str,
    none: &'static str,
) {
    html.markup("<label>").markup(label).markup(" <select").attribute("name", name);
    html.markup("><option value=\"\">").markup(none).markup("</option>");
    let other = Some(chosen.to_owned()).filter(|chosen| !chosen.is_empty() && !choices.contains(chosen));
    for choice in choices.iter().chain(&other) {
        html.markup("<option").attribute("value", choice);
        html.markup(if choice == chosen { " selected>" } else { ">" }).text(choice).markup("</option>");
    }
    html.markup("</select></label>");
}
