//! Landings that were interrupted: those whose base has moved are completed, the others are given up.

use anyhow::Result;

use super::{
    base::{self, full_name},
    collisions::{self, Move},
    finish::{self, Completed},
    unit::{Member, Unit, project_git},
};
use crate::{
    actions::{App, core::other_host},
    domain::{
        Refusal,
        landing::{Landing, LandingState, REF_PREFIX},
    },
    os::git::{Git, InterruptedCheckout, MoveState},
    store::{landings, lanes, tasks},
};

/// Completes or gives up every landing of this host that was interrupted. The caller has the lock, so none of them is at work.
/// Returns what was completed, with its landing.
///
/// # Errors
/// `checkout_changed` when a checkout that was being moved has changed otherwise; as the store or git fails.
pub(super) fn run(app: &App, say: &dyn Fn(&str)) -> Result<Vec<Completed>> {
    // The lock is of this host: another one's landing may be at work.
    let is_own = |landing: &Landing| !other_host::has_repository(app, landing.host_id.as_deref());
    let mut open = app.read(|tx| Ok(landings::unfinished(tx)?))?;
    open.retain(is_own);
    for (base, old, new) in steps(&open) {
        is_moved(app, base, old, new)?;
    }
    let mut completed = Vec::new();
    for mut landing in open {
        if has_landed(app, &landing)? {
            say(&format!("completing landing {}, which was interrupted", landing.id));
            completed.push(complete(app, landing)?);
        } else {
            finish::failed(app, &mut landing, "it was interrupted before the base moved")?;
        }
    }
    let moves: Vec<Move> = completed.iter().map(|done| Move::of(&done.unit, &done.landing)).collect();
    for collision in collisions::tell_all(app, &moves)? {
        if let Some(done) = completed.iter_mut().find(|done| done.landing.id == collision.landing) {
            done.told.push(collision);
        }
    }
    sweep(&project_git(app)?)?;
    Ok(completed)
}

/// The moves that were going on: the base, its commit before, and that of the highest candidate.
fn steps(open: &[Landing]) -> Vec<(&str, &str, &str)> {
    let mut steps: Vec<(&str, &str, &str)> = Vec::new();
    for landing in open.iter().filter(|landing| landing.state == LandingState::Moving) {
        let Some(candidate) = &landing.candidate else { continue };
        // A batch is one move: each of its landings begins where the one before ends.
        match steps.iter_mut().find(|(base, _, new)| *base == landing.base && *new == landing.base_before) {
            Some((_, _, new)) => *new = candidate,
            None => steps.push((&landing.base, &landing.base_before, candidate)),
        }
    }
    steps
}

/// Whether the base has the candidate of a landing.
fn has_landed(app: &App, landing: &Landing) -> Result<bool> {
    let git = project_git(app)?;
    let candidate = landing.candidate.as_ref().filter(|_| landing.state == LandingState::Moving);
    let now = git.commit(&full_name(&landing.base));
    Ok(candidate.zip(now).is_some_and(|(candidate, now)| git.is_ancestor(candidate, &now) == Some(true)))
}

/// Removes the refs of candidates that killed landings left. While the lock is held and no landing is open, none is in use.
fn sweep(git: &Git<'_>) -> Result<()> {
    git.remove_stale_ref_lock("packed-refs")?;
    for name in git.refs_below(REF_PREFIX)? {
        git.remove_stale_ref_lock(&name)?;
        // One that stays does no harm.
        let _ = git.move_ref(&name, None, None);
    }
    Ok(())
}

/// Whether a move of a base from `old` to `new` is done. A checkout that was partly moved is completed first, and the base with it.
///
/// # Errors
/// `checkout_changed` when the checkout has changed otherwise; as git fails.
pub(super) fn is_moved(app: &App, base: &str, old: &str, new: &str) -> Result<bool> {
    let git = project_git(app)?;
    git.remove_stale_ref_lock(&full_name(base))?;
    let Some(now) = git.commit(&full_name(base)) else { return Ok(false) };
    if git.is_ancestor(new, &now) == Some(true) {
        return Ok(true);
    }
    if now != old {
        return Ok(false);
    }
    let Some(dir) = base::checkout(app, base)? else { return Ok(false) };
    let inside = Git::new(app.env.vars(), &dir);
    let checkout = InterruptedCheckout::new(inside, old, new);
    checkout.remove_stale_locks()?;
    match checkout.inspect()? {
        MoveState::NotStarted => Ok(false),
        MoveState::Foreign(files) => {
            let (base, dir) = (base.to_owned(), dir.display().to_string());
            Err(Refusal::CheckoutChanged { base, dir, files }.into())
        }
        MoveState::Partial => {
            checkout.finish_files()?;
            git.move_ref(&full_name(base), Some(old), Some(new))?;
            Ok(true)
        }
    }
}

/// Records a landing whose base has moved.
fn complete(app: &App, mut landing: Landing) -> Result<Completed> {
    let unit = app.read(|tx| {
        let lane = landing.lane.as_ref().map(|name| lanes::find(tx, name)).transpose()?.flatten();
        let mut members = Vec::new();
        for (id, _) in &landing.tasks {
            if let Some(task) = tasks::find(tx, id)? {
                members.push(Member { task, commit: landing.commit.clone(), newer: None });
            }
        }
        let task = members.first().map(|member| member.task.id.clone());
        let (commit, base) = (landing.commit.clone(), landing.base.clone());
        Ok(Unit { lane, task, commit, base, members, is_named: false })
    })?;
    let notes = finish::landed(app, &mut landing)?;
    Ok(Completed { unit, landing, told: Vec::new(), notes })
}
