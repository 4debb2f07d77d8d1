//! Whether a sandbox can be made on this machine, and what to do where it cannot.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::App;
use fairway_core::domain::Refusal;
use fairway_core::domain::sandbox::{SandboxClass, SandboxNetwork};
use fairway_core::env::vars;
use fairway_core::os::bubblewrap::{Blocker, Bubblewrap, Unavailable};
use fairway_core::os::executable;
use fairway_core::os::packages::install_command;

/// Lets bubblewrap make user namespaces under AppArmor.
const APPARMOR_PROFILE: &str = "sudo tee /etc/apparmor.d/bwrap >/dev/null <<'EOF'\n\
    abi <abi/4.0>,\n\
    include <tunables/global>\n\
    profile bwrap /usr/bin/bwrap flags=(unconfined) {\n  userns,\n}\n\
    EOF\n\
    sudo systemctl reload apparmor";

#[derive(Debug, Clone)]
pub enum SandboxMaker {
    Bubblewrap(Bubblewrap),
    /// The first word of `sandbox.prefix`.
    Prefix(PathBuf),
}

/// Finds the program that makes sandboxes of this class. For the class `command` that is the configured one, which is not tried
/// out; for every other class, also for `off`, it is bubblewrap, which is tried out.
///
/// # Errors
/// `sandbox_unavailable`, with the fix.
pub fn require(app: &App, class: SandboxClass, network: SandboxNetwork) -> Result<SandboxMaker, Refusal> {
    match class {
        SandboxClass::Off | SandboxClass::Namespace => {
            Bubblewrap::find(app.env.vars()).map(SandboxMaker::Bubblewrap).map_err(|why| refusal(&why))
        }
        SandboxClass::Command => prefix_program(app, network).map(SandboxMaker::Prefix),
    }
}

/// Refuses `--network` for the class `command`, whose program decides on the network itself.
///
/// # Errors
/// `usage`.
pub fn check_network(class: SandboxClass, named: Option<SandboxNetwork>) -> Result<(), Refusal> {
    match named {
        Some(_) if class == SandboxClass::Command => Err(Refusal::Usage {
            why: "--network is for the class namespace: the program of the class command gives its own".into(),
        }),
        _ => Ok(()),
    }
}

fn prefix_program(app: &App, network: SandboxNetwork) -> Result<PathBuf, Refusal> {
    let unavailable = |why: String, hint: &str| Refusal::SandboxUnavailable { why, hint: hint.to_owned() };
    let Some(name) = app.settings.sandbox.prefix.first() else {
        let hint = "name the program below [sandbox], as in prefix = [\"sbx\", \"run\", \"--\"]: fairway config edit";
        return Err(unavailable("sandbox.prefix names no program for the class command".to_owned(), hint));
    };
    // A network that the caller asks for is never left out silently.
    if network == SandboxNetwork::Proxy {
        let hint = "take the class namespace, or leave sandbox.network out: fairway config edit";
        return Err(unavailable(
            "the class command has the network that its program gives, and no proxy".to_owned(),
            hint,
        ));
    }
    let path = app.env.var_os(vars::PATH).map(OsString::as_os_str);
    executable::find(name, path, &app.project.root).ok_or_else(|| {
        let why = format!("'{}', the first word of sandbox.prefix, is no program", name.escape_debug());
        unavailable(why, "install the program, or choose another class: fairway guide guard")
    })
}

fn refusal(why: &Unavailable) -> Refusal {
    let (why, hint) = match why {
        Unavailable::NotInstalled => {
            let install = install_command("bubblewrap");
            let install = install.unwrap_or_else(|| "with the package manager of this system".to_owned());
            ("bubblewrap is not installed".to_owned(), format!("install bubblewrap: {install}"))
        }
        Unavailable::TooOld { found, oldest } => (
            format!("bubblewrap {}.{} is too old: {}.{} or later is needed", found.0, found.1, oldest.0, oldest.1),
            "install a newer bubblewrap; Debian 12, Ubuntu 24.04 and Fedora 38 have one".to_owned(),
        ),
        Unavailable::Processor => (
            "the filter of system calls is known for x86_64 and aarch64 only".to_owned(),
            "run it on another machine, or without a sandbox".to_owned(),
        ),
        Unavailable::Closed { why, blocker } => (format!("bubblewrap fails: {why}"), fix(*blocker)),
    };
    Refusal::SandboxUnavailable { why, hint }
}

fn fix(blocker: Blocker) -> String {
    match blocker {
        Blocker::AppArmor => format!("let bubblewrap make user namespaces:\n{APPARMOR_PROFILE}"),
        Blocker::Sysctl(setting) => format!("allow user namespaces: sudo sysctl -w {setting}"),
        Blocker::Container => "start the container with user namespaces and its own /proc: docker run --security-opt \
             seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined IMAGE"
            .to_owned(),
        Blocker::Unknown => {
            "try it alone, and see what the kernel forbids: bwrap --unshare-all --ro-bind / / true".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_names_its_fix() {
        let said = |why: Unavailable| match refusal(&why) {
            Refusal::SandboxUnavailable { why, hint } => (why, hint),
            other => panic!("{other}"),
        };
        let closed = |blocker| said(Unavailable::Closed { why: "setting up uid map".into(), blocker });
        assert!(said(Unavailable::NotInstalled).1.contains("bubblewrap"));
        assert_eq!(
            said(Unavailable::TooOld { found: (0, 6), oldest: (0, 8) }).0,
            "bubblewrap 0.6 is too old: 0.8 or later is needed"
        );
        assert!(closed(Blocker::AppArmor).1.contains("profile bwrap /usr/bin/bwrap flags=(unconfined) {\n  userns,"));
        assert!(closed(Blocker::Container).1.contains("--security-opt systempaths=unconfined"));
        assert!(closed(Blocker::Sysctl("user.max_user_namespaces=15000")).1.contains("sudo sysctl -w user.max"));
        assert_eq!(closed(Blocker::Unknown).0, "bubblewrap fails: setting up uid map");
    }
}
