//! What a reviewer needs beside the patch: what was asked, what was changed, the evidence, the verdicts and the consequences.

use super::html::Html;
use super::labels::{labelled, shape, time};
use fairway_core::domain::evidence::{Evidence, EvidenceResult};
use fairway_core::domain::plural;
use fairway_core::domain::review::Verdict;
use fairway_core::wire::{ReviewCardView, ReviewChangesView};

/// The most files or commits that are named.
const MAX_NAMED: usize = 40;

pub(super) fn draw(html: &mut Html, card: &ReviewCardView) {
    if !card.task.body.is_empty() {
        html.markup("<pre tabindex=\"0\">").lines(&card.task.body).markup("</pre>");
    }
    html.markup("<ul role=\"list\" class=\"findings\">");
    for blocker in &card.blockers {
        finding(html, '✗', "bad", "blocked", &blocker.message);
    }
    for one in &card.consequences {
        finding(html, '!', "notice", &one.kind, &one.paths.join(", "));
    }
    if card.uncommitted == Some(true) {
        finding(
            html,
            '!',
            "notice",
            "not committed",
            "the worktree has changes that are in no commit; they are not shown",
        );
    }
    card.evidence.iter().for_each(|one| evidence_line(html, one));
    if card.evidence.is_empty() {
        let text = match card.other_evidence {
            0 => "none".to_owned(),
            count => format!("none at this commit, {count} at others"),
        };
        finding(html, '·', "quiet", "evidence", &text);
    }
    for review in &card.reviews {
        let (mark, class) = match review.verdict {
            Some(Verdict::Approve) => ('●', "good"),
            Some(_) => ('✗', "bad"),
            None => ('?', "notice"),
        };
        let who = review.reviewer.as_deref().unwrap_or("any reviewer");
        let notes = review.notes.as_deref().map(|notes| format!(": {notes}")).unwrap_or_default();
        let text =
            format!("{} in {} by {who}{notes}", review.verdict.map_or("requested", Verdict::as_str), review.domain);
        finding(html, mark, class, "review", &text);
    }
    for check in &card.task.checks {
        finding(html, '·', "quiet", "check", &format!("{}: {}", check.name, check.command));
    }
    html.markup("</ul>");
    if let Some(changes) = &card.changes {
        self::changes(html, changes);
    }
}

/// Draws the lane, the author and the age of the work.
pub(super) fn heading(html: &mut Html, card: &ReviewCardView) {
    html.markup("<p class=\"crumb\">");
    if let Some(lane) = &card.task.lane {
        labelled(html, "lane", lane);
    }
    if let Some(author) = &card.author {
        labelled(html, "agent", author);
    }
    html.markup("<span>");
    html.markup(if card.submitted_at.is_some() { "submitted " } else { "claimed " });
    time(html, card.submitted_at.as_deref().or(card.claimed_at.as_deref()));
    html.markup("</span> ");
    if let Some(cost) = card.cost.short() {
        labelled(html, "cost", &cost);
    }
    if !card.wanted_by.is_empty() {
        let verb = plural::form(card.wanted_by.len(), "waits", "wait");
        labelled(html, "notice", &format!("{} {verb} for it", card.wanted_by.join(", ")));
    }
    html.markup("</p>");
}

/// Draws one record of evidence, and whether it was observed or claimed.
pub(super) fn evidence_line(html: &mut Html, one: &Evidence) {
    let (mark, class) = match one.result {
        EvidenceResult::Pass => ('●', "good"),
        EvidenceResult::Fail => ('✗', "bad"),
        _ => ('·', "quiet"),
    };
    let how = if one.observed { "observed" } else { "claimed" };
    let what = one.command.as_deref().or(one.summary.as_deref()).unwrap_or_default();
    finding(html, mark, class, &one.kind, &format!("{}, {how}: {what}", one.result));
}

fn finding(html: &mut Html, mark: char, class: &'static str, kind: &str, text: &str) {
    html.markup("<li>");
    shape(html, mark, class);
    labelled(html, "kind", kind);
    html.markup("<span>").text(text).markup("</span></li>");
}

fn changes(html: &mut Html, changes: &ReviewChangesView) {
    let commit = changes.commit.get(..12).unwrap_or(&changes.commit);
    let size = format!("{}, +{} −{}", plural::count(changes.files.len(), "file"), changes.added, changes.deleted);
    html.markup("<details class=\"changes\"><summary><span>").text(&size).markup(" at <code>").text(commit);
    html.markup("</code> on ").text(&changes.base).markup("</span></summary>");
    if let Some(why) = &changes.why_all {
        html.markup("<p>Everything is shown: ").text(why).markup("</p>");
    }
    if !changes.conflicts.is_empty() {
        html.markup("<p class=\"warning\">The base conflicts with what you saw in ")
            .text(&changes.conflicts.join(", "));
        html.markup(".</p>");
    }
    html.markup("<ul role=\"list\">");
    for one in changes.commits.iter().take(MAX_NAMED) {
        let commit = one.after.as_ref().or(one.before.as_ref()).map(String::as_str).unwrap_or_default();
        html.markup("<li>").markup(one.change).markup(" <code>").text(commit).markup("</code> ").text(&one.subject);
        html.markup("</li>");
    }
    for file in changes.files.iter().take(MAX_NAMED) {
        let lines = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
        html.markup("<li>").markup(file.status).markup(" <code>").text(&file.path).markup("</code> ");
        html.text(&format!("+{} −{}", lines(file.added), lines(file.deleted))).markup("</li>");
    }
    html.markup("</ul></details>");
}
