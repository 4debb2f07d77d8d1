//! Answers by the token of a notification, which is valid once. Reading one changes nothing: programs look at links before
//! people do.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

use super::board_composer::OfferedItem;
use super::command_html::hidden;
use super::document::Done;
use super::form::Form;
use super::open_html::tool_input;
use super::origin::{PageAddress, Site};
use super::page_command::PageCommand;
use super::page_layout::{self, begin};
use super::response::{HTML, done, file};
use crate::api::error::ApiError;
use crate::api::state;
use fairway_actions::agents::approval;
use fairway_core::domain::Refusal;
use fairway_core::domain::answer_token::{AnswerAction, AnswerToken};
use fairway_core::domain::device::DeviceWay;
use fairway_core::domain::secrets::mask;
use fairway_core::wire::tool_input::is_cut;

/// A valid token, with the item as the person has read it.
struct Valid {
    token: AnswerToken,
    action: AnswerAction,
    command: PageCommand,
    item: OfferedItem,
}

/// Shows an agent's question or permission request to the holder of a token, with a button that answers it. The button to
/// allow a call is missing when the call was too long to be stored as a whole. Showing does not use the token up. Errors:
/// `token_unknown`, `token_used`, `token_expired`, `not_admitted`.
pub(super) async fn show(site: &Arc<Site>, address: &PageAddress, query: &Form) -> Result<Response, ApiError> {
    let valid = valid(site, address, query.get("token")).await?;
    let input = input_of(site, &valid).await?;
    Ok(file(HTML, page(&valid, input.as_ref(), query.get("token"))))
}

/// Answers the question or permission request that a token is for. The token is used up even when the answer then fails.
///
/// # Errors
/// Those of [`show`]; `usage` for a missing text, which does not use the token up.
pub(super) async fn answer(
    site: &Arc<Site>,
    address: &PageAddress,
    request: Request,
    wants_json: bool,
) -> Result<Response, ApiError> {
    // Before the body is read.
    check_way(site, address)?;
    let form = Form::read(request).await?;
    let valid = valid(site, address, form.get("token")).await?;
    if valid.action == AnswerAction::Answer {
        form.needed("text", "answer").map_err(anyhow::Error::from)?;
    }
    let (file, clock) = site.devices.answer_tokens();
    let token = form.get("token").to_owned();
    // From here on no other request has it. An answer that fails is not tried again by the same token.
    let redeemed = tokio::task::spawn_blocking(move || file.redeem(&token, clock.now())).await;
    redeemed.map_err(|_| ApiError::internal("internal error: the answer panicked"))??;
    let line = valid.command.line(&valid.token.command, &form);
    let (command, hooks) = (valid.command, site.hooks);
    let answer = state::run_blocking_as(site.feed.factory(), move |app| command.run(app, &form, hooks)).await?;
    Ok(done(&Done { answer, command: line, undo: None }, "./", wants_json))
}

/// Refuses tokens from other users' programs, over plain HTTP in the network, and at a server that does not act for a
/// person.
fn check_way(site: &Site, address: &PageAddress) -> Result<(), ApiError> {
    if address.way == DeviceWay::Network && !address.origin.starts_with("https:") {
        let why = "answers by a token need HTTPS, or a browser on this machine";
        return Err(ApiError::unauthorized(StatusCode::FORBIDDEN, why));
    }
    if site.devices.is_used() && address.is_of_this_user() {
        Ok(())
    } else {
        Err(anyhow::Error::from(Refusal::TokenUnknown).into())
    }
}

async fn valid(site: &Arc<Site>, address: &PageAddress, token: &str) -> Result<Valid, ApiError> {
    check_way(site, address)?;
    let (file, clock) = site.devices.answer_tokens();
    let token = file.find(token, clock.now()).map_err(anyhow::Error::from)?;
    let (board, _) = site.feed.board().await?;
    let item = board.items.into_iter().find(|item| token.is_of(&item.id, &item.line));
    // A request or question that is settled, and another one in its place, is not what the person has read.
    let used = || ApiError::from(anyhow::Error::from(token.used()));
    let item = item.filter(|item| item.commands.contains(&token.command)).ok_or_else(used)?;
    let command = PageCommand::parse(&token.command);
    let Some((action, command)) = token.action().zip(command) else {
        return Err(anyhow::Error::from(Refusal::TokenUnknown).into());
    };
    Ok(Valid { token, action, command, item })
}

/// The input of a permission request, which is shown as a whole.
async fn input_of(site: &Arc<Site>, valid: &Valid) -> Result<Option<Value>, ApiError> {
    let PageCommand::Approval(id, _) = valid.command else { return Ok(None) };
    let approvals = state::run_blocking_as(site.feed.factory(), |app| approval::list(app, false)).await?;
    Ok(approvals.into_iter().find(|one| one.id == id).map(|one| one.input))
}

fn page(valid: &Valid, input: Option<&Value>, token: &str) -> String {
    let mut html = begin("answer", None);
    html.markup("<main id=\"board\" class=\"answer\"><h1>")
        .markup(valid.action.label())
        .markup("</h1><p class=\"line\">");
    html.text(&mask(&valid.item.line)).markup("</p>");
    if let Some(input) = input {
        tool_input(&mut html, input);
    }
    if valid.action == AnswerAction::Allow && input.is_none_or(is_cut) {
        html.markup("<p class=\"way\"><a href=\"./\">to the board</a></p>");
        return page_layout::end(html).into_string();
    }
    html.markup("<form method=\"post\" action=\"answer\">");
    hidden(&mut html, "token", token);
    let class = match valid.action {
        AnswerAction::Answer => {
            html.markup("<label>Answer <textarea name=\"text\" rows=\"3\" required></textarea></label>");
            "plain"
        }
        AnswerAction::Allow => "allow",
        AnswerAction::Deny => "deny",
    };
    html.markup("<p><code>").text(&valid.token.command).markup("</code></p><button class=\"").markup(class);
    html.markup("\">").markup(valid.action.label()).markup("</button></form>");
    html.markup("<p class=\"way\"><a href=\"./\">to the board</a></p>");
    page_layout::end(html).into_string()
}
