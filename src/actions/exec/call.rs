//! One JSON document in, one out: the door of programs to background runs.

use std::{ffi::OsString, path::PathBuf};

use anyhow::Result;

use super::direct;
use crate::{
    actions::{Answer, App},
    wire::call::{self, Call, Words},
};

/// Does what a document asks for and answers with another.
///
/// # Errors
/// `usage` naming the place in the document, and whatever the action refuses.
pub fn call(app: &App, text: &str) -> Result<Answer> {
    match call::read(text)? {
        Call::Direct { what, timeout, cwd } => {
            let order = direct::Order { argv: argv(what), cwd: cwd.map(PathBuf::from), timeout };
            document(&direct::run(app, &order)?)
        }
        _ => Err(crate::domain::Refusal::Usage { why: "this action does not work yet".into() }.into()),
    }
}

fn document(view: &impl serde::Serialize) -> Result<Answer> {
    Ok(Answer { ids: Vec::new(), ..Answer::new(view, "", "")? })
}

fn argv(what: Words) -> Vec<OsString> {
    match what {
        Words::Shell(text) => vec!["/bin/sh".into(), "-c".into(), text.into()],
        Words::Program(argv) => argv.into_iter().map(OsString::from).collect(),
    }
}
