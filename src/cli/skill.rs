//! `fairway skill`

use anyhow::Result;

use super::context::Context;
use super::exit::Exit;
use fairway_actions::upkeep::guide::SKILL;
use fairway_core::wire::SkillView;

/// Print the skill of this version for agents
///
/// A SKILL.md, as plugins bring it. Without a plugin: write it to skills/fairway/SKILL.md in the directory from which an agent's
/// command line loads skills.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway skill")]
pub struct Args {}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.show(&SkillView { name: "fairway", text: SKILL }, Vec::new, || SKILL.to_owned())
    }
}
