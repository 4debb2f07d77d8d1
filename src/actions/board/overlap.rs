//! Lanes that conflict with each other or with their base.

use super::{facts::Facts, need::Need};
use crate::{
    actions::land::overlap,
    domain::{
        need::NeedKind,
        overlap::{LaneOverlap, OverlapLevel},
        session_facts::NextCommand,
    },
};

/// An item for each pair whose merge conflicts.
pub(super) fn items(facts: &Facts) -> Vec<Need> {
    let is_severe = |one: &&LaneOverlap| matches!(one.level, OverlapLevel::Conflict | OverlapLevel::Rebase);
    facts.overlaps.iter().filter(is_severe).map(item).collect()
}

fn item(one: &LaneOverlap) -> Need {
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
    let commands = overlap::commands(one.level, &one.lane, one.other.as_ref());
    let next = |view: crate::wire::CommandView| NextCommand::new(view.purpose, view.command);
    commands.into_iter().map(next).fold(need.command(&show), |need, command| need.command(&command))
}
