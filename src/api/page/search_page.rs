//! The page of a search over tasks, records, messages and transcripts.

use anyhow::Result;

use super::board_html::place;
use super::form::{Form, address};
use super::html::Html;
use super::labels::{labelled, time};
use super::page_layout::PageFrame;
use fairway_actions::App;
use fairway_actions::upkeep::search::{self, SearchQuery, SearchScope};
use fairway_core::domain::search::SearchKind;
use fairway_core::wire::SearchHitView;

const MAX_HITS: usize = 100;

pub(super) fn page(app: &App, frame: &PageFrame, query: &Form) -> Result<String> {
    let text = query.written("q");
    let result = text
        .map(|text| {
            let query = SearchQuery {
                text: text.to_owned(),
                is_regex: false,
                kinds: Vec::new(),
                scope: SearchScope { task: None, session: None, lane: None },
                limit: MAX_HITS,
            };
            search::search(app, &query)
        })
        .transpose()?;
    Ok(frame.document("search", text.unwrap_or_default(), |html| {
        html.markup("<h2>Search</h2>");
        let Some(result) = &result else {
            html.markup("<p class=\"none\">Write into the field above what you look for: it is looked for in tasks, checkpoints, \
                         evidence, handoffs, reviews, messages and transcripts.</p>");
            return;
        };
        html.markup("<p class=\"written\"><code>").text(&shell_words::join(["fairway", "search", text.unwrap_or_default()]));
        html.markup("</code></p>");
        if result.hits.is_empty() {
            html.markup("<p class=\"none\">no hits</p>");
        }
        html.markup("<ol class=\"hits\" role=\"list\">");
        for hit in &result.hits {
            draw(html, hit);
        }
        html.markup("</ol>");
        if !result.unreadable.is_empty() {
            let count = result.unreadable.len().to_string();
            html.markup("<p class=\"none\">").text(&count).markup(" transcripts cannot be read</p>");
        }
    }))
}

fn draw(html: &mut Html, hit: &SearchHitView) {
    html.markup("<li><p class=\"facts\"><b>").markup(hit.kind.as_str()).markup("</b> ");
    let (href, name) = match (&hit.task_id, &hit.lane, &hit.session_id) {
        (Some(task), ..) if hit.kind == SearchKind::Review => (Some(address("review", &[("task", task)])), task),
        (Some(task), ..) => (Some(address("tasks", &[("task", task)]) + "#task"), task),
        (None, Some(lane), _) => (Some(address("lane", &[("name", lane)])), lane),
        (None, None, Some(session)) => (Some(format!("./{}", place(&format!("session:{session}")))), session),
        (None, None, None) => (None, &hit.id),
    };
    match href {
        Some(href) => {
            html.markup("<a class=\"id\"").attribute("href", &href).markup(">").text(name).markup("</a> ");
        }
        None => labelled(html, "id", name),
    }
    for who in hit.actor.iter().chain(&hit.session_id).take(1) {
        labelled(html, "agent", who);
    }
    time(html, Some(&hit.at));
    html.markup("</p><p class=\"excerpt\">");
    let part =
        |from: usize, to: usize| hit.excerpt.chars().skip(from).take(to.saturating_sub(from)).collect::<String>();
    html.text(&part(0, hit.match_start)).markup("<mark>").text(&part(hit.match_start, hit.match_end)).markup("</mark>");
    html.text(&part(hit.match_end, usize::MAX)).markup("</p></li>");
}
