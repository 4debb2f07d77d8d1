//! Times as HTML. Ages are left to the reader's clock: the HTML changes only when what it shows changes.

use super::html::Html;
use crate::{domain::age::rough, env::Timestamp};

/// The start of a time without an age; [`with_ages`] fills it in.
const TIME: &str = "<time datetime=\"";
const TIME_END: &str = "\"></time>";

/// A time; nothing when it is unknown.
pub(super) fn time(html: &mut Html, at: Option<&str>) {
    if let Some(at) = at {
        html.markup("<time").attribute("datetime", at).markup("></time>");
    }
}

/// The HTML with the age of each time, for a browser without the script.
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
