//! Bases that are not those of the other hosts.

use std::collections::BTreeSet;

use super::{facts::Facts, need::Need};
use crate::{
    actions::land::shared_base::{Diverged, MissingLanding},
    domain::need::NeedKind,
};

/// An item for each base that has gone apart from its upstream, and for each landing of another host for whose commit tasks wait
/// here.
pub(super) fn items(facts: &Facts) -> Vec<Need> {
    let waited_for = facts.shared_base.missing.iter().filter(|one| !one.waiting.is_empty());
    facts.shared_base.diverged.iter().map(of_diverged).chain(waited_for.filter_map(of_missing)).collect()
}

/// How many tasks would be ready here if what other hosts have landed were here.
pub(super) fn waiting(facts: &Facts) -> usize {
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
    let verb = if waiting.len() == 1 { "waits" } else { "wait" };
    let line = format!("{} {verb}: {}", waiting.join(", "), one.line);
    let evidence = format!("as {} was last fetched here", one.base);
    let (purpose, command) = one.fix.rsplit_once(": ")?;
    Some(
        Need::new(NeedKind::LandingElsewhere, task.as_str(), one.at, line, evidence)
            .task(task)
            .then(purpose, command.to_owned()),
    )
}
