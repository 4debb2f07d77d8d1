//! Carries out a plan. Each change is recorded before it is made.

use anyhow::{Context as _, Result};

use super::plan::{Plan, Step, Work};
use super::record::{Added, HookFile, OwnFile, Record, TrustBefore};
use crate::cli::context::Context;
use crate::hooks::install::{self, SettingsFile, Target};
use fairway_actions::core::trust;
use fairway_actions::upkeep::{guide, init};
use fairway_core::config::{self, CONFIG_FILE};
use fairway_core::os::digest::sha256_hex;
use fairway_core::os::{executable, files};

/// Carries out the steps of a plan in order. Returns notes for the person who runs setup.
///
/// # Errors
/// The first failed step ends the setup. The steps before it stay done and recorded, so that a repeated setup continues from
/// there.
pub(super) fn apply(ctx: &Context, plan: &Plan) -> Result<Vec<String>> {
    let project = &plan.project;
    let mut record = Record::load(project)?.unwrap_or_default();
    let mut notes = Vec::new();
    for step in &plan.steps {
        match &step.work {
            Work::Unchanged | Work::Left(_) => {}
            Work::Init => {
                remember_trust(ctx, plan, &mut record)?;
                let contract = project.state.join(guide::CONTRACT_FILE);
                record.note_dirs(&contract);
                let config = (project.root.join(CONFIG_FILE), init::new_config(&ctx.env, &project.root)?);
                let created = [config, (contract, guide::CONTRACT.to_owned())];
                for (file, text) in created.into_iter().filter(|(file, _)| !file.exists()) {
                    record.files.retain(|own| own.file != file);
                    record.files.push(OwnFile { file, digest: sha256_hex(text.as_bytes()) });
                }
                files::private_dir(&project.state)
                    .with_context(|| format!("cannot create {}", project.state.display()))?;
                record.save(project)?;
                let answer = init::init(&ctx.env, ctx.globals.root.as_deref(), false, None)?;
                notes.extend(answer.notes.into_iter().filter(|note| note.starts_with("this project is inside")));
            }
            Work::Add(text) => add(plan, step, text, &mut record)?,
            Work::Write(text) => {
                record.note_dirs(&step.file);
                record.files.retain(|own| own.file != step.file);
                record.files.push(OwnFile { file: step.file.clone(), digest: sha256_hex(text.as_bytes()) });
                record.save(project)?;
                SettingsFile::read(&step.file)?.write(Some(text))?;
            }
            Work::Hooks(provider, target) => {
                record.note_dirs(&step.file);
                record.hooks.retain(|known| known.file != step.file);
                record.hooks.push(HookFile { provider: provider.label().to_owned(), file: step.file.clone() });
                record.save(project)?;
                let wait = ctx.app().map_or(install::DEFAULT_APPROVAL_WAIT, |app| app.settings.hooks.approval_wait);
                let own = executable::current_executable()?;
                let change = install::install(*provider, target, &ctx.env, &own, wait, plan.worktrees, false)?;
                if let Some(why) = change.not_loadable {
                    notes.push(format!("{} {why}: none of its hooks run", change.path.display()));
                }
            }
            Work::Trust => {
                remember_trust(ctx, plan, &mut record)?;
                record.save(project)?;
                trust::trust(&ctx.app()?)?;
            }
        }
    }
    Ok(notes)
}

fn add(plan: &Plan, step: &Step, text: &str, record: &mut Record) -> Result<()> {
    let file = SettingsFile::read(&step.file)?;
    record.note_dirs(&step.file);
    let added = Added { file: step.file.clone(), text: text.to_owned(), created: file.text.is_none() };
    // A setup that was killed before it wrote has recorded the same.
    record.added.retain(|known| *known != added);
    record.added.push(added);
    record.save(&plan.project)?;
    file.write(Some(&(file.text.clone().unwrap_or_default() + text)))
}

/// Records what was trusted before the first setup.
fn remember_trust(ctx: &Context, plan: &Plan, record: &mut Record) -> Result<()> {
    if record.trust.is_none()
        && let Some(file) = config::trust::record_file(&ctx.env, &plan.project)
    {
        record.note_dirs(&file);
        let text = SettingsFile::read(&file).context("cannot read the trust record")?.text;
        record.trust = Some(TrustBefore { file, text });
    }
    Ok(())
}

pub(super) fn target_of(hooks: &HookFile) -> Target {
    Target::File(hooks.file.clone())
}
