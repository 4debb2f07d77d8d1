//! Words, shapes and times of the page. Shapes tell states apart without colour. Ages are left to the reader's clock, so that the
//! HTML changes only when what it shows changes.

use super::html::Html;
use fairway_core::domain::age::rough;
use fairway_core::env::Timestamp;

/// The CSS class for the symbol of a state.
pub(super) fn class_of(shape: char) -> &'static str {
    match shape {
        '✗' => "bad",
        '!' | '?' => "notice",
        '●' | '▶' => "good",
        _ => "quiet",
    }
}

pub(super) fn shape(html: &mut Html, shape: char, class: &'static str) {
    html.markup("<span class=\"shape ")
        .markup(class)
        .markup("\" aria-hidden=\"true\">")
        .text(shape.encode_utf8(&mut [0; 4]))
        .markup("</span> ");
}

pub(super) fn labelled(html: &mut Html, class: &'static str, text: &str) {
    html.markup("<span class=\"").markup(class).markup("\">").text(text).markup("</span> ");
}

/// A time whose age is missing. [`with_ages`] fills it in.
const TIME: &str = "<time datetime=\"";
const TIME_END: &str = "\"></time>";

/// Adds an empty `<time>` element, and nothing when the time is unknown. The page's script or [`with_ages`] fills in how long
/// ago the time was.
pub(super) fn time(html: &mut Html, at: Option<&str>) {
    if let Some(at) = at {
        html.markup("<time").attribute("datetime", at).markup("></time>");
    }
}

/// Fills in the age of each time, for a browser without JavaScript.
pub(super) fn with_ages(html: &str, now: Timestamp) -> String {
    let mut parts = html.split(TIME);
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        filled.push_str(TIME);
        match part.split_once(TIME_END) {
            Some((at, rest)) => {
                let age = Timestamp::parse(at).map(|at| rough(now.since(at))).unwrap_or_default();
                filled.extend([at, "\">", &age, "</time>", rest]);
            }
            None => filled.push_str(part),
        }
    }
    filled
}
