//! `fairway config edit`

use anyhow::Result;

use crate::{
    actions::{
        core::{inside_session, trust},
        upkeep::config::ConfigDraft,
    },
    cli::{confirm, context::Context, exit::Exit},
    config::{CONFIG_FILE, Project, local_file},
    domain::Refusal,
    hooks::install,
    os,
    render::escape_controls,
};

/// Edit the configuration, check it, write it and trust it
///
/// Opens a copy in $VISUAL or $EDITOR, else vi. A wrong text can be edited again. The difference is shown before anything is
/// written. Needs a terminal. Refused inside a session.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Edit .fairway/local.toml, which is not committed
    #[arg(long)]
    local: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let project = Project::discover(&ctx.env, ctx.globals.root.as_deref())?;
        // A configuration that is wrong is what this is for.
        match ctx.app_without_note(ctx.actor()?) {
            Ok(app) => inside_session::refuse(&app, "config edit")?,
            Err(_) => inside_session::refuse_without_project(&ctx.env, "config edit")?,
        }
        let terminal = ctx.env.terminal;
        if !(terminal.stdin && terminal.stdout && terminal.stderr) {
            let instead = "edit the file, then check and trust it: fairway config check && fairway trust";
            return Err(Refusal::NeedsTerminal { command: "config edit", instead }.into());
        }
        let path = if self.local { local_file(&project) } else { project.root.join(CONFIG_FILE) };
        let draft = ConfigDraft::begin(&ctx.env, &path)?;
        let text = loop {
            let text = draft.edit(&ctx.env)?;
            match draft.check(&ctx.env, &project, &text) {
                Ok(()) => break text,
                Err(error) => ctx.out.write_error(&escape_controls(&format!("error: {error:#}"))),
            }
            if !os::terminal::confirm("Edit it again?")? {
                return Err(Refusal::NotConfirmed.into());
            }
        };
        let difference = install::unified_diff(&draft.path, draft.original.as_deref(), Some(&text));
        let is_changed = draft.original.as_deref() != Some(text.as_str());
        if is_changed {
            ctx.out.write_stderr(&escape_controls(&difference));
            confirm::require(ctx, false, "Write and trust this?")?;
            draft.write(&text)?;
        } else {
            let shown = trust::show(&ctx.app_without_note(ctx.actor()?)?)?;
            if !shown.is_known {
                ctx.out.write_stderr(&escape_controls(&shown.text));
                confirm::require(ctx, false, "Nothing was edited. Trust this?")?;
            }
        }
        ctx.answer(&trust::trust(&ctx.app_without_note(ctx.actor()?)?)?)
    }
}
