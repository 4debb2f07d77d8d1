//! Proof that a sandbox confines programs on this host: the same attempts outside, where they succeed, and inside, where they
//! must fail. The result is judged by its effects outside, not by the output of the program.

mod attempts;
mod hosts;
mod probes;
mod reach;
mod required_actions;
mod targets;
mod temporary_project;

use std::collections::BTreeMap;
use std::ffi::OsString;

use anyhow::Result;

use self::probes::{PROBES, Probe};
use self::required_actions::{NEEDS, Need};
use self::targets::{Said, Targets};
use self::temporary_project::World;
use crate::App;
use crate::core::sandbox_availability::{self, SandboxMaker};
use crate::core::{errors, trust};
use crate::sessions::sandbox::environment;
use crate::sessions::sandbox::openings::{self, Opening};
use crate::sessions::sandbox::run::{forward_words, prefix_words};
use fairway_core::config::SandboxSettings;
use fairway_core::domain::rules::sandbox_command::{self, SandboxFacts};
use fairway_core::domain::sandbox::{SandboxClass, SandboxNetwork};
use fairway_core::os::bubblewrap::Bubblewrap;
use fairway_core::os::syscall_filter::SyscallFilter;
use fairway_core::os::{exec, executable};
use fairway_core::wire::{SandboxCheckView, SandboxNeedView, SandboxProbeView};

/// Checks what a sandbox of this class and network prevents: makes every attempt outside of it, as a control, and then inside.
/// `None` means the configured class or network; the class `off` counts as `namespace`.
///
/// # Errors
/// `sandbox_unavailable`; `untrusted`; `usage` for a network that the class would ignore.
pub fn check(app: &App, class: Option<SandboxClass>, network: Option<SandboxNetwork>) -> Result<SandboxCheckView> {
    let class = match class.unwrap_or(app.settings.sandbox.class) {
        SandboxClass::Off => SandboxClass::Namespace,
        class => class,
    };
    sandbox_availability::check_network(class, network)?;
    let network = network.unwrap_or(app.settings.sandbox.network_of(class));
    // The program of a command is one that a project names.
    if class == SandboxClass::Command {
        trust::require(app)?;
    }
    let maker = sandbox_availability::require(app, class, network)?;
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
    let env = environment::inside(&world.env, &[], Some(&world.runtime_dir()), class);
    exec::close_on_exec().map_err(errors::internal)?;
    let said = match &maker {
        SandboxMaker::Bubblewrap(bubblewrap) => {
            in_namespaces(&world, bubblewrap, opened, network, &[vec![program.into()], words].concat(), &env)?
        }
        SandboxMaker::Prefix(maker) => {
            let prefix = prefix_words(&app.settings.sandbox.prefix, &world.targets.lane, &opened, &env);
            let args = [prefix.into_iter().skip(1).collect(), vec![program.into()], words].concat();
            world.run(maker, &args, &env)?
        }
    };
    let inside = world.judge(&said);
    Ok(view(class, network, &outside, &inside, &said))
}

fn in_namespaces(
    world: &World,
    bubblewrap: &Bubblewrap,
    mut opened: Vec<Opening>,
    network: SandboxNetwork,
    words: &[OsString],
    env: &BTreeMap<OsString, OsString>,
) -> Result<Vec<Said>> {
    if network == SandboxNetwork::Proxy {
        opened.push(world.open_proxy()?);
    }
    let filter = SyscallFilter::new().map_err(errors::internal)?;
    let facts = SandboxFacts {
        shown: openings::shown(&opened),
        network,
        directory: world.targets.lane.clone(),
        filter: Some(filter.descriptor()),
    };
    let mut args = sandbox_command::arguments(&facts);
    if network == SandboxNetwork::Proxy {
        args.extend(forward_words(&executable::current_executable().map_err(errors::internal)?));
    }
    args.extend(words.iter().cloned());
    world.run(&bubblewrap.program, &args, env)
}

/// Makes every attempt; runs in the program that [`check`] starts. `text` is the JSON of the targets, and the result is the
/// JSON list of what each attempt reports.
pub fn attempt_all(text: &str, vars: &BTreeMap<OsString, OsString>) -> Result<String> {
    let targets = Targets { vars: vars.clone(), ..serde_json::from_str(text)? };
    let mut all = Vec::new();
    for need in NEEDS.iter().filter(|need| !need.of_proxy || hosts::proxy(&targets).is_some()) {
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
    class: SandboxClass,
    network: SandboxNetwork,
    outside: &BTreeMap<&'static str, bool>,
    inside: &BTreeMap<&'static str, bool>,
    said: &[Said],
) -> SandboxCheckView {
    let is_open = class == SandboxClass::Namespace && network == SandboxNetwork::Open;
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
            is_open: probe.opened_by_network && is_open,
        }
    };
    let probes: Vec<SandboxProbeView> = PROBES.iter().map(of_probe).collect();
    let of_need = |name: &str| {
        let why = if said.iter().any(|one| one.name == name) { why(name) } else { Some("it was not tried".to_owned()) };
        SandboxNeedView { name: name.to_owned(), works: why.is_none(), why }
    };
    let is_for = |need: &&Need| !need.of_proxy || network == SandboxNetwork::Proxy;
    let needs: Vec<SandboxNeedView> = NEEDS.iter().filter(is_for).map(|need| of_need(need.name)).collect();
    let passed = probes.iter().all(|probe| !probe.inside || probe.is_open) && needs.iter().all(|need| need.works);
    SandboxCheckView { class: class.as_str(), network: network.as_str(), passed, probes, needs }
}
