//! The paths that the sandbox of a lane opens and closes, with the reasons.

use anyhow::Result;

use crate::App;
use crate::queue::lane::copies;
use crate::sessions::sandbox::openings::{self, Opening};
use crate::sessions::sandbox::run::{self, SandboxRequest};
use crate::sessions::sandbox::{lane, state};
use fairway_core::domain::rules::proxy_hosts::OpenHost;
use fairway_core::domain::rules::sandbox_command::Shown;
use fairway_core::domain::sandbox::{SandboxClass, SandboxNetwork};
use fairway_core::wire::{SandboxPathView, SandboxView};

/// Describes the sandbox that a request would get, with its paths in order. Makes no sandbox.
pub fn view(app: &App, request: &SandboxRequest) -> Result<SandboxView> {
    let place = lane::find(app, request.lane.as_ref())?;
    let agent = request.provider.as_ref().map(|provider| (provider, state::dir(&place.dir, provider)));
    let mut opened: Vec<Opening> = run::of_worktree(app, &place.worktree, agent, None)?;
    let in_force = openings::shown(&opened);
    opened.retain(|one| in_force.get(&one.path) == Some(&one.shown));
    opened.sort_by(|one, other| one.path.cmp(&other.path));
    opened.dedup_by(|one, other| one.path == other.path);
    let path = |one: Opening| SandboxPathView {
        path: one.path.display().to_string(),
        access: match one.shown {
            Shown::Empty | Shown::EmptyReadOnly | Shown::EmptyFile => "closed",
            Shown::ReadOnly(_) => "read",
            Shown::Writable(_) => "write",
        },
        why: one.why,
    };
    let class = request.class(app);
    let settings = app.settings.sandbox_of(request.provider.as_ref());
    let network = request.network.unwrap_or(settings.network_of(class));
    let prefix = match class {
        SandboxClass::Command => app.settings.sandbox.prefix.clone(),
        SandboxClass::Off | SandboxClass::Namespace => Vec::new(),
    };
    let hosts: &[OpenHost] = if network == SandboxNetwork::Proxy { &settings.hosts } else { &[] };
    Ok(SandboxView {
        lane: place.lane.to_string(),
        class: class.as_str(),
        prefix,
        network: network.as_str(),
        hosts: hosts.iter().map(ToString::to_string).collect(),
        env: settings.env,
        paths: opened.into_iter().map(path).collect(),
        copies: copies::paths(&place.worktree),
        setup_outside: app.settings.lanes.setup_outside && !app.settings.lanes.setup.is_empty(),
    })
}
