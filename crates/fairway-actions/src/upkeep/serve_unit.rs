//! The systemd user unit that keeps the server of a project running. It holds no secret: keys of devices are in their file.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context as _, Result};

use crate::App;
use crate::core::inside_session;
use fairway_core::domain::Refusal;
use fairway_core::env::{Env, vars};
use fairway_core::os::digest::sha256_hex;
use fairway_core::os::{executable, files, systemd_unit};
use fairway_core::wire::ServeUnitView;

/// The first line of a unit that Fairway wrote. Another file is never replaced or removed.
const MARK: &str = "# Written by fairway serve --install; fairway serve --uninstall removes it.";
/// First of the ports from which the project's path chooses one.
const FIRST_PORT: u16 = 7400;
const PORTS: u16 = 500;
/// The systemd target that starts the unit at login. Its directory has links to such units.
const WANTED_BY: &str = "default.target";
/// Variables that say where Fairway's files and programs are. No variable with a secret is among them.
const PASSED_ON: &[&str] = &[
    vars::PATH,
    vars::XDG_STATE_HOME,
    vars::FAIRWAY_DB,
    vars::FAIRWAY_NETWORK_STORE,
    #[cfg(feature = "postgres")]
    vars::PGPASSFILE,
];

#[derive(Debug, Clone, Copy)]
pub struct ServeUnitRequest {
    /// The port on 127.0.0.1; `None` keeps the port of the installed unit, or chooses a free one.
    pub port: Option<u16>,
    /// The address at which other machines reach the server; `None` for this machine only.
    pub listen: Option<SocketAddr>,
    pub is_unencrypted: bool,
}

struct Unit {
    file: PathBuf,
    name: String,
}

/// Writes the unit file. Starts nothing.
///
/// # Errors
/// `inside_session`; `exists` for a file that Fairway did not write; `invalid_value` for an address without a port.
pub fn install(app: &App, request: &ServeUnitRequest) -> Result<ServeUnitView> {
    inside_session::refuse(app, "serve --install")?;
    if request.listen.is_some_and(|at| at.port() == 0) {
        let why = "must name a port, so that the address stays the same: --listen IP:PORT";
        return Err(Refusal::invalid("the address of --listen", why).into());
    }
    let unit = Unit::of(app)?;
    let before = unit.text()?;
    let known = before.as_deref().and_then(port_of);
    let port = request.port.filter(|port| *port != 0).or(known).unwrap_or_else(|| free_port(&app.project.root));
    let program = executable::current_executable()?;
    let text = text(&program, &app.project.root, port, request, &app.env)?;
    let is_new = before.as_ref() != Some(&text);
    if is_new {
        let cannot = || format!("cannot write {}", unit.file.display());
        if let Some(directory) = unit.file.parent() {
            fs::create_dir_all(directory).with_context(cannot)?;
        }
        files::write_atomic(&unit.file, text.as_bytes(), 0o644).with_context(cannot)?;
    }
    let mut commands = vec!["systemctl --user daemon-reload".to_owned()];
    // `enable --now` does not restart a server that runs by the former unit.
    commands.push(format!("systemctl --user enable --now {}", unit.name));
    if before.is_some() && is_new {
        commands.push(format!("systemctl --user restart {}", unit.name));
    }
    Ok(ServeUnitView { commands, changed: is_new, port: Some(port), ..unit.view() })
}

/// Removes the unit, and the link by which systemd starts it at login. A running server continues.
///
/// # Errors
/// `inside_session`; `exists` for a file that Fairway did not write.
pub fn uninstall(app: &App) -> Result<ServeUnitView> {
    inside_session::refuse(app, "serve --uninstall")?;
    let unit = Unit::of(app)?;
    let is_there = unit.text()?.is_some();
    let link = unit.file.with_file_name(format!("{WANTED_BY}.wants")).join(&unit.name);
    for path in [&link, &unit.file] {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", path.display()));
            }
            _ => {}
        }
    }
    let stop = format!("systemctl --user stop {}", unit.name);
    let commands = if is_there { vec![stop, "systemctl --user daemon-reload".to_owned()] } else { Vec::new() };
    Ok(ServeUnitView { commands, changed: is_there, ..unit.view() })
}

impl Unit {
    /// The unit of a project: the name has the project's directory, and a digest of its path.
    fn of(app: &App) -> Result<Self> {
        let root = &app.project.root;
        let directory = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let slug: String =
            directory.chars().filter(|one| one.is_ascii_alphanumeric() || "-_".contains(*one)).take(32).collect();
        let digest = sha256_hex(root.as_os_str().as_bytes());
        let name = format!("fairway-{slug}-{}.service", digest.get(..8).unwrap_or_default());
        let stated = app.env.var_os(vars::XDG_CONFIG_HOME).map(PathBuf::from).filter(|path| path.is_absolute());
        let config = stated.or_else(|| Some(app.env.home.as_ref()?.join(".config")));
        let none = || Refusal::invalid("the environment", "has no home directory; set HOME or XDG_CONFIG_HOME");
        let file = config.ok_or_else(none)?.join("systemd/user").join(&name);
        Ok(Self { file, name })
    }

    /// The text of the installed unit; `None` without a file.
    ///
    /// # Errors
    /// `exists` for another file: a unit of a person, or a link that masks the unit.
    fn text(&self) -> Result<Option<String>> {
        let foreign = || Refusal::AlreadyExists { noun: "file", id: self.file.display().to_string() };
        match fs::symlink_metadata(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Ok(found) if !found.is_file() => return Err(foreign().into()),
            _ => {}
        }
        let text = fs::read_to_string(&self.file).with_context(|| format!("cannot read {}", self.file.display()))?;
        if text.lines().next() == Some(MARK) { Ok(Some(text)) } else { Err(foreign().into()) }
    }

    fn view(&self) -> ServeUnitView {
        ServeUnitView {
            unit: self.name.clone(),
            file: self.file.clone(),
            port: None,
            changed: false,
            commands: Vec::new(),
        }
    }
}

/// A path as UTF-8, which a unit of systemd must be.
fn utf8<'a>(what: &'static str, path: &'a Path) -> Result<&'a str, Refusal> {
    path.to_str().ok_or_else(|| Refusal::invalid(what, "is not UTF-8, as a unit of systemd must be"))
}

fn text(program: &Path, root: &Path, port: u16, request: &ServeUnitRequest, env: &Env) -> Result<String> {
    let root = utf8("the path of the project", root)?;
    let mut words = vec![systemd_unit::word(utf8("the path of this program", program)?)];
    let port = port.to_string();
    let mut arguments = vec!["--root", root, "serve", "--http", port.as_str()];
    let listen = request.listen.map(|at| at.to_string());
    arguments.extend(listen.iter().flat_map(|at| ["--listen", at.as_str()]));
    if request.is_unencrypted {
        arguments.push("--unencrypted");
    }
    words.extend(arguments.into_iter().map(systemd_unit::argument));
    let variables: Vec<String> = PASSED_ON
        .iter()
        .filter_map(|name| Some(systemd_unit::word(&format!("{name}={}", env.var(name)?))))
        .map(|word| format!("Environment={word}\n"))
        .collect();
    // Sessions that are started from the page outlive the server.
    Ok(format!(
        "{MARK}\n[Unit]\nDescription=Fairway at {}\n\n[Service]\nExecStart={}\n{}Restart=on-failure\nRestartSec=10\n\
         KillMode=process\n\n[Install]\nWantedBy={WANTED_BY}\n",
        systemd_unit::text(root),
        words.join(" "),
        variables.concat()
    ))
}

fn port_of(text: &str) -> Option<u16> {
    let line = text.lines().find(|line| line.starts_with("ExecStart="))?;
    line.rsplit(" serve --http ").next()?.split(' ').next()?.parse().ok()
}

/// A port that is free on 127.0.0.1. The search begins at a port that the project's path chooses.
fn free_port(root: &Path) -> u16 {
    let digest = sha256_hex(root.as_os_str().as_bytes());
    let first = digest.get(..4).and_then(|digits| u16::from_str_radix(digits, 16).ok()).unwrap_or_default() % PORTS;
    let mut ports = (0..PORTS).map(|step| FIRST_PORT + (first + step) % PORTS);
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap_or(FIRST_PORT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_keeps_its_port_and_names_no_secret() {
        let env = Env::from_process().with_vars(&std::collections::BTreeMap::from([
            ("FAIRWAY_STORE_URL".to_owned(), "postgres://u:canary@h/d".to_owned()),
            ("PATH".to_owned(), "/bin:/a b%".to_owned()),
        ]));
        let request =
            ServeUnitRequest { port: None, listen: Some("10.0.0.1:7431".parse().unwrap()), is_unencrypted: false };
        let root = Path::new("/home/a serve --http 9 \"b\" %h $HOME");
        let text = text(Path::new("/usr/bin/fairway"), root, 7431, &request, &env).unwrap();
        assert_eq!(port_of(&text), Some(7431));
        assert!(!text.contains("canary"), "{text}");
        assert!(text.contains("Environment=\"PATH=/bin:/a b%%\"\n"), "{text}");
        let start = r#"ExecStart=/usr/bin/fairway --root "/home/a serve --http 9 \"b\" %%h $$HOME" serve --http 7431 --listen 10.0.0.1:7431"#;
        assert!(text.lines().any(|line| line == start), "{text}");
        assert!((FIRST_PORT..FIRST_PORT + PORTS).contains(&free_port(root)));
    }
}
