//! The page of reviews: the list of submitted tasks, and beside it one of them with what it needs for a decision.

use anyhow::Result;

use super::command_html::{form, hidden, written};
use super::form::{Form, address};
use super::html::Html;
use super::labels::{labelled, shape, time};
use super::line_comments::LineComments;
use super::page_command::PageCommand;
use super::page_layout::PageFrame;
use super::patch_html::Patch;
use super::review_facts;
use fairway_actions::App;
use fairway_actions::queue::review::next::{self, NextRequest, Submitted};
use fairway_core::domain::TaskId;
use fairway_core::domain::review::LinePlace;
use fairway_core::wire::{CommandView, ReviewCardView, ReviewChangesView, ReviewNextView};

/// The page of the card that the address names, or of the next card. Errors: `invalid_value`, `not_found`, `wrong_state`.
pub(super) fn page(app: &App, frame: &PageFrame, query: &Form) -> Result<String> {
    let task = query.written("task").map(TaskId::parse).transpose()?;
    let is_named = task.is_some();
    let request = NextRequest { task, all: query.get("all") == "yes", defer: None };
    let found = next::next(app, &request)?;
    let submitted = next::submitted(app)?;
    Ok(frame.document("review", "", |html| {
        html.markup("<div class=\"list\">");
        queue(html, &found, &submitted);
        html.markup("</div><div class=\"open\">");
        if is_named {
            html.markup("<a class=\"back\" href=\"review\">← all</a>");
        }
        match &found.card {
            Some(card) => {
                let has_others = found.waiting.iter().any(|id| *id != card.task.id);
                DrawnCard { frame, card, query, has_others }.draw(html);
            }
            None => {
                html.markup("<p class=\"none\">No submitted task waits for your review.</p>");
            }
        }
        html.markup("</div>");
    }))
}

/// The tasks that wait for the reviewer, then the other submitted ones.
fn queue(html: &mut Html, found: &ReviewNextView, submitted: &[Submitted]) {
    let shown = found.card.as_ref().map(|card| card.task.id.as_str());
    let waiting = found.waiting.iter().filter_map(|id| submitted.iter().find(|one| one.task.as_str() == id));
    let others = submitted.iter().filter(|one| !found.waiting.iter().any(|id| id == one.task.as_str()));
    for (title, tasks) in
        [("Waits for you", waiting.collect::<Vec<_>>()), ("Other submitted tasks", others.collect::<Vec<_>>())]
    {
        if tasks.is_empty() {
            continue;
        }
        html.markup("<section").attribute("aria-label", title).markup("><h2>").markup(title);
        html.markup(" <span class=\"number\">").text(&tasks.len().to_string()).markup("</span></h2><ul role=\"list\">");
        for one in tasks {
            html.markup("<li>");
            row(html, one, shown == Some(one.task.as_str()), found);
            html.markup("</li>");
        }
        html.markup("</ul></section>");
    }
}

fn row(html: &mut Html, one: &Submitted, is_shown: bool, found: &ReviewNextView) {
    html.markup("<a class=\"row\"").attribute("href", &address("review", &[("task", one.task.as_str())]));
    html.markup(if is_shown { " aria-current=\"true\">" } else { ">" });
    shape(html, '?', "notice");
    html.markup("<span class=\"title\">").text(&format!("{} {}", one.task, one.title)).markup("</span> ");
    html.markup("<span class=\"side\">");
    time(html, Some(&one.submitted_at));
    html.markup("</span> <span class=\"more\">");
    labelled(html, "agent", &one.author);
    if let Some((added, deleted)) = one.size {
        html.markup("<span>");
        labelled(html, "plus", &format!("+{added}"));
        if deleted > 0 {
            labelled(html, "minus", &format!("−{deleted}"));
        }
        html.markup("</span> ");
    }
    if found.deferred.iter().any(|id| id == one.task.as_str()) {
        labelled(html, "faint", "put off");
    }
    if let Some(other) = found.others.iter().find(|other| other.task == one.task.as_str()) {
        labelled(html, "faint", &other.why);
    }
    html.markup("</span></a>");
}

struct DrawnCard<'a> {
    frame: &'a PageFrame,
    card: &'a ReviewCardView,
    query: &'a Form,
    /// Whether other cards wait.
    has_others: bool,
}

impl DrawnCard<'_> {
    fn draw(&self, html: &mut Html) {
        let card = self.card;
        html.markup("<article aria-labelledby=\"card-title\">");
        review_facts::heading(html, card);
        html.markup("<h2 id=\"card-title\" class=\"plain\"><span class=\"id\">");
        html.text(&card.task.id).markup("</span> ").text(&card.task.title).markup("</h2>");
        self.decisions(html);
        review_facts::draw(html, card);
        let comment = card.commands.iter().find(|next| next.command.starts_with("fairway review comment "));
        let words = comment.map(|next| next.command.as_str()).filter(|_| self.frame.can_act());
        let comments =
            LineComments::new(self.address(&[]), words, &card.comments).open_at(LinePlace::parse(self.query.get("at")));
        let patch = Patch::parse(card.changes.as_ref().map_or("", |changes| changes.patch.as_str()));
        // A comment stands at its line, if that is drawn.
        let is_drawn = |path: &str, line| patch.shows(&LinePlace { path: path.to_owned(), line });
        card.comments.iter().filter(|one| !is_drawn(&one.path, one.line)).for_each(|one| comments.draw(html, one));
        match &card.changes {
            Some(changes) => {
                self.ways(html, changes, words.is_some());
                patch.draw(html, "changed", self.is_split(), &comments);
                if changes.patch_cut {
                    html.markup("<p class=\"warning\">The end of the patch is left out: it is too long.</p>");
                }
            }
            None => {
                html.markup("<p class=\"warning\">The changes are unknown: ");
                html.text(card.problem.as_deref().unwrap_or("git tells nothing")).markup("</p>");
            }
        }
        html.markup("</article>");
    }

    fn is_split(&self) -> bool {
        self.query.get("split") == "yes"
    }

    /// The address of this card, with these values in place of those of the shown page.
    fn address(&self, other: &[(&str, &str)]) -> String {
        let value =
            |name| other.iter().find(|(known, _)| *known == name).map_or(self.query.get(name), |(_, value)| value);
        address("review", &[("task", &self.card.task.id), ("all", value("all")), ("split", value("split"))])
    }

    /// The other ways to look at the changes.
    fn ways(&self, html: &mut Html, changes: &ReviewChangesView, can_comment: bool) {
        html.markup("<p class=\"way\">");
        if changes.since.is_some() {
            html.markup("<span>Only what is new since your last verdict is shown. </span><a");
            html.attribute("href", &self.address(&[("all", "yes")])).markup(">show everything</a>");
        }
        let (other, name) = if self.is_split() { ("", "in one column") } else { ("yes", "side by side") };
        html.markup("<a class=\"split\"").attribute("href", &self.address(&[("split", other)]));
        html.markup(">").markup(name).markup("</a>");
        if can_comment && !changes.patch.is_empty() {
            html.markup("<span class=\"faint\">To comment on a line, press its number.</span>");
        }
        html.markup("</p>");
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
                    // What is decided makes room for the next card; without one it stays, so that it can be landed.
                    let stays = !self.has_others && next.command.starts_with("fairway review record ");
                    let back = if stays { self.address(&[]) } else { "review".to_owned() };
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
