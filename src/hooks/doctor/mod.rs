//! `doctor hooks`: runs each installed hook as its provider would, with a tool call that must be denied, and reports whether the
//! provider would have blocked the call.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use crate::hooks::install::plugin::{self, EnabledPlugin};
use crate::hooks::install::{self, InstalledHook, SettingsFile, Target};
use crate::hooks::provider::HookOutput;
use crate::hooks::{CANARY, Provider};
use fairway_core::config::project::STATE_DIR;
use fairway_core::config::show_duration;
use fairway_core::domain::finding::{Finding, Severity};
use fairway_core::domain::secrets;
use fairway_core::env::{Env, vars};
use fairway_core::os::capture::{Call, capture};
use fairway_core::os::git::Git;
use fairway_core::os::{executable, packages};

mod canary;
pub(super) mod codex_trust;
mod worktree;

pub use worktree::{MissingHooks, missing};

/// The name under which the hooks of a plugin call this program.
const PROGRAM: &str = "fairway";
const MAX_QUOTED_CHARS: usize = 200;

#[derive(Debug)]
pub struct DoctorContext<'a> {
    pub env: &'a Env,
    /// The project's root; `None` outside of a project.
    pub root: Option<&'a Path>,
    /// How long a permission request waits for an answer in this project.
    pub approval_wait: Duration,
    /// The version with which each provider's profile was tried.
    pub proven_versions: BTreeMap<&'static str, String>,
    /// The providers to which a launch brings its hooks, wherever it starts them.
    pub brought_to: BTreeSet<&'static str>,
    /// The worktrees of the project's lanes.
    pub lanes: Vec<LaneWorktree>,
}

#[derive(Debug, Clone)]
pub struct LaneWorktree {
    pub lane: String,
    pub directory: PathBuf,
}

/// Checks the hooks of one provider, or of all providers with installed hooks.
///
/// # Errors
/// Only when the path of this program is unknown. Every problem of a hook is a finding.
pub fn doctor(context: &DoctorContext<'_>, provider: Option<Provider>) -> Result<Vec<Finding>> {
    let own = executable::current_executable()?;
    let mut findings = Vec::new();
    let providers: Vec<Provider> = provider.map_or_else(|| Provider::ALL.to_vec(), |single| vec![single]);
    for checked in providers {
        let before = findings.len();
        let mut any = false;
        let mut files = Vec::new();
        for (target, flag) in settings_targets(context) {
            // A provider without a local file of its own has one file for both.
            let file = target.path(checked, context.env).ok();
            if files.contains(&file) {
                continue;
            }
            files.push(file);
            any |= check_file(context, checked, &target, flag, &own, &mut findings);
        }
        let plugin = plugin::enabled(checked, context.env, context.root.or(Some(&context.env.cwd)));
        if let Some(plugin) = &plugin {
            findings.push(check_plugin(context, checked, plugin, any));
        }
        let any = any || plugin.is_some();
        if let Some(proven) = context.proven_versions.get(checked.label()).filter(|_| any || provider.is_some()) {
            findings.extend(check_version(context.env, &context.env.cwd, checked.label(), proven));
        }
        if any || provider.is_some() {
            check_lanes(context, checked, &mut findings);
        }
        if !any && provider.is_some() {
            let message = format!("no Fairway hooks in the settings of {}", checked.label());
            let finding = Finding::new("not_installed", Severity::Warning, message);
            findings.insert(before, finding.with_fix(format!("fairway hook install {}", checked.label())));
        }
    }
    if findings.is_empty() {
        let message = "no Fairway hooks in any provider's settings".to_owned();
        findings.push(Finding::new("not_installed", Severity::Note, message).with_fix("fairway hook install PROVIDER"));
    }
    Ok(findings)
}

/// A finding about the enabled plugin: an error when the settings bring the same hooks, because then each event runs two, and
/// when this program, which its hooks call, is not in PATH.
fn check_plugin(context: &DoctorContext<'_>, provider: Provider, plugin: &EnabledPlugin, has_entries: bool) -> Finding {
    let env = context.env;
    let (label, id) = (provider.label(), &plugin.id);
    if has_entries {
        let message = format!("the hooks of {label} run twice: the plugin {id} and the settings bring them");
        return Finding::new("hooks_twice", Severity::Error, message)
            .with_fix(format!("fairway hook uninstall {label}"));
    }
    let path = env.var_os(vars::PATH).map(OsString::as_os_str);
    if executable::find(PROGRAM, path, &env.cwd).is_none() {
        let message =
            format!("the hooks of the plugin {id} call {PROGRAM}, which is not in PATH: every tool call is denied");
        return Finding::new("stale_path", Severity::Error, message);
    }
    if let Some(off) = switched_off(context, provider, &format!("the hooks of the plugin {id}")) {
        return off;
    }
    Finding::new("plugin", Severity::Note, format!("the plugin {id} brings the hooks of {label}"))
}

/// An error when a settings file turns off all hooks of the provider. Another file may have them, and be right by itself.
fn switched_off(context: &DoctorContext<'_>, provider: Provider, hooks: &str) -> Option<Finding> {
    let place = context.root.unwrap_or(&context.env.cwd).to_owned();
    let targets = [Target::Local(place.clone()), Target::Project(place), Target::User];
    let files = targets.iter().filter_map(|target| target.path(provider, context.env).ok());
    let off = install::switched_off(provider, files)?;
    let message = format!("{} does not run {hooks}: {off}", provider.label());
    let fix = format!("remove {} from {}", off.setting, off.file.display());
    Some(Finding::new("not_blocking", Severity::Error, message).with_fix(fix))
}

/// Warns of lanes in whose worktree an agent runs without hooks or guard.
fn check_lanes(context: &DoctorContext<'_>, provider: Provider, findings: &mut Vec<Finding>) {
    let elsewhere = context.lanes.iter().filter(|lane| Some(lane.directory.as_path()) != context.root);
    for LaneWorktree { lane, directory } in elsewhere.filter(|lane| lane.directory.is_dir()) {
        if let Some(missing) = missing(context.env, provider, directory, &[]) {
            let place = format!("{}, the worktree of the lane {lane}", directory.display());
            let finding = Finding::new("lane_without_hooks", Severity::Warning, missing.message(provider, &place));
            findings.push(finding.with_fix(MissingHooks::fix(provider)));
        }
    }
    if let Some(missing) = missing_in_new_lane(context, provider) {
        let message = missing.message(provider, "the worktree of a new lane");
        findings
            .push(Finding::new("lane_without_hooks", Severity::Note, message).with_fix(MissingHooks::fix(provider)));
    }
}

/// The hooks that an agent lacks in the worktree of a lane that is still to be made: a launch cannot bring them, and the project's own
/// settings are not committed.
fn missing_in_new_lane(context: &DoctorContext<'_>, provider: Provider) -> Option<MissingHooks> {
    let root = context.root.filter(|_| !context.brought_to.contains(provider.label()))?;
    let file = Target::Project(root.to_owned()).path(provider, context.env).ok()?;
    let (dir, name) = (file.parent()?, file.file_name()?);
    let is_committed = dir.is_dir()
        && Git::new(context.env.vars(), dir).first_tracked(&[name.to_owned()]).is_ok_and(|found| found.is_some());
    // A directory that is never there stands for the worktree.
    missing(context.env, provider, &root.join(STATE_DIR).join("worktrees/new lane"), &[]).filter(|_| !is_committed)
}

/// The checked settings files, and the flag of `hook install` for each.
fn settings_targets(context: &DoctorContext<'_>) -> Vec<(Target, &'static str)> {
    let project = context.root.map(|root| (Target::Project(root.to_owned()), ""));
    let local = context.root.map(|root| (Target::Local(root.to_owned()), " --local"));
    project.into_iter().chain(local).chain([(Target::User, " --user")]).collect()
}

/// Checks one settings file. Returns true when it has Fairway's hooks.
fn check_file(
    context: &DoctorContext<'_>,
    provider: Provider,
    target: &Target,
    flag: &str,
    own: &Path,
    findings: &mut Vec<Finding>,
) -> bool {
    let label = provider.label();
    let fix = format!("fairway hook install {label}{flag}");
    let Ok(path) = target.path(provider, context.env) else { return false };
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
    let not_loadable = install::load(provider, text).err().map(|why| {
        let message = format!("{} {why}: none of its hooks run", path.display());
        Finding::new("not_loaded", Severity::Error, message)
    });
    if !executable::is_executable(&program) {
        let message =
            format!("{} names {}, which does not exist or is not executable", path.display(), program.display());
        findings.extend(not_loadable);
        findings.push(Finding::new("stale_path", Severity::Error, message).with_fix(fix));
        return true;
    }
    let expected = install::entries(provider, &program, context.approval_wait, false);
    let is_complete = expected.iter().all(|entry| {
        entry
            .hooks
            .iter()
            .all(|hook| found.iter().any(|one| one.event == entry.event && one.hook == *hook && one.is_plain))
    });
    if !is_complete {
        let mut message = format!("the entries in {} differ from those of this version", path.display());
        if let Some(wait) = install::outdated_wait(provider, &found) {
            let (has, may) = (show_duration(wait), show_duration(install::LONGEST_APPROVAL_WAIT));
            let _ = write!(message, ": a permission request waits at most {has} for an answer, not up to {may}");
        }
        findings.push(Finding::new("outdated", Severity::Warning, message).with_fix(fix.as_str()));
    }
    let mut judged = Vec::new();
    check_canary(context, provider, &path, &found, &fix, &mut judged);
    let not_trusted = if provider.reviews_hooks { codex_trust_finding(context, &settings.path, &found) } else { None };
    let not_run: Vec<Finding> = not_loadable.into_iter().chain(not_trusted).collect();
    // A hook that does not run blocks nothing.
    if not_run.iter().any(|finding| finding.severity == Severity::Error) {
        judged.retain(|finding| finding.code != "blocking");
    }
    findings.extend(judged.into_iter().chain(not_run));
    true
}

fn program_name(own: &Path) -> Option<&str> {
    own.file_name().and_then(|name| name.to_str())
}

/// Sends the canary call through every hook that runs before a tool.
fn check_canary(
    context: &DoctorContext<'_>,
    provider: Provider,
    path: &Path,
    found: &[InstalledHook],
    fix: &str,
    findings: &mut Vec<Finding>,
) {
    let label = provider.label();
    let cwd: PathBuf = context.root.unwrap_or(&context.env.cwd).to_owned();
    let before: Vec<&InstalledHook> = found.iter().filter(|one| one.event == provider.tool_event()).collect();
    if before.is_empty() {
        let message = format!("no hook in {} runs before a tool call", path.display());
        findings.push(Finding::new("not_blocking", Severity::Error, message).with_fix(fix));
    }
    for one in before {
        let (hook, fails_closed) = (format!("the hook in {}", path.display()), one.hook["onFailure"] == "block");
        let outcome = match canary::run(provider, &one.hook, context.env, &cwd) {
            Ok(outcome) => outcome,
            Err(error) => {
                let message = format!("{hook} cannot be started: {error}");
                findings.push(Finding::new("not_blocking", Severity::Error, message).with_fix(fix));
                continue;
            }
        };
        let quoted = quote_output(if outcome.stderr.trim().is_empty() { &outcome.stdout } else { &outcome.stderr });
        findings.push(match (provider.would_block)(&outcome, fails_closed) {
            Ok(()) if is_canary_denial(&outcome) => {
                if let Some(off) = switched_off(context, provider, &hook) {
                    findings.push(off);
                    continue;
                }
                let place = missing_in_new_lane(context, provider).map_or("", |_| " here, and not in a lane");
                let message = format!("{hook} denied the test call; {label} would have blocked it{place}");
                Finding::new("blocking", Severity::Note, message)
            }
            Ok(()) => {
                let message = format!("{hook} fails, which blocks every tool call{quoted}");
                Finding::new("not_blocking", Severity::Error, message).with_fix(fix)
            }
            Err(why) => {
                let message = format!(
                    "the test call would have run: {label} does not take the result of {hook} as a denial: {why}{quoted}"
                );
                Finding::new("not_blocking", Severity::Error, message).with_fix(fix)
            }
        });
    }
}

/// Whether the output is the canary's denial, and not a failure that also blocks.
fn is_canary_denial(outcome: &HookOutput) -> bool {
    outcome.stdout.contains(CANARY) || outcome.stderr.contains(CANARY)
}

fn quote_output(output: &str) -> String {
    let line: String =
        secrets::mask(output.trim()).replace(['\n', '\r', '\t'], " ").chars().take(MAX_QUOTED_CHARS).collect();
    if line.is_empty() { line } else { format!(" (output: {line})") }
}

/// Asks Codex, which runs only trusted hooks, whether it trusts these.
fn codex_trust_finding(context: &DoctorContext<'_>, file: &Path, found: &[InstalledHook]) -> Option<Finding> {
    let cwd = context.root.unwrap_or(&context.env.cwd);
    let commands: Vec<String> = found.iter().filter_map(|one| Some(one.hook["command"].as_str()?.to_owned())).collect();
    let shown = file.display();
    match codex_trust::query(context.env, cwd, file, &commands) {
        codex_trust::HookTrust::Trusted => None,
        codex_trust::HookTrust::Skipped(how) => Some(
            Finding::new(
                "untrusted",
                Severity::Error,
                format!("codex skips the hooks of {shown} without a message: they are {how} in codex"),
            )
            .with_fix("codex, then /hooks"),
        ),
        codex_trust::HookTrust::NotLoaded(why) => {
            let why = why.map_or_else(
                || "hooks are disabled in codex, or the project is not trusted".to_owned(),
                |why| quote_output(&why).trim_start().to_owned(),
            );
            Some(
                Finding::new("not_loaded", Severity::Error, format!("codex does not load the hooks of {shown}: {why}"))
                    .with_fix("codex, and trust the directory; then fairway doctor hooks codex"),
            )
        }
        codex_trust::HookTrust::Unavailable(why) => Some(Finding::new(
            "trust_unknown",
            Severity::Note,
            format!("unknown whether codex runs the hooks of {shown}: {why}"),
        )),
    }
}

/// How long a program may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// A finding about a version other than the proven one. Returns `None` when they are the same, or the program is not in PATH.
fn check_version(env: &Env, cwd: &Path, program: &str, proven: &str) -> Option<Finding> {
    let path = env.var_os(vars::PATH).map(OsString::as_os_str);
    let found = executable::find(program, path, cwd)?;
    let version = packages::recorded_version(&found).or_else(|| printed_version(&found, env, cwd));
    let message = match version {
        Some(version) if version == proven => return None,
        Some(version) => {
            format!("{program} {version} is unproven: the profile was tried with {proven} (see: fairway config show)")
        }
        None => format!("the version of {program} is unknown; its profile was tried with {proven}"),
    };
    Some(Finding::new("unproven_version", Severity::Note, message))
}

fn printed_version(program: &Path, env: &Env, cwd: &Path) -> Option<String> {
    let args = ["--version".into()];
    let call =
        Call { program, args: &args, env: env.vars(), cwd, stdin: b"", limit: VERSION_TIMEOUT, ends_group: true };
    let output = capture(&call).ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().find(|word| packages::is_version(word)).map(str::to_owned)
}
