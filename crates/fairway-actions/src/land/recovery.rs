//! Interrupted landings: those whose base has moved are completed, the others are given up.

use anyhow::Result;

use super::base::{self, full_name};
use super::finish::{self, Completed};
use super::lane_conflicts::{self, Move};
use super::upstream;
use crate::App;
use crate::core::other_host;
use crate::queue::landing_unit::{Member, Unit, project_git};
use fairway_core::domain::landing::{Landing, LandingState, REF_PREFIX};
use fairway_core::os::git::Git;
use fairway_core::os::lock::FileLock;
use fairway_core::store::{landings, lanes, tasks};

/// Completes or gives up the interrupted landings of this host, and returns the completed ones. The caller holds the lock of
/// landing, so none of them is still running. Fails with `checkout_changed` when the checkout of a base was half moved and has
/// other changes too; `push_unknown` when a remote does not say whether it has the work that was being pushed.
pub(super) fn run(app: &App, lock: &FileLock, say: &dyn Fn(&str)) -> Result<Vec<Completed>> {
    // The lock is only of this host: a landing of another host may be running.
    let is_own = |landing: &Landing| !other_host::has_repository(app, landing.host_id.as_deref());
    let mut open = app.read(|tx| Ok(landings::unfinished(tx)?))?;
    open.retain(is_own);
    let mut pushed = Vec::new();
    for Step { base, old, new, is_pushed } in steps(&open) {
        if !base::is_moved(app, base, old, new)? && is_pushed {
            let git = project_git(app)?;
            say(&format!("asking whether the upstream of {base} has what was being pushed"));
            if upstream::has_taken(app, &git, base, new)? {
                let note = catch_up(app, lock, base, new).err();
                let note = note.map(|error| format!("{base} stays behind what was pushed: {error}"));
                pushed.push((base.to_owned(), new.to_owned(), note));
            }
        }
    }
    let mut completed = Vec::new();
    for mut landing in open {
        let git = project_git(app)?;
        let is_in = |new: &str| landing.candidate.as_ref().is_some_and(|one| git.is_ancestor(one, new) == Some(true));
        let taken = pushed.iter().find(|(base, new, _)| landing.may_be_pushed() && *base == landing.base && is_in(new));
        // The tasks are finished; only the end of its lane may be missing.
        let is_finished = landing.state == LandingState::Landed;
        if is_finished || taken.is_some() || has_landed(app, &landing)? {
            say(&format!("completing landing {}, which was interrupted", landing.id));
            if landing.is_base_alone() {
                finish::landed(app, &mut landing)?;
                finish::close(app, &mut landing)?;
                continue;
            }
            let mut done = complete(app, landing)?;
            done.notes.extend(taken.and_then(|(.., note)| note.clone()));
            completed.push(done);
        } else {
            finish::failed(app, &mut landing, "it was interrupted before the base moved")?;
        }
    }
    let moves: Vec<Move> = completed.iter().map(|done| Move::of(&done.unit, &done.landing)).collect();
    for collision in lane_conflicts::tell_all(app, &moves, &[])? {
        if let Some(done) = completed.iter_mut().find(|done| done.landing.id == collision.landing) {
            done.told.push(collision);
        }
    }
    sweep(&project_git(app)?)?;
    Ok(completed)
}

struct Step<'a> {
    base: &'a str,
    /// The commit of the base before the move.
    old: &'a str,
    /// The highest candidate.
    new: &'a str,
    /// Whether the candidate was to be pushed before the base moved.
    is_pushed: bool,
}

fn steps(open: &[Landing]) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    for landing in open.iter().filter(|landing| landing.state == LandingState::Moving) {
        let Some(candidate) = &landing.candidate else { continue };
        // A batch is one move: each of its landings begins where the one before ends.
        match steps.iter_mut().find(|step| step.base == landing.base && step.new == landing.base_before) {
            Some(step) => step.new = candidate,
            None => {
                let (base, old, is_pushed) = (&landing.base, &landing.base_before, landing.may_be_pushed());
                steps.push(Step { base, old, new: candidate, is_pushed });
            }
        }
    }
    steps
}

/// Moves a base to a commit that was pushed to its upstream.
fn catch_up(app: &App, lock: &FileLock, base: &str, to: &str) -> Result<()> {
    let git = project_git(app)?;
    let base = base::movable(app, base)?;
    base.refuse_files_in_the_way(&git, to)?;
    base.move_to(app, lock, to)
}

fn has_landed(app: &App, landing: &Landing) -> Result<bool> {
    Ok(landing.state == LandingState::Moving && is_in_base(app, landing)?)
}

fn is_in_base(app: &App, landing: &Landing) -> Result<bool> {
    let git = project_git(app)?;
    let candidate = landing.candidate.as_ref();
    let now = git.commit(&full_name(&landing.base));
    Ok(candidate.zip(now).is_some_and(|(candidate, now)| git.is_ancestor(candidate, &now) == Some(true)))
}

/// Removes the refs of candidates that killed landings left. The caller holds the lock and no landing is open, so no ref is in
/// use.
fn sweep(git: &Git<'_>) -> Result<()> {
    git.remove_stale_ref_lock("packed-refs")?;
    for name in git.refs_below(REF_PREFIX)? {
        git.remove_stale_ref_lock(&name)?;
        // A ref that stays does no harm.
        let _ = git.move_ref(&name, None, None);
    }
    Ok(())
}

fn complete(app: &App, mut landing: Landing) -> Result<Completed> {
    let unit = app.read(|tx| {
        let lane = landing.lane.as_ref().map(|name| lanes::find(tx, name)).transpose()?.flatten();
        let mut members = Vec::new();
        for (id, _) in &landing.tasks {
            if let Some(task) = tasks::find(tx, id)? {
                members.push(Member { task, commit: landing.commit.clone(), outdated: None });
            }
        }
        let task = members.first().map(|member| member.task.id.clone());
        let (commit, base) = (landing.commit.clone(), landing.base.clone());
        Ok(Unit { lane, task, commit, base, members, is_named: false })
    })?;
    let is_finished = landing.state == LandingState::Landed;
    let notes = if is_finished { Vec::new() } else { finish::landed(app, &mut landing)? };
    let is_in_base = is_in_base(app, &landing)?;
    Ok(Completed { unit, landing, is_in_base, told: Vec::new(), notes })
}
