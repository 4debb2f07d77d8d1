//! The settings that a verb is about, and the lines about them.

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::{Answer, core::inside_session},
    cli::{context::Context, exit::Exit},
    config::Project,
    hooks::{
        Provider,
        install::{Change, Target},
    },
    render::escape_controls,
    wire::HookChangeView,
};

/// The owner of the settings.
#[derive(Debug, clap::Args)]
#[group(multiple = false, id = "whose")]
struct Whose {
    /// Your settings, for every project
    #[arg(long)]
    user: bool,
    /// This project's settings (the default)
    #[arg(long)]
    project: bool,
    /// Your own settings file in this project
    #[arg(long)]
    local: bool,
    /// Settings file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// The owner of the settings, and whether to change them.
#[derive(Debug, clap::Args)]
pub(super) struct TargetArgs {
    #[command(flatten)]
    whose: Whose,
    /// Show the difference and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl TargetArgs {
    /// The settings that are meant.
    ///
    /// # Errors
    /// `no_project` for a project's where there is none.
    pub fn target(&self, ctx: &Context) -> Result<Target> {
        Ok(match &self.whose.file {
            Some(file) => Target::File(file.clone()),
            None if self.whose.user => Target::User,
            None => {
                let root = Project::discover(&ctx.env, ctx.globals.root.as_deref())?.root;
                if self.whose.local { Target::Local(root) } else { Target::Project(root) }
            }
        })
    }
}

/// Refuses a change of settings inside a session. A look at the difference changes nothing.
///
/// # Errors
/// `inside_session`.
pub(super) fn refuse_inside(ctx: &Context, dry_run: bool, command: &'static str) -> Result<()> {
    if dry_run {
        return Ok(());
    }
    // A person's settings can be changed outside of any project.
    match ctx.app_without_note(ctx.actor()?) {
        Ok(app) => inside_session::refuse(&app, command),
        Err(_) => inside_session::refuse_without_project(&ctx.env, command),
    }
}

/// The answer about a change of settings, in the form of every change.
pub(super) fn answer(provider: Provider, change: &Change, dry_run: bool, done: &str) -> Result<Answer> {
    let path = change.path.display();
    let line =
        if change.is_changed { format!("{done} {} in {path}", provider.label()) } else { format!("unchanged: {path}") };
    let view = HookChangeView {
        provider: provider.label(),
        file: path.to_string(),
        changed: change.is_changed,
        dry_run,
        diff: change.diff.clone(),
        loaded: change.not_loadable.is_none(),
    };
    Answer::new(&view, path, line)
}

/// Prints what was done; what would be done is shown as a difference.
pub(super) fn show(ctx: &Context, answer: &Answer, change: &Change, dry_run: bool) -> Result<Exit> {
    if !dry_run || ctx.out.json || ctx.out.quiet || !change.is_changed {
        return ctx.answer(answer);
    }
    for note in &answer.notes {
        ctx.out.note(&escape_controls(note));
    }
    ctx.out.text(&escape_controls(&change.diff))?;
    Ok(0)
}
