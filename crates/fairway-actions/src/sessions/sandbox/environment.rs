//! The environment of the programs in a sandbox: variables that every program needs, those that identify the session, and those
//! that the configuration names. Credentials in the person's environment stay outside.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use fairway_core::domain::sandbox::SandboxClass;
use fairway_core::env::vars;

/// Variables of the terminal, the language, the user and the toolchains.
const USUAL: &[&str] = &[
    vars::PATH,
    vars::HOME,
    vars::SHELL,
    vars::TERM,
    vars::COLUMNS,
    vars::LINES,
    vars::NO_COLOR,
    vars::VISUAL,
    vars::EDITOR,
    vars::VTE_VERSION,
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "COLORTERM",
    "TERM_PROGRAM",
    "PAGER",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
];

/// Variables of a session that mean nothing inside, or that are for its backend.
const OUTSIDE: &[&str] =
    &[vars::FAIRWAY_SOCKET, vars::FAIRWAY_PORT_FILE, vars::FAIRWAY_TOKEN_FILE, vars::FAIRWAY_TRANSCRIPT];

/// The environment inside the sandbox, chosen from the person's `vars`. `named` are the variables that the configuration lets
/// through.
pub fn inside(
    vars: &BTreeMap<OsString, OsString>,
    named: &[String],
    runtime_dir: Option<&Path>,
    class: SandboxClass,
) -> BTreeMap<OsString, OsString> {
    let is_kept = |name: &OsStr| {
        let Some(name) = name.to_str() else { return false };
        USUAL.contains(&name)
            || name.starts_with("LC_")
            || vars::SESSION_IDENTITY.contains(&name) && !OUTSIDE.contains(&name)
            || named.iter().any(|named| named == name)
    };
    let kept = vars.iter().filter(|(name, _)| is_kept(name));
    let mut all: BTreeMap<OsString, OsString> = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    all.insert(vars::TMPDIR.into(), "/tmp".into());
    if let Some(dir) = runtime_dir {
        all.insert(vars::XDG_RUNTIME_DIR.into(), dir.into());
    }
    all.insert(vars::FAIRWAY_SANDBOX.into(), class.as_str().into());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_stay_outside_unless_they_are_named() {
        let given = ["PATH", "LC_ALL", "FAIRWAY_SESSION_ID", "FAIRWAY_TOKEN_FILE", "API_KEY", "SSH_AUTH_SOCK", "NAMED"];
        let vars = given.iter().map(|name| ((*name).into(), "x".into())).collect();
        let all = inside(&vars, &["NAMED".to_owned()], Some(Path::new("/run/user/7")), SandboxClass::Namespace);
        let names: Vec<&str> = all.keys().map(|name| name.to_str().unwrap()).collect();
        assert_eq!(
            names,
            ["FAIRWAY_SANDBOX", "FAIRWAY_SESSION_ID", "LC_ALL", "NAMED", "PATH", "TMPDIR", "XDG_RUNTIME_DIR"]
        );
    }
}
