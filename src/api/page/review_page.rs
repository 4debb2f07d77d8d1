//! The page of reviews: the cards that wait, and one of them with what it needs for a decision.

use anyhow::Result;

use super::{
    command_html::{form, hidden, open_form, written},
    form::{Form, address},
    html::Html,
    labels::time,
    page_command::PageCommand,
    page_layout::PageFrame,
    patch_html::{self, LineNotes},
    review_facts,
};
use crate::{
    actions::{
        App,
        queue::{
            review::next::{self, NextRequest},
            task::list::{self, Filter},
        },
    },
    domain::{TaskId, review::LinePlace, task::TaskStatus},
    wire::{CommandView, ReviewCardView, ReviewCommentView, ReviewNextView, TaskView},
};

/// The page of the card that the address names, or of the next card. Errors: `invalid_value`, `not_found`, `wrong_state`.
pub(super) fn page(app: &App, frame: &PageFrame, query: &Form) -> Result<String> {
    let task = query.written("task").map(TaskId::parse).transpose()?;
    let request = NextRequest { task, all: query.get("all") == "yes", defer: None };
    let found = next::next(app, &request)?;
    let submitted = list::list(app, &Filter { statuses: vec![TaskStatus::Review], ..Filter::default() })?;
    let at = LinePlace::parse(query.get("at"));
    Ok(frame.document("review", "", |html| {
        queue(html, &found, &submitted);
        match &found.card {
            Some(card) => DrawnCard { frame, card, at, all: request.all }.draw(html),
            None => {
                html.markup("<p class=\"none\">No submitted task waits for your review.</p>");
            }
        }
    }))
}

/// The tasks that wait for the reviewer, then the other submitted ones.
fn queue(html: &mut Html, found: &ReviewNextView, submitted: &[TaskView]) {
    let shown = found.card.as_ref().map(|card| card.task.id.as_str());
    let link = |html: &mut Html, id: &str| {
        html.markup("<li><a").attribute("href", &address("/review", &[("task", id)]));
        html.markup(if shown == Some(id) { " aria-current=\"true\">" } else { ">" }).text(id).markup("</a>");
        if found.deferred.iter().any(|deferred| deferred == id) {
            html.markup(" <span class=\"faint\">put off</span>");
        }
        html.markup("</li>");
    };
    html.markup("<nav class=\"queue\" aria-label=\"submitted tasks\"><p>waits for you <span class=\"number\">");
    html.text(&found.waiting.len().to_string()).markup("</span></p><ul role=\"list\">");
    for id in &found.waiting {
        link(html, id);
    }
    html.markup("</ul>");
    let others: Vec<&TaskView> = submitted.iter().filter(|task| !found.waiting.contains(&task.id)).collect();
    if !others.is_empty() {
        html.markup("<p>other submitted tasks <span class=\"number\">").text(&others.len().to_string());
        html.markup("</span></p><ul role=\"list\">");
        for task in others {
            link(html, &task.id);
        }
        html.markup("</ul>");
    }
    html.markup("</nav>");
}

struct DrawnCard<'a> {
    frame: &'a PageFrame,
    card: &'a ReviewCardView,
    /// Where the form for a comment is open.
    at: Option<LinePlace>,
    /// Whether to show also what the reviewer has seen before.
    all: bool,
}

impl DrawnCard<'_> {
    fn draw(&self, html: &mut Html) {
        let card = self.card;
        html.markup(
            "<article aria-labelledby=\"card-title\"><h2 id=\"card-title\" class=\"plain\"><span class=\"id\">",
        );
        html.text(&card.task.id).markup("</span> ").text(&card.task.title).markup("</h2>");
        review_facts::draw(html, card);
        for comment in &card.comments {
            self.comment(html, comment);
        }
        self.decisions(html);
        match (&card.changes, &card.problem) {
            (Some(changes), _) => {
                if changes.since.is_some() {
                    let all = [("task", card.task.id.as_str()), ("all", "yes")];
                    html.markup("<p class=\"way\">Only what is new since your last verdict is shown. <a");
                    html.attribute("href", &address("/review", &all)).markup(">show everything</a></p>");
                }
                if self.frame.can_act() && !changes.patch.is_empty() {
                    html.markup("<p class=\"none\">To comment on a line, press its number.</p>");
                }
                patch_html::draw(html, &changes.patch, self);
                if changes.patch_cut {
                    html.markup("<p class=\"warning\">The end of the patch is left out: it is too long.</p>");
                }
            }
            (None, problem) => {
                html.markup("<p class=\"warning\">The changes are unknown: ");
                html.text(problem.as_deref().unwrap_or("git tells nothing")).markup("</p>");
            }
        }
        html.markup("</article>");
    }

    /// The address of this card. `at`: a line with an open form, or empty.
    fn address(&self, at: &str) -> String {
        let all = if self.all { "yes" } else { "" };
        address("/review", &[("task", &self.card.task.id), ("all", all), ("at", at)])
    }

    /// Draws the commands by which the reviewer decides, in the card's order.
    fn decisions(&self, html: &mut Html) {
        html.markup("<div class=\"commands decide\" role=\"group\" aria-label=\"decide\">");
        let mut others = Vec::new();
        for next in &self.card.commands {
            // A comment stands at its line.
            if next.command.starts_with("fairway review comment ") {
                continue;
            }
            match PageCommand::parse(&next.command).filter(|_| self.frame.can_act()) {
                Some(command) => {
                    // After a verdict the card stays, so that it can be landed; what was put off or landed makes room.
                    let stays = next.command.starts_with("fairway review record ");
                    let back = if stays { self.address("") } else { "/review".to_owned() };
                    let purpose = label(next, &self.card.commands);
                    form(html, (&purpose, &self.card.task.id), &next.command, &command, |html| {
                        hidden(html, "back", &back);
                    });
                }
                None => others.push(next),
            }
        }
        html.markup("</div>");
        for next in others {
            written(html, &next.purpose, &next.command);
        }
    }

    fn comment(&self, html: &mut Html, comment: &ReviewCommentView) {
        html.markup("<div class=\"comment\"><p class=\"head\"><span class=\"id\">").text(&comment.path).markup(":");
        html.text(&comment.line.to_string()).markup("</span> ").text(&comment.reviewer).markup(" ");
        time(html, Some(&comment.created_at));
        html.markup("</p><p>").lines(&comment.text).markup("</p>");
        let words = format!("fairway review resolve {}", comment.id);
        if let Some(command) = PageCommand::parse(&words).filter(|_| self.frame.can_act()) {
            form(html, ("resolve", &format!("comment {}", comment.id)), &words, &command, |html| {
                hidden(html, "back", &self.address(""));
            });
        }
        html.markup("</div>");
    }
}

/// The label of a command. Several commands of one purpose are told apart by their domain.
fn label(next: &CommandView, all: &[CommandView]) -> String {
    let is_several = all.iter().filter(|other| other.purpose == next.purpose).count() > 1;
    let domain = next.command.split_once("--domain ").and_then(|(_, rest)| rest.split(' ').next());
    match domain.filter(|_| is_several) {
        Some(domain) => format!("{}: {domain}", next.purpose),
        None => next.purpose.clone(),
    }
}

impl LineNotes for DrawnCard<'_> {
    fn address(&self, place: &LinePlace) -> Option<String> {
        let at = format!("{}:{}", place.path, place.line);
        self.frame.can_act().then(|| format!("{}#here", self.address(&at)))
    }

    fn draw_below(&self, html: &mut Html, place: &LinePlace) {
        for comment in self.card.comments.iter().filter(|one| one.path == place.path && one.line == place.line) {
            html.markup("<tr class=\"note\"><td></td><td>");
            self.comment(html, comment);
            html.markup("</td></tr>");
        }
        if self.at.as_ref() != Some(place) {
            return;
        }
        let words = self.card.commands.iter().find(|next| next.command.starts_with("fairway review comment "));
        let Some((words, command)) = words.and_then(|next| Some((&next.command, PageCommand::parse(&next.command)?)))
        else {
            return;
        };
        html.markup("<tr class=\"note\" id=\"here\"><td></td><td>");
        open_form(html, ("comment", ""), words, &command, |html| {
            hidden(html, "back", &self.address(""));
            hidden(html, "place", &format!("{}:{}", place.path, place.line));
        });
        html.markup("<p class=\"way\"><a").attribute("href", &self.address("")).markup(">cancel</a></p></td></tr>");
    }
}
