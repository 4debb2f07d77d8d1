//! The canonical form of a command line, for the fingerprint behind `--request-id`.
//!
//! It is made of the words that a user types, not of Rust names: the path of the command, each flag by its long name, each
//! positional argument by its place, and their values. The order of flags, the spelling by an alias, defaults and the
//! global options do not matter.

use std::time::Duration;

use clap::{Arg, ArgMatches, Command};
use sha2::{Digest, Sha256};

/// A command and the digest of its arguments.
#[derive(Debug, Clone)]
pub struct Canonical {
    /// The command's path without the program, as `task add`.
    pub path: String,
    /// The digest of its arguments.
    pub digest: Sha256,
}

/// Shortcuts and the paths that they stand for.
const SHORTCUTS: &[(&str, &str)] =
    &[("done", "task done"), ("task claim", "claim"), ("task release", "release"), ("task merge-check", "merge-ready")];

/// Builds the canonical form of a parsed command line, without the global options. A shortcut has the canonical form of the
/// command that it stands for.
pub fn canonical(command: &Command, matches: &ArgMatches) -> Canonical {
    let (mut command, mut matches) = (command, matches);
    let mut path = Vec::new();
    while let Some((name, below)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name) else { break };
        (command, matches) = (found, below);
        path.push(name);
    }
    let path = path.join(" ");
    let path = SHORTCUTS.iter().find(|(short, _)| *short == path).map_or(path.clone(), |(_, long)| (*long).to_owned());

    let mut args: Vec<(String, Vec<Vec<u8>>)> = command
        .get_arguments()
        .filter(|arg| !arg.is_global_set())
        .filter_map(|arg| Some((name(command, arg), values(arg, matches)?)))
        .collect();
    args.sort();
    let mut digest = Sha256::new();
    piece(&mut digest, path.as_bytes());
    for (name, values) in &args {
        piece(&mut digest, name.as_bytes());
        digest.update((values.len() as u64).to_le_bytes());
        for value in values {
            piece(&mut digest, value);
        }
    }
    Canonical { path, digest }
}

/// A flag's long name; a positional argument's place.
fn name(command: &Command, arg: &Arg) -> String {
    match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => {
            let place = command.get_positionals().position(|other| other.get_id() == arg.get_id());
            format!("<{}>", place.unwrap_or_default() + 1)
        }
    }
}

/// The given values; `None` for an argument that is absent or has its default.
fn values(arg: &Arg, matches: &ArgMatches) -> Option<Vec<Vec<u8>>> {
    let id = arg.get_id().as_str();
    let raw = matches.try_get_raw(id).ok()??;
    if raw.clone().eq(arg.get_default_values().iter().map(clap::builder::OsStr::as_os_str)) {
        return None;
    }
    if !arg.get_action().takes_values() {
        // A switch that is off has no other trace than its default.
        return matches.try_get_one::<bool>(id).ok().flatten().is_none_or(|on| *on).then(Vec::new);
    }
    // Two spellings of one duration or number are one value.
    if let Ok(Some(spans)) = matches.try_get_many::<Duration>(id) {
        return Some(spans.map(|span| span.as_nanos().to_string().into_bytes()).collect());
    }
    if let Ok(Some(numbers)) = matches.try_get_many::<i64>(id) {
        return Some(numbers.map(|number| number.to_string().into_bytes()).collect());
    }
    // A reader may have normalised a text: the digits of a commit.
    if let Ok(Some(texts)) = matches.try_get_many::<String>(id) {
        return Some(texts.map(|text| text.clone().into_bytes()).collect());
    }
    Some(raw.map(|value| value.as_encoded_bytes().to_vec()).collect())
}

/// One piece of the digest. Its length goes first, so that two lists never look the same.
fn piece(digest: &mut Sha256, bytes: &[u8]) {
    digest.update((bytes.len() as u64).to_le_bytes());
    digest.update(bytes);
}
