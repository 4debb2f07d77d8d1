//! A task as a card, and the groups of cards in a column.

use super::{age_html::time, board_html::labelled, html::Html};
use crate::{
    domain::task::LOWEST_PRIORITY,
    wire::{ClaimantView, TaskView},
};

/// Cards that belong together in a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Group {
    Priority(u8),
    /// `None` for the tasks without a lane.
    Lane(Option<String>),
}

impl Group {
    /// All groups, in their order.
    pub(super) fn all(is_by_lane: bool, lanes: &[String]) -> Vec<Self> {
        if is_by_lane {
            lanes.iter().cloned().map(Some).chain([None]).map(Self::Lane).collect()
        } else {
            (0..=LOWEST_PRIORITY).map(Self::Priority).collect()
        }
    }

    pub(super) fn contains(&self, task: &TaskView) -> bool {
        match self {
            Self::Priority(priority) => task.priority == *priority,
            Self::Lane(lane) => task.lane == *lane,
        }
    }

    pub(super) fn title(&self) -> String {
        match self {
            Self::Priority(priority) => format!("priority {priority}"),
            Self::Lane(lane) => lane.clone().unwrap_or_else(|| "no lane".to_owned()),
        }
    }

    /// The arguments of `fairway task edit` that bring a task into it.
    pub(super) fn change(&self) -> Option<String> {
        match self {
            Self::Priority(priority) => Some(format!("--priority {priority}")),
            Self::Lane(lane) => lane.as_ref().map(|lane| format!("--lane {lane}")),
        }
    }
}

/// A card, which leads to its task.
pub(super) fn draw(html: &mut Html, task: &TaskView, address: &str, shows_lane: bool) {
    html.markup("<li class=\"card\"").attribute("id", &format!("card-{}", task.id)).attribute("data-task", &task.id);
    html.markup("><a").attribute("href", &format!("{address}#task")).markup("><span class=\"id\">").text(&task.id);
    html.markup("</span> <span class=\"title\">").text(&task.title).markup("</span></a><p class=\"facts\">");
    if shows_lane && let Some(lane) = &task.lane {
        labelled(html, "lane", lane);
    }
    if !shows_lane {
        labelled(html, "priority", &format!("P{}", task.priority));
    }
    if let Some(role) = &task.role {
        labelled(html, "role", role);
    }
    for label in &task.labels {
        labelled(html, "label", label);
    }
    if let Some(claim) = &task.claim {
        let mark = task.claimant.as_ref().and_then(ClaimantView::mark);
        let who = mark.map_or_else(|| claim.claimant.clone(), |mark| format!("{} ({mark})", claim.claimant));
        labelled(html, if mark.is_some() { "agent bad" } else { "agent" }, &who);
    }
    time(html, Some(task.claim.as_ref().map_or(&task.created_at, |claim| &claim.claimed_at)));
    html.markup("</p>");
    if let Some(reason) = &task.blocked_reason {
        html.markup("<p class=\"blocker bad\">✗ ").text(reason).markup("</p>");
    }
    for waiting in task.waiting_on.iter().take(3) {
        html.markup("<p class=\"blocker\">").text(&waiting.message).markup("</p>");
    }
    html.markup("</li>");
}
