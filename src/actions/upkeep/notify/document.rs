//! The document that a sink gets, and its texts for people.

use super::actions;
use crate::{
    actions::App,
    api_client::page_file::ShownPage,
    config::SinkSettings,
    domain::{need::NeedKind, notification::NotifySink, secrets::mask},
    os::digest::sha256_hex,
    wire::{NeedView, NotificationView},
};

/// The version of the document's form.
const VERSION: u32 = 1;
/// A summary names so many items.
const MAX_LINES: usize = 10;
/// The longest line of an item in a text, in characters; the document has the whole line.
const MAX_LINE_CHARS: usize = 200;

/// The key of an item in the store. A session or task can ask another question under the same id: that is another item.
pub(super) fn key(need: &NeedView) -> String {
    let has_words = [NeedKind::Question, NeedKind::Blocked].iter().any(|kind| kind.as_str() == need.kind);
    if !has_words {
        return need.id.clone();
    }
    let digest = sha256_hex(need.line.as_bytes());
    format!("{}#{}", need.id, digest.get(..12).unwrap_or_default())
}

/// The document of one item, or the summary of several. One item has its actions, if the sink is to have them.
pub(super) fn of_items(app: &App, sink: &SinkSettings<'_>, needs: &[&NeedView]) -> NotificationView {
    let items: Vec<NeedView> = needs.iter().map(|need| masked(need)).collect();
    let name = &app.settings.project.name;
    let (kind, title, text) = match items.as_slice() {
        [one] => {
            let about = [&one.session_id, &one.task_id, &one.lane].into_iter().find_map(Option::as_ref);
            let about = about.map(|about| format!(" ({about})")).unwrap_or_default();
            ("item", format!("{name}: {}{about}", one.kind), short(&one.line))
        }
        several => {
            let mut lines: Vec<String> =
                several.iter().take(MAX_LINES).map(|one| format!("{}: {}", one.kind, short(&one.line))).collect();
            if several.len() > MAX_LINES {
                lines.push(format!("and {} more", several.len() - MAX_LINES));
            }
            ("summary", format!("{name}: {} items need you", several.len()), lines.join("\n"))
        }
    };
    let document = document(app, kind, title, text, items);
    match needs {
        [one] if sink.actions && sink.way == NotifySink::Command => {
            let is_whole = document.text == one.line;
            NotificationView { actions: actions::of_item(app, one, is_whole), ..document }
        }
        _ => document,
    }
}

/// The document of a test.
pub(super) fn of_test(app: &App) -> NotificationView {
    let title = format!("{}: test", app.settings.project.name);
    document(app, "test", title, "a test of fairway notify; nothing needs you".to_owned(), Vec::new())
}

fn document(app: &App, kind: &'static str, title: String, text: String, items: Vec<NeedView>) -> NotificationView {
    let link = link(app, &items);
    NotificationView {
        version: VERSION,
        link,
        kind,
        at: app.env.now().to_string(),
        project: app.settings.project.name.clone(),
        root: app.project.root.display().to_string(),
        title,
        text,
        items,
        actions: Vec::new(),
    }
}

/// The address at which a paired device finds the only item, or the board: in the network where the server is there.
fn link(app: &App, items: &[NeedView]) -> Option<String> {
    let page = ShownPage::read(&app.project.runtime_dir())?;
    let origin = page.network.unwrap_or(page.origin);
    let place = match items {
        [one] => {
            format!("#{}", form_urlencoded::byte_serialize(one.id.as_bytes()).collect::<String>().replace('+', "%20"))
        }
        _ => String::new(),
    };
    Some(format!("{origin}/{place}"))
}

/// The item without what looks like a secret: it leaves this machine.
fn masked(need: &NeedView) -> NeedView {
    NeedView { line: mask(&need.line), evidence: mask(&need.evidence), ..need.clone() }
}

/// A line that a phone shows, without line breaks.
fn short(line: &str) -> String {
    let line = line.replace(['\n', '\t'], " ");
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
