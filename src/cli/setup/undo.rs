//! Takes back what setup has done, byte by byte, except the store.

use std::path::Path;
use std::{fs, io};

use anyhow::{Context as _, Result};

use super::added_lines::without;
use super::apply::target_of;
use super::record::{Added, OwnFile, Record};
use crate::cli::context::Context;
use crate::hooks::Provider;
use crate::hooks::install::{self, SettingsFile};
use fairway_core::config::Project;
use fairway_core::os::digest::sha256_hex;
use fairway_core::os::{executable, files};
use fairway_core::wire::SetupStepView;

/// Undoes the changes that a record holds, the newest of each kind first. Leaves files that a person has changed since as
/// they are. With `is_dry`, changes nothing and only returns what would be done.
///
/// # Errors
/// The first error ends the undo. Changes that were undone before it stay undone, so that a repeated undo continues from
/// there.
pub(super) fn undo(ctx: &Context, project: &Project, record: &Record, is_dry: bool) -> Result<Vec<SetupStepView>> {
    let mut views = Vec::new();
    let mut tell = |kind: &'static str, file: &Path, done: Undone| {
        let (status, why) = match done {
            Undone::Changed if is_dry => ("would_change", None),
            Undone::Changed => ("changed", None),
            Undone::Unchanged => ("unchanged", None),
            Undone::Left(why) => ("left", Some(why)),
        };
        views.push(SetupStepView { kind, file: file.display().to_string(), target: None, status, why, text: None });
    };
    // First: a hook of a project without its configuration would deny every tool call.
    for hooks in record.hooks.iter().rev() {
        let Some(provider) = Provider::parse(&hooks.provider) else { continue };
        let own = executable::current_executable()?;
        let change = install::uninstall(provider, &target_of(hooks), &ctx.env, &own, is_dry)?;
        tell("hooks", &hooks.file, if change.is_changed { Undone::Changed } else { Undone::Unchanged });
    }
    for added in record.added.iter().rev() {
        let is_own = record.files.iter().any(|own| own.file == added.file);
        let done = remove_added(added, is_own, is_dry)?;
        tell("lines", &added.file, done);
    }
    for own in record.files.iter().rev() {
        let done = remove_file(own, record, is_dry)?;
        tell("file", &own.file, done);
    }
    if let Some(trust) = &record.trust {
        let file = SettingsFile::read(&trust.file)?;
        let is_changed = file.text != trust.text;
        if is_changed && !is_dry {
            file.write(trust.text.as_deref())?;
        }
        tell("trust", &trust.file, if is_changed { Undone::Changed } else { Undone::Unchanged });
    }
    if !is_dry {
        let added = record.added.iter().map(|added| &added.file);
        let others = record.files.iter().map(|own| &own.file).chain(record.hooks.iter().map(|hooks| &hooks.file));
        for file in added.chain(others) {
            files::remove_drafts(&SettingsFile::read(file)?.path);
        }
        for dir in record.created_dirs.iter().rev() {
            // Only an empty directory: another program may have put something there.
            let _ = fs::remove_dir(dir);
        }
        let path = Record::path(project);
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        if record.created_dirs.contains(&project.state) {
            // It was killed before it made anything else there.
            let _ = fs::remove_dir(&project.state);
        }
    }
    Ok(views)
}

enum Undone {
    Changed,
    Unchanged,
    Left(String),
}

fn remove_added(added: &Added, is_own: bool, is_dry: bool) -> Result<Undone> {
    let file = SettingsFile::read(&added.file)?;
    let Some(text) = &file.text else { return Ok(Undone::Unchanged) };
    let Some(before) = without(text, &added.text) else {
        let is_gone = !text.contains(added.text.trim());
        let why = "the lines of setup are not there as it wrote them; look at them yourself";
        return Ok(if is_gone && !text.contains("fairway setup") {
            Undone::Unchanged
        } else {
            Undone::Left(why.into())
        });
    };
    if !is_dry {
        let is_empty_own = added.created && before.is_empty() && !is_own;
        file.write(if is_empty_own { None } else { Some(&before) })?;
    }
    Ok(Undone::Changed)
}

fn remove_file(own: &OwnFile, record: &Record, is_dry: bool) -> Result<Undone> {
    let file = SettingsFile::read(&own.file)?;
    let Some(mut text) = file.text.clone() else { return Ok(Undone::Unchanged) };
    if is_dry {
        // The lines that would be gone by then.
        for added in record.added.iter().rev().filter(|added| added.file == own.file) {
            text = without(&text, &added.text).unwrap_or(text);
        }
    }
    if sha256_hex(text.as_bytes()) != own.digest {
        return Ok(Undone::Left("a person has changed it".to_owned()));
    }
    if !is_dry {
        match fs::remove_file(&file.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", file.path.display()));
            }
            _ => {}
        }
    }
    Ok(Undone::Changed)
}
