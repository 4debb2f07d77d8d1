//! The sandbox of a launch: its class, and the program that wraps the session's own.

use std::collections::BTreeMap;

use anyhow::Result;

use super::request::LaunchRequest;
use crate::App;
use crate::core::{errors, sandbox_availability};
use crate::sessions::sandbox::lane as sandbox_lane;
use fairway_core::config::{RoleSettings, SandboxSettings};
use fairway_core::domain::Refusal;
use fairway_core::domain::id::Label;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::rules::initial_prompt::{PROMPT_VAR, Program};
use fairway_core::domain::rules::proxy_hosts;
use fairway_core::domain::sandbox::{SandboxClass, SandboxNetwork};
use fairway_core::domain::session::Session;
use fairway_core::os::executable;

/// The lane and the provider of a launch.
pub(super) struct SandboxedWork<'a> {
    pub lane: Option<&'a Lane>,
    pub provider: &'a Label,
    /// Whether the lane's worktree is made later.
    pub is_planned: bool,
    pub class: SandboxClass,
    pub network: SandboxNetwork,
}

/// The sandbox class of a launch: the requested one, else the role's, else the configured one, and at least that of the lane.
///
/// # Errors
/// `sandbox_required` when the requested class is weaker than the lane's.
pub(super) fn class(
    app: &App,
    request: &LaunchRequest,
    role: &RoleSettings,
    lane: Option<&Lane>,
) -> Result<SandboxClass, Refusal> {
    let Some(lane) = lane else { return Ok(chosen(app, request, role)) };
    match request.sandbox {
        Some(asked) if !asked.satisfies(lane.sandbox) => {
            Err(Refusal::SandboxRequired { lane: lane.name.clone(), least: lane.sandbox, asked })
        }
        _ => Ok(chosen(app, request, role).at_least(lane.sandbox)),
    }
}

fn chosen(app: &App, request: &LaunchRequest, role: &RoleSettings) -> SandboxClass {
    request.sandbox.or(role.sandbox).unwrap_or(app.settings.sandbox.class)
}

/// The sandbox class when a launch continues a session: the session's class, raised to that of its lane when the lane's is
/// stricter now. `None` when the session has no recorded class.
pub(crate) fn of_session(session: &Session, lane: Option<&Lane>) -> Option<SandboxClass> {
    session.sandbox.map(|class| class.at_least(lane.map(|lane| lane.sandbox).unwrap_or_default()))
}

/// Checks that this host can make the sandbox for the lane. Without it there is no launch.
///
/// # Errors
/// `sandbox_unavailable`; `no_worktree` without a lane; `usage` for another worktree than the lane's.
pub(super) fn check(app: &App, request: &LaunchRequest, work: &SandboxedWork<'_>) -> Result<()> {
    sandbox_availability::require(app, work.class, work.network)?;
    let Some(lane) = work.lane else {
        return Err(Refusal::SandboxWithoutLane { directory: "this session".to_owned() }.into());
    };
    if request.worktree.is_some() {
        return Err(Refusal::Usage {
            why: "a sandbox is for the worktree of a lane; --worktree names another one".into(),
        }
        .into());
    }
    if !work.is_planned {
        sandbox_lane::find(app, Some(&lane.name))?;
    }
    Ok(())
}

/// One line about what the sandbox opens to the session's program.
pub(super) fn opened(app: &App, work: &SandboxedWork<'_>, settings: &SandboxSettings) -> String {
    let reach = match work.class {
        SandboxClass::Command => "its program decides what is open".to_owned(),
        SandboxClass::Off | SandboxClass::Namespace => proxy_hosts::reach(work.network, &settings.hosts),
    };
    let set = settings.env.iter().filter(|name| app.env.var_os(name).is_some());
    let names: Vec<&str> = set.map(String::as_str).collect();
    let variables = if names.is_empty() { String::new() } else { format!("; with the variables {}", names.join(", ")) };
    let lane = work.lane.map(|lane| lane.name.to_string()).unwrap_or_default();
    let see = format!("fairway sandbox explain {lane} --class {} --provider {}", work.class.as_str(), work.provider);
    format!("sandbox {}: {reach}{variables}; everything: {see}", work.class.as_str())
}

/// Wraps the program in a call of `fairway sandbox run`. `env` are the variables that the configuration and the request set;
/// the sandbox lets them through.
pub(super) fn wrap(
    app: &App,
    program: Program,
    work: &SandboxedWork<'_>,
    env: &BTreeMap<String, String>,
) -> Result<Program> {
    let own = executable::current_executable().map_err(errors::internal)?;
    let text = |path: &std::path::Path| {
        path.to_str().map(str::to_owned).ok_or_else(|| Refusal::invalid("the project's root", "is not valid UTF-8"))
    };
    let lane = work.lane.map(|lane| lane.name.to_string()).unwrap_or_default();
    let mut argv = vec![text(&own)?, "--root".into(), text(&app.project.root)?];
    argv.extend(["sandbox", "run", "--lane"].map(str::to_owned));
    argv.extend([lane, "--provider".into(), work.provider.to_string()]);
    argv.extend(["--class", work.class.as_str()].map(str::to_owned));
    if work.class == SandboxClass::Namespace {
        argv.extend(["--network", work.network.as_str()].map(str::to_owned));
    }
    let names = env.iter().filter(|(_, value)| !value.is_empty()).map(|(name, _)| name.as_str());
    for name in names.chain([PROMPT_VAR]) {
        argv.extend(["--env".to_owned(), name.to_owned()]);
    }
    argv.push("--".into());
    match program.argv {
        Some(own) => argv.extend(own),
        None => argv.extend(["/bin/sh".into(), "-c".into(), program.shell_text]),
    }
    Ok(Program { shell_text: shell_words::join(&argv), argv: Some(argv) })
}
