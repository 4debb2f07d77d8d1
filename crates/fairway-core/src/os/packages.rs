//! Packages of programs: the version that the files around a program record, without running it, and the command that installs a
//! package.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// How many directories above a program are searched for its package.
const MAX_PARENTS: usize = 4;
/// The longest package description that is read, in bytes.
const MAX_PACKAGE_BYTES: u64 = 1 << 20;

/// The version in the package description of a program (`package.json`), or the program's own file name when that is a version.
/// `None` without either.
pub fn recorded_version(program: &Path) -> Option<String> {
    let command = program.file_name()?.to_str()?;
    let file = program.canonicalize().ok()?;
    let own_name = file.file_name()?.to_str()?;
    if is_version(own_name) {
        return Some(own_name.to_owned());
    }
    file.ancestors().skip(1).take(MAX_PARENTS).find_map(|dir| package_version(&dir.join("package.json"), command))
}

/// The version in a package description, if the package installs this command.
fn package_version(path: &Path, command: &str) -> Option<String> {
    if fs::metadata(path).ok()?.len() > MAX_PACKAGE_BYTES {
        return None;
    }
    let package: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let installs = match &package["bin"] {
        Value::Object(commands) => commands.contains_key(command),
        Value::String(_) => package["name"].as_str().is_some_and(|name| name.rsplit('/').next() == Some(command)),
        _ => false,
    };
    package["version"].as_str().filter(|version| installs && is_version(version)).map(str::to_owned)
}

/// Whether a text has the form of a version: numbers with dots, and an optional suffix, as in `1.2.3-beta.1`.
pub fn is_version(text: &str) -> bool {
    let core = text.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = core.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.chars().all(|digit| digit.is_ascii_digit());
    text.len() <= 64
        && parts.len() >= 2
        && parts.iter().all(is_number)
        && text.chars().all(|character| character.is_ascii_alphanumeric() || ".-+".contains(character))
}

/// The file of each package manager, and how it installs a package.
const MANAGERS: &[(&str, &str)] = &[
    ("/usr/bin/apt-get", "sudo apt-get install"),
    ("/usr/bin/dnf", "sudo dnf install"),
    ("/usr/bin/zypper", "sudo zypper install"),
    ("/usr/bin/pacman", "sudo pacman -S"),
    ("/sbin/apk", "sudo apk add"),
];

/// The command that installs a package on this system; `None` without a known package manager.
pub fn install_command(package: &str) -> Option<String> {
    install_command_among(package, |file| Path::new(file).exists())
}

fn install_command_among(package: &str, exists: impl Fn(&str) -> bool) -> Option<String> {
    MANAGERS.iter().find(|(file, _)| exists(file)).map(|(_, install)| format!("{install} {package}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn version_comes_from_the_package_that_installs_the_command_or_from_the_file_name() {
        let root = tempfile::tempdir().unwrap();
        let package = root.path().join("lib/agent");
        fs::create_dir_all(package.join("bin")).unwrap();
        fs::write(package.join("bin/agent.js"), "").unwrap();
        let link = |name: &str, target: &Path| {
            let path = root.path().join(name);
            let _ = fs::remove_file(&path);
            symlink(target, &path).unwrap();
            path
        };
        let program = link("agent", &package.join("bin/agent.js"));
        let describe = |text: &str| fs::write(package.join("package.json"), text).unwrap();
        describe(r#"{"version": "2.1.329", "bin": {"agent": "bin/agent.js"}}"#);
        assert_eq!(recorded_version(&program).as_deref(), Some("2.1.329"));
        describe(r#"{"name": "@x/agent", "version": "1.0.0-rc.1", "bin": "bin/agent.js"}"#);
        assert_eq!(recorded_version(&program).as_deref(), Some("1.0.0-rc.1"));
        for other in [
            r#"{"version": "1.0.0", "bin": {"b": "x"}}"#,
            r#"{"version": "1.0.0"}"#,
            "{",
            r#"{"version": "x\u001b", "bin": {"agent": "x"}}"#,
        ] {
            describe(other);
            assert_eq!(recorded_version(&program), None, "{other}");
        }
        fs::write(root.path().join("3.2.1"), "").unwrap();
        assert_eq!(recorded_version(&link("tool", &root.path().join("3.2.1"))).as_deref(), Some("3.2.1"));
        assert_eq!(recorded_version(&root.path().join("absent")), None);
    }

    #[test]
    fn command_is_that_of_the_package_manager_that_is_here() {
        let on = |here: &str| install_command_among("git", |file| file == here);
        assert_eq!(on("/usr/bin/apt-get").as_deref(), Some("sudo apt-get install git"));
        assert_eq!(on("/sbin/apk").as_deref(), Some("sudo apk add git"));
        assert_eq!(on("/usr/bin/other"), None);
    }
}
