//! A project with a lane, a home, sockets and a process, which is made for one series of attempts and removed afterwards.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};

use super::probes::{PROBES, Proof};
use super::targets::{self, Said, Targets};
use crate::App;
use crate::core::errors;
use crate::sessions::sandbox::openings::{Opening, Surroundings};
use crate::sessions::sandbox::proxy::{self, HostGate, RefusedHost};
use crate::sessions::sandbox::run::proxy_opening;
use fairway_core::config::SandboxSettings;
use fairway_core::domain::rules::proxy_hosts::OpenHost;
use fairway_core::env::vars;
use fairway_core::os::capture::{self, Call};
use fairway_core::os::command::spawn_silent;
use fairway_core::os::exec::keep_on_exec;
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::git::{self, Git, LaneClone};
use fairway_core::os::poll_until::poll_until;
use fairway_core::os::{files, random};

/// The time limit of all attempts together.
const LIMIT: Duration = Duration::from_secs(120);
/// The maximum length of the temporary directory, in bytes, and the directory that replaces a longer one.
const MAX_BASE_BYTES: usize = 60;
const SHORT_BASE: &str = "/tmp";
/// How long a message may take to reach its listener.
const ARRIVAL: Duration = Duration::from_secs(1);

/// A fixed list of open hosts. Refused hosts are not recorded.
#[derive(Debug)]
struct WorldGate(Vec<OpenHost>);

impl HostGate for WorldGate {
    fn open(&self) -> Vec<OpenHost> {
        self.0.clone()
    }

    fn open_anew(&self) -> Vec<OpenHost> {
        self.0.clone()
    }

    fn refused(&self, _: &RefusedHost) {}
}

type Received = Arc<Mutex<Vec<String>>>;

#[derive(Debug)]
pub struct World {
    pub targets: Targets,
    /// The environment of the attempts outside.
    pub env: BTreeMap<OsString, OsString>,
    clone: LaneClone,
    received: Received,
    victim: RefCell<Child>,
    git: PathBuf,
    _descriptor: File,
}

impl World {
    pub fn create(app: &App) -> Result<Self> {
        let mark = format!("mark-{}", random::hex().map_err(errors::internal)?);
        let base = app.env.var_os(vars::TMPDIR).map_or_else(|| PathBuf::from(SHORT_BASE), PathBuf::from);
        let base = base.canonicalize().map_err(errors::internal)?;
        // The addresses of sockets are short.
        let is_short = base.as_os_str().len() <= MAX_BASE_BYTES;
        let base = if is_short { base } else { PathBuf::from(SHORT_BASE) };
        let name: String = random::hex().map_err(errors::internal)?.chars().take(12).collect();
        let dir = base.join(format!("fairway-sandbox-{name}"));
        files::private_dir(&dir).map_err(errors::internal)?;
        let path = app.env.var_os(vars::PATH).cloned().unwrap_or_default();
        let git = git::find_program(Some(&path), Path::new("/")).ok_or(git::GitError::NotInPath)?;
        let mut env: BTreeMap<OsString, OsString> = BTreeMap::new();
        for (name, value) in [
            (vars::PATH, path),
            (vars::HOME, dir.join(targets::HOME).into()),
            (vars::XDG_RUNTIME_DIR, dir.join(targets::RUNTIME).into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            (targets::CREDENTIAL, OsString::from(&mark)),
        ] {
            env.insert(name.into(), value);
        }
        match Self::fill(&dir, &mark, &git, env) {
            Ok(world) => Ok(world),
            Err(error) => {
                let _ = fs::remove_dir_all(&dir);
                Err(error)
            }
        }
    }

    fn fill(dir: &Path, mark: &str, git: &Path, env: BTreeMap<OsString, OsString>) -> Result<Self> {
        write_files(dir, mark).map_err(errors::internal)?;
        let lane = dir.join(targets::LANE);
        let run = |args: &[&str], cwd: &Path| run_git(git, args, cwd, &env);
        let project = dir.join(targets::PROJECT);
        run(&["init", "--quiet", "--initial-branch=main"], &project)?;
        run(&["add", "file"], &project)?;
        run(&["commit", "--quiet", "--message", "first"], &project)?;
        for name in ["lane", "sibling"] {
            let path = format!(".fairway/worktrees/{name}");
            run(&["worktree", "add", "--quiet", "-b", name, &path], &project)?;
        }
        write_lane(&lane).map_err(errors::internal)?;
        fs::write(project.join(".fairway/worktrees/sibling/notes"), mark).map_err(errors::internal)?;
        let clone = LaneClone::create(&Git::new(&env, &lane), &dir.join("box"), "lane")?;
        let received = Received::default();
        let (tcp, tcp6, udp) = listen_on_network(&received).map_err(errors::internal)?;
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(errors::internal)?;
        let opened = server.local_addr().map_err(errors::internal)?.port();
        serve(&received, move || Ok(server.accept()?.0));
        let abstract_socket = format!("fairway-{mark}");
        listen_on_paths(&dir.join(targets::RUNTIME), &abstract_socket, &received).map_err(errors::internal)?;
        // A process of this user, with a credential in its environment.
        let victim = spawn_silent(Path::new("/bin/sleep"), &["600".into()], &env).map_err(errors::internal)?;
        let descriptor = File::open(dir.join(targets::SHARED)).map_err(errors::internal)?;
        keep_on_exec(&descriptor).map_err(errors::internal)?;
        let targets = Targets {
            dir: dir.to_path_buf(),
            lane,
            mark: mark.to_owned(),
            victim: i32::try_from(victim.id()).map_err(errors::internal)?,
            tcp,
            tcp6,
            udp,
            opened,
            abstract_socket,
            descriptor: descriptor.as_raw_fd(),
            shared_memory: PathBuf::from(format!("/dev/shm/fairway-{mark}")),
            vars: BTreeMap::new(),
        };
        let git = git.to_path_buf();
        let victim = RefCell::new(victim);
        Ok(Self { targets, env, clone, received, victim, git, _descriptor: descriptor })
    }

    pub fn shared(&self) -> PathBuf {
        self.targets.path(targets::SHARED)
    }

    pub fn runtime_dir(&self) -> PathBuf {
        self.targets.path(targets::RUNTIME)
    }

    /// Describes this test world in the form in which the surroundings of a real lane are described.
    pub fn surroundings<'a>(&'a self, settings: &'a SandboxSettings, program: PathBuf) -> Surroundings<'a> {
        let path = self.env.get(OsStr::new(vars::PATH)).cloned().unwrap_or_default();
        Surroundings {
            home: Some(self.targets.path(targets::HOME)),
            socket_dirs: vec![self.runtime_dir()],
            sockets: Vec::new(),
            path: std::env::split_paths(&path).collect(),
            closed: vec![
                self.targets.path(targets::PROJECT),
                self.targets.path(targets::STATE),
                self.targets.path("box"),
                self.targets.path("project/.git"),
            ],
            closed_files: Vec::new(),
            settings,
            agent: None,
            program,
            worktree: self.targets.lane.clone(),
            repository: Some(&self.clone),
            readable: Vec::new(),
        }
    }

    /// Starts a proxy as for a real project, with the hosts of this test world, and returns the opening that leads to it.
    pub fn open_proxy(&self) -> Result<Opening> {
        let Targets { tcp, opened, .. } = self.targets;
        let texts = [
            format!("127.0.0.1:{opened}"),
            format!("localhost:{tcp}"),
            format!("{}:{tcp}", targets::OPEN_NAME),
            format!("*.{}:{tcp}", targets::OPEN_NAME),
        ];
        let open: Result<Vec<OpenHost>, String> = texts.iter().map(|text| OpenHost::parse(text)).collect();
        let dir = self.targets.path("box");
        proxy::listen(&dir, Arc::new(WorldGate(open.map_err(errors::internal)?))).map_err(errors::internal)?;
        Ok(proxy_opening(&dir))
    }

    /// Runs the program that makes the attempts, and returns its reports. Fails when the program does not exit with 0.
    pub fn run(&self, program: &Path, args: &[OsString], env: &BTreeMap<OsString, OsString>) -> Result<Vec<Said>> {
        let stdin = serde_json::to_vec(&self.targets)?;
        let call = Call { program, args, env, cwd: &self.targets.lane, stdin: &stdin, limit: LIMIT, ends_group: true };
        let done = capture::capture(&call).map_err(errors::internal)?;
        if done.exit != ExitReason::Code(0) {
            bail!("the attempts could not be made: {}", String::from_utf8_lossy(&done.stderr).trim_end());
        }
        Ok(serde_json::from_slice(&done.stdout)?)
    }

    /// Judges by the effects outside whether the attempt of each probe succeeded.
    pub fn judge(&self, said: &[Said]) -> BTreeMap<&'static str, bool> {
        let text = |name: &str| said.iter().find(|one| one.name == name).and_then(|one| one.result.as_ref().ok());
        let is_done = |name: &'static str, proof: &Proof| match proof {
            Proof::Said => text(name).is_some_and(|text| text.contains(&self.targets.mark)),
            Proof::Written(path) => self.has_mark(&self.targets.path(path)),
            Proof::SharedMemory => self.has_mark(&self.targets.shared_memory),
            Proof::Gone(path) => self.targets.path(path).symlink_metadata().is_err(),
            Proof::Received => text(name).is_some() && self.has_received(name),
            Proof::Ended => {
                let has_ended = || self.victim.borrow_mut().try_wait().is_ok_and(|ended| ended.is_some()).then_some(());
                text(name).is_some() && poll_until(ARRIVAL, Duration::from_millis(5), has_ended).is_some()
            }
            Proof::RunByGit => {
                for dir in [self.targets.path(targets::PROJECT), self.targets.lane.clone()] {
                    let _ = run_git(&self.git, &["status"], &dir, &self.env);
                }
                self.has_mark(&self.targets.path("planted"))
            }
        };
        PROBES.iter().map(|probe| (probe.name, is_done(probe.name, &probe.proof))).collect()
    }

    fn has_mark(&self, file: &Path) -> bool {
        fs::read_to_string(file).is_ok_and(|text| text.contains(&self.targets.mark))
    }

    fn has_received(&self, name: &str) -> bool {
        let wanted = format!("{name} {}", self.targets.mark);
        let found = || {
            let all = self.received.lock().ok()?;
            all.iter().any(|text| text.contains(&wanted)).then_some(())
        };
        poll_until(ARRIVAL, Duration::from_millis(5), found).is_some()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let victim = self.victim.get_mut();
        let _ = victim.kill();
        let _ = victim.wait();
        let _ = fs::remove_file(&self.targets.shared_memory);
        let _ = fs::remove_dir_all(&self.targets.dir);
    }
}

fn run_git(git: &Path, args: &[&str], cwd: &Path, env: &BTreeMap<OsString, OsString>) -> Result<()> {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let call = Call { program: git, args: &args, env, cwd, stdin: b"", limit: LIMIT, ends_group: true };
    let done = capture::capture(&call).map_err(errors::internal)?;
    if done.exit != ExitReason::Code(0) {
        bail!("git failed: {}", String::from_utf8_lossy(&done.stderr).trim_end());
    }
    Ok(())
}

/// Writes the files of the world that must exist before git's.
fn write_files(dir: &Path, mark: &str) -> io::Result<()> {
    let dirs = [
        "project/.fairway/runtime", "project/.fairway/worktrees", "shared", "home/.ssh", "home/.cargo/bin",
        "home/.local/state", "home/.config/autostart", "home/.config/systemd/user", "run", "state", "box",
    ];
    for name in dirs {
        fs::create_dir_all(dir.join(name))?;
    }
    for (name, text) in [
        ("project/file", "a file\n"),
        (targets::STORE, "store\n"),
        ("project/.fairway/runs.db", "store\n"),
        (targets::TOKEN, mark),
        (targets::STORE_COPY, mark),
        ("home/.ssh/id_ed25519", mark),
        ("home/.git-credentials", mark),
        ("home/.bashrc", "true\n"),
        ("home/.bash_history", mark),
        ("project/.env", mark),
        ("home/.cargo/bin/tool", "#!/bin/sh\necho tool\n"),
        ("home/.gitconfig", "[user]\n\tname = Check\n\temail = check@example.invalid\n"),
        ("state/trust.json", "{}\n"),
        ("shared/plain", "x\n"),
        ("shared/linked", "x\n"),
        ("shared/hard", "x\n"),
        ("shared/renamed", "x\n"),
        ("shared/removed", "x\n"),
        ("shared/process", "x\n"),
        ("shared/truncated", "x\n"),
    ] {
        fs::write(dir.join(name), text)?;
    }
    // So that a commit of the project does not have them.
    fs::write(dir.join("project/.gitignore"), ".fairway/\n")?;
    executable(&dir.join("home/.cargo/bin/tool"))
}

fn executable(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
}

/// Writes settings into the lane that the person's programs would run later.
fn write_lane(lane: &Path) -> io::Result<()> {
    fs::create_dir_all(lane.join(".vscode"))?;
    fs::create_dir_all(lane.join(".idea"))?;
    fs::write(lane.join(".idea/workspace.xml"), "\n")?;
    fs::write(lane.join(".vscode/tasks.json"), "{}\n")?;
    fs::write(lane.join(".envrc"), "true\n")?;
    fs::write(lane.join(".gitattributes"), "\n")?;
    fs::write(lane.join("renamed"), "x\n")
}

fn listen_on_network(received: &Received) -> io::Result<(u16, u16, u16)> {
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    // A machine without IPv6 has no such listener, and the control fails.
    let tcp6 = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).ok();
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let ports = (
        tcp.local_addr()?.port(),
        tcp6.as_ref().and_then(|one| one.local_addr().ok()).map_or(9, |addr| addr.port()),
        udp.local_addr()?.port(),
    );
    for listener in std::iter::once(tcp).chain(tcp6) {
        serve(received, move || Ok(listener.accept()?.0));
    }
    let received = Arc::clone(received);
    thread::spawn(move || {
        let mut bytes = [0; 512];
        while let Ok(length) = udp.recv(&mut bytes) {
            push(&received, String::from_utf8_lossy(bytes.get(..length).unwrap_or_default()).into_owned());
        }
    });
    Ok(ports)
}

fn listen_on_paths(dir: &Path, abstract_socket: &str, received: &Received) -> io::Result<()> {
    for name in targets::SOCKETS {
        let listener = UnixListener::bind(dir.join(name))?;
        serve(received, move || Ok(listener.accept()?.0));
    }
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(abstract_socket)?)?;
    serve(received, move || Ok(listener.accept()?.0));
    Ok(())
}

/// Collects the text that each connection sends, in a thread that ends with this process.
fn serve<S: Read + Send + 'static>(received: &Received, accept: impl Fn() -> io::Result<S> + Send + 'static) {
    let received = Arc::clone(received);
    thread::spawn(move || {
        while let Ok(stream) = accept() {
            let mut text = String::new();
            let _ = stream.take(512).read_to_string(&mut text);
            push(&received, text);
        }
    });
}

fn push(received: &Received, text: String) {
    if let Ok(mut all) = received.lock() {
        all.push(text);
    }
}
