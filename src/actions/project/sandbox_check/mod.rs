//! Proof that a sandbox keeps programs in here and now: the same attempts outside, where they succeed, and inside, where they must
//! not. What counts is what is seen outside afterwards, not what the program says.

mod attempts;
mod needs;
mod probes;
mod reach;
mod targets;
mod world;

use std::{collections::BTreeMap, ffi::OsString};

use anyhow::Result;

use self::{
    needs::NEEDS,
    probes::{PROBES, Probe},
    targets::{Said, Targets},
    world::World,
};
use crate::{
    actions::{
        App,
        core::{errors, sandbox_availability},
        sessions::sandbox::{environment, openings},
    },
    config::SandboxSettings,
    domain::{
        rules::sandbox_mounts::{self, SandboxFacts},
        sandbox::SandboxNetwork,
    },
    os::{exec, executable, sandbox::Filter},
    wire::{SandboxCheckView, SandboxNeedView, SandboxProbeView},
};

/// The class of sandboxes that there is.
pub const NAMESPACE: &str = "namespace";

/// Tries every probe outside and inside a sandbox with this network.
///
/// # Errors
/// `sandbox_unavailable`; when the scratch directory or git fails.
pub fn check(app: &App, network: Option<SandboxNetwork>) -> Result<SandboxCheckView> {
    let network = network.unwrap_or(app.settings.sandbox.network);
    let bubblewrap = sandbox_availability::require(app.env.vars())?;
    let program = executable::current_executable().map_err(errors::internal)?;
    let words: Vec<OsString> = ["sandbox", "probe"].map(OsString::from).to_vec();

    let control = World::create(app)?;
    let said = control.run(&program, &words, &control.env)?;
    let outside = control.judge(&said);
    drop(control);

    let world = World::create(app)?;
    let settings =
        SandboxSettings { readable: vec![world.shared().display().to_string()], ..SandboxSettings::default() };
    let opened = world.surroundings(&settings, program.clone()).openings();
    exec::close_on_exec().map_err(errors::internal)?;
    let filter = Filter::new().map_err(errors::internal)?;
    let facts = SandboxFacts {
        shown: openings::shown(&opened),
        network,
        directory: world.targets.lane.clone(),
        filter: Some(filter.descriptor()),
    };
    let mut args = sandbox_mounts::arguments(&facts);
    args.push(program.into());
    args.extend(words);
    let env = environment::inside(&world.env, &[], Some(&world.runtime_dir()));
    let said = world.run(&bubblewrap.program, &args, &env)?;
    let inside = world.judge(&said);
    Ok(view(network, &outside, &inside, &said))
}

/// Makes every attempt, as the program that [`check`] starts.
pub fn attempt_all(text: &str, vars: &BTreeMap<OsString, OsString>) -> Result<String> {
    let targets = Targets { vars: vars.clone(), ..serde_json::from_str(text)? };
    let mut all = Vec::new();
    for need in NEEDS {
        let result = (need.attempt)(&targets).map(|()| String::new()).map_err(|error| error.to_string());
        all.push(Said { name: need.name.to_owned(), result });
    }
    for probe in PROBES {
        let result = (probe.attempt)(&targets).map_err(|error| error.to_string());
        all.push(Said { name: probe.name.to_owned(), result });
    }
    Ok(serde_json::to_string(&all)?)
}

fn view(
    network: SandboxNetwork,
    outside: &BTreeMap<&'static str, bool>,
    inside: &BTreeMap<&'static str, bool>,
    said: &[Said],
) -> SandboxCheckView {
    let why = |name: &str| said.iter().find(|one| one.name == name).and_then(|one| one.result.clone().err());
    let of_probe = |probe: &Probe| {
        let is_done = inside.get(probe.name).copied().unwrap_or(true);
        SandboxProbeView {
            name: probe.name.to_owned(),
            what: probe.what.to_owned(),
            outside: outside.get(probe.name).copied().unwrap_or(false),
            inside: is_done,
            why: if is_done {
                None
            } else {
                why(probe.name).or_else(|| Some("nothing of it is seen outside".to_owned()))
            },
            is_open: probe.opened_by_network && network == SandboxNetwork::Open,
        }
    };
    let probes: Vec<SandboxProbeView> = PROBES.iter().map(of_probe).collect();
    let of_need = |name: &str| {
        let why = if said.iter().any(|one| one.name == name) { why(name) } else { Some("it was not tried".to_owned()) };
        SandboxNeedView { name: name.to_owned(), works: why.is_none(), why }
    };
    let needs: Vec<SandboxNeedView> = NEEDS.iter().map(|need| of_need(need.name)).collect();
    let passed = probes.iter().all(|probe| !probe.inside || probe.is_open) && needs.iter().all(|need| need.works);
    SandboxCheckView { class: NAMESPACE, network: network.as_str(), passed, probes, needs }
}
