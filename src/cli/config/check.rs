//! `fairway config check`

use anyhow::Result;

use crate::{
    actions::{core::errors, upkeep::config},
    cli::{context::Context, exit::Exit, print_error::print_error},
    config::{ConfigError, Project},
    render::escape_line,
    wire::Failure,
};

/// Check the configuration; name the wrong file and key
///
/// Checks the files as they are now, also while the last trusted text is in force, and says whether they are trusted.
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let project = Project::discover(&ctx.env, ctx.globals.root.as_deref())?;
        let checked = config::check(&ctx.env, &project).map_err(|error| one_by_one(error, ctx))?;
        let files = if checked.files.is_empty() { "defaults only".to_owned() } else { checked.files.join(", ") };
        ctx.show(&checked, Vec::new, || {
            let known = if checked.trust == "trusted" { " and trusted" } else { "" };
            let why = checked.why.as_ref().map(|why| format!("not trusted: {}\n", escape_line(why)));
            format!("the configuration is good{known}: {}\n{}", escape_line(&files), why.unwrap_or_default())
        })
    }
}

/// Prints a line for each problem but the last one, which it returns. A document has them all.
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
