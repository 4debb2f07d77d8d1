//! Snapshots of the lanes' worktrees.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::App;
use crate::queue::base_commit;
use crate::queue::lane::checkout::{self, Presence};
use crate::queue::lane::work;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::lane_work::{Head, LaneWork, WorkState};
use fairway_core::domain::overlap::{LaneSnapshot, LineRange, SnapshotPath};
use fairway_core::os::digest::sha256_hex;
use fairway_core::os::git::{
    ChangedLines, ChangedPart, ChangedPath, Git, KnownFork, RepositoryFacts, SnapshotFailure, SnapshotRepository,
    WorktreeSnapshot,
};
use fairway_core::os::host;

/// Above this number of changed paths of a lane, the changed lines are not kept.
const MAX_PATHS_WITH_LINES: usize = 5000;

/// The data that every snapshot needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct SnapshotTaker<'a> {
    pub app: &'a App,
    pub facts: &'a RepositoryFacts,
    /// The directory of the snapshots' repositories.
    pub dir: &'a Path,
    pub deadline: Instant,
}

/// This host's id, else its name, as snapshots record it.
pub(super) fn local_host() -> String {
    let local = host::identity();
    local.id.unwrap_or(local.name)
}

/// Whether a snapshot was taken on this host.
pub fn is_local(snapshot: &LaneSnapshot) -> bool {
    snapshot.host == local_host()
}

impl SnapshotTaker<'_> {
    /// Takes a new snapshot of a lane's worktree, or returns the known one when nothing has changed. `files`, when not empty,
    /// are the only files that may have changed since the known snapshot. A worktree that cannot be read gives a snapshot with
    /// the reason. Returns `None` when the deadline has passed.
    pub fn look(
        self,
        lane: &Lane,
        worktree: &Path,
        known: Option<&LaneSnapshot>,
        files: &[PathBuf],
    ) -> Option<LaneSnapshot> {
        match checkout::presence(self.app, lane) {
            Presence::Damaged(_, why) => {
                return Some(self.unknown(lane, format!("the lane is damaged: {why}"), known));
            }
            Presence::Missing(dir) => {
                let why = if dir.is_dir() {
                    "its .git file is missing".to_owned()
                } else {
                    format!("its worktree {} does not exist", dir.display())
                };
                return Some(self.unknown(lane, why, known));
            }
            Presence::Present(_) | Presence::None | Presence::Elsewhere => {}
        }
        let git = Git::new(self.app.env.vars(), worktree);
        let repository = SnapshotRepository::new(git, self.facts, self.dir.join(lane.name.as_str()), self.deadline);
        let fork = known.filter(|known| known.host == local_host()).and_then(known_fork);
        let names = |is_by_name: bool| -> Vec<&str> {
            let paths = known.iter().flat_map(|known| &known.paths).filter(|path| (path.letter == 'N') == is_by_name);
            paths.map(|path| path.path.as_str()).collect()
        };
        let (changed, by_name) = (names(false), names(true));
        let part = ChangedPart { files, known: &changed, by_name: &by_name };
        // A snapshot that could not be judged does not show what was changed.
        let is_told = !files.is_empty() && known.is_none_or(|known| known.unknown.is_none());
        let base = base_commit::revision(self.app, &git, checkout::base(self.app, lane));
        let taken = repository.take(&base, fork, is_told.then_some(part)).and_then(|taken| {
            let digest = digest_of(&taken);
            match known.filter(|known| known.digest == digest && known.host == local_host()) {
                Some(known) => {
                    let work = self.state(lane, Some(&taken));
                    Ok(LaneSnapshot { taken_at: self.app.env.now(), work, ..known.clone() })
                }
                None => repository.changed_paths(&taken).map(|changed| self.snapshot(lane, taken, digest, changed)),
            }
        });
        match taken {
            Ok(snapshot) => Some(snapshot),
            Err(SnapshotFailure::TimedOut) => None,
            Err(SnapshotFailure::Unknown(why)) => Some(self.unknown(lane, why, known)),
            Err(SnapshotFailure::Git(error)) => Some(self.unknown(lane, error.to_string(), known)),
        }
    }

    /// How that which is checked out stands to the lane's branch. Git is asked again only where the snapshot does not tell.
    fn state(self, lane: &Lane, taken: Option<&WorktreeSnapshot>) -> Option<WorkState> {
        if let Some(WorktreeSnapshot { tip, branch: Some(on), .. }) = taken {
            let head = Some(Head { commit: tip.clone(), branch: Some(on.clone()) });
            return Some(LaneWork { branch: lane.branch.clone(), head, ..LaneWork::default() }.state());
        }
        work::of_lane(self.app, lane, &[]).ok().filter(|work| work.worktree.is_some()).map(|work| work.state())
    }

    fn snapshot(self, lane: &Lane, taken: WorktreeSnapshot, digest: String, changed: Vec<ChangedPath>) -> LaneSnapshot {
        let sum = |number: fn(&ChangedPath) -> Option<u64>| changed.iter().filter_map(number).sum();
        let (added, deleted) = (sum(|path| path.added), sum(|path| path.deleted));
        let work = self.state(lane, Some(&taken));
        LaneSnapshot {
            lane: lane.name.clone(),
            host: local_host(),
            tip: Some(taken.tip),
            fork: Some(taken.fork),
            base_tip: Some(taken.base_tip),
            digest,
            commit: Some(taken.commit),
            paths: snapshot_paths(changed, &taken.by_name),
            added,
            deleted,
            taken_at: self.app.env.now(),
            unknown: None,
            work,
            judged: None,
        }
    }

    fn unknown(self, lane: &Lane, why: String, known: Option<&LaneSnapshot>) -> LaneSnapshot {
        let digest = sha256_hex(format!("unknown {why}").as_bytes());
        let judged = known.filter(|known| known.digest == digest).and_then(|known| known.judged.clone());
        LaneSnapshot {
            lane: lane.name.clone(),
            host: local_host(),
            tip: None,
            fork: None,
            base_tip: None,
            digest,
            commit: None,
            paths: Vec::new(),
            added: 0,
            deleted: 0,
            taken_at: self.app.env.now(),
            unknown: Some(why),
            work: self.state(lane, None),
            judged,
        }
    }
}

/// The commits by which the snapshot was compared with its base.
fn known_fork(known: &LaneSnapshot) -> Option<KnownFork<'_>> {
    Some(KnownFork { tip: known.tip.as_deref()?, base_tip: known.base_tip.as_deref()?, fork: known.fork.as_deref()? })
}

/// Converts the changed paths to the form in which the store keeps them. `by_name` are the paths of which only the name is
/// known. With very many paths the changed lines are left out.
pub fn snapshot_paths(changed: Vec<ChangedPath>, by_name: &[String]) -> Vec<SnapshotPath> {
    let keeps_lines = changed.len() <= MAX_PATHS_WITH_LINES;
    let mut paths: Vec<SnapshotPath> = changed
        .into_iter()
        .filter(|path| !by_name.contains(&path.path))
        .map(|path| SnapshotPath {
            path: path.path,
            letter: path.letter,
            lines: path.hunks.filter(|_| keeps_lines).map(|hunks| {
                let range = |ChangedLines { start, end, digest, is_list }| LineRange { start, end, digest, is_list };
                hunks.into_iter().map(range).collect()
            }),
        })
        .collect();
    paths.extend(by_name.iter().map(|path| SnapshotPath { path: path.clone(), letter: 'N', lines: None }));
    paths.sort_by(|one, other| one.path.cmp(&other.path));
    paths
}

/// A digest of everything that a merge of the snapshot depends on.
fn digest_of(taken: &WorktreeSnapshot) -> String {
    let by_name = taken.by_name.join("\0");
    let parts = [&taken.tip, &taken.commit, &taken.tree, &taken.base_tip, &taken.fork, &by_name];
    sha256_hex(parts.map(String::as_str).join("\n").as_bytes())
}
