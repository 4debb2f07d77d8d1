//! Attempts on sockets, processes and the kernel.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket as new_socket};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::Pid;

use super::attempts;
use super::targets::Targets;
use fairway_core::os::capture::{self, Call};
use fairway_core::os::executable;
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::syscall_filter::type_into_new_terminal;

/// The time limit of a program.
const LIMIT: Duration = Duration::from_secs(20);
/// How long a connection may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// The text that is sent to a listener.
fn words(name: &str, to: &Targets) -> String {
    format!("{name} {}\n", to.mark)
}

/// Runs a program in the test lane and returns its stdout. Fails with the last line of its stderr when the exit code is not 0.
pub fn program(args: &[&str], to: &Targets) -> io::Result<String> {
    let mut words = args.iter();
    let name = words.next().copied().unwrap_or_default();
    let path = to.vars.get(OsStr::new("PATH")).map(OsString::as_os_str);
    let missing = || io::Error::new(io::ErrorKind::NotFound, format!("{name} is not in PATH"));
    let program = executable::find(name, path, Path::new("/")).ok_or_else(missing)?;
    let args: Vec<OsString> = words.map(OsString::from).collect();
    let call = Call {
        program: &program,
        args: &args,
        env: &to.vars,
        cwd: &to.lane,
        stdin: b"",
        limit: LIMIT,
        ends_group: true,
    };
    let done = capture::capture(&call)?;
    if done.exit == ExitReason::Code(0) {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&done.stderr);
    Err(io::Error::other(stderr.lines().last().unwrap_or("it failed").to_owned()))
}

/// The report of an attempt whose success leaves no other trace: the mark.
fn done(to: &Targets) -> String {
    to.mark.clone()
}

pub fn socket(to: &Targets, name: &str, file: &str) -> io::Result<String> {
    say(UnixStream::connect(to.path("run").join(file))?, &words(name, to))
}

pub fn abstract_socket(to: &Targets) -> io::Result<String> {
    let address = SocketAddr::from_abstract_name(&to.abstract_socket)?;
    say(UnixStream::connect_addr(&address)?, &words("abstract-socket", to))
}

fn say(mut stream: UnixStream, text: &str) -> io::Result<String> {
    stream.write_all(text.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    Ok(String::new())
}

pub fn tcp(to: &Targets) -> io::Result<String> {
    connect((Ipv4Addr::LOCALHOST, to.tcp).into(), &words("tcp", to))
}

pub fn tcp6(to: &Targets) -> io::Result<String> {
    connect((Ipv6Addr::LOCALHOST, to.tcp6).into(), &words("tcp6", to))
}

fn connect(address: std::net::SocketAddr, text: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, CONNECT_LIMIT)?;
    stream.write_all(text.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    Ok(String::new())
}

pub fn udp(to: &Targets) -> io::Result<String> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.send_to(words("udp", to).as_bytes(), (Ipv4Addr::LOCALHOST, to.udp))?;
    Ok(String::new())
}

pub fn raw_socket(to: &Targets) -> io::Result<String> {
    new_socket(AddressFamily::Inet, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::Icmp)?;
    Ok(done(to))
}

pub fn user_namespace(to: &Targets) -> io::Result<String> {
    program(&["unshare", "--user", "--map-root-user", "--mount", "true"], to).map(|_| done(to))
}

/// Mounts the shared directory, which is open for reading only, again as a writable one, and writes there.
pub fn remount(to: &Targets) -> io::Result<String> {
    let dir = to.path("shared");
    let text = dir.display().to_string();
    program(&["mount", "-o", "remount,rw,bind", &text], to).or_else(|_| {
        let script = "mount --bind \"$1\" \"$1\" && mount -o remount,rw,bind \"$1\" && echo \"$2\" >\"$1/remounted\"";
        program(&["unshare", "--mount", "sh", "-c", script, "sh", &text, &to.mark], to)
    })?;
    if dir.join("remounted").exists() { Ok(String::new()) } else { attempts::write(&dir.join("remounted"), to) }
}

pub fn device(to: &Targets) -> io::Result<String> {
    let file = to.lane_path("device");
    // That of /dev/full, which harms no machine.
    mknod(&file, SFlag::S_IFCHR, Mode::S_IRUSR, makedev(1, 7))?;
    File::open(&file)?;
    Ok(done(to))
}

/// Succeeds if a program with the set-user-id bit could get its owner's rights.
pub fn new_privileges(to: &Targets) -> io::Result<String> {
    let status = fs::read_to_string("/proc/self/status")?;
    let is_free = status.lines().any(|line| line.split_whitespace().eq(["NoNewPrivs:", "0"]));
    if is_free { Ok(done(to)) } else { Err(io::Error::new(io::ErrorKind::PermissionDenied, "no new privileges")) }
}

pub fn type_into_terminal(to: &Targets) -> io::Result<String> {
    type_into_new_terminal()?;
    Ok(done(to))
}

pub fn process_memory(to: &Targets) -> io::Result<String> {
    OpenOptions::new().read(true).write(true).open(format!("/proc/{}/mem", to.victim))?;
    Ok(done(to))
}

pub fn signal(to: &Targets) -> io::Result<String> {
    kill(Pid::from_raw(to.victim), Signal::SIGKILL)?;
    Ok(String::new())
}

/// Configures git to run a program, which writes the mark, when it looks for changed files.
pub fn plant_for_git(to: &Targets) -> io::Result<String> {
    let script = format!("echo {} >'{}'; true", to.mark, to.path("planted").display());
    program(&["git", "config", "core.fsmonitor", &script], to)?;
    Ok(String::new())
}
