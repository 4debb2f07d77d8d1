//! The variables of a lane's programs: ten TCP ports of the lane's own, and `[lanes] env`. A worktree keeps its ports as long as it
//! exists; no other worktree of this user on this host has them, whatever its project.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{errors, trust};
use crate::App;
use fairway_core::config::PortRange;
use fairway_core::domain::Refusal;
use fairway_core::env::{Clock, vars};
use fairway_core::os::lock::FileLock;
use fairway_core::os::{files, listening};

/// How long another process may have the file of ports.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// How long a block is kept for a worktree that is not there yet.
const PLANNED_MILLIS: i64 = 60 * 60 * 1000;
/// The files by which `docker compose` finds its project.
const COMPOSE_FILES: [&str; 4] = ["compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"];

/// A block of ports of a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Block {
    worktree: PathBuf,
    /// When it was given to a worktree that was not there yet, in milliseconds of the epoch.
    planned: Option<i64>,
}

impl Block {
    /// Whether the worktree is there, or may still be made.
    fn is_used(&mut self, now: i64) -> bool {
        if self.worktree.exists() {
            self.planned = None;
            return true;
        }
        self.planned.is_some_and(|since| now - since < PLANNED_MILLIS)
    }
}

/// The blocks of all worktrees, by their first port.
type Blocks = BTreeMap<u16, Block>;

/// The variables of the programs that work in this worktree, beside those that every session has. Gives it ports if it has none.
///
/// # Errors
/// `untrusted`; `invalid_value` when every block of `[lanes] ports` is taken.
pub fn of_worktree(app: &App, lane: &str, worktree: &Path) -> Result<Vec<(String, String)>> {
    let settings = &app.settings.lanes;
    if !settings.env.is_empty() {
        trust::require(app)?;
    }
    let port = settings.ports.map(|range| allocate(app, range, worktree)).transpose()?.flatten();
    let port_text = port.map(|port| port.to_string());
    let mut all: Vec<(String, String)> =
        port_text.iter().map(|port| (vars::FAIRWAY_PORT.to_owned(), port.clone())).collect();
    let project = app.project.dir_name();
    if COMPOSE_FILES.iter().any(|file| worktree.join(file).exists())
        && !settings.env.contains_key(vars::COMPOSE_PROJECT_NAME)
    {
        all.push((vars::COMPOSE_PROJECT_NAME.to_owned(), compose_name(&format!("{project}-{lane}"))));
    }
    all.extend(settings.env.iter().map(|(name, value)| {
        let value = value.replace("{lane}", lane).replace("{project}", &project);
        (name.clone(), port_text.as_ref().map_or(value.clone(), |port| value.replace("{port}", port)))
    }));
    Ok(all)
}

/// The names of variables, for a sandbox that lets them in.
pub(crate) fn names(env: &[(String, String)]) -> Vec<String> {
    env.iter().map(|(name, _)| name.clone()).collect()
}

/// A command with the first port in place of `{port}`.
pub(crate) fn with_port(command: &str, env: &[(String, String)]) -> String {
    let port = env.iter().find(|(name, _)| name == vars::FAIRWAY_PORT);
    port.map_or_else(|| command.to_owned(), |(_, port)| command.replace("{port}", port))
}

/// The first port of each worktree of this user that has ports.
pub(crate) fn ports(app: &App) -> BTreeMap<PathBuf, u16> {
    let blocks = files_of(app).and_then(|(file, _)| read(&file).ok()).unwrap_or_default();
    blocks.into_iter().map(|(port, block)| (block.worktree, port)).collect()
}

/// The file of blocks and its lock; `None` without a home directory.
fn files_of(app: &App) -> Option<(PathBuf, PathBuf)> {
    let dir = app.env.state_dir()?;
    Some((dir.join("ports.json"), dir.join("ports.lock")))
}

fn read(file: &Path) -> io::Result<Blocks> {
    match fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Blocks::new()),
        Err(error) => Err(error),
    }
}

fn allocate(app: &App, range: PortRange, worktree: &Path) -> Result<Option<u16>> {
    if let Some(port) = ports(app).get(worktree) {
        return Ok(Some(*port));
    }
    let Some((file, lock)) = files_of(app) else { return Ok(None) };
    files::private_dir(file.parent().unwrap_or(&file))?;
    let Some(_held) = FileLock::acquire_within(&lock, LOCK_WAIT)? else {
        let by = "another command gives ports".to_owned();
        return Err(Refusal::InUse { noun: "file", id: file.display().to_string(), by }.into());
    };
    let now = Clock::System.now().millis();
    let mut blocks = read(&file).map_err(|error| {
        let file = file.display();
        let why = format!("{file} is no list of ports ({error}); remove it, and each lane gets other ports");
        Refusal::invalid("the file of ports", why)
    })?;
    blocks.retain(|_, block| block.is_used(now));
    if let Some((port, _)) = blocks.iter().find(|(_, block)| block.worktree == worktree) {
        return Ok(Some(*port));
    }
    let listening: BTreeSet<u16> = listening::tcp_ports();
    let is_free = |first: &u16| {
        !blocks.contains_key(first) && listening.range(*first..first.saturating_add(PortRange::BLOCK)).next().is_none()
    };
    let Some(port) = range.blocks().find(is_free) else {
        let why = format!("lanes.ports {range} has no free block of ten ports for {}", worktree.display());
        let hint =
            "free those of landed lanes: fairway lane prune --landed\nwiden the range: fairway config edit".into();
        return Err(Refusal::ArgumentMissing { why, hint }.into());
    };
    let planned = (!worktree.exists()).then_some(now);
    blocks.insert(port, Block { worktree: worktree.to_owned(), planned });
    files::write_atomic(&file, &serde_json::to_vec_pretty(&blocks).map_err(errors::internal)?, 0o600)?;
    Ok(Some(port))
}

/// A name as `docker compose` wants it: lower case letters, digits, `-` and `_`, beginning with a letter or digit.
fn compose_name(text: &str) -> String {
    let fits = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    let name: String = text.to_lowercase().chars().map(|one| if fits(one) { one } else { '-' }).collect();
    name.trim_start_matches(['-', '_']).to_owned()
}
