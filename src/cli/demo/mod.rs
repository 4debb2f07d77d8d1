//! `fairway demo`

mod demo_dir;
mod demo_steps;

use std::path::PathBuf;

use anyhow::Result;

use self::demo_dir::Scene;
use self::demo_steps::{STORY, Step};
use super::context::Context;
use super::exit::Exit;
use fairway_actions::core::{errors, inside_session};
use fairway_core::render::Meaning;
use fairway_core::wire::DemoView;

/// Show a day of Fairway in a scratch repository, in seconds
///
/// Runs every command for real, with scripted agents: no agent's command line and no tmux is needed. Your projects and
/// settings are not touched, and nothing is left behind without --keep. On a terminal it ends in fairway top.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway demo
fairway demo --keep --dir ./demo")]
pub struct Args {
    /// Keep the directory, to look around in it
    #[arg(long)]
    keep: bool,
    /// Directory for the demo; must be absent or empty
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        // Its commands are those of a person, such as setup and land.
        inside_session::refuse_without_project(&ctx.env, "demo")?;
        let scene = Scene::new(&ctx.env, self.dir.as_deref(), self.keep)?;
        let is_shown = !ctx.out.json && !ctx.out.quiet;
        let mut commands = Vec::new();
        STORY.iter().try_for_each(|step| tell(ctx, &scene, *step, is_shown, &mut commands))?;
        if is_shown && ctx.env.terminal.stdin && ctx.env.terminal.stdout {
            ctx.out.line(&format!("\n{}", ctx.out.style.paint(Meaning::Faint, "# The same, live. q leaves it.")))?;
            ctx.out.line("$ fairway top")?;
            scene.run(&["fairway", "top"].map(str::to_owned), true)?;
        }
        let dir = scene.dir.display().to_string();
        let shop = shell_words::quote(&scene.shop().display().to_string()).into_owned();
        // The sessions are stopped before the last line says what is left.
        drop(scene);
        let end = if self.keep {
            format!("\nkept: {dir}\nnext: cd {shop} && fairway status\n")
        } else {
            "\nnext, in your own repository: fairway setup\n".to_owned()
        };
        let document = DemoView { dir, kept: self.keep, commands };
        ctx.show(&document, Vec::new, || end)
    }
}

/// Carries out one step of the demo. With `is_shown`, prints the commands as a person would type them. Adds them to
/// `commands`.
fn tell(ctx: &Context, scene: &Scene, step: Step, is_shown: bool, commands: &mut Vec<String>) -> Result<()> {
    let show = |line: &str| if is_shown { ctx.out.line(line) } else { Ok(()) };
    match step {
        Step::Say(text) => show(&format!("\n{}", ctx.out.style.paint(Meaning::Faint, &format!("# {text}"))))?,
        Step::Run(line) => {
            show(&format!("$ {line}"))?;
            commands.push(line.to_owned());
            scene.run(&shell_words::split(line).map_err(errors::internal)?, is_shown)?;
        }
        Step::Until(line, text) => scene.wait_for(&shell_words::split(line).map_err(errors::internal)?, text)?,
    }
    Ok(())
}
