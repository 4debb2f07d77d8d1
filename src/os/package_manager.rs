//! The package manager of this system, for hints that name the command which installs a program.

use std::path::Path;

/// The file of each package manager, and how it installs a package.
const MANAGERS: &[(&str, &str)] = &[
    ("/usr/bin/apt-get", "sudo apt-get install"),
    ("/usr/bin/dnf", "sudo dnf install"),
    ("/usr/bin/zypper", "sudo zypper install"),
    ("/usr/bin/pacman", "sudo pacman -S"),
    ("/sbin/apk", "sudo apk add"),
];

/// The command that installs a package here; `None` where no known package manager is.
pub fn install_command(package: &str) -> Option<String> {
    install_command_among(package, |file| Path::new(file).exists())
}

fn install_command_among(package: &str, is_there: impl Fn(&str) -> bool) -> Option<String> {
    MANAGERS.iter().find(|(file, _)| is_there(file)).map(|(_, install)| format!("{install} {package}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_that_of_the_package_manager_that_is_here() {
        let on = |here: &str| install_command_among("git", |file| file == here);
        assert_eq!(on("/usr/bin/apt-get").as_deref(), Some("sudo apt-get install git"));
        assert_eq!(on("/sbin/apk").as_deref(), Some("sudo apk add git"));
        assert_eq!(on("/usr/bin/other"), None);
    }
}
