//! The order in which a claim without an id considers tasks. With `[overlap] claims = "avoid"`, tasks whose paths no other lane
//! has changed come first within a priority. These changes are read from the store; no git runs inside a claim.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::actions::App;
use crate::config::ClaimOrder;
use crate::domain::LaneName;
use crate::domain::rules::globs;
use crate::domain::task::Task;
use crate::store::tasks::{self, ReadyRole, ReadyScope};
use crate::store::{ReadTx, WriteTx, overlaps};

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

/// The ready tasks that a claim without an id may take: those of these lanes, in this order, that fit the role.
pub(super) struct Candidates<'a> {
    lanes: Vec<ReadyScope<'a>>,
    role: ReadyRole<'a>,
    /// The claimant's lane.
    own: Option<&'a LaneName>,
}

impl<'a> Candidates<'a> {
    pub(super) fn new(app: &App, own: Option<&'a LaneName>, scope: LaneScope, role: ReadyRole<'a>) -> Self {
        let is_own_only =
            scope == LaneScope::Own || (scope == LaneScope::Configured && app.settings.claims.own_lane_only);
        let lanes = match own {
            None => vec![ReadyScope::Everywhere],
            Some(own) if is_own_only => vec![ReadyScope::In(own)],
            Some(own) if scope == LaneScope::Any => {
                vec![ReadyScope::In(own), ReadyScope::WithoutLane, ReadyScope::Elsewhere(own)]
            }
            Some(own) => vec![ReadyScope::In(own), ReadyScope::WithoutLane],
        };
        Self { lanes, role, own }
    }

    pub(super) fn includes_lane(&self, lane: Option<&LaneName>) -> bool {
        self.lanes.iter().any(|scope| scope.contains(lane))
    }

    /// Whether there is a candidate. The rules for a claim may exclude it.
    pub(super) fn exist(&self, tx: &ReadTx<'_>) -> Result<bool> {
        for scope in &self.lanes {
            if tasks::has_ready_in(tx, *scope, self.role)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Passes the candidates to `wants_more` until it returns false; then those whose lease has expired.
    pub(super) fn for_each(&self, app: &App, tx: &WriteTx<'_>, mut wants_more: impl FnMut(Task) -> bool) -> Result<()> {
        let avoided = ChangedElsewhere::read(app, tx, self.own)?;
        for scope in &self.lanes {
            if !offer_ready(tx, *scope, self.role, avoided.as_ref(), &mut wants_more)? {
                return Ok(());
            }
        }
        tasks::expired(tx, tx.now())?.into_iter().all(wants_more);
        Ok(())
    }
}

/// Passes the ready tasks of a scope to `wants_more` until it returns false. The first ones are in the order that avoids paths
/// which others have changed. Returns whether more are wanted.
fn offer_ready(
    tx: &ReadTx<'_>,
    scope: ReadyScope<'_>,
    role: ReadyRole<'_>,
    avoided: Option<&ChangedElsewhere>,
    mut wants_more: impl FnMut(Task) -> bool,
) -> Result<bool> {
    let mut collected = avoided.map(|avoided| (avoided, Vec::new()));
    let mut goes_on = true;
    tasks::for_each_ready_in(tx, scope, role, |task| {
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
