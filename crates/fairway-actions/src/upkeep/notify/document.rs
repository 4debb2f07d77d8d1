//! The document that a sink gets, and its texts for people.

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::App;
use crate::upkeep::answer_tokens::AnswerTokenFile;
use fairway_core::api_client::server_files::ShownPage;
use fairway_core::config::SinkSettings;
use fairway_core::domain::answer_token::{AnswerAction, AnswerToken, TOKEN_LIFETIME};
use fairway_core::domain::need::NeedKind;
use fairway_core::domain::notification::NotifySink;
use fairway_core::domain::secrets::mask;
use fairway_core::os::digest::sha256_hex;
use fairway_core::os::random;
use fairway_core::store::approvals;
use fairway_core::wire::{NeedView, NotificationActionView, NotificationView, tool_input};

/// The version of the document's form.
const VERSION: u32 = 1;
/// The maximum number of items that a summary names.
const MAX_LINES: usize = 10;
/// The longest line of an item in a text, in characters; the document has the whole line.
const MAX_LINE_CHARS: usize = 200;

/// The key of an item in the store. For a question and for a blocked task it contains a digest of the item's text, because a
/// new question under the same id is another item.
pub(super) fn key(need: &NeedView) -> String {
    if !matches!(need.kind, NeedKind::Question | NeedKind::Blocked) {
        return need.id.clone();
    }
    let digest = sha256_hex(need.line.as_bytes());
    format!("{}#{}", need.id, digest.get(..12).unwrap_or_default())
}

/// The document of one item, or the summary of several. For one item it includes the actions, if the sink is set to get them.
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
            NotificationView { actions: of_item(app, one, is_whole), ..document }
        }
        _ => document,
    }
}

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

/// The link for a paired device to the only item, or to the board. It is in the network if the server is.
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

/// The item with secrets masked: it leaves this machine.
fn masked(need: &NeedView) -> NeedView {
    NeedView { line: mask(&need.line), evidence: mask(&need.evidence), ..need.clone() }
}

/// A line without line breaks, of at most [`MAX_LINE_CHARS`] characters.
fn short(line: &str) -> String {
    let line = line.replace(['\n', '\t'], " ");
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// The path of the page at which a token answers.
const PATH: &str = "answer";

/// The actions of an item. There are none while no server shows the page, and none when they cannot be made, because a
/// notification without actions is better than no notification. `is_whole` says whether the notification has the item's whole
/// line.
pub(super) fn of_item(app: &App, need: &NeedView, is_whole: bool) -> Vec<NotificationActionView> {
    let Some(page) = ShownPage::read(&app.project.runtime_dir()) else { return Vec::new() };
    make(app, &page, need, is_whole).unwrap_or_default()
}

fn make(app: &App, page: &ShownPage, need: &NeedView, is_whole: bool) -> Result<Vec<NotificationActionView>> {
    let now = app.env.now();
    // Tokens go over HTTPS, or stay on this machine.
    let encrypted = page.network.as_ref().filter(|origin| origin.starts_with("https:"));
    let origin = encrypted.unwrap_or(&page.origin);
    let (mut tokens, mut views) = (Vec::new(), Vec::new());
    for next in &need.commands {
        let Some(action) = AnswerAction::of_command(&need.id, &next.command) else { continue };
        let Some(is_told) = is_told(app, need, action)? else { continue };
        let token = random::hex().context("cannot generate a token")?;
        tokens.push(AnswerToken::new(&token, &need.id, &need.line, &next.command, now));
        views.push(NotificationActionView {
            action,
            label: action.label(),
            url: format!("{origin}/{PATH}"),
            local_url: format!("{}/{PATH}", page.origin),
            body: (is_told && is_whole).then(|| format!("token={token}")),
            form: format!("{origin}/{PATH}?token={token}"),
            needs_text: action == AnswerAction::Answer,
            expires_at: now.plus(TOKEN_LIFETIME).to_string(),
        });
    }
    if !tokens.is_empty() {
        AnswerTokenFile::of(&app.project).add(tokens, now)?;
    }
    Ok(views)
}

/// Whether the item's line shows all that the person decides about; `None` when even the store has only a part of it, so that
/// allowing is not offered.
fn is_told(app: &App, need: &NeedView, action: AnswerAction) -> Result<Option<bool>> {
    if action != AnswerAction::Allow || need.kind != NeedKind::Approval {
        return Ok(Some(true));
    }
    let id = need.id.strip_prefix("approval:").and_then(|id| id.parse().ok());
    let approval = id.map(|id| app.read(|tx| Ok(approvals::find(tx, id)?))).transpose()?.flatten();
    let input: Option<Value> = approval.and_then(|approval| serde_json::from_str(&approval.input).ok());
    let input = input.filter(|input| !tool_input::is_cut(input));
    Ok(input.map(|input| tool_input::is_whole_in_summary(&input)))
}
