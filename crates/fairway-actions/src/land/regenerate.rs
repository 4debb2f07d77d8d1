//! Files that a command writes, such as lock files. Where both sides of a merge have changed one, the command of `land.regenerate`
//! writes it anew in the candidate, which is then checked like every other one.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::checks::Checks;
use crate::App;
use crate::queue::landing_unit::Unit;
use fairway_core::domain::Refusal;
use fairway_core::domain::landing::FailedRegeneration;
use fairway_core::os::git::{CandidateMaker, Git};
use fairway_core::store::StoreError;

/// The files that commands write, from the top of the repository.
pub(super) fn files(app: &App) -> Vec<String> {
    app.settings.land.regenerate.keys().cloned().collect()
}

/// The files to write anew in the merge of a unit into `base`: both have changed them since they parted.
pub(super) fn needed(app: &App, git: &Git<'_>, unit: &Unit, base: &str) -> Result<Vec<String>> {
    let mut files = files(app);
    if files.is_empty() {
        return Ok(files);
    }
    let Some(fork) = git.merge_base(base, &unit.commit)? else { return Ok(Vec::new()) };
    let (theirs, ours) = (git.changed_between(&fork, base)?, git.changed_between(&fork, &unit.commit)?);
    files.retain(|file| theirs.contains(file) && ours.contains(file));
    Ok(files)
}

/// Writes the files anew that both sides of a merge have changed, and returns the candidate with them. The commands begin with
/// the files of the base.
///
/// # Errors
/// `land_regenerate_failed` when a command fails, changes other files, or leaves something else than a file.
pub(super) fn settle(
    app: &App,
    checks: &Checks<'_>,
    maker: &CandidateMaker<'_>,
    unit: &Unit,
    base: &str,
    made: String,
) -> Result<String> {
    let needed = needed(app, &maker.project, unit, base)?;
    if needed.is_empty() {
        return Ok(made);
    }
    let dir = checks.worktree_of(unit, &made)?;
    let inside = Git::new(app.env.vars(), &dir);
    inside.take_files(base, &needed)?;
    let mut written = Vec::new();
    for old in maker.project.files_at(&made, &needed)? {
        let file = &old.path;
        let Some(command) = app.settings.land.regenerate.get(file) else { continue };
        let refuse = |why: String, output: Option<String>| Refusal::RegenerateFailed {
            failed: Box::new(FailedRegeneration {
                of: unit.label(),
                base: unit.base.clone(),
                file: file.clone(),
                command: command.clone(),
                why,
                output,
            }),
        };
        if !is_file_or_missing(&dir.join(file)) {
            return Err(refuse(format!("{file} is no file"), None).into());
        }
        let ran = checks.run_in(&dir, command, &format!("writing {file} of {} anew", unit.label()))?;
        if let Some((how, output)) = ran {
            return Err(refuse(how, Some(output)).into());
        }
        let others: Vec<String> =
            inside.changed_files()?.into_iter().filter(|changed| !needed.contains(changed)).collect();
        if let Some(other) = others.first() {
            return Err(refuse(format!("it changes {other}, too"), None).into());
        }
        let path = dir.join(file);
        if !path.symlink_metadata().is_ok_and(|found| found.is_file()) {
            return Err(refuse(format!("it leaves no file {file}"), None).into());
        }
        written.push(maker.project.write_over(&old, &fs::read(&path).map_err(StoreError::from)?)?);
    }
    Ok(maker.with_files(&made, base, &unit.commit, &written)?)
}

/// Whether a command can write here without following a link.
fn is_file_or_missing(path: &Path) -> bool {
    path.symlink_metadata().map_or(true, |found| found.is_file())
}
