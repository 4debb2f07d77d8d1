//! `packaging/install.sh` against a release on a server of this machine, with curl and with wget.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use fairway_core::os::digest::sha256_hex;
use fairway_core::os::poll_until::poll_until;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::release_server::{ReleaseServer, Response, archive, archive_name};
use super::root;
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, require};

/// The programs that the installer needs besides curl or wget.
const TOOLS: [&str; 16] = [
    "sh", "cat", "chmod", "cp", "grep", "gzip", "mkdir", "mktemp", "mv", "rm", "rmdir", "sha256sum", "tar", "uname",
    "tr", "id",
];

/// A machine with the installer's needs, one program that fetches, and nothing else.
struct Machine {
    world: TestProject,
    bin: PathBuf,
}

impl Machine {
    fn new(fetcher: &str) -> Self {
        let world = TestProject::uninitialized();
        let bin = world.dir().join("bin");
        fs::create_dir(&bin).unwrap();
        for tool in TOOLS.iter().copied().chain([fetcher]) {
            let paths = ["/usr/bin", "/bin"].map(|dir| Path::new(dir).join(tool));
            let path = paths.iter().find(|path| path.exists()).unwrap_or_else(|| panic!("{tool} is missing"));
            symlink(path, bin.join(tool)).unwrap();
        }
        Self { world, bin }
    }

    fn prefix(&self) -> PathBuf {
        self.world.dir().join("home/.local")
    }

    fn command(&self, server: &ReleaseServer, args: &[&str]) -> Command {
        let mut command = self.world.command(self.bin.join("sh"));
        command.arg(root("packaging/install.sh")).args(args);
        command.env("PATH", &self.bin).env("FAIRWAY_REPOSITORY", &server.address);
        command
    }

    fn install(&self, server: &ReleaseServer, args: &[&str]) -> CommandOutput {
        self.command(server, args).output().unwrap().into()
    }

    /// The files below the prefix with their contents.
    fn installed(&self) -> BTreeMap<String, String> {
        fn walk(dir: &Path, top: &Path, found: &mut BTreeMap<String, String>) {
            for entry in fs::read_dir(dir).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, top, found);
                } else {
                    let name = path.strip_prefix(top).unwrap().to_string_lossy().into_owned();
                    found.insert(name, fs::read_to_string(&path).unwrap());
                }
            }
        }
        let mut found = BTreeMap::new();
        walk(&self.prefix(), &self.prefix(), &mut found);
        found
    }

    fn left_in_tmp(&self) -> usize {
        fs::read_dir(self.world.dir().join("tmp")).unwrap().count()
    }
}

fn fetchers() -> Vec<&'static str> {
    ["curl", "wget"].into_iter().filter(|program| require::program(program)).collect()
}

#[test]
fn verified_release_is_installed_replaced_and_removed() {
    for fetcher in fetchers() {
        let (machine, server) = (Machine::new(fetcher), ReleaseServer::start());
        let scratch = machine.world.dir().join("project");
        server.publish("1.2.3", archive(&scratch, "1.2.3", "1.2.3", &["fairway.1", "fairway-old.1"]));
        let run = machine.install(&server, &[]).exits(0);
        let program = machine.prefix().join("bin/fairway");
        let first = format!("installed Fairway 1.2.3: {}\n", program.display());
        let bin = machine.prefix().join("bin").display().to_string();
        let note = format!("note: {bin} is not in PATH: export PATH=\"{bin}:${{PATH}}\"\n");
        assert_eq!((run.stdout, run.stderr), (format!("{first}{note}"), String::new()));
        let names = [
            "bin/fairway",
            "share/bash-completion/completions/fairway",
            "share/fairway/installed-files",
            "share/fish/vendor_completions.d/fairway.fish",
            "share/man/man1/fairway-old.1",
            "share/man/man1/fairway.1",
            "share/zsh/site-functions/_fairway",
        ];
        assert_eq!(machine.installed().keys().map(String::as_str).collect::<Vec<_>>(), names);
        assert_eq!(program.metadata().unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(Command::new(&program).output().unwrap().stdout, b"fairway 1.2.3\n");

        // A newer release replaces it, page by page; an older one is installed when it is named, with or without its checksum.
        let newer = server.publish("1.3.0", archive(&scratch, "1.3.0", "1.3.0", &["fairway.1"]));
        machine.install(&server, &[]).exits(0);
        assert_eq!(machine.installed()["share/man/man1/fairway.1"], "man/fairway.1 of 1.3.0\n");
        assert!(!machine.installed().contains_key("share/man/man1/fairway-old.1"));
        machine.install(&server, &["--version", "v1.2.3"]).exits(0);
        assert!(machine.installed()["bin/fairway"].contains("1.2.3"));
        server.remove("download/v1.3.0/SHA256SUMS");
        machine.install(&server, &["--version", "1.3.0", "--sha256", &sha256_hex(&newer)]).exits(0);
        assert!(machine.installed()["bin/fairway"].contains("1.3.0"));

        // A file that is not of the installer stays.
        fs::write(machine.prefix().join("bin/other"), "mine").unwrap();
        machine.install(&server, &["--uninstall"]).exits(0);
        assert_eq!(machine.installed().into_keys().collect::<Vec<_>>(), ["bin/other"]);
        machine.install(&server, &["--uninstall"]).exits(1);
        assert_eq!(machine.left_in_tmp(), 0);

        let elsewhere = machine.world.dir().join("opt");
        machine.install(&server, &["--prefix", &elsewhere.to_string_lossy(), "--version", "1.2.3"]).exits(0);
        assert!(elsewhere.join("bin/fairway").is_file());
    }
}

/// Each of these leaves an earlier installation as it was.
#[test]
fn release_that_cannot_be_verified_is_refused() {
    type Spoil = fn(&ReleaseServer, &[u8]);
    let cases: [(&str, Spoil, &str); 8] = [
        (
            "another archive",
            |server, archive| {
                let spoiled = [archive, b"x"].concat();
                server.set(&format!("download/v1.3.0/{}", archive_name("1.3.0")), Response::Whole(spoiled));
            },
            "has the SHA-256 checksum",
        ),
        (
            "half of the archive",
            |server, archive| {
                server.set(&format!("download/v1.3.0/{}", archive_name("1.3.0")), Response::Half(archive.to_vec()));
            },
            "",
        ),
        (
            "a truncated archive that ends well",
            |server, archive| {
                let half = archive[..archive.len() / 2].to_vec();
                server.set(&format!("download/v1.3.0/{}", archive_name("1.3.0")), Response::Whole(half));
            },
            "has the SHA-256 checksum",
        ),
        (
            "no archive",
            |server, _| server.remove(&format!("download/v1.3.0/{}", archive_name("1.3.0"))),
            "cannot be fetched",
        ),
        ("no checksums", |server, _| server.remove("latest/download/SHA256SUMS"), "SHA256SUMS cannot be fetched"),
        (
            "checksums of another machine",
            |server, _| {
                let sums = format!("{}  fairway-1.3.0-riscv64gc-unknown-linux-musl.tar.gz\n", "0".repeat(64));
                server.set("latest/download/SHA256SUMS", Response::Whole(sums.into_bytes()));
            },
            "names no archive for",
        ),
        (
            "a checksum that is cut off",
            |server, _| {
                let sums = format!("{}  {}\n", "0".repeat(63), archive_name("1.3.0"));
                server.set("latest/download/SHA256SUMS", Response::Whole(sums.into_bytes()));
            },
            "invalid SHA-256 checksum",
        ),
        (
            "a version that leaves the directory",
            |server, _| {
                let sums = format!("{}  {}\n", "0".repeat(64), archive_name("../../1"));
                server.set("latest/download/SHA256SUMS", Response::Whole(sums.into_bytes()));
            },
            "invalid version",
        ),
    ];
    for fetcher in fetchers() {
        let (machine, server) = (Machine::new(fetcher), ReleaseServer::start());
        let scratch = machine.world.dir().join("project");
        server.publish("1.2.3", archive(&scratch, "1.2.3", "1.2.3", &["fairway.1"]));
        machine.install(&server, &[]).exits(0);
        let before = machine.installed();
        for (case, spoil, message) in &cases {
            let bytes = server.publish("1.3.0", archive(&scratch, "1.3.0", "1.3.0", &["fairway.1"]));
            spoil(&server, &bytes);
            let run = machine.install(&server, &[]);
            assert!(run.code != Some(0) && run.stderr.contains(message), "{fetcher}, {case}: {run:?}");
            assert!(machine.installed() == before, "{fetcher}, {case}");
        }
        // The program is another version's, or does not run here.
        server.publish("1.3.0", archive(&scratch, "1.3.0", "9.9.9", &["fairway.1"]));
        assert!(machine.install(&server, &[]).exits(1).stderr.contains("says 'fairway 9.9.9'"));
        server.publish("1.3.0", archive(&scratch, "1.3.0", "1.3.0'; exit 3; '", &["fairway.1"]));
        assert!(machine.install(&server, &[]).exits(1).stderr.contains("does not run here"));
        // A named checksum goes before the release's.
        server.publish("1.3.0", archive(&scratch, "1.3.0", "1.3.0", &["fairway.1"]));
        let run = machine.install(&server, &["--version", "1.3.0", "--sha256", &"a".repeat(64)]).exits(1);
        assert!(run.stderr.contains("not aaaa"), "{run:?}");
        for bad in
            [&["--frobnicate"][..], &["--version"], &["--sha256", "xyz", "--version", "1"], &["--repository", "ann"]]
        {
            machine.install(&server, bad).exits(1);
        }
        assert!(machine.installed() == before);
        assert_eq!(machine.left_in_tmp(), 0);
    }
}

#[test]
fn interrupted_installation_places_nothing_and_leaves_nothing() {
    for fetcher in fetchers() {
        let (machine, server) = (Machine::new(fetcher), ReleaseServer::start());
        let bytes = server.publish("1.2.3", archive(&machine.world.root(), "1.2.3", "1.2.3", &["fairway.1"]));
        server.set(&format!("download/v1.2.3/{}", archive_name("1.2.3")), Response::Stalled(bytes));
        let mut command = machine.command(&server, &[]);
        let mut child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let tmp = machine.world.dir().join("tmp");
        let is_fetching = || {
            let dir = fs::read_dir(&tmp).ok()?.next()?.ok()?.path();
            dir.join(archive_name("1.2.3")).exists().then_some(())
        };
        poll_until(Duration::from_secs(30), Duration::from_millis(10), is_fetching).expect("the transfer never began");
        killpg(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
        assert!(!child.wait().unwrap().success());
        assert!(machine.installed().is_empty() && machine.left_in_tmp() == 0, "{fetcher}");
    }
}

#[test]
fn disk_that_is_full_leaves_the_old_release_whole() {
    let (machine, server) = (Machine::new("curl"), ReleaseServer::start());
    let scratch = machine.world.dir().join("project");
    server.publish("1.2.3", archive(&scratch, "1.2.3", "1.2.3", &["fairway.1"]));
    machine.install(&server, &[]).exits(0);
    let before = machine.installed();
    server.publish("1.3.0", archive(&scratch, "1.3.0", "1.3.0", &["fairway.1", "fairway-claim.1"]));
    // The program has room, a later file has not.
    let copy = machine.bin.join("cp");
    fs::remove_file(&copy).unwrap();
    let script =
        "#!/bin/sh\ncase $2 in\n*_fairway)\n  printf half >\"$3\"\n  exit 1\n  ;;\nesac\nexec /bin/cp \"$@\"\n";
    fs::write(&copy, script).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    let run = machine.install(&server, &[]).exits(1);
    assert!(
        run.stderr.contains("share/zsh/site-functions/_fairway cannot be written; nothing was installed"),
        "{run:?}"
    );
    assert!(run.stderr.contains("hint: choose another directory: install.sh --prefix DIR"), "{run:?}");
    assert_eq!(machine.installed(), before);
    assert_eq!(machine.left_in_tmp(), 0);
}

/// A script that is piped into a shell may end anywhere.
#[test]
fn truncated_script_does_nothing() {
    let (machine, server) = (Machine::new("curl"), ReleaseServer::start());
    server.publish("1.2.3", archive(&machine.world.root(), "1.2.3", "1.2.3", &["fairway.1"]));
    let script = fs::read(root("packaging/install.sh")).unwrap();
    let call = b"main \"$@\"\n";
    assert!(script.ends_with(call));
    let end = script.len() - call.len();
    for cut in (0..end).step_by(end / 24).chain([end, end + 3]) {
        let part = machine.world.root().join("part.sh");
        fs::write(&part, &script[..cut]).unwrap();
        let mut command = machine.world.command(machine.bin.join("sh"));
        command.arg(&part).env("PATH", &machine.bin).env("FAIRWAY_REPOSITORY", &server.address).output().unwrap();
        assert!(machine.installed().is_empty(), "cut at {cut}");
    }
}
