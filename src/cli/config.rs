//! `fairway config …`

use anyhow::Result;
use clap::Subcommand;

use crate::cli::confirm;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::print_error::print_error;
use crate::hooks::install;
use fairway_actions::core::{errors, inside_session, trust};
use fairway_actions::upkeep;
use fairway_actions::upkeep::config::ConfigDraft;
use fairway_core::config::{self, CONFIG_FILE, ConfigError, Project, local_file};
use fairway_core::domain::Refusal;
use fairway_core::os;
use fairway_core::render::{Table, escape_controls, escape_line};
use fairway_core::wire::{ConfigExampleView, Failure};

/// Show and check the configuration
#[derive(Debug, Subcommand)]
#[command(after_help = "\
fairway config show
fairway config check")]
#[command(defer = true)]
pub enum Verb {
    Show(ShowArgs),
    Check(CheckArgs),
    Edit(EditArgs),
    Example(ExampleArgs),
    Schema(SchemaArgs),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Show(args) => args.run(ctx),
            Self::Check(args) => args.run(ctx),
            Self::Edit(args) => args.run(ctx),
            Self::Example(args) => args.run(ctx),
            Self::Schema(args) => args.run(ctx),
        }
    }
}

/// Show every setting in force and its source
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway config show")]
pub struct ShowArgs {}

impl ShowArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let settings = upkeep::config::show(&ctx.app()?);
        ctx.show(
            &settings,
            || settings.iter().map(|one| one.key.clone()).collect(),
            || {
                let mut table = Table::new(&["key", "value", "source"]);
                for one in &settings {
                    table.row([one.key.as_str(), &one.written, &one.source]);
                }
                table.render(ctx.out.width)
            },
        )
    }
}

/// Check the configuration; name the wrong file and key
///
/// Checks the files as they are now, also while the last trusted text is in force, and says whether they are trusted.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway config check")]
pub struct CheckArgs {}

impl CheckArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let project = Project::discover(&ctx.env, ctx.globals.root.as_deref())?;
        let checked = upkeep::config::check(&ctx.env, &project).map_err(|error| one_by_one(error, ctx))?;
        let files = if checked.files.is_empty() { "defaults only".to_owned() } else { checked.files.join(", ") };
        ctx.show(&checked, Vec::new, || {
            let known = if checked.trust == "trusted" { " and trusted" } else { "" };
            let why = checked.why.as_ref().map(|why| format!("not trusted: {}\n", escape_line(why)));
            format!("the configuration is good{known}: {}\n{}", escape_line(&files), why.unwrap_or_default())
        })
    }
}

/// Prints each problem of `error` on a line, except the last one, which it returns as an error. With `--json`, it prints
/// nothing, because the error document lists all of them.
fn one_by_one(error: anyhow::Error, ctx: &Context) -> anyhow::Error {
    let problems = match error.downcast::<ConfigError>() {
        Ok(ConfigError::All { problems }) if !ctx.out.json => problems,
        Ok(other) => return other.into(),
        Err(other) => return other,
    };
    let mut problems = problems.into_iter();
    let last = problems.next_back();
    for problem in problems {
        print_error(&Failure { hint: None, ..errors::classify(&problem.into()) }, &ctx.out);
    }
    ConfigError::All { problems: last.into_iter().collect() }.into()
}

/// Edit the configuration, check it, write it and trust it
///
/// Opens a copy in $VISUAL or $EDITOR, else vi. A wrong text can be edited again. The difference is shown before anything is
/// written. Needs a terminal. Refused inside a session.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway config edit
fairway config edit --local")]
pub struct EditArgs {
    /// Edit .fairway/local.toml, which is not committed
    #[arg(long)]
    local: bool,
}

impl EditArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let project = Project::discover(&ctx.env, ctx.globals.root.as_deref())?;
        // A configuration that is wrong must be editable, too.
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

/// Print an example with every key and its default
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway config example")]
pub struct ExampleArgs {}

impl ExampleArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let text = config::example();
        ctx.show(
            &ConfigExampleView { example: text.clone() },
            || config::KEYS.iter().map(config::Key::path).collect(),
            || text.clone(),
        )
    }
}

/// Print the JSON Schema of the configuration
///
/// Editors complete and check .fairway.toml by it, when the first line of the file names it:
/// #:schema .fairway/config.schema.json
///
/// `fairway init` writes that file.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway config schema")]
pub struct SchemaArgs {}

impl SchemaArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let schema = config::schema();
        let text = serde_json::to_string_pretty(&schema)?;
        ctx.show(&schema, || config::KEYS.iter().map(config::Key::path).collect(), || format!("{text}\n"))
    }
}
