//! The actions of a notification: what answers its item, each with a token that is valid once.

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::{
    actions::{App, upkeep::answer_tokens::AnswerTokenFile},
    api_client::page_file::ShownPage,
    domain::{
        answer_token::{AnswerAction, AnswerToken, TOKEN_LIFETIME},
        need::NeedKind,
    },
    os::random,
    store::approvals,
    wire::{NeedView, NotificationActionView, tool_input},
};

/// The path of the page at which a token answers.
const PATH: &str = "answer";

/// The actions of an item; none without a server that has the page. `is_whole` says whether the notification has the item's whole
/// line. A notification without its actions is better than none: what fails here is not told.
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
            action: action.as_str(),
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

/// Whether the item's line tells all that the person decides about; `None` for an action that is about more than what is stored. To
/// deny needs no more than the line.
fn is_told(app: &App, need: &NeedView, action: AnswerAction) -> Result<Option<bool>> {
    if action != AnswerAction::Allow || need.kind != NeedKind::Approval.as_str() {
        return Ok(Some(true));
    }
    let id = need.id.strip_prefix("approval:").and_then(|id| id.parse().ok());
    let approval = id.map(|id| app.read(|tx| Ok(approvals::find(tx, id)?))).transpose()?.flatten();
    let input: Option<Value> = approval.and_then(|approval| serde_json::from_str(&approval.input).ok());
    let input = input.filter(|input| !tool_input::is_cut(input));
    Ok(input.map(|input| tool_input::is_whole_in_summary(&input)))
}
