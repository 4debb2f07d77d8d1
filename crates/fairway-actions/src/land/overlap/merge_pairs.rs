//! Judging pairs of snapshots by git's own merge, all in one process.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use anyhow::Result;

use super::worktree_snapshots::snapshot_paths;
use crate::App;
use fairway_core::domain::LaneName;
use fairway_core::domain::landing::{Landing, LandingState};
use fairway_core::domain::overlap::{LaneOverlap, LaneSnapshot, OverlapFile, OverlapLevel, SnapshotPath};
use fairway_core::domain::rules::overlap as rule;
use fairway_core::os::git::{Git, GitError, MergeOutcome, MergeRepository, RepositoryFacts};
use fairway_core::store::landings;

/// How many of the newest landings are searched.
const MAX_LANDINGS: i64 = 200;

/// The judgement on two lanes, or on a lane and its base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    pub lane: LaneName,
    /// The other lane, later by name; `None` for the base.
    pub other: Option<LaneName>,
    pub level: OverlapLevel,
    pub files: Vec<OverlapFile>,
    pub why: Option<String>,
}

/// The data with which [`Self::judge`] works.
pub(super) struct PairJudge<'a> {
    pub app: &'a App,
    pub facts: &'a RepositoryFacts,
    /// The directory of the snapshots' repositories.
    pub dir: &'a Path,
    pub deadline: Instant,
    /// All snapshots of this host.
    pub snapshots: &'a [LaneSnapshot],
    /// The overlaps in the store.
    pub recorded: &'a [LaneOverlap],
}

/// A merge to be made: of a lane with another one or with its base.
struct Planned<'a> {
    lane: &'a LaneSnapshot,
    other: Option<&'a LaneSnapshot>,
}

impl PairJudge<'_> {
    /// Judges the pairs of lanes, and of a lane and its base, of which a snapshot has changed since it was last judged; with
    /// `only` just those of one lane. Returns `None` when the deadline passes before all are judged.
    pub fn judge(&self, only: Option<&LaneName>) -> Result<Option<Vec<Verdict>>, GitError> {
        let (mut verdicts, mut planned) = (Vec::new(), Vec::new());
        for (place, one) in self.snapshots.iter().enumerate() {
            if one.is_pending() && only.is_none_or(|only| *only == one.lane) {
                if one.commit.is_some() && one.base_tip != one.fork {
                    planned.push(Planned { lane: one, other: None });
                } else {
                    verdicts.push(none(one, None));
                }
            }
            for other in self.snapshots.iter().skip(place + 1) {
                let is_asked = only.is_none_or(|only| *only == one.lane || *only == other.lane);
                if !is_asked || !(one.is_pending() || other.is_pending()) {
                    continue;
                }
                let can_judge = one.commit.is_some() && other.commit.is_some();
                if can_judge && rule::may_collide(&one.paths, &other.paths) {
                    planned.push(Planned { lane: one, other: Some(other) });
                } else {
                    verdicts.push(none(one, Some(other)));
                }
            }
        }
        if planned.is_empty() {
            return Ok(Some(verdicts));
        }
        let Some(outcomes) = self.merge(&planned)? else { return Ok(None) };
        let mut behind: BTreeMap<&LaneName, BTreeSet<&str>> = BTreeMap::new();
        for recorded in self.recorded.iter().filter(|one| one.level == OverlapLevel::Rebase) {
            behind.entry(&recorded.lane).or_default().extend(recorded.files.iter().map(|file| file.path.as_str()));
        }
        // The base comes first: a conflict with it is not reported again as a conflict with another lane.
        for (one, outcome) in planned.iter().zip(&outcomes.merged).filter(|(one, _)| one.other.is_none()) {
            behind.remove(&one.lane.lane);
            if let MergeOutcome::Conflict { files, .. } = outcome {
                behind.insert(&one.lane.lane, files.iter().map(String::as_str).collect());
            }
        }
        for (one, outcome) in planned.iter().zip(&outcomes.merged) {
            let conflicts =
                |lane: &LaneSnapshot, path: &str| behind.get(&lane.lane).is_some_and(|files| files.contains(path));
            let verdict = match one.other {
                None if let MergeOutcome::Conflict { files, .. } = outcome
                    && (self.app.settings.land.are_generated(files) || self.has_landed_whole(one.lane)) =>
                {
                    none(one.lane, None)
                }
                None => base_verdict(one.lane, outcome),
                Some(other) => {
                    let is_old = |path: &str| conflicts(one.lane, path) || conflicts(other, path);
                    match self.pair_verdict(&outcomes.repository, one.lane, other, outcome, &is_old)? {
                        Some(verdict) => verdict,
                        None => return Ok(None),
                    }
                }
            };
            verdicts.push(verdict);
        }
        Ok(Some(verdicts))
    }

    /// Whether all work of a lane has landed. A squash makes another commit of it, which may conflict with it later on.
    fn has_landed_whole(&self, lane: &LaneSnapshot) -> bool {
        let landed = |one: &Landing| one.state == LandingState::Landed && Some(&one.commit) == lane.tip.as_ref();
        let newest = || self.app.read(|tx| Ok(landings::newest(tx, MAX_LANDINGS)?)).unwrap_or_default();
        lane.commit == lane.tip && newest().iter().any(landed)
    }

    fn merge(&self, planned: &[Planned<'_>]) -> Result<Option<Merged>, GitError> {
        let git = Git::new(self.app.env.vars(), &self.app.project.root);
        let lanes: BTreeSet<&LaneName> =
            planned.iter().flat_map(|one| [Some(one.lane), one.other]).flatten().map(|one| &one.lane).collect();
        let objects: Vec<_> = lanes.iter().map(|lane| self.dir.join(lane.as_str()).join("objects")).collect();
        let mut repository = MergeRepository::of(self.facts, &git, self.dir)?.reading(&objects);
        if let Some(base) = planned.iter().find_map(|one| one.lane.base_tip.as_deref()) {
            repository = repository.with_attributes_of(base);
        }
        let pair = |one: &Planned<'_>| {
            let theirs = one.other.map_or(&one.lane.base_tip, |other| &other.commit);
            (one.lane.commit.clone().unwrap_or_default(), theirs.clone().unwrap_or_default())
        };
        let pairs: Vec<(String, String)> = planned.iter().map(pair).collect();
        let left = self.deadline.saturating_duration_since(Instant::now());
        match repository.merge_all(&pairs, left) {
            Ok(merged) => Ok(Some(Merged { repository, merged })),
            Err(_) if Instant::now() >= self.deadline => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn pair_verdict(
        &self,
        repository: &MergeRepository,
        one: &LaneSnapshot,
        other: &LaneSnapshot,
        outcome: &MergeOutcome,
        is_old: &dyn Fn(&str) -> bool,
    ) -> Result<Option<Verdict>, GitError> {
        let mut verdict = none(one, Some(other));
        if let MergeOutcome::Unknown { why } = outcome {
            (verdict.level, verdict.why) = (OverlapLevel::Unknown, Some(why.clone()));
            return Ok(Some(verdict));
        }
        if Instant::now() >= self.deadline {
            return Ok(None);
        }
        let near = close_files(repository, one, other)?;
        let conflicting: &[String] = if let MergeOutcome::Conflict { files, .. } = outcome { files } else { &[] };
        let lines_of = |path: &str| {
            let found = near.iter().find(|file| file.path == path);
            found.map(|file| file.lines.clone()).unwrap_or_default()
        };
        let mut files: Vec<OverlapFile> = conflicting
            .iter()
            .filter(|path| !is_old(path))
            .map(|path| {
                let (level, lines) = (OverlapLevel::Conflict, lines_of(path));
                OverlapFile { path: path.clone(), level, lines, in_list: false }
            })
            .collect();
        let is_conflict = |file: &OverlapFile| conflicting.contains(&file.path);
        files.extend(near.iter().filter(|file| !is_conflict(file) && !is_old(&file.path)).cloned());
        files.sort_by(|a, b| a.path.cmp(&b.path));
        verdict.level =
            files.iter().map(|file| file.level).min_by_key(|level| level.rank()).unwrap_or(OverlapLevel::None);
        verdict.files = files;
        Ok(Some(verdict))
    }
}

/// The outcomes of merges, and the repository in which they were made.
struct Merged {
    repository: MergeRepository,
    merged: Vec<MergeOutcome>,
}

/// The files in which two lanes change nearby lines, counted from their common commit.
fn close_files(
    repository: &MergeRepository,
    one: &LaneSnapshot,
    other: &LaneSnapshot,
) -> Result<Vec<OverlapFile>, GitError> {
    let shares = |paths: &[SnapshotPath]| paths.iter().any(|path| other.paths.iter().any(|two| two.path == path.path));
    if !shares(&one.paths) {
        return Ok(Vec::new());
    }
    let near = rule::adjacent_files(&one.paths, &other.paths);
    // A lane without commits contains no work of another one: both left the base where they have it in common.
    let has_commits = |lane: &LaneSnapshot| lane.tip != lane.fork;
    if one.fork == other.fork && (near.is_empty() || !has_commits(one) || !has_commits(other)) {
        return Ok(near);
    }
    let (Some(ours), Some(theirs)) = (&one.commit, &other.commit) else { return Ok(near) };
    let Some(base) = repository.git().merge_base(ours, theirs)? else { return Ok(near) };
    if [&one.fork, &other.fork].into_iter().all(|fork| fork.as_ref() == Some(&base)) {
        return Ok(near);
    }
    // One of them contains work of the other, or they left the base at different commits.
    let since = |commit: &str, paths: &[SnapshotPath]| -> Result<Vec<SnapshotPath>, GitError> {
        let by_name = paths.iter().filter(|path| path.letter == 'N').map(|path| path.path.clone());
        Ok(snapshot_paths(repository.changed_paths(&base, commit)?, &by_name.collect::<Vec<_>>()))
    };
    Ok(rule::adjacent_files(&since(ours, &one.paths)?, &since(theirs, &other.paths)?))
}

fn none(lane: &LaneSnapshot, other: Option<&LaneSnapshot>) -> Verdict {
    let other = other.map(|other| other.lane.clone());
    Verdict { lane: lane.lane.clone(), other, level: OverlapLevel::None, files: Vec::new(), why: None }
}

fn base_verdict(lane: &LaneSnapshot, outcome: &MergeOutcome) -> Verdict {
    let verdict = none(lane, None);
    match outcome {
        MergeOutcome::Clean { .. } => verdict,
        MergeOutcome::Unknown { why } => Verdict { level: OverlapLevel::Unknown, why: Some(why.clone()), ..verdict },
        MergeOutcome::Conflict { files, .. } => {
            let file = |path: &String| {
                let (level, lines) = (OverlapLevel::Rebase, Vec::new());
                OverlapFile { path: path.clone(), level, lines, in_list: false }
            };
            Verdict { level: OverlapLevel::Rebase, files: files.iter().map(file).collect(), ..verdict }
        }
    }
}
