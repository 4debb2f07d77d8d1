//! `land --dry-run`: shows what would land. Its commits are thrown away.

use anyhow::Result;

use super::request::{LandRequest, answer, find};
use super::{base, candidate, checks, regenerate, report, schedule};
use crate::core::errors;
use crate::queue::landing_unit::{Found, Unit, has_landed};
use crate::queue::lane::checkout;
use crate::queue::readiness::{self, Aim};
use crate::{Answer, App};
use fairway_core::domain::{Refusal, plural};
use fairway_core::os::git::{CandidateMaker, Git, Integration, MergeRepository, Scratch};
use fairway_core::wire::{LandView, LandingView};

/// Makes the answer of `land --dry-run`, with the units that would land, in their order, and the exit code. Git writes to a
/// scratch directory only.
pub(super) fn plan(app: &App, request: &LandRequest, git: &Git<'_>) -> Result<(Answer, u8)> {
    checkout::ask_merges(app, git, |merges| plan_with(app, request, git, &merges))
}

fn plan_with(app: &App, request: &LandRequest, git: &Git<'_>, merges: &MergeRepository) -> Result<(Answer, u8)> {
    let Found { units, notes } = find(app, request)?;
    let units = schedule::order(app, merges, units)?.units;
    let order: Vec<_> = units.iter().map(report::place).collect();
    let scratch = Scratch::create(git, &checkout::temp_dir(app))?;
    let maker = CandidateMaker {
        project: git.with_scratch(&scratch),
        merges: merges.git().with_scratch(&scratch),
        sign: false,
        generated: &regenerate::files(app),
    };
    // The bases as they would be by then.
    let mut bases: Vec<base::Base> = Vec::new();
    let mut views = Vec::new();
    let is_alone = units.len() == 1 && request.names.len() == 1;
    for unit in &units {
        let mut view = report::begin(app, unit);
        if let Err(error) = plan_one(app, unit, request.proposes(app), &maker, &mut bases, &mut view) {
            if is_alone && !matches!(view.state, "would_be_sent_back") {
                return Err(error);
            }
            if view.state == "failed" {
                view.state = report::state_of(&error);
            }
            view.error = Some(errors::classify(&error));
        }
        views.push(view);
    }
    answer(app, request, LandView { dry_run: true, order, landings: views }, notes)
}

fn plan_one(
    app: &App,
    unit: &Unit,
    proposes: bool,
    maker: &CandidateMaker<'_>,
    bases: &mut Vec<base::Base>,
    view: &mut LandingView,
) -> Result<()> {
    readiness::check_worktree(app, unit)?;
    let aim = if proposes { Aim::Propose } else { Aim::Land };
    let (_, reports) = readiness::judge(app, unit, Vec::new(), aim)?;
    readiness::refuse_unready(unit, reports)?;
    candidate::check_identity(&maker.project)?;
    if !bases.iter().any(|base| base.name == unit.base) {
        bases.push(base::planned(app, &unit.base)?);
    }
    let Some(base) = bases.iter_mut().find(|base| base.name == unit.base) else { return Ok(()) };
    view.base_before = Some(base.commit.clone());
    let is_known =
        unit.members.is_empty() && has_landed(app, &maker.project, (&unit.base, &base.commit), &unit.commit)?;
    if is_known || maker.project.is_ancestor(&unit.commit, &base.commit) == Some(true) {
        view.state = if unit.members.is_empty() { "unchanged" } else { "would_land" };
        view.tasks.extend(unit.task.iter().filter(|_| unit.members.is_empty()).map(ToString::to_string));
        return Ok(());
    }
    match candidate::make(app, maker, unit, &base.commit)? {
        Integration::Commit(commit) => {
            base.refuse_files_in_the_way(&maker.project, &commit)?;
            candidate::check_submodules(app, &maker.project, unit, base, &commit)?;
            view.state = "would_land";
            if proposes {
                view.notes.push("it would become a pull request".to_owned());
            }
            // The commit is thrown away with this plan, so it is not shown.
            let base_before = std::mem::replace(&mut base.commit, commit);
            for file in regenerate::needed(app, &maker.project, unit, &base_before)? {
                view.notes.push(format!("{file} would be written anew"));
            }
            let count = checks::count(app, unit);
            if count > 0 {
                let checks = plural::count(count, "check");
                view.notes.push(format!("{checks} would run on the merged tree of {}", unit.label()));
            }
            Ok(())
        }
        Integration::Conflict { files, .. } => {
            view.state = "would_be_sent_back";
            let (of, base, next) = (unit.label(), unit.base.clone(), unit.bring_in_by_hand(app));
            Err(Refusal::LandConflict { of, base, files, with: Vec::new(), next }.into())
        }
    }
}
