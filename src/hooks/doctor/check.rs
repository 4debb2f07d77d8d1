//! `doctor hooks`: checks each settings file with hooks of ours.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Result;

use super::{
    block_semantics::{HookOutput, would_block},
    canary, codex_trust,
};
use crate::{
    domain::{
        finding::{Finding, Severity},
        secrets,
    },
    env::Env,
    hooks::{
        CANARY, Provider,
        install::{self, InstalledHook, SettingsFile, Target},
    },
    os::executable,
};

/// How much of what a hook said is repeated, in characters.
const MAX_QUOTED_CHARS: usize = 200;

/// Where hooks are looked for.
#[derive(Debug)]
pub struct DoctorContext<'a> {
    /// The surroundings.
    pub env: &'a Env,
    /// The project's root, where there is one.
    pub root: Option<&'a Path>,
    /// How long a permission request waits for an answer here.
    pub approval_wait: Duration,
}

/// Looks at the hooks of one provider, or of all that have some.
///
/// # Errors
/// Only when this program's own file cannot be found; what is wrong is a finding.
pub fn doctor(place: &DoctorContext<'_>, provider: Option<Provider>) -> Result<Vec<Finding>> {
    let own = executable::current_executable()?;
    let mut findings = Vec::new();
    let asked: Vec<Provider> = provider.map_or_else(|| Provider::ALL.to_vec(), |one| vec![one]);
    for one in asked {
        let before = findings.len();
        let mut any = false;
        for (target, flag) in settings_targets(place) {
            any |= check_file(place, one, &target, flag, &own, &mut findings);
        }
        if !any && provider.is_some() {
            let message = format!("no hooks of ours are in the settings of {}", one.label());
            let finding = Finding::new("not_installed", Severity::Warning, message);
            findings.insert(before, finding.with_fix(format!("fairway hook install {}", one.label())));
        }
    }
    if findings.is_empty() {
        let message = "no provider's settings have hooks of ours".to_owned();
        findings.push(Finding::new("not_installed", Severity::Note, message).with_fix("fairway hook install PROVIDER"));
    }
    Ok(findings)
}

/// The settings that are looked at, and the flag that names them.
fn settings_targets(place: &DoctorContext<'_>) -> Vec<(Target, &'static str)> {
    let project = place.root.map(|root| (Target::Project(root.to_owned()), ""));
    project.into_iter().chain([(Target::User, " --user")]).collect()
}

/// Looks at one file; says whether it has hooks of ours.
fn check_file(
    place: &DoctorContext<'_>,
    provider: Provider,
    target: &Target,
    flag: &str,
    own: &Path,
    findings: &mut Vec<Finding>,
) -> bool {
    let label = provider.label();
    let fix = format!("fairway hook install {label}{flag}");
    let Ok(path) = target.path(provider, place.env) else { return false };
    let settings = match SettingsFile::read(&path) {
        Ok(settings) => settings,
        Err(error) => {
            findings.push(Finding::new("not_loaded", Severity::Error, format!("{error:#}")));
            return false;
        }
    };
    let Some(text) = &settings.text else { return false };
    let found = match install::find_hooks(text, &install::own_hook_matcher(provider, own)) {
        Ok(found) => found,
        Err(why) => {
            findings.push(Finding::new("not_loaded", Severity::Error, format!("{} {why}", path.display())));
            return false;
        }
    };
    let Some(program) = found.first().and_then(|one| install::own_program(&one.hook, provider, program_name(own)))
    else {
        return false;
    };
    if let Err(why) = install::check_loadable(provider, text) {
        let message = format!("{} {why}: none of its hooks run", path.display());
        findings.push(Finding::new("not_loaded", Severity::Error, message));
    }
    if !executable::is_executable(&program) {
        let message = format!("{} names {}, which is not there any more", path.display(), program.display());
        findings.push(Finding::new("stale_path", Severity::Error, message).with_fix(fix));
        return true;
    }
    let wanted = install::entries(provider, &program, place.approval_wait);
    let is_complete = wanted.iter().all(|entry| {
        entry
            .hooks
            .iter()
            .all(|hook| found.iter().any(|one| one.event == entry.event && one.hook == *hook && one.is_plain))
    });
    if !is_complete {
        let message = format!("the entries in {} are not those that this version makes", path.display());
        findings.push(Finding::new("outdated", Severity::Warning, message).with_fix(fix.as_str()));
    }
    check_canary(place, provider, &path, &found, &fix, findings);
    if provider == Provider::Codex {
        check_codex_trust(place, &settings.path, &found, findings);
    }
    true
}

fn program_name(own: &Path) -> Option<&str> {
    own.file_name().and_then(|name| name.to_str())
}

/// Fires the canary through every hook before a tool.
fn check_canary(
    place: &DoctorContext<'_>,
    provider: Provider,
    path: &Path,
    found: &[InstalledHook],
    fix: &str,
    findings: &mut Vec<Finding>,
) {
    let label = provider.label();
    let cwd: PathBuf = place.root.unwrap_or(&place.env.cwd).to_owned();
    let before: Vec<&InstalledHook> = found.iter().filter(|one| one.event == canary::tool_event(provider)).collect();
    if before.is_empty() {
        let message = format!("no hook in {} is asked before a tool is used", path.display());
        findings.push(Finding::new("not_blocking", Severity::Error, message).with_fix(fix));
    }
    for one in before {
        let (hook, fails_closed) = (format!("the hook in {}", path.display()), one.hook["onFailure"] == "block");
        let outcome = match canary::run(provider, &one.hook, place.env, &cwd) {
            Ok(outcome) => outcome,
            Err(error) => {
                let message = format!("{hook} cannot be run: {error}");
                findings.push(Finding::new("not_blocking", Severity::Error, message).with_fix(fix));
                continue;
            }
        };
        let said = quote_output(if outcome.stderr.trim().is_empty() { &outcome.stdout } else { &outcome.stderr });
        findings.push(match would_block(provider, fails_closed, &outcome) {
            Ok(()) if is_canary_denial(&outcome) => {
                let message = format!("{hook} denied a call that must be denied; {label} would have blocked it");
                Finding::new("blocking", Severity::Note, message)
            }
            Ok(()) => {
                let message = format!("{hook} fails, and every tool call is blocked by that{said}");
                Finding::new("not_blocking", Severity::Error, message).with_fix(fix)
            }
            Err(why) => {
                let message = format!(
                    "a call that must be denied would have run: {label} takes what {hook} did for no denial: {why}{said}"
                );
                Finding::new("not_blocking", Severity::Error, message).with_fix(fix)
            }
        });
    }
}

/// Whether it was our denial, and no failure that only looks like one.
fn is_canary_denial(outcome: &HookOutput) -> bool {
    outcome.stdout.contains(CANARY) || outcome.stderr.contains(CANARY)
}

fn quote_output(said: &str) -> String {
    let line: String =
        secrets::mask(said.trim()).replace(['\n', '\r', '\t'], " ").chars().take(MAX_QUOTED_CHARS).collect();
    if line.is_empty() { line } else { format!(" (it said: {line})") }
}

/// What the vendor says that runs only what a person trusted.
fn check_codex_trust(place: &DoctorContext<'_>, file: &Path, found: &[InstalledHook], findings: &mut Vec<Finding>) {
    let cwd = place.root.unwrap_or(&place.env.cwd);
    let commands: Vec<String> = found.iter().filter_map(|one| Some(one.hook["command"].as_str()?.to_owned())).collect();
    let shown = file.display();
    findings.extend(match codex_trust::query(place.env, cwd, file, &commands) {
        codex_trust::HookTrust::Trusted => None,
        codex_trust::HookTrust::Skipped(how) => Some(
            Finding::new(
                "untrusted",
                Severity::Error,
                format!("codex skips the hooks of {shown} in silence: they are {how} there"),
            )
            .with_fix("codex, then /hooks"),
        ),
        codex_trust::HookTrust::NotLoaded(why) => {
            let why = why.map_or_else(
                || "hooks are switched off, or the project is not trusted there".to_owned(),
                |why| quote_output(&why).trim_start().to_owned(),
            );
            Some(Finding::new(
                "not_loaded",
                Severity::Error,
                format!("codex does not load the hooks of {shown}: {why}"),
            ))
        }
        codex_trust::HookTrust::Unavailable(why) => Some(Finding::new(
            "trust_unknown",
            Severity::Note,
            format!("whether codex runs the hooks of {shown} cannot be told: {why}"),
        )),
    });
}
