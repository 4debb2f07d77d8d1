//! The order in which a claim without an id considers tasks. With `[overlap] claims = "avoid"`, tasks whose paths no other lane
//! has changed come first within a priority. These changes are read from the store; no git runs inside a claim.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::{
    actions::App,
    config::ClaimOrder,
    domain::{LaneName, rules::globs, task::Task},
    store::{
        ReadTx, WriteTx, overlaps,
        tasks::{self, ReadyScope},
    },
};

/// How many of the ready tasks are put in order.
const MAX_ORDERED: usize = 64;

/// The lanes whose tasks a claim without an id may claim.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LaneScope {
    /// The lanes that the setting `[claims] own_lane_only` names.
    #[default]
    Configured,
    /// The claimant's lane only.
    Own,
    /// The claimant's lane, then no lane, then every other lane.
    Any,
}

/// The paths that other lanes have changed.
#[derive(Debug, Default)]
struct ChangedElsewhere {
    paths: BTreeSet<String>,
}

impl ChangedElsewhere {
    /// The changed paths of all lanes but `own`; `None` where the settings do not change the order.
    fn read(app: &App, tx: &ReadTx<'_>, own: Option<&LaneName>) -> Result<Option<Self>> {
        if app.settings.overlap.claims != ClaimOrder::Avoid {
            return Ok(None);
        }
        let others = overlaps::snapshots(tx)?.into_iter().filter(|one| Some(&one.lane) != own);
        let paths: BTreeSet<String> = others.flat_map(|one| one.paths).map(|path| path.path).collect();
        Ok(Some(Self { paths }).filter(|found| !found.paths.is_empty()))
    }

    /// Tasks that are in the order of their priority, in the order in which they are offered.
    fn in_order(&self, mut tasks: Vec<Task>) -> impl Iterator<Item = Task> {
        tasks.sort_by_cached_key(|task| (task.fields.priority, self.meets(task)));
        tasks.into_iter()
    }

    fn meets(&self, task: &Task) -> bool {
        task.fields.paths.iter().any(|glob| {
            // Only a path that begins with the same text can match.
            let fixed = glob.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default();
            let candidates = self.paths.range(fixed.to_owned()..).take_while(|path| path.starts_with(fixed));
            candidates.into_iter().any(|path| globs::matches(glob, path))
        })
    }
}

/// Passes the candidates for a claim to `wants_more`, until it returns false: first the tasks of `left`, which dead sessions
/// of the claimant's lane have claimed; then the ready tasks of the lane, those without a lane and those of other lanes; then
/// those whose lease has expired. The flag is false for a task that the claimant's scope excludes: it must not be claimed, and
/// serves only to explain a refusal.
pub(super) fn for_each_candidate(
    app: &App,
    tx: &WriteTx<'_>,
    left: Vec<Task>,
    lane: Option<&LaneName>,
    scope: LaneScope,
    mut wants_more: impl FnMut(Task, bool) -> bool,
) -> Result<()> {
    if !left.into_iter().all(|task| wants_more(task, true)) {
        return Ok(());
    }
    let avoided = ChangedElsewhere::read(app, tx, lane)?;
    let is_own_only = scope == LaneScope::Own || (scope == LaneScope::Configured && app.settings.claims.own_lane_only);
    let scopes = match lane {
        None => vec![(ReadyScope::Everywhere, true)],
        Some(lane) => vec![
            (ReadyScope::In(lane), true),
            (ReadyScope::WithoutLane, !is_own_only),
            (ReadyScope::Elsewhere(lane), scope == LaneScope::Any),
        ],
    };
    for (scope, is_in_scope) in scopes {
        if !offer_ready(tx, scope, avoided.as_ref(), |task| wants_more(task, is_in_scope))? {
            return Ok(());
        }
    }
    tasks::expired(tx, tx.now())?.into_iter().all(|task| wants_more(task, true));
    Ok(())
}

/// Passes the ready tasks of a scope to `wants_more` until it returns false. The first ones are in the order that avoids paths
/// which others have changed. Returns whether more are wanted.
fn offer_ready(
    tx: &ReadTx<'_>,
    scope: ReadyScope<'_>,
    avoided: Option<&ChangedElsewhere>,
    mut wants_more: impl FnMut(Task) -> bool,
) -> Result<bool> {
    let mut collected = avoided.map(|avoided| (avoided, Vec::new()));
    let mut goes_on = true;
    tasks::for_each_ready_in(tx, scope, |task| {
        let Some((_, first)) = &mut collected else {
            goes_on = wants_more(task);
            return Ok(goes_on);
        };
        first.push(task);
        if first.len() == MAX_ORDERED
            && let Some((avoided, first)) = collected.take()
        {
            goes_on = avoided.in_order(first).all(&mut wants_more);
        }
        Ok(goes_on)
    })?;
    Ok(goes_on && collected.is_none_or(|(avoided, first)| avoided.in_order(first).all(wants_more)))
}
