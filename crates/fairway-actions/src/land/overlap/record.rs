//! Recording snapshots and overlaps, and sending messages to the sessions of a pair.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::merge_pairs::Verdict;
use super::worktree_snapshots::local_host;
use crate::App;
use crate::mail::send;
use crate::queue::lane::checkout;
use fairway_core::config::{OverlapAction, sandbox_defaults};
use fairway_core::domain::event::EventValue;
use fairway_core::domain::message::{OVERLAP_SOURCE, Priority, Recipient};
use fairway_core::domain::overlap::{LaneOverlap, LaneSnapshot, OverlapFile, OverlapLevel};
use fairway_core::domain::{Event, EventKind, LaneName};
use fairway_core::render::escape_line;
use fairway_core::store::{WriteTx, lanes, overlaps, sessions};

/// How many files a message names.
const MAX_NAMED_FILES: usize = 5;

/// The new snapshots and the judgements on them.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The lanes with a worktree on this host.
    pub live: BTreeSet<LaneName>,
    pub snapshots: Vec<LaneSnapshot>,
    pub verdicts: Vec<Verdict>,
    /// Whether the records of this host's other lanes are removed.
    pub removes_others: bool,
}

impl Verdict {
    fn is_about(&self, overlap: &LaneOverlap) -> bool {
        self.lane == overlap.lane && self.other == overlap.other
    }

    /// Whether this judgement differs from the recorded one.
    fn changes(&self, known: &[LaneOverlap]) -> bool {
        match known.iter().find(|one| self.is_about(one)) {
            Some(one) => one.level != self.level || one.files != self.files || one.why != self.why,
            None => self.level != OverlapLevel::None,
        }
    }
}

/// Whether there is anything new to write. A snapshot without changes is written again once the recorded one is older than
/// `age`.
pub(super) fn needs_write(found: &Found, before: &[LaneSnapshot], known: &[LaneOverlap], age: Duration) -> bool {
    found.verdicts.iter().any(|verdict| verdict.changes(known))
        || found.snapshots.iter().any(|one| is_new(one, before, age))
        || (found.removes_others && of_gone_lanes(found, before).next().is_some())
}

/// The recorded snapshots of this host's lanes that are gone.
fn of_gone_lanes<'a>(found: &'a Found, before: &'a [LaneSnapshot]) -> impl Iterator<Item = &'a LaneSnapshot> {
    let local = local_host();
    before.iter().filter(move |old| old.host == local && !found.live.contains(&old.lane))
}

fn is_new(one: &LaneSnapshot, before: &[LaneSnapshot], age: Duration) -> bool {
    let old = before.iter().find(|old| old.lane == one.lane);
    let is_other = |old: &LaneSnapshot| (&old.digest, &old.judged, &old.work) != (&one.digest, &one.judged, &one.work);
    old.is_none_or(|old| is_other(old) || one.taken_at.since(old.taken_at) > age)
}

/// Writes the snapshots and judgements, and sends messages about new overlaps.
pub(super) fn record(app: &App, tx: &WriteTx<'_>, found: &Found, before: &[LaneSnapshot]) -> Result<()> {
    let defaults = sandbox_defaults();
    for one in found.snapshots.iter().filter(|one| is_new(one, before, Duration::ZERO)) {
        let later: Vec<&str> =
            one.paths.iter().map(|path| path.path.as_str()).filter(|path| defaults.runs_later(path)).collect();
        overlaps::put_snapshot(tx, one, &later)?;
    }
    if found.removes_others {
        for old in of_gone_lanes(found, before) {
            overlaps::forget_lane(tx, &old.lane)?;
        }
    }
    let known = overlaps::all_with_gone(tx)?;
    for verdict in found.verdicts.iter().filter(|verdict| verdict.changes(&known)) {
        put(tx, verdict, &known, Some(app).filter(|app| app.settings.overlap.action == OverlapAction::Tell))?;
    }
    Ok(())
}

/// Writes a judgement in place of the recorded one, with the event of a change, and the messages when `tells` is set. Returns
/// whether some of it is new.
fn put(tx: &WriteTx<'_>, verdict: &Verdict, known: &[LaneOverlap], tells: Option<&App>) -> Result<bool> {
    let old = known.iter().find(|one| verdict.is_about(one));
    let mut overlap = LaneOverlap {
        lane: verdict.lane.clone(),
        other: verdict.other.clone(),
        level: verdict.level,
        files: verdict.files.clone(),
        why: verdict.why.clone(),
        since: old.filter(|old| old.level != OverlapLevel::None).map_or(tx.now(), |old| old.since),
        told: old.map(|old| old.told.clone()).unwrap_or_default(),
    };
    let untold: Vec<OverlapFile> = overlap.untold().into_iter().cloned().collect();
    let is_new = !untold.is_empty();
    if is_new {
        tx.record(&event(EventKind::OverlapFound, &overlap, &untold))?;
        if let Some(app) = tells {
            tell(app, tx, &overlap, &untold)?;
        }
        overlap.told.extend(untold.into_iter().map(|file| (file.path, file.level)));
    } else if overlap.level == OverlapLevel::None && old.is_some_and(LaneOverlap::is_told) {
        tx.record(&event(EventKind::OverlapCleared, &overlap, &[]))?;
    }
    overlaps::put(tx, &overlap)?;
    Ok(is_new)
}

/// Records that a lane conflicts with its base in these files. The caller sends the messages. Returns whether its sessions have
/// not been told of all of them before.
pub fn record_rebase(tx: &WriteTx<'_>, lane: &LaneName, paths: &[String]) -> Result<bool> {
    let level = OverlapLevel::Rebase;
    let file = |path: &String| OverlapFile { path: path.clone(), level, lines: Vec::new(), in_list: false };
    let files = paths.iter().map(file).collect();
    let verdict = Verdict { lane: lane.clone(), other: None, level, files, why: None };
    put(tx, &verdict, &overlaps::all_with_gone(tx)?, None)
}

fn event(kind: EventKind, overlap: &LaneOverlap, files: &[OverlapFile]) -> Event {
    Event::new(kind)
        .lane(Some(&overlap.lane))
        .with("other_lane", overlap.other.as_ref().map(ToString::to_string))
        .with("level", overlap.level.as_str())
        .with("files", EventValue::Texts(files.iter().map(|file| file.path.clone()).collect()))
}

/// Leaves a message for every live session of both lanes.
fn tell(app: &App, tx: &WriteTx<'_>, overlap: &LaneOverlap, files: &[OverlapFile]) -> Result<()> {
    let is_severe = files.iter().any(|file| file.level == OverlapLevel::Conflict);
    let priority = if is_severe { Priority::Urgent } else { Priority::Normal };
    for session in sessions::live(tx)? {
        let Some(own) = session.lane.as_ref().filter(|lane| overlap.involves(lane)) else { continue };
        let lane = lanes::find(tx, own)?;
        let by_hand = lane.and_then(|lane| checkout::bring_in_by_hand(app, &lane));
        let text = message(overlap, own, files, by_hand);
        let key = format!(
            "{OVERLAP_SOURCE} {} {} {}",
            session.run_id,
            overlap.counterpart(own).map_or("", LaneName::as_str),
            tx.now().millis()
        );
        let metadata = json!({ "from": "fairway", "lane": own.as_str(), "level": overlap.level.as_str() });
        send::send_system(
            tx,
            &Recipient::Session(session.id.clone()),
            (OVERLAP_SOURCE, priority),
            text,
            &metadata,
            &key,
        )?;
    }
    Ok(())
}

/// The message to a session of the lane `own`.
fn message(overlap: &LaneOverlap, own: &LaneName, files: &[OverlapFile], by_hand: Option<String>) -> String {
    let severest = files.iter().map(|file| file.level).min_by_key(|level| level.rank());
    let named: Vec<String> = files
        .iter()
        .filter(|file| Some(file.level) == severest)
        .map(|file| format!("{}{}", escape_line(&file.path), lines_text(&file.lines)))
        .collect();
    let more = named.len().saturating_sub(MAX_NAMED_FILES);
    let mut list = named.into_iter().take(MAX_NAMED_FILES).collect::<Vec<_>>().join(", ");
    if more > 0 {
        list = format!("{list} and {more} more");
    }
    match (severest, overlap.counterpart(own)) {
        (Some(OverlapLevel::Conflict), Some(other)) => format!(
            "Lane {other} changes the same places as your lane {own}: a merge of the two conflicts in {list}.\n\
             See it: fairway overlap {own}\nSee the other change: fairway lane diff {other}\n\
             Agree who changes them: fairway send lane:{other} \"...\""
        ),
        (_, Some(other)) => format!(
            "Lane {other} changes lines next to those of your lane {own} in {list}. The two merge cleanly now.\n\
             See it: fairway overlap {own}\nSee the other change: fairway lane diff {other}"
        ),
        (_, None) => format!(
            "Your lane {own} conflicts with its base in {list}. The longer it waits, the more it has to redo.\n\
             Commit your work, then bring the base in by hand: {}",
            by_hand.unwrap_or_else(|| format!("fairway lane repair {own}"))
        ),
    }
}

/// Formats ranges of lines as ` (line 4)` or ` (lines 4, 7-9)`; empty when the lines are not known. After [`MAX_NAMED_FILES`]
/// ranges the rest is `…`.
pub(super) fn lines_text(lines: &[(u64, u64)]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let word = |(first, last): &(u64, u64)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    let shown: Vec<String> = lines.iter().take(MAX_NAMED_FILES).map(word).collect();
    let noun = if lines.len() == 1 && lines.iter().all(|(first, last)| first == last) { "line" } else { "lines" };
    let more = if lines.len() > MAX_NAMED_FILES { ", …" } else { "" };
    format!(" ({noun} {}{more})", shown.join(", "))
}
