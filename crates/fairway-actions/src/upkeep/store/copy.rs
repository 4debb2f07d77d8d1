//! Moving the store between the project's file and a server.

use anyhow::Result;

use super::config;
#[cfg(feature = "postgres")]
use crate::core::open_store;
use crate::{Answer, App};
use fairway_core::domain::Refusal;
#[cfg(feature = "postgres")]
use fairway_core::domain::plural;
#[cfg(feature = "postgres")]
use fairway_core::os::host;
#[cfg(feature = "postgres")]
use fairway_core::store::StoreAddress;
#[cfg(not(feature = "postgres"))]
use fairway_core::store::StoreError;
#[cfg(feature = "postgres")]
use fairway_core::store::copy::{CopyReport, CopyRequest};
#[cfg(feature = "postgres")]
use fairway_core::wire::StoreCopyView;
#[cfg(feature = "postgres")]
use std::path::PathBuf;

/// The target of a copy to the project's file.
pub const FILE_TARGET: &str = "sqlite";

/// Moves the store to a server, or with [`FILE_TARGET`] from the server to the project's file.
///
/// # Errors
/// `no_postgres`, `password_in_arguments`, `store_address`, `store_not_empty`; errors of the stores.
pub fn copy(app: &App, target: &str) -> Result<Answer> {
    if target != FILE_TARGET {
        config::check_argument(target)?;
    }
    run(app, target)
}

#[cfg(not(feature = "postgres"))]
fn run(app: &App, _: &str) -> Result<Answer> {
    if app.settings.store.is_on_server() { Err(StoreError::NoPostgres.into()) } else { Err(is_in_file()) }
}

fn is_in_file() -> anyhow::Error {
    Refusal::Usage { why: "the store is in the project's file already".into() }.into()
}

#[cfg(feature = "postgres")]
fn run(app: &App, target: &str) -> Result<Answer> {
    let usage = |why: String| anyhow::Error::from(Refusal::Usage { why });
    let source = open_store::address(&app.env, &app.settings.store)?;
    let address = match (&source, target) {
        (Some(address), FILE_TARGET) => address.clone(),
        (None, FILE_TARGET) => return Err(is_in_file()),
        (Some(address), _) => return Err(usage(format!("the store is on a server already, at {address}"))),
        (None, url) => StoreAddress::parse(url)?.with_password_of(&app.env),
    };
    let (project, outside) = (&app.project, app.project.outside_dir());
    if source.is_none() && !project.store.exists() {
        return Err(Refusal::not_found("store", project.store.display().to_string()).into());
    }
    let runtime = project.runtime_dir();
    let local = host::identity_to_record();
    let request = CopyRequest {
        root: &project.root,
        file: &project.store,
        runtime: &runtime,
        outside: outside.as_deref(),
        address: &address,
        clock: app.env.clock,
        now: app.env.now(),
        actor: &app.actor.name,
        host: (&local.name, local.id.as_deref()),
    };
    let mut changed = Vec::new();
    let mut point = |to_server: bool| -> Result<()> {
        changed = if to_server {
            config::point_to_server(&app.env, project, target)?
        } else {
            config::point_to_file(&app.env, project)?
        };
        Ok(())
    };
    let (report, from, to) = if source.is_none() {
        (request.to_server(|| point(true))?, project.store.display().to_string(), address.to_string())
    } else {
        (request.to_file(|| point(false))?, address.to_string(), project.store.display().to_string())
    };
    let answer = answer(&report, &from, &to, &changed)?;
    Ok(if source.is_some() && app.env.var(fairway_core::env::vars::FAIRWAY_STORE_URL).is_some() {
        answer.note("FAIRWAY_STORE_URL still names the server, and it goes first: unset it")
    } else {
        answer
    })
}

#[cfg(feature = "postgres")]
fn answer(report: &CopyReport, from: &str, to: &str, changed: &[PathBuf]) -> Result<Answer> {
    let document = StoreCopyView {
        from: from.to_owned(),
        to: to.to_owned(),
        tasks: report.tasks,
        rows: report.rows,
        epoch: report.epoch,
        left: report.left.clone(),
        changed: changed.to_vec(),
    };
    let line = format!("moved {} ({} rows) from {from} to {to}", plural::count(report.tasks, "task"), report.rows);
    let answer = Answer::new(&document, to, line)?
        .note(format!("the store that was left is kept as {}", report.left))
        .note(format!("claims now have epoch {}; older epochs are invalid", report.epoch));
    Ok(if changed.is_empty() {
        answer
    } else {
        let names: Vec<String> = changed.iter().map(|path| path.display().to_string()).collect();
        answer.note(format!("changed: {}", names.join(", ")))
    })
}
