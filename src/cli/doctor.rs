//! `fairway doctor`

use std::path::PathBuf;

use anyhow::Result;

use crate::cli::age::day;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::{confirm, values};
use crate::hooks::doctor::{DoctorContext, LaneWorktree};
use crate::hooks::install::DEFAULT_APPROVAL_WAIT;
use crate::hooks::{self, Provider};
use fairway_actions::App;
use fairway_actions::agents::permission_canary::{self, Candidate};
use fairway_actions::core::{inside_session, trust};
use fairway_actions::queue::lane;
use fairway_actions::upkeep::{backup, doctor};
use fairway_core::config::{self, ConfigError, Settings};
use fairway_core::domain::finding::{self, Finding};
use fairway_core::domain::lane::LaneStatus;
use fairway_core::env::Timestamp;
use fairway_core::render::{Table, escape_line};
use fairway_core::wire::{AgentProofView, DoctorView, LaneView, TriedAgentView};

/// Check the store and state directory for problems
///
/// Exits 0 without findings and 1 with findings. --fix repairs what follows from other data: counts of open
/// dependencies, the history of claims, file modes, abandoned drafts.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway doctor
fairway doctor --fix")]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Repair findings where possible
    #[arg(long)]
    fix: bool,
    /// Go on with a store whose last records are gone
    ///
    /// Ids of tasks are not given out again, and every earlier epoch becomes invalid.
    #[arg(long, conflicts_with = "fix")]
    accept: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// Other checks.
#[derive(Debug, clap::Subcommand)]
enum Verb {
    Agents(AgentsArgs),
    Hooks(HooksArgs),
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self.verb {
            Some(Verb::Agents(args)) => args.run(ctx),
            Some(Verb::Hooks(args)) => args.run(ctx),
            None => {
                let app = ctx.app()?;
                if self.accept {
                    // The store is damaged, and answers no question about sessions.
                    inside_session::refuse_without_project(&ctx.env, "doctor --accept")?;
                }
                let accepted = if self.accept { backup::accept_loss(&app)? } else { Vec::new() };
                let found = doctor::doctor(&app, self.fix)?;
                print(ctx, &[accepted, found].concat())
            }
        }
    }
}

/// Test that structured agents ask before a command
///
/// Gives each agent one short turn in an empty directory, in which it must ask before it runs a command; the answer is a
/// denial. A turn costs what a turn of your model costs. Without a name, installed agents are tried whose version and mode are
/// not proven yet. Exits 1 when one is not proven.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway doctor agents --dry-run
fairway doctor agents {provider}")]
pub struct AgentsArgs {
    /// Only these providers, also when they are proven
    #[arg(value_name = "PROVIDER")]
    provider: Vec<String>,
    /// Print what would be tried, and try nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

const COMMAND: &str = "doctor agents";

impl AgentsArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let settings = match ctx.app() {
            Ok(app) => {
                inside_session::refuse(&app, COMMAND)?;
                trust::require(&app)?;
                (*app.settings).clone()
            }
            Err(error) if matches!(error.downcast_ref(), Some(ConfigError::NoProject { missing: None, .. })) => {
                inside_session::refuse_without_project(&ctx.env, COMMAND)?;
                Settings::default()
            }
            Err(error) => return Err(error),
        };
        let mut candidates = permission_canary::candidates(&ctx.env, &settings, &self.provider)?;
        let due: Vec<&str> =
            candidates.iter().filter(|one| one.is_due).map(|one| one.setup.provider.as_str()).collect();
        if !self.dry_run && !due.is_empty() {
            let question =
                format!("Each of these agents works for one short turn of its model: {}. Go on?", due.join(", "));
            confirm::require(ctx, self.yes, &question)?;
            for candidate in candidates.iter_mut().filter(|one| one.is_due) {
                ctx.out.note(&format!("trying {}", candidate.setup.provider));
                candidate.proof = Some(permission_canary::prove(&ctx.env, candidate)?);
            }
        }
        let tried: Vec<TriedAgentView> = candidates.iter().map(view).collect();
        let names = || tried.iter().map(|one| one.provider.clone()).collect();
        ctx.show(&tried, names, || words(&tried, self.dry_run, ctx.env.now(), ctx.out.width))?;
        let is_proven = |one: &TriedAgentView| one.proof.as_ref().is_some_and(|proof| proof.proven);
        Ok(u8::from(!self.dry_run && !tried.iter().all(is_proven)))
    }
}

fn view(candidate: &Candidate) -> TriedAgentView {
    let setup = &candidate.setup;
    TriedAgentView {
        provider: setup.provider.clone(),
        command: shell_words::join(&setup.command),
        version: setup.version.clone(),
        mode: setup.mode.clone(),
        tried: candidate.is_due,
        proof: candidate.proof.as_ref().map(permission_canary::view),
    }
}

fn words(tried: &[TriedAgentView], is_plan: bool, now: Timestamp, width: Option<usize>) -> String {
    if tried.is_empty() {
        return "no structured agent is installed\n".to_owned();
    }
    let mut table = Table::new(&["name", "agent", "mode", "asks"]);
    for one in tried {
        let agent = one.proof.as_ref().and_then(|proof| proof.agent.clone());
        let agent = agent.or_else(|| one.version.clone()).unwrap_or_else(|| "-".to_owned());
        let result =
            if is_plan && one.tried { "would be tried".to_owned() } else { proof_cell(one.proof.as_ref(), now) };
        let mode = one.mode.clone().unwrap_or_else(|| "-".to_owned());
        table.row([one.provider.clone(), escape_line(&agent), mode, escape_line(&result)]);
    }
    table.render(width)
}

/// Formats, for a table cell, whether an agent has shown that it asks before it runs a tool: `proven today`, or `not proven`
/// with the reason. Returns `-` when that was not tried.
pub(super) fn proof_cell(proof: Option<&AgentProofView>, now: Timestamp) -> String {
    match proof {
        None => "-".to_owned(),
        Some(AgentProofView { reason: None, at, .. }) => format!("proven {}", day(at, now)),
        Some(AgentProofView { reason: Some(why), .. }) => format!("not proven: {why}"),
    }
}

/// Test that installed hooks block a denied call
///
/// Runs each hook as its provider would, with a call that must be denied. Reports hooks that the provider skips, does not load
/// or misreads, and lanes in whose worktree the hooks are off. Exits 0 when every installed hook blocks, in every lane.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway doctor hooks {provider}")]
pub struct HooksArgs {
    /// Only this provider; it must have hooks
    #[arg(value_name = "PROVIDER", value_parser = values::hook_providers())]
    provider: Option<Provider>,
}

impl HooksArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        // The person's own settings can be looked at outside any project.
        let app = match ctx.app() {
            Ok(app) => Some(app),
            Err(error) if matches!(error.downcast_ref(), Some(ConfigError::NoProject { missing: None, .. })) => None,
            Err(error) => return Err(error),
        };
        let place = doctor_context(ctx, app.as_ref())?;
        print(ctx, &hooks::doctor::doctor(&place, self.provider)?)
    }
}

/// Collects the facts that the checks of hooks need: among them the worktrees of the open lanes on this host. `app` is `None`
/// outside a project; then only the user's own settings are checked.
pub fn doctor_context<'a>(ctx: &'a Context, app: Option<&'a App>) -> Result<DoctorContext<'a>> {
    let profile = |provider: &Provider| {
        let of_app = app.map(|app| app.settings.provider(provider.label()).profile);
        of_app.or_else(|| config::built_in_profiles().remove(provider.label()))
    };
    let proven = |provider: &Provider| Some((provider.label(), profile(provider)?.facts.proven_with?));
    let is_brought = |provider: &&Provider| profile(provider).is_some_and(|profile| profile.facts.hook_args.is_some());
    let lanes = app.map_or_else(|| Ok(Vec::new()), |app| lane::list::list(app, false))?;
    let is_open = |lane: &LaneView| lane.status != LaneStatus::Closed && lane.other_host.is_none();
    let open = lanes.into_iter().filter(is_open);
    let lanes = open
        .filter_map(|lane| Some(LaneWorktree { lane: lane.name.clone(), directory: PathBuf::from(lane.worktree?) }));
    Ok(DoctorContext {
        env: &ctx.env,
        root: app.map(|app| app.project.root.as_path()),
        approval_wait: app.map_or(DEFAULT_APPROVAL_WAIT, |app| app.settings.hooks.approval_wait),
        proven_versions: Provider::ALL.iter().filter_map(proven).collect(),
        brought_to: Provider::ALL.iter().filter(is_brought).map(|provider| provider.label()).collect(),
        lanes: lanes.collect(),
    })
}

/// Prints the findings; exit 1 when one is a problem.
fn print(ctx: &Context, findings: &[Finding]) -> Result<Exit> {
    let view = DoctorView::from(findings);
    ctx.show(
        &view,
        || view.findings.iter().map(|one| one.code.to_owned()).collect(),
        || {
            let mut table = Table::new(&["severity", "code", "fix", "message"]);
            for one in &view.findings {
                table.row([one.severity.as_str(), one.code, one.fix.as_deref().unwrap_or("-"), &one.message]);
            }
            table.render(ctx.out.width)
        },
    )?;
    Ok(u8::from(!finding::has_no_problems(findings)))
}
