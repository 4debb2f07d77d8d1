//! `fairway doctor agents`

use anyhow::Result;

use crate::{
    actions::{
        agents::prove_agents::{self, Candidate},
        core::{inside_session, trust},
    },
    cli::{age::day, confirm, context::Context, exit::Exit},
    config::{ConfigError, Settings},
    env::Timestamp,
    render::{Table, escape_line},
    wire::{AgentProofView, TriedAgentView},
};

/// Test that structured agents ask before a command
///
/// Gives each agent one short turn in an empty directory, in which it must ask before it runs a command. The answer is
/// a denial. A turn costs what a turn of your model costs. Without a name, installed agents are tried whose version and
/// mode are not proven yet. Exits 1 when one is not proven.
#[derive(Debug, clap::Args)]
pub struct Args {
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

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
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
        let mut candidates = prove_agents::candidates(&ctx.env, &settings, &self.provider)?;
        let due: Vec<&str> =
            candidates.iter().filter(|one| one.is_due).map(|one| one.setup.provider.as_str()).collect();
        if !self.dry_run && !due.is_empty() {
            let question =
                format!("Each of these agents works for one short turn of its model: {}. Go on?", due.join(", "));
            confirm::require(ctx, self.yes, &question)?;
            for candidate in candidates.iter_mut().filter(|one| one.is_due) {
                ctx.out.note(&format!("trying {}", candidate.setup.provider));
                candidate.proof = Some(prove_agents::prove(&ctx.env, candidate)?);
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
        proof: candidate.proof.as_ref().map(prove_agents::view),
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
        let result = if is_plan && one.tried { "would be tried".to_owned() } else { shown(one.proof.as_ref(), now) };
        let mode = one.mode.clone().unwrap_or_else(|| "-".to_owned());
        table.row([one.provider.clone(), escape_line(&agent), mode, escape_line(&result)]);
    }
    table.render(width)
}

/// A proof in a cell: `proven today`, or why it is none.
pub fn shown(proof: Option<&AgentProofView>, now: Timestamp) -> String {
    match proof {
        None => "-".to_owned(),
        Some(AgentProofView { reason: None, at, .. }) => format!("proven {}", day(at, now)),
        Some(AgentProofView { reason: Some(why), .. }) => format!("not proven: {why}"),
    }
}
