//! The programs that git starts to reach a remote. Those of the user's own configuration, of the machine's and of the environment
//! run. Those that the repository names do not: an agent in one of its worktrees can write there.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use super::command::{Git, GitError};
use super::own_configuration::Entry;

/// The settings that name such programs, or permit remotes that are programs.
const PROGRAMS: &str = r"^(core\.(sshcommand|gitproxy|askpass|alternaterefscommand)|credential\.(.*\.)?helper|remote\..*\.(uploadpack|receivepack)|push\.gpgsign|protocol\.(.*\.)?allow)$";

/// The settings that have a single value, each with git's default.
const SINGLE: [(&str, &str); 4] =
    [("core.sshcommand", "ssh"), ("core.askpass", ""), ("core.alternaterefscommand", ""), ("push.gpgsign", "false")];

/// The protocols that start no program of the repository's choice, unlike `ext::COMMAND`.
const PROTOCOLS: [&str; 5] = ["file", "git", "http", "https", "ssh"];

/// The programs for git to start instead of those that the repository names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NetworkPrograms {
    vars: Vec<(String, OsString)>,
    /// The programs on the other side by the names of their settings, where the repository has such a setting.
    remote: BTreeMap<String, String>,
}

impl NetworkPrograms {
    /// The environment variables that a call of git needs, so that it starts these programs.
    pub(super) fn vars(&self) -> Vec<(&str, &OsStr)> {
        self.vars.iter().map(|(name, value)| (&**name, &**value)).collect()
    }

    /// Whether the repository's configuration names a program on the other side of a fetch.
    pub(super) fn names_upload_pack(&self) -> bool {
        self.remote.keys().any(|name| name.ends_with(".uploadpack"))
    }

    /// The option of a fetch (`upload-pack`) or of a push (`receive-pack`) with the user's own program or git's default. `None` unless
    /// the repository's configuration names another program.
    pub(super) fn option(&self, name: &str, remote: &str) -> Option<String> {
        let program = self.remote.get(&format!("remote.{remote}.{}", name.replace('-', "")))?;
        Some(format!("--{name}={program}"))
    }

    fn new(listed: &[Entry], env: &BTreeMap<OsString, OsString>) -> Self {
        let var = |name: &str| env.get(OsStr::new(name)).cloned();
        let is_foreign = |is_it: &dyn Fn(&str) -> bool| listed.iter().any(|one| !one.is_own() && is_it(&one.name));
        let own = |name: &str| listed.iter().rfind(|one| one.is_own() && one.name == name).map(|one| one.value.clone());
        let mut settings: Vec<(String, String)> = Vec::new();
        for (name, default) in SINGLE {
            if is_foreign(&|other| other == name) {
                settings.push((name.to_owned(), own(name).unwrap_or_else(|| default.to_owned())));
            }
        }
        let is_helper = |name: &str| name.starts_with("credential.");
        if is_foreign(&is_helper) {
            // An empty one drops all before it, also those for one address.
            settings.push(("credential.helper".to_owned(), String::new()));
            let helpers = listed.iter().filter(|one| one.is_own() && is_helper(&one.name));
            settings.extend(helpers.map(|one| (one.name.clone(), one.value.clone())));
        }
        // Values may hold secrets, so they are no arguments. Those of the caller come first.
        let before: usize = var("GIT_CONFIG_COUNT").and_then(|count| count.to_str()?.parse().ok()).unwrap_or_default();
        let mut vars: Vec<(String, OsString)> = Vec::new();
        for (number, (name, value)) in settings.into_iter().enumerate() {
            let number = before.saturating_add(number);
            vars.push((format!("GIT_CONFIG_KEY_{number}"), name.into()));
            vars.push((format!("GIT_CONFIG_VALUE_{number}"), value.into()));
            vars.push(("GIT_CONFIG_COUNT".to_owned(), number.saturating_add(1).to_string().into()));
        }
        if is_foreign(&|name| name == "core.gitproxy") {
            // Before every setting; an empty one is none.
            vars.push(("GIT_PROXY_COMMAND".to_owned(), var("GIT_PROXY_COMMAND").unwrap_or_default()));
        }
        let allowed = var("GIT_ALLOW_PROTOCOL").unwrap_or_else(|| protocols(listed).into());
        vars.push(("GIT_ALLOW_PROTOCOL".to_owned(), allowed));
        vars.extend(no_question(env).map(|(name, value)| (name.to_owned(), value)));
        let pack = |one: &Entry| {
            let kind = one.name.rsplit('.').next().filter(|_| one.name.starts_with("remote.") && !one.is_own())?;
            let default = if kind == "uploadpack" { "git-upload-pack" } else { "git-receive-pack" };
            Some((one.name.clone(), own(&one.name).unwrap_or_else(|| default.to_owned())))
        };
        Self { vars, remote: listed.iter().filter_map(pack).collect() }
    }
}

/// The variables that keep the programs of SSH from a question at the terminal, which would stop a program in the background. A
/// program that the caller has for questions is asked.
pub(super) fn no_question(env: &BTreeMap<OsString, OsString>) -> impl Iterator<Item = (&'static str, OsString)> {
    let var = |name: &str| env.get(OsStr::new(name)).cloned();
    let program = var("SSH_ASKPASS").unwrap_or_else(|| "false".into());
    let is_decided = var("SSH_ASKPASS_REQUIRE").is_some();
    [("SSH_ASKPASS_REQUIRE", "force".into()), ("SSH_ASKPASS", program)].into_iter().filter(move |_| !is_decided)
}

/// The protocols that are permitted: [`PROTOCOLS`], as the caller's own settings change them.
fn protocols(listed: &[Entry]) -> String {
    let own = |name: &str| listed.iter().rfind(|one| one.is_own() && one.name == name).map(|one| &*one.value);
    let is_on = |name: &&str| match own(&format!("protocol.{name}.allow")) {
        Some(value) => value != "never",
        None => own("protocol.allow") != Some("never"),
    };
    let mut names: Vec<&str> = PROTOCOLS.into_iter().filter(is_on).collect();
    let always = listed.iter().filter(|one| one.is_own() && one.value == "always");
    let more = always.filter_map(|one| one.name.strip_prefix("protocol.")?.strip_suffix(".allow"));
    names.extend(more.filter(|name| !PROTOCOLS.contains(name)));
    names.join(":")
}

impl Git<'_> {
    /// Finds the programs that git must start to reach a remote. Those that only the repository's configuration names are
    /// replaced.
    pub(super) fn network_programs(&self) -> Result<NetworkPrograms, GitError> {
        Ok(NetworkPrograms::new(&self.config_entries(PROGRAMS)?, self.vars()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::git::own_configuration::entries;

    fn programs(listed: &str, env: &[(&str, &str)]) -> NetworkPrograms {
        let env = env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        NetworkPrograms::new(&entries(listed), &env)
    }

    fn value(programs: &NetworkPrograms, name: &str) -> Option<String> {
        programs.vars.iter().rfind(|(other, _)| other == name).map(|(_, value)| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn programs_of_the_repository_give_way_to_those_of_the_user() {
        let listed = "global\0core.sshcommand\nssh -i own\0local\0core.sshcommand\nevil\0worktree\0core.askpass\nevil\0\
                      global\0credential.helper\nown 1\0global\0credential.https://h.helper\nown 2\0\
                      local\0credential.https://h.helper\nevil\0local\0remote.origin.uploadpack\nevil\0\
                      local\0remote.origin.receivepack\nevil\0global\0remote.origin.receivepack\nmine\0\
                      local\0core.gitproxy\nevil\0";
        let found = programs(listed, &[("GIT_CONFIG_COUNT", "2")]);
        let count: usize = value(&found, "GIT_CONFIG_COUNT").unwrap().parse().unwrap();
        let setting = |number: usize| {
            let of = |what: &str| value(&found, &format!("GIT_CONFIG_{what}_{number}")).unwrap();
            format!("{}={}", of("KEY"), of("VALUE"))
        };
        let settings: Vec<String> = (2..count).map(setting).collect();
        let expected = [
            "core.sshcommand=ssh -i own",
            "core.askpass=",
            "credential.helper=",
            "credential.helper=own 1",
            "credential.https://h.helper=own 2",
        ];
        assert_eq!(settings, expected);
        assert_eq!(value(&found, "GIT_PROXY_COMMAND").as_deref(), Some(""));
        assert_eq!(found.option("upload-pack", "origin").as_deref(), Some("--upload-pack=git-upload-pack"));
        assert_eq!(found.option("receive-pack", "origin").as_deref(), Some("--receive-pack=mine"));
        assert_eq!(found.option("upload-pack", "other"), None);
        // The user's own alone are left as they are.
        let found = programs("global\0credential.helper\nown\0global\0core.sshcommand\nown\0", &[]);
        assert_eq!(value(&found, "GIT_CONFIG_COUNT"), None);
    }

    #[test]
    fn repository_permits_no_protocol() {
        let allowed = |listed: &str, env: &[(&str, &str)]| value(&programs(listed, env), "GIT_ALLOW_PROTOCOL").unwrap();
        let usual = "file:git:http:https:ssh";
        assert_eq!(allowed("", &[]), usual);
        assert_eq!(allowed("local\0protocol.ext.allow\nalways\0local\0protocol.allow\nalways\0", &[]), usual);
        assert_eq!(allowed("global\0protocol.git.allow\nnever\0", &[]), "file:http:https:ssh");
        assert_eq!(allowed("global\0protocol.allow\nnever\0global\0protocol.ssh.allow\nuser\0", &[]), "ssh");
        assert_eq!(allowed("global\0protocol.s3.allow\nalways\0", &[]), format!("{usual}:s3"));
        assert_eq!(allowed("", &[("GIT_ALLOW_PROTOCOL", "https")]), "https");
    }

    #[test]
    fn no_question_is_asked_at_the_terminal() {
        let asked = |env: &[(&str, &str)]| value(&programs("", env), "SSH_ASKPASS");
        assert_eq!(asked(&[]).as_deref(), Some("false"));
        assert_eq!(asked(&[("SSH_ASKPASS", "own")]).as_deref(), Some("own"));
        assert_eq!(asked(&[("SSH_ASKPASS_REQUIRE", "never")]), None);
    }
}
