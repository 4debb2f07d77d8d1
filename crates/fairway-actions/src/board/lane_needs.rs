//! Lanes and bases that need a person: conflicts, changed files that run later, and bases that differ from those of other hosts.

use std::collections::BTreeSet;

use super::facts::Facts;
use super::need::Need;
use crate::App;
use crate::land::overlap;
use crate::land::shared_base::{Diverged, MissingLanding};
use fairway_core::domain::lane::Lane;
use fairway_core::domain::need::NeedKind;
use fairway_core::domain::overlap::{LaneOverlap, OverlapLevel};
use fairway_core::domain::session_facts::NextCommand;
use fairway_core::domain::task::TaskStatus;
use fairway_core::domain::{LaneName, plural};
use fairway_core::os::git::LaneClone;
use fairway_core::store::overlaps::LaneDiffstat;

/// One item for each pair of lanes, or lane and base, whose merge conflicts. Work that was sent back has an item of its own.
pub(super) fn conflicting_lanes(app: &App, facts: &Facts) -> Vec<Need> {
    let is_back = |lane: &LaneName| facts.sent_back.iter().any(|one| one.landing.lane.as_ref() == Some(lane));
    let is_severe = |one: &&LaneOverlap| match one.level {
        OverlapLevel::Conflict => true,
        OverlapLevel::Rebase => !is_back(&one.lane),
        _ => false,
    };
    facts.overlaps.iter().filter(is_severe).map(|one| conflict_need(app, facts, one)).collect()
}

fn conflict_need(app: &App, facts: &Facts, one: &LaneOverlap) -> Need {
    let files: Vec<&str> =
        one.files.iter().filter(|file| file.level == one.level).map(|file| file.path.as_str()).collect();
    let shown = match files.as_slice() {
        [] => "some files".to_owned(),
        [file] => (*file).to_owned(),
        [file, rest @ ..] => format!("{file} and {} more", rest.len()),
    };
    let (other, line) = match &one.other {
        Some(other) => (other.as_str(), format!("lanes {} and {other} conflict in {shown}", one.lane)),
        None => ("base", format!("lane {} conflicts with its base in {shown}", one.lane)),
    };
    let evidence = "git's merge of the two, when they were last looked at".to_owned();
    let key = format!("{}:{other}", one.lane);
    let need = Need::new(NeedKind::Overlap, &key, Some(one.since), line, evidence).lane(Some(&one.lane));
    let show = NextCommand::new("see it", format!("fairway overlap {}", one.lane));
    let commands = overlap::commands(app, &facts.lanes, one.level, &one.lane, one.other.as_ref());
    let next = |view: fairway_core::wire::CommandView| NextCommand::new(view.purpose, view.command);
    commands.into_iter().map(next).fold(need.command(&show), |need, command| need.command(&command))
}

/// One item for each lane that has changed files which programs of a person run or read later, such as hooks and settings of
/// an editor. The item stays until the change is approved or landed.
pub(super) fn lanes_with_later_files(facts: &Facts) -> Vec<Need> {
    let is_open = |one: &&LaneDiffstat| !one.runs_later.is_empty() && !facts.approved_later.contains(&one.lane);
    facts.diffstats.iter().filter(is_open).map(|one| later_files_need(facts, one)).collect()
}

fn later_files_need(facts: &Facts, one: &LaneDiffstat) -> Need {
    let lane = &one.lane;
    let shown = match one.runs_later.as_slice() {
        [file] => file.clone(),
        [file, rest @ ..] => format!("{file} and {} more", rest.len()),
        [] => String::new(),
    };
    let line = format!("lane {lane} has changed what would run on your machine: {shown}");
    let evidence = format!("{}, when they were last looked at", plural::count(one.runs_later.len(), "changed file"));
    let need = Need::new(NeedKind::RunsLater, lane.as_str(), None, line, evidence).lane(Some(lane));
    let need = need.then("see the changes", format!("fairway lane diff {lane}"));
    let submitted =
        facts.held.iter().find(|held| held.lane.as_ref() == Some(lane) && held.status == TaskStatus::Review);
    match submitted {
        Some(held) => {
            let task = &held.task;
            need.task(task).then("approve it", format!("fairway review record {task} --verdict approve --notes TEXT"))
        }
        None => need,
    }
}

/// One item for each lane of this host with commits of sandboxes that were not taken back.
pub(super) fn refused_take_backs(app: &App, facts: &Facts) -> Vec<Need> {
    let of_lane = |lane: &Lane| {
        let all = LaneClone::refused_in(&app.project.sandbox_dir(&lane.name));
        let first = all.first()?;
        let name = &lane.name;
        let line = format!("the commits of {} of {name} were not taken back", plural::count(all.len(), "sandbox run"));
        let need = Need::new(NeedKind::TakeBack, name.as_str(), None, line, first.why.clone()).lane(Some(name));
        let again = format!("fairway sandbox take-back {name}");
        let need = need.then("try again", again.clone());
        Some(need.then("give them up", format!("{again} --discard {}", first.number)))
    };
    facts.lanes.iter().filter_map(of_lane).collect()
}

/// One item for each base that has diverged from its upstream, and one for each landing of another host that is missing here
/// and that tasks wait for.
pub(super) fn unshared_bases(facts: &Facts) -> Vec<Need> {
    let waited_for = facts.shared_base.missing.iter().filter(|one| !one.waiting.is_empty());
    facts.shared_base.diverged.iter().map(of_diverged).chain(waited_for.filter_map(of_missing)).collect()
}

/// How many tasks wait for landings of other hosts that this host's repository lacks.
pub(super) fn waiting_tasks(facts: &Facts) -> usize {
    facts.shared_base.missing.iter().flat_map(|one| &one.waiting).collect::<BTreeSet<_>>().len()
}

fn of_diverged(one: &Diverged) -> Need {
    let evidence = "as the upstream was last fetched".to_owned();
    Need::new(NeedKind::BaseDiverged, &one.base, None, one.line.clone(), evidence)
        .then("bring both together", one.command())
}

fn of_missing(one: &MissingLanding) -> Option<Need> {
    let task = one.tasks.first()?;
    let waiting: Vec<&str> = one.waiting.iter().map(AsRef::as_ref).collect();
    let verb = plural::form(waiting.len(), "waits", "wait");
    let line = format!("{} {verb}: {}", waiting.join(", "), one.line);
    let evidence = format!("as {} was last fetched here", one.base);
    let (purpose, command) = one.fix.rsplit_once(": ")?;
    Some(
        Need::new(NeedKind::LandingElsewhere, task.as_str(), one.at, line, evidence)
            .task(task)
            .then(purpose, command.to_owned()),
    )
}
