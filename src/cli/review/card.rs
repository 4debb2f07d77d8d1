//! A card as text.

use std::fmt::Write as _;

use crate::cli::age::age;
use fairway_core::domain::review::Verdict;
use fairway_core::domain::{commit_id, plural};
use fairway_core::env::Timestamp;
use fairway_core::render::{escape_controls, escape_line};
use fairway_core::wire::{ReviewCardView, ReviewChangesView, ReviewNextView};

/// The longest description that is shown, in lines.
const MAX_BODY_LINES: usize = 12;
/// The most files, commits or paths of one kind that are named.
const MAX_NAMED: usize = 12;

/// The parts of a card.
pub(in crate::cli) struct CardText {
    /// What is above the patch.
    pub(in crate::cli) top: String,
    /// The patch.
    pub(in crate::cli) patch: String,
    /// The commands.
    pub(in crate::cli) bottom: String,
}

/// Formats the answer when no card waits for this reviewer: each submitted task, with the reason why it is left out.
pub(in crate::cli) fn nothing(found: &ReviewNextView) -> String {
    let mut text = String::from("no submitted task waits for your review\n");
    for one in &found.others {
        let _ = writeln!(text, "{}: {}", one.task, escape_line(&one.why));
    }
    text
}

pub(in crate::cli) fn text(card: &ReviewCardView, found: &ReviewNextView, now: Timestamp) -> CardText {
    let mut top = format!("{}: {}\n", card.task.id, escape_line(&card.task.title));
    heading(&mut top, card, found, now);
    asked(&mut top, card);
    evidence(&mut top, card);
    for review in &card.reviews {
        let who = review.reviewer.as_deref().unwrap_or("any reviewer");
        let verdict = review.verdict.map_or("requested", Verdict::as_str);
        let notes = review.notes.as_deref().map(|notes| format!(": {}", escape_line(notes))).unwrap_or_default();
        let _ = writeln!(top, "review:     {verdict} in {} by {}{notes}", review.domain, escape_line(who));
    }
    for one in &card.comments {
        let (place, text) = (escape_line(&one.path), escape_line(&one.text));
        let _ =
            writeln!(top, "comment:    {} at {place}:{} by {}: {text}", one.id, one.line, escape_line(&one.reviewer));
    }
    for one in &card.consequences {
        let _ = writeln!(top, "would:      {}: {}", one.kind, named(&one.paths));
    }
    if let Some(cost) = card.cost.short() {
        let _ = writeln!(top, "cost:       {cost}");
    }
    for blocker in &card.blockers {
        let _ = writeln!(top, "blocked by: {}: {}", blocker.code, escape_line(&blocker.message));
    }
    if card.uncommitted == Some(true) {
        top.push_str("note:       the worktree has changes that are in no commit; they are not shown\n");
    }
    let mut patch = String::new();
    match (&card.changes, &card.problem) {
        (Some(changes), _) => {
            self::changes(&mut top, changes);
            patch = escape_controls(&changes.patch);
        }
        (None, problem) => {
            let why = problem.as_deref().unwrap_or("git tells nothing");
            let _ = writeln!(top, "changes:    unknown: {}", escape_line(why));
        }
    }
    let mut bottom = String::from("\n");
    for one in &card.commands {
        let _ = writeln!(bottom, "{}: {}", one.purpose, escape_line(&one.command));
    }
    CardText { top, patch, bottom }
}

/// Cuts a patch after `limit` lines, and returns whether lines were left out. Without a limit, it returns the whole patch.
pub(in crate::cli) fn first_lines(patch: &str, limit: Option<usize>, task: &str) -> (String, bool) {
    let count = patch.lines().count();
    match limit {
        Some(limit) if count > limit => {
            let shown: String = patch.split_inclusive('\n').take(limit).collect();
            let left = count - limit;
            (format!("{shown}… {left} more lines: fairway review next --task {task} --lines 0\n"), true)
        }
        _ if patch.is_empty() || patch.ends_with('\n') => (patch.to_owned(), false),
        _ => (format!("{patch}\n"), false),
    }
}

fn heading(top: &mut String, card: &ReviewCardView, found: &ReviewNextView, now: Timestamp) {
    let mut facts = Vec::new();
    facts.extend(card.task.lane.as_ref().map(|lane| format!("lane {lane}")));
    facts.extend(card.author.as_ref().map(|author| format!("by {}", escape_line(author))));
    facts.extend(card.claimed_at.as_ref().map(|at| format!("claimed {} ago", age(at, now))));
    facts.extend(card.submitted_at.as_ref().map(|at| format!("submitted {} ago", age(at, now))));
    if !card.wanted_by.is_empty() {
        facts.push(format!("wanted by {}", named(&card.wanted_by)));
    }
    let others = found.waiting.iter().filter(|id| **id != card.task.id).count();
    let _ = writeln!(top, "            {}", facts.join(", "));
    if others > 0 {
        let verb = plural::form(others, "waits", "wait");
        let _ = writeln!(top, "            {others} more {verb} for you, {} put off", found.deferred.len());
    }
}

fn asked(top: &mut String, card: &ReviewCardView) {
    let lines: Vec<&str> = card.task.body.lines().collect();
    for (place, line) in lines.iter().take(MAX_BODY_LINES).enumerate() {
        let label = if place == 0 { "asked:" } else { "" };
        let _ = writeln!(top, "{label:<12}{}", escape_line(line));
    }
    if lines.len() > MAX_BODY_LINES {
        let _ = writeln!(top, "            … {} more lines", lines.len() - MAX_BODY_LINES);
    }
    for check in &card.task.checks {
        let _ = writeln!(top, "check:      {}: {}", check.name, escape_line(&check.command));
    }
}

fn evidence(top: &mut String, card: &ReviewCardView) {
    for one in &card.evidence {
        let how = if one.observed { "observed" } else { "claimed" };
        let what = one.command.as_deref().or(one.summary.as_deref()).unwrap_or_default();
        let _ = writeln!(top, "evidence:   {} {}, {how}: {}", one.kind, one.result, escape_line(what));
    }
    match (card.evidence.is_empty(), card.other_evidence) {
        (true, 0) => top.push_str("evidence:   none\n"),
        (true, count) => {
            let _ = writeln!(top, "evidence:   none at this commit, {count} at others");
        }
        (false, _) => {}
    }
}

fn changes(top: &mut String, changes: &ReviewChangesView) {
    let (commit, base) = (commit_id::short(&changes.commit), escape_line(&changes.base));
    let size = format!("{}, +{} -{}", plural::count(changes.files.len(), "file"), changes.added, changes.deleted);
    let _ = match &changes.since {
        Some(since) if changes.files.is_empty() => {
            writeln!(top, "new:        nothing at {commit} since {}, which you have seen", commit_id::short(since))
        }
        Some(since) => {
            writeln!(top, "new:        {size} at {commit} since {}, which you have seen", commit_id::short(since))
        }
        None => writeln!(top, "changes:    {size} at {commit} on {base}"),
    };
    if let Some(why) = &changes.why_all {
        let _ = writeln!(top, "            everything is shown: {}", escape_line(why));
    }
    if !changes.conflicts.is_empty() {
        let files = named(&changes.conflicts);
        let _ = writeln!(
            top,
            "            the base conflicts with what you saw in {files}: lines of neither are shown as added"
        );
    }
    for one in changes.commits.iter().take(MAX_NAMED) {
        let commit = one.after.as_ref().or(one.before.as_ref());
        let commit = commit.map(String::as_str).unwrap_or_default();
        let _ = writeln!(top, "  {:<8} {commit} {}", one.change, escape_line(&one.subject));
    }
    if changes.commits.len() > MAX_NAMED {
        let _ = writeln!(top, "  … {} more commits", changes.commits.len() - MAX_NAMED);
    }
    for file in changes.files.iter().take(MAX_NAMED) {
        let lines = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
        let (added, deleted) = (lines(file.added), lines(file.deleted));
        let from = file.old_path.as_ref().map(|old| format!(" (from {})", escape_line(old))).unwrap_or_default();
        let _ = writeln!(top, "  {:<8} {}{from} +{added} -{deleted}", file.status, escape_line(&file.path));
    }
    if changes.files.len() > MAX_NAMED {
        let _ = writeln!(top, "  … {} more files", changes.files.len() - MAX_NAMED);
    }
}

fn named(names: &[String]) -> String {
    let mut text = names.iter().take(MAX_NAMED).map(|name| escape_line(name)).collect::<Vec<_>>().join(", ");
    if names.len() > MAX_NAMED {
        let _ = write!(text, " and {} more", names.len() - MAX_NAMED);
    }
    text
}
