//! `fairway man`

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Command;

use super::context::Context;
use super::exit::Exit;
use super::help::page;
use fairway_actions::core::errors;
use fairway_core::domain::Refusal;
use fairway_core::wire::{ManPageView, ManPagesView};

/// Print a manual page
///
/// View it with: fairway man | man -l -
///
/// With --output, writes the pages of all commands, as a package has them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway man task add
fairway man --output ~/.local/share/man/man1")]
pub struct Args {
    /// Command of the page; default: the whole program
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
    /// Write every page into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "words")]
    output: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context, command: Command) -> Result<Exit> {
        if let Some(dir) = self.output {
            return write_all(ctx, &command, &ctx.env.cwd.join(dir));
        }
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let about = match words.as_slice() {
            [] => Some(command),
            path => page::laid_out(&command, path, false),
        };
        let about = about.ok_or_else(|| Refusal::not_found("command", self.words.join(" ")))?;
        let name = page_name(&words);
        let page = render(about, &name)?;
        ctx.show(&ManPageView { name, page: page.clone() }, Vec::new, || page.clone())
    }
}

/// `fairway-task-add`
fn page_name(path: &[&str]) -> String {
    [&["fairway"], path].concat().join("-")
}

fn render(command: Command, name: &str) -> Result<String> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.name(name.to_owned())).render(&mut page).map_err(errors::internal)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn write_all(ctx: &Context, command: &Command, dir: &Path) -> Result<Exit> {
    let failed = |error: std::io::Error| Refusal::invalid("the directory", format!("{}: {error}", dir.display()));
    fs::create_dir_all(dir).map_err(failed)?;
    let mut files = Vec::new();
    for path in commands(command, &[]) {
        let about = if path.is_empty() { Some(command.clone()) } else { page::laid_out(command, &path, false) };
        let Some(about) = about else { continue };
        let name = page_name(&path);
        let file = format!("{name}.1");
        fs::write(dir.join(&file), render(about, &name)?).map_err(failed)?;
        files.push(file);
    }
    let line =
        format!("wrote {} pages to {}\n", files.len(), fairway_core::render::escape_line(&dir.to_string_lossy()));
    let document = ManPagesView { dir: dir.to_owned(), files: files.clone() };
    ctx.show(&document, || files.clone(), || line.clone())
}

/// The words of every command that is not hidden, the program's own empty ones first.
fn commands<'a>(command: &'a Command, path: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut found = vec![path.to_vec()];
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help") {
        found.extend(commands(below, &[path, &[below.get_name()]].concat()));
    }
    found
}
