//! `fairway setup`

use std::fmt::Write as _;

use anyhow::Result;

use self::plan::{NO_GIT, Plan, Step, Work};
use self::record::Record;
use super::context::Context;
use super::doctor::doctor_context;
use super::exit::Exit;
use super::provider::is_to_be_proven;
use super::{confirm, values};
use crate::hooks::{Provider, doctor};
use fairway_actions::agents::providers;
use fairway_actions::core::{inside_session, store_safety, trust};
use fairway_actions::queue::review::list;
use fairway_core::config::Project;
use fairway_core::domain::Refusal;
use fairway_core::domain::finding::{Finding, Severity};
use fairway_core::os;
use fairway_core::render::{escape_controls, escape_line};
use fairway_core::wire::{DoctorView, ProviderView, SetupStepView, SetupView};

mod added_lines;
mod agents_block;
mod apply;
mod completion;
mod plan;
mod record;
mod starter;
mod undo;

/// The command's name in a refusal.
const COMMAND: &str = "setup";
/// The command for the next step.
const NEXT: &str = "fairway start \"Fix the tax\"";
const NEXT_AFTER_UNDO: &str = "fairway setup";
/// Advice for a project in which several agents run.
const CAPACITY_ADVICE: &str =
    "several agents run here: [review] capacity = 4 keeps them from fresh work while 4 reviews are open";
/// The codes of hooks that run and do not do what they must. Other errors are left for a person: a provider skips hooks that
/// it was not told to trust.
const HOOK_FAILURES: &[&str] = &["not_blocking", "stale_path"];
/// The code of the finding that an agent has no guard in lanes.
const LANE_FINDING: &str = "lane_without_hooks";

/// Connect this repository and your agents: one command for all
///
/// Creates the project, installs shell completions and the hooks of each agent's command line in PATH, adds lines to AGENTS.md
/// and first guard rules, trusts the configuration and tests every hook. Shows the plan and asks first; a repeat changes
/// nothing. The hooks go into files that git ignores, because they name this machine's program.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway setup --dry-run
fairway setup --undo")]
#[expect(clippy::struct_excessive_bools, reason = "one for each flag")]
pub struct Args {
    /// Do it without asking; required without a terminal
    #[arg(long, short)]
    yes: bool,
    /// Show the plan and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Only this provider; repeatable; default: each one in PATH
    #[arg(long = "provider", value_name = "PROVIDER", value_parser = values::hook_providers())]
    providers: Vec<Provider>,
    /// Make lanes of the worktrees that subagents get
    #[arg(long, conflicts_with = "undo")]
    worktrees: bool,
    /// Write through links that lead out of the repository
    #[arg(long, conflicts_with = "undo")]
    follow_links: bool,
    /// Take back what setup has done, except the store
    #[arg(long, conflicts_with = "providers")]
    undo: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context, command: clap::Command) -> Result<Exit> {
        refuse_inside(ctx)?;
        if self.undo { self.take_back(ctx) } else { self.set_up(ctx, command) }
    }

    fn set_up(&self, ctx: &Context, command: clap::Command) -> Result<Exit> {
        let plan = Plan::new(ctx, command, &self.providers, self.worktrees)?;
        let is_change = plan.steps.iter().any(Step::is_change);
        let shown = plan_text(ctx, &plan)?;
        let mut view = SetupView {
            root: plan.project.root.display().to_string(),
            dry_run: self.dry_run,
            steps: plan.steps.iter().map(|step| step.view(!self.dry_run)).collect(),
            left: plan.left.clone(),
            doctor: None,
            next: NEXT.to_owned(),
        };
        if self.dry_run {
            return ctx.show(&view, Vec::new, || escape_controls(&shown));
        }
        if let Some((file, target)) = plan.outside().filter(|_| !self.follow_links) {
            let (file, target) = (file.display().to_string(), target.display().to_string());
            return Err(Refusal::LinkOutside { file, target }.into());
        }
        if is_change && !self.yes && !confirm(ctx, "fairway setup", &shown)? {
            ctx.out.note("nothing was changed");
            return Ok(0);
        }
        for note in apply::apply(ctx, &plan)? {
            ctx.out.note(&escape_controls(&note));
        }
        if list::is_capacity_advised(&ctx.app()?)? {
            ctx.out.note(CAPACITY_ADVICE);
        }
        let findings = check_hooks(ctx, &plan)?;
        let is_broken = findings.iter().any(|one| HOOK_FAILURES.contains(&one.code));
        let of_person = findings.iter().filter(|one| one.severity == Severity::Error || one.code == LANE_FINDING);
        view.left.extend(of_person.map(|one| match &one.fix {
            Some(fix) => format!("{} ({fix})", one.message),
            None => one.message.clone(),
        }));
        view.left.extend(unproven_agents(ctx)?);
        view.doctor = Some(DoctorView::from(findings.as_slice()));
        let plan_shown = if self.yes && is_change { shown.as_str() } else { "" };
        let printed = ctx.show(&view, Vec::new, || escape_controls(&format!("{plan_shown}{}", result_text(&view))))?;
        Ok(if is_broken { 1 } else { printed })
    }

    fn take_back(&self, ctx: &Context) -> Result<Exit> {
        let project = find_record(ctx)?;
        let record = Record::load(&project)?.unwrap_or_default();
        let plan = undo::undo(ctx, &project, &record, true)?;
        if !plan.is_empty()
            && !self.dry_run
            && !self.yes
            && !confirm(ctx, "fairway setup --undo", &undo_text(&project, &plan))?
        {
            ctx.out.note("nothing was changed");
            return Ok(0);
        }
        let is_done = !self.dry_run && !plan.is_empty();
        let steps = if is_done { undo::undo(ctx, &project, &record, false)? } else { plan };
        let text = undo_text(&project, &steps);
        let root = project.root.display().to_string();
        let next = NEXT_AFTER_UNDO.to_owned();
        let view = SetupView { root, dry_run: self.dry_run, steps, left: Vec::new(), doctor: None, next };
        ctx.show(&view, Vec::new, || escape_controls(&text))
    }
}

/// Refuses setup inside a session. Before there is a project, only the environment and the ancestor processes show whether
/// the caller is inside.
fn refuse_inside(ctx: &Context) -> Result<()> {
    match Project::discover(&ctx.env, ctx.globals.root.as_deref()) {
        // A broken configuration is no way round it.
        Ok(_) => inside_session::refuse(&ctx.app()?, COMMAND),
        Err(_) => inside_session::refuse_without_project(&ctx.env, COMMAND),
    }
}

/// Finds the project whose setup is undone, even when its configuration file is missing already.
fn find_record(ctx: &Context) -> Result<Project> {
    let root = ctx.globals.root.as_deref();
    match Project::discover(&ctx.env, root) {
        Ok(project) => Ok(project),
        Err(_) => Ok(Project::at(Project::init_root(&ctx.env, root)?, &ctx.env)),
    }
}

/// Asks the person at the terminal whether to carry out the plan.
fn confirm(ctx: &Context, command: &str, plan: &str) -> Result<bool> {
    if !confirm::can_ask(ctx, false) {
        let hint = format!("see the plan: {command} --dry-run\ndo it: {command} --yes");
        return Err(Refusal::ArgumentMissing { why: "there is no terminal to ask at".to_owned(), hint }.into());
    }
    ctx.out.write_stderr(&escape_controls(plan));
    Ok(os::terminal::confirm("Do this?")?)
}

/// Sends the test call through every hook of the providers.
fn check_hooks(ctx: &Context, plan: &Plan) -> Result<Vec<Finding>> {
    let app = ctx.app()?;
    let place = doctor_context(ctx, Some(&app))?;
    let mut findings = Vec::new();
    for provider in &plan.providers {
        findings.extend(doctor::doctor(&place, Some(*provider))?);
    }
    Ok(findings)
}

/// What is left to prove of the installed agents that run without a terminal, and which of them will not be guarded.
fn unproven_agents(ctx: &Context) -> Result<Vec<String>> {
    let listed = providers::list(&ctx.env, ctx.globals.root.as_deref())?;
    let due: Vec<&str> = listed.iter().filter(|one| is_to_be_proven(one)).map(|one| one.name.as_str()).collect();
    let proof = (!due.is_empty()).then(|| {
        format!("prove that structured sessions of {} ask before a command (fairway doctor agents)", due.join(", "))
    });
    let is_there = |one: &ProviderView| one.structured.as_ref().is_some_and(|program| program.installed == Some(true));
    let without = listed.iter().filter(|one| is_there(one) && one.asking_mode.is_none()).map(|one| {
        let why = one.unproven.as_deref().unwrap_or("its profile names no mode in which it asks");
        format!("structured sessions of {} are not guarded: {why}", one.name)
    });
    Ok(proof.into_iter().chain(without).collect())
}

/// The plan, with every line that would be trusted.
fn plan_text(ctx: &Context, plan: &Plan) -> Result<String> {
    let mut text = format!("fairway setup in {}\n", plan.project.root.display());
    if !plan.is_in_git() {
        let _ = writeln!(text, "  first        {NO_GIT}");
    }
    for step in &plan.steps {
        let line = escape_line(&step.line);
        let _ = match &step.work {
            Work::Unchanged => writeln!(text, "  unchanged    {line}"),
            Work::Left(why) => writeln!(text, "  left alone   {line}: {why}"),
            _ => writeln!(text, "  {:<12} {line}", step.kind),
        };
        if let Some(target) = &step.target {
            let _ = writeln!(text, "                 by a link: {}", escape_line(&target.display().to_string()));
        }
        if let (Work::Add(added), "config") = (&step.work, step.kind) {
            for line in added.trim().lines() {
                let _ = writeln!(text, "                 {line}");
            }
        }
        if step.work == Work::Trust && !plan.is_new {
            // Programs that the files name already would be trusted with the rest.
            for line in trust::show(&ctx.app()?)?.text.lines() {
                let _ = writeln!(text, "                 {line}");
            }
        }
    }
    Ok(text)
}

fn result_text(view: &SetupView) -> String {
    let changed = view.steps.iter().filter(|step| step.status == "changed").count();
    let mut text = match changed {
        0 => format!("unchanged: {} is set up\n", view.root),
        1 => "done: 1 change\n".to_owned(),
        _ => format!("done: {changed} changes\n"),
    };
    for one in view.doctor.iter().flat_map(|doctor| &doctor.findings) {
        if one.severity == Severity::Error || one.code == LANE_FINDING {
            continue;
        }
        let _ = writeln!(text, "  {}: {}", one.severity, escape_line(&one.message));
    }
    for left in &view.left {
        let _ = writeln!(text, "left for you: {}", escape_line(left));
    }
    let _ = writeln!(text, "next: {}", view.next);
    text
}

fn undo_text(project: &Project, steps: &[SetupStepView]) -> String {
    if steps.is_empty() {
        return format!("unchanged: setup has changed nothing in {}\n", project.root.display());
    }
    let mut text = String::new();
    for (index, step) in steps.iter().enumerate() {
        let is_told = |earlier: &&SetupStepView| earlier.file == step.file && earlier.status == step.status;
        if steps.iter().take(index).any(|earlier| is_told(&earlier)) {
            continue;
        }
        let file = escape_line(&step.file);
        let _ = match (step.status, &step.why) {
            ("left", Some(why)) => writeln!(text, "left alone: {file}: {why}"),
            ("unchanged", _) => writeln!(text, "unchanged: {file}"),
            ("would_change", _) => writeln!(text, "would restore: {file}"),
            _ => writeln!(text, "restored: {file}"),
        };
    }
    if project.store.exists() {
        let _ = writeln!(text, "the store stays: {}", project.store.display());
        if let Some((shield, exclude)) = store_safety::installed(project) {
            let (shield, exclude) = (shield.display(), exclude.display());
            let _ = writeln!(text, "and what keeps git's cleaners from it: {shield}, a line in {exclude}");
        }
    }
    text
}
