//! The state of an agent in the sandboxes of a lane. It is the lane's own, beside the sandbox's repository: nothing in the home can be
//! written from inside but the file of the agent's login.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::App;
use fairway_core::config::ProviderState;
use fairway_core::domain::id::Label;
use fairway_core::os::files::{private_dir, write_atomic};

/// The name of the directory in which each agent has one.
const DIR: &str = "state";

/// The directory that has the agent's state instead of the home. `lane_dir` is the one with the sandbox's own files.
pub fn dir(lane_dir: &Path, provider: &Label) -> PathBuf {
    lane_dir.join(DIR).join(provider.as_str())
}

/// Where a file is that an agent in the lane's sandbox names by its path in the home. A path that exists in the home stays.
pub fn outside(app: &App, provider: &Label, path: &Path) -> PathBuf {
    let own = || {
        let below = path.strip_prefix(app.env.home.as_deref()?).ok()?;
        Some(dir(&app.project.sandbox_dir(app.actor.lane.as_ref()?), provider).join(below))
    };
    if path.exists() { path.to_path_buf() } else { own().unwrap_or_else(|| path.to_path_buf()) }
}

/// Fills the directory of an agent's state before its program starts. What the agent has written there in earlier sandboxes of the
/// lane stays, but for files that are copied from the home each time.
pub fn prepare(dir: &Path, home: &Path, state: &ProviderState) -> io::Result<()> {
    private_dir(dir)?;
    for name in &state.directories {
        fs::create_dir_all(dir.join(name))?;
    }
    // Bubblewrap would follow a link that a program inside has put in the place of a mount.
    for name in state.read_only.iter().chain(&state.login) {
        let place = dir.join(name);
        if place.is_symlink() {
            fs::remove_file(place)?;
        }
    }
    for name in &state.files {
        let own = dir.join(name);
        match fs::read(home.join(name)) {
            Ok(text) => write_atomic(&own, &text, 0o600)?,
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(_) if own.is_file() => {}
            Err(_) => write_atomic(&own, b"{}\n", 0o600)?,
        }
    }
    for name in &state.copied {
        if dir.join(name).symlink_metadata().is_err() {
            copy(&home.join(name), &dir.join(name))?;
        }
    }
    Ok(())
}

/// Copies a file, a link or a directory with what is in it. What is not there is left out, and so are sockets and their like.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let Ok(found) = from.symlink_metadata() else { return Ok(()) };
    if found.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if found.is_file() {
        return fs::copy(from, to).map(drop);
    }
    if found.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            copy(&from.join(&name), &to.join(name))?;
        }
    }
    Ok(())
}
