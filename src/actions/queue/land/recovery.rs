//! Landings that were interrupted: those whose base has moved are completed, the others are given up.

use anyhow::Result;

use super::{
    base::{self, full_name},
    collisions,
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
    let mut completed = Vec::new();
    for mut landing in app.read(|tx| Ok(landings::unfinished(tx)?))? {
        // The lock is of this host: another one's landing may be at work.
        if other_host::has_repository(app, landing.host_id.as_deref()) {
            continue;
        }
        let is_moved = landing.state == LandingState::Moving && is_moved(app, &landing)?;
        if is_moved {
            say(&format!("completing landing {}, which was interrupted", landing.id));
            completed.push(complete(app, landing)?);
        } else {
            finish::failed(app, &mut landing, "it was interrupted before the base moved")?;
        }
    }
    sweep(&project_git(app)?)?;
    Ok(completed)
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

/// Whether the base has the candidate. A checkout that was partly moved is completed first, and the base with it.
///
/// # Errors
/// `checkout_changed` when the checkout has changed otherwise; as git fails.
pub(super) fn is_moved(app: &App, landing: &Landing) -> Result<bool> {
    let Some(candidate) = &landing.candidate else { return Ok(false) };
    let git = project_git(app)?;
    git.remove_stale_ref_lock(&full_name(&landing.base))?;
    let Some(now) = git.commit(&full_name(&landing.base)) else { return Ok(false) };
    if git.is_ancestor(candidate, &now) == Some(true) {
        return Ok(true);
    }
    if now != landing.base_before {
        return Ok(false);
    }
    let Some(dir) = base::checkout(app, &landing.base)? else { return Ok(false) };
    let inside = Git::new(app.env.vars(), &dir);
    let checkout = InterruptedCheckout::new(inside, &landing.base_before, candidate);
    checkout.remove_stale_locks()?;
    match checkout.inspect()? {
        MoveState::NotStarted => Ok(false),
        MoveState::Foreign(files) => {
            let (base, dir) = (landing.base.clone(), dir.display().to_string());
            Err(Refusal::CheckoutChanged { base, dir, files }.into())
        }
        MoveState::Partial => {
            checkout.finish_files()?;
            git.move_ref(&full_name(&landing.base), Some(&landing.base_before), Some(candidate))?;
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
    let candidate = landing.candidate.clone().unwrap_or_default();
    let told = collisions::find(app, &unit, &landing.base_before, &candidate)?;
    let notes = finish::landed(app, &unit, &mut landing, &told)?;
    Ok(Completed { unit, landing, told, notes })
}
